"""The paper's table "detector" on our data: what long queries teach, with and without an exclusion.

Three detectors are trained alike on equally many queries: on short ones; with long ones that exclude nothing; with long
ones of both kinds. A detector that saw long queries on one side only learns that length itself is the answer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from excise.training.detector.examples import Example
from excise.training.detector.recipe import Recipe, train_with_bar
from excise.training.detector.validation import validate

err = Console(stderr=True)
VARIANTS: dict[str, Callable[[Example], bool]] = {
    "base (short)": lambda example: not example.is_long,
    "+ long no-fire": lambda example: not example.is_long or not example.fires,
    "+ long fire and no-fire": lambda _: True,
}
_GROUPS = ("= short, fire", "= short, no fire", "= long, fire", "= long, no fire")


def variant(examples: Sequence[Example], keep: Callable[[Example], bool], sample: int, seed: int) -> list[Example]:
    """So many examples of those that a variant keeps, all of its long ones among them."""
    kept = [example for example in examples if keep(example)]
    random.Random(seed).shuffle(kept)
    kept.sort(key=lambda example: not example.is_long)  # long first; the order among equals stays shuffled
    return kept[:sample]


def length_table(recipe: Recipe, sample: int, out: Path) -> dict[str, dict[str, float]]:
    """Train the three variants, and report the fire rate on held-out short and long queries."""
    train, held = recipe.examples(probes_held_out=True)
    rows: dict[str, dict[str, float]] = {}
    table = Table("trained on", *(group.removeprefix("= ") for group in _GROUPS), box=None)
    for name, keep in VARIANTS.items():
        chosen = variant(train, keep, sample, recipe.arguments.seed)
        detector = train_with_bar(recipe, chosen, None, name)
        found = {report.name: report.fire_rate for report in validate(detector, held)}
        rows[name] = {group.removeprefix("= "): round(found[group], 4) for group in _GROUPS if group in found}
        table.add_row(name, *(f"{found[group]:.3f}" if group in found else "" for group in _GROUPS))
    out.mkdir(parents=True, exist_ok=True)
    content = {"sample": sample, "seed": recipe.arguments.seed, "fire_rate": rows}
    (out / "lengths.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    err.print(table)
    return rows
