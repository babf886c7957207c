"""What ``excise train coverage`` does: read graded candidates, fit readouts, measure and write them with a card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

from excise.encoders.backbone import DEFAULT, load_backbone
from excise.model_folders import shipped_folder
from excise.progress import Progress, silent
from excise.rules.coverage import Coverage
from excise.rules.readout import READOUTS, CoverageReadout, write_readouts
from excise.search.match_features import WORD_FEATURES
from excise.search.scale_measurement import measured_scale
from excise.search.similarity_scale import REFERENCE
from excise.training.coverage.graded import (
    GradedFeatures,
    GradedSearch,
    family_searches,
    features_of,
    labelled_searches,
)
from excise.training.coverage.readout_fit import LeftOut, fit_for_any, fit_readout, leave_one_out

CARD, TRAINING = "README.md", "training.json"
Measured = tuple[LeftOut, ...]


@dataclass(frozen=True)
class FittedReadouts:
    """The readouts that were fitted, and what each is worth on domains that it was not fitted on.

    Attributes
    ----------
    own, own_measured
        that of each backbone.
    any, any_measured
        the one for any other, fitted on all of these; measured on each of them by one fitted on the others, where there
        are several.
    words, words_measured
        the one for a backbone whose vectors tell nothing.
    """

    own: tuple[CoverageReadout, ...]
    any: CoverageReadout
    words: CoverageReadout
    own_measured: tuple[Measured, ...]
    any_measured: tuple[Measured, ...]
    words_measured: Measured


@dataclass(frozen=True, eq=False)
class _Graded:
    """Graded candidates as one backbone sees them."""

    features: GradedFeatures
    backbone: str
    weights: str
    levels: tuple[float, ...] | None


def bundled_labels() -> list[Path]:
    """The graded labels that ship with excise."""
    return sorted((shipped_folder("coverage").parents[1] / "data" / "own" / "coverage").glob("*.jsonl"))


def make_readouts(
    out: Path,
    labels: Sequence[Path],
    corpora: Mapping[str, Path],
    backbones: Sequence[str] = (DEFAULT,),
    progress: Progress = silent,
) -> FittedReadouts:
    """Fit and write the readouts of some backbones, and the one for any other.

    Parameters
    ----------
    out
        the folder that gets ``coverage.json``, its card and the figures.
    labels, corpora
        graded candidates, and by name the corpora that their documents are in.
    backbones
        whose vectors are read.
    progress
        called as documents are encoded.
    """
    searches = [*labelled_searches(labels, corpora), *family_searches()]
    seen = [_seen_by(name, searches, progress) for name in backbones]
    fitted = _fitted(seen)
    out.mkdir(parents=True, exist_ok=True)
    write_readouts(out / READOUTS, [*fitted.own, fitted.any, fitted.words])
    figures = {
        "own": {one.backbone: _plain(rows) for one, rows in zip(seen, fitted.own_measured, strict=True)},
        "any": {one.backbone: _plain(rows) for one, rows in zip(seen, fitted.any_measured, strict=True)},
        "words": _plain(fitted.words_measured),
    }
    (out / TRAINING).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (out / CARD).write_text(_card(fitted, labels, corpora), encoding="utf-8")
    return fitted


def _plain(rows: Measured) -> list[dict[str, Any]]:
    return [asdict(row) for row in rows]


def _seen_by(name: str, searches: Sequence[GradedSearch], progress: Progress) -> _Graded:
    backbone = load_backbone(name)
    encoder = backbone.judging
    scale = None if backbone.name == DEFAULT else measured_scale(encoder)  # the embedded one's is the reference
    features = features_of(searches, encoder, progress, scale or REFERENCE)
    known = Path(backbone.name).name  # a folder's name, not where it stands on this machine
    return _Graded(features, known, encoder.weights_fingerprint, astuple(scale) if scale else None)


def _fitted(seen: Sequence[_Graded]) -> FittedReadouts:
    own = [
        replace(fit_readout(one.features), backbone=one.backbone, weights=one.weights, levels=one.levels)
        for one in seen
    ]
    everything = GradedFeatures.joined([one.features for one in seen])
    others = [[other.features for other in seen if other is not one] or [one.features] for one in seen]
    return FittedReadouts(
        tuple(own),
        fit_for_any(everything),
        _of_words(seen[0].features),
        tuple(leave_one_out(one.features) for one in seen),
        tuple(
            leave_one_out(one.features, fit_for_any, GradedFeatures.joined(rest))
            for one, rest in zip(seen, others, strict=True)
        ),
        leave_one_out(seen[0].features, _of_words),
    )


def _of_words(graded: GradedFeatures) -> CoverageReadout:
    return fit_readout(graded, WORD_FEATURES)


def _card(fitted: FittedReadouts, labels: Sequence[Path], corpora: Mapping[str, Path]) -> str:
    names = [str(readout.backbone) for readout in fitted.own]
    given = " ".join(f"--corpus {name}=.../{path.parent.name}/{path.name}" for name, path in corpora.items())
    read = " ".join(f"--backbone {name}" for name in names)
    on = "; ".join(f"{readout.backbone} with the weights {readout.weights}" for readout in fitted.own)
    return f"""# Coverage readouts on {", ".join(names)}

