"""The paper's table "detector" on our data: what long queries teach, with and without an exclusion.

Three detectors are trained alike on equally many queries: on short ones; with long ones that exclude nothing; with long
ones of both kinds. A detector that saw long queries on one side only learns that length itself is the answer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from excise.progress import Progress, silent
from excise.training.detector.detector_recipe import DetectorRecipe
from excise.training.detector.examples import Example
from excise.training.detector.tagging import train_detector
from excise.training.detector.validation import validate
from excise.training.epochs import with_loss

VARIANTS: dict[str, Callable[[Example], bool]] = {
    "base (short)": lambda example: not example.is_long,
    "+ long no-fire": lambda example: not example.is_long or not example.fires,
    "+ long fire and no-fire": lambda _: True,
}
GROUPS = ("short, fire", "short, no fire", "long, fire", "long, no fire")


def variant(examples: Sequence[Example], keep: Callable[[Example], bool], sample: int, seed: int) -> list[Example]:
    """So many examples of those that a variant keeps, all of its long ones among them."""
    kept = [example for example in examples if keep(example)]
    random.Random(seed).shuffle(kept)
    kept.sort(key=lambda example: not example.is_long)  # long first; the order among equals stays shuffled
    return kept[:sample]


def compare_lengths(
    recipe: DetectorRecipe, sample: int, out: Path, progress: Progress = silent
) -> dict[str, dict[str, float]]:
    """Train the three variants; returns the fire rate of each on held-out queries, by their length and label."""
    train, held = recipe.examples(probes_held_out=True)
    rows: dict[str, dict[str, float]] = {}
    for name, keep in VARIANTS.items():
        chosen = variant(train, keep, sample, recipe.arguments.seed)
        detector = train_detector(chosen, recipe.arguments, recipe.config, with_loss(progress, name))
        found = {report.name: report.fire_rate for report in validate(detector, held)}
        rows[name] = {group: round(found[f"= {group}"], 4) for group in GROUPS if f"= {group}" in found}
    out.mkdir(parents=True, exist_ok=True)
    content = {"sample": sample, "seed": recipe.arguments.seed, "fire_rate": rows}
    (out / "lengths.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return rows
