"""Two detectors as one: both read a query, their logits are averaged, and the threshold is chosen for both."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from excise.errors import InvalidInput
from excise.topics.detector import COMPANION, CONFIG, ENCODER, REACH, TOKENIZER, WEIGHTS, Detector
from excise.training.detector.detector_card import FIRST_CARD, OWN_CARD, report_table
from excise.training.detector.detector_recipe import SAMPLES
from excise.training.detector.examples import balanced, own_examples, public_examples
from excise.training.detector.tagging import span_scores
from excise.training.detector.validation import ORDINARY, GroupReport, least_threshold, validate

_KEPT = (WEIGHTS, REACH, CONFIG, ENCODER, TOKENIZER, "NOTICE", FIRST_CARD)


def pair_detectors(first: Path, companion: Path, data: Path, out: Path, seed: int = 0) -> list[GroupReport]:
    """Write a detector with another one as its companion, calibrated and measured on held-out queries.

    Parameters
    ----------
    first, companion
        folders that ``excise train detector`` wrote.
    data
        folder of public query sets; what training held out of them sets the threshold.
    out
        where both are written to, with the card of the pair.
    seed
        that of both trainings: it says what was held out.
    """
    if out.exists() and any(out.iterdir()):
        raise InvalidInput(f"{out} is not empty: name a new folder for the pair.")
    _copied(first, out)
    _copied(companion, out / COMPANION)
    rows = [*own_examples(), *public_examples(data, seed)]
    if not (out / COMPANION / REACH).exists():  # beside another one it computes in eight bits too
        samples = [row.text for row in balanced(rows, seed)[:SAMPLES]]
        Detector.from_pretrained(out / COMPANION).save_reach(out / COMPANION, samples)
    pair = Detector.from_pretrained(out)
    held = [row for row in rows if row.held_out]
    threshold = least_threshold(span_scores(pair, held), held)
    pair.config = replace(pair.config, threshold=threshold)
    (out / CONFIG).write_text(json.dumps(asdict(pair.config), indent=1) + "\n", encoding="utf-8")
    reports = validate(pair, held)
    _write_card(out, reports, threshold, seed)
    return reports


def _copied(folder: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name in _KEPT:
        if (folder / name).exists():
            shutil.copyfile(folder / name, out / name)
    if (folder / "README.md").exists():
        shutil.copyfile(folder / "README.md", out / OWN_CARD)


def _write_card(out: Path, reports: Sequence[GroupReport], threshold: float, seed: int) -> None:
    budgets = ", ".join(f"{name} {most:.1%}" for name, most in ORDINARY.items())
    card = f"""# Two detectors that read along

Both read a query. Their logits are averaged token by token; the strongest token of the mean, and what is read off the
whole query, count alike. It fires above {threshold}.

- Command: `excise train pair FIRST COMPANION --out DIR --data DATA --seed {seed}`
- Each was trained by itself, with the command, the data and the seed of its own card:
  [FIRST]({OWN_CARD}), [COMPANION]({COMPANION}/{OWN_CARD}).
- Threshold: the least at which ordinary queries that were held out stay within their budgets ({budgets}).

Neither of the two has seen a query of this table in training; the threshold was chosen with the ordinary ones in
view. The probe files are left out: a detector may have been trained on them.

{report_table(reports)}
"""
    (out / "README.md").write_text(card, encoding="utf-8")
    figures = {"groups": [asdict(report) for report in reports], "threshold": threshold}
    (out / "validation.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
