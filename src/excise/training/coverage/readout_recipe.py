"""What ``excise train coverage`` does: read graded candidates, fit two readouts, measure and write them with a card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from excise.encoders.backbone import load_backbone
from excise.progress import Progress, silent
from excise.rules.coverage import Coverage
from excise.rules.readout import READOUTS, CoverageReadout, write_readouts
from excise.search.match_features import WORD_FEATURES
from excise.training.coverage.graded import family_searches, features_of, labelled_searches
from excise.training.coverage.readout_fit import LeftOut, fit_readout, leave_one_out

CARD, TRAINING = "README.md", "training.json"


@dataclass(frozen=True)
class FittedReadouts:
    """The readout of a backbone and the one for any, and what each is worth on domains that it was not fitted on."""

    own: CoverageReadout
    any: CoverageReadout
    own_measured: tuple[LeftOut, ...]
    any_measured: tuple[LeftOut, ...]


def bundled_labels() -> list[Path]:
    """The graded labels that ship with excise."""
    return sorted(Path(str(files("excise") / "data" / "own" / "coverage")).glob("*.jsonl"))


def make_readouts(
    out: Path,
    labels: Sequence[Path],
    corpora: Mapping[str, Path],
    backbone: str = "minilm",
    progress: Progress = silent,
) -> FittedReadouts:
    """Fit and write the readouts of a backbone.

    Parameters
    ----------
    out
        the folder that gets ``coverage.json``, its card and the figures.
    labels, corpora
        graded candidates, and by name the corpora that their documents are in.
    backbone
        whose vectors are read.
    progress
        called as documents are encoded.
    """
    encoder = load_backbone(backbone).judging
    graded = features_of([*labelled_searches(labels, corpora), *family_searches()], encoder, progress)
    rows, together = leave_one_out(graded)
    word_rows, word_together = leave_one_out(graded, WORD_FEATURES)
    fitted = FittedReadouts(
        fit_readout(graded, backbone=encoder.name, weights=encoder.weights_fingerprint),
        fit_readout(graded, WORD_FEATURES),
        (*rows, together),
        (*word_rows, word_together),
    )
    out.mkdir(parents=True, exist_ok=True)
    write_readouts(out / READOUTS, [fitted.own, fitted.any])
    figures = {"own": [asdict(row) for row in fitted.own_measured], "any": [asdict(row) for row in fitted.any_measured]}
    (out / TRAINING).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (out / CARD).write_text(_card(fitted, labels, corpora), encoding="utf-8")
    return fitted


def _card(fitted: FittedReadouts, labels: Sequence[Path], corpora: Mapping[str, Path]) -> str:
    given = " ".join(f"--corpus {name}=.../{path.parent.name}/{path.name}" for name, path in corpora.items())
    weights = "\n".join(
        f"| {name} | {weight:+.2f} |" for name, weight in zip(fitted.own.features, fitted.own.coefficients, strict=True)
    )
    return f"""# Coverage readout on {fitted.own.backbone}

How likely a candidate covers an excluded topic: a logistic regression over {len(fitted.own.features)} features of the
match (`excise.search.match_features`), {len(fitted.own.features) + 1} numbers in all. Fitted on the backbone with the
weights {fitted.own.weights}. A second readout, of the word features alone, serves any other backbone.

    excise train coverage {given} --out DIR

Data: {", ".join(path.name for path in labels)}: candidates
of real searches, graded by reading (they ship with excise; their documents do not). Grade 2 covers, grades 1 and 0 do
not. Every domain counts alike. Beside them, with three tenths of a domain's weight, the bundled training families: what
a query with one topic rules out covers it, its golds do not. No random numbers.

Each domain measured by a readout that was fitted without it; removed is what reaches {Coverage().caution:g}, the
default caution:

{_table(fitted.own_measured)}

The word features alone:

{_table(fitted.any_measured)}

| feature (standardised) | weight |
| --- | --- |
{weights}
"""


def _table(rows: Sequence[LeftOut]) -> str:
    head = (
        "| domain left out | candidates | covering | precision | recall | average precision | Brier |\n"
        + "| --- " * 7
        + "|\n"
    )
    return head + "\n".join(
        f"| {row.domain} | {row.candidates} | {row.covering} | {row.precision:.3f} | {row.recall:.3f} "
        f"| {row.average_precision:.3f} | {row.brier:.3f} |"
        for row in rows
    )