How likely a candidate covers an excluded topic: a logistic regression over {len(fitted.any.features)} features of the
match (`excise.search.match_features`), {len(fitted.any.features) + 1} numbers in all. One for each backbone ({on}), and
one for any other, fitted on all of these, halfway in log odds to one of the word features alone. Similarities of any
backbone are mapped to the scale of the embedded encoder first (`excise.search.similarity_scale`). The last one, of the
word features alone, serves a backbone whose vectors tell nothing.

    excise train coverage {given} {read} --out DIR

Data: {", ".join(path.name for path in labels)}: candidates
of real searches, graded by reading (they ship with excise; their documents do not). Grade 2 covers, grades 1 and 0 do
not. Every domain counts alike. Beside them, with three tenths of a domain's weight, the bundled training families: what
a query with one topic rules out covers it, its golds do not. No random numbers.

Each domain measured by a readout that was fitted without it; removed is what reaches {Coverage().caution:g}, the
default caution.

{_own_tables(fitted)}
Each backbone by the readout for any other, fitted without this backbone (where there are several) and without the
domain:

{_summary(fitted)}

The word features alone, {names[0]}:

{_table(fitted.words_measured)}

{_coefficients(fitted)}
"""


def _own_tables(fitted: FittedReadouts) -> str:
    parts = zip(fitted.own, fitted.own_measured, strict=True)
    return "".join(f"{readout.backbone}, its own:\n\n{_table(rows)}\n\n" for readout, rows in parts)


def _summary(fitted: FittedReadouts) -> str:
    rows = [
        replace(measured[-1], domain=str(readout.backbone))
        for readout, measured in zip(fitted.own, fitted.any_measured, strict=True)
    ]
    return _table(rows, "backbone left out")


def _coefficients(fitted: FittedReadouts) -> str:
    readouts = [*fitted.own, fitted.any]
    names = [*(str(readout.backbone) for readout in fitted.own), "any other"]
    head = f"| feature (standardised) | {' | '.join(names)} |\n| --- |{' --- |' * len(names)}\n"
    return head + "\n".join(
        f"| {name} | {' | '.join(f'{readout.coefficients[place]:+.2f}' for readout in readouts)} |"
        for place, name in enumerate(fitted.any.features)
    )


def _table(rows: Sequence[LeftOut], first: str = "domain left out") -> str:
    head = f"| {first} | candidates | covering | precision | recall | average precision | Brier |\n{'| --- ' * 7}|\n"
    return head + "\n".join(
        f"| {row.domain} | {row.candidates} | {row.covering} | {row.precision:.3f} | {row.recall:.3f} "
        f"| {row.average_precision:.3f} | {row.brier:.3f} |"
        for row in rows
    )
