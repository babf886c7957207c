"""The card of a detector: the command that makes it, what it learned from, and what was measured on the rest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from excise.topics.detector import read_config
from excise.training.detector.validation import REPORT_HEADER, GroupReport, ThresholdChoice, report_rows

if TYPE_CHECKING:
    from excise.training.detector.detector_recipe import DetectorRecipe

OWN_CARD = "TRAINING.md"  # the card of a detector that is one of a pair
FIRST_CARD = "FIRST.md"  # the card of a detector which was trained further


def write_detector_card(
    out: Path,
    recipe: DetectorRecipe,
    trained_on: int,
    reports: Sequence[GroupReport],
    calibration: ThresholdChoice,
    rates: Mapping[float, float],
) -> None:
    """Write a detector's card, and its figures as JSON beside it."""
    tried = ", ".join(f"{rate:g}: {youden:.3f}" for rate, youden in rates.items()) or "none, the rate was given"
    admissible = f"{min(calibration.admissible, default=0)} to {max(calibration.admissible, default=0)}"
    card = f"""# Detector on {Path(recipe.config.encoder).name}

{_adapted(recipe)} with a head that tags tokens and one that judges the query.
It marks the words of a query that name an excluded topic, and fires above {recipe.config.threshold}.

- Command: `{training_command(recipe, bool(rates))}`
{_further(recipe)}{_taught(recipe)}{_data(recipe, trained_on)}
- Seed: {recipe.arguments.seed}. Arguments: `{json.dumps(asdict(recipe.arguments))}`
- Learning rates tried (held-out Youden's J after one pass over a sample): {tried}
- Threshold: {calibration.verdict} (spread of J {calibration.spread:.4f}, twice its standard error
  {calibration.noise:.4f}, admissible {admissible}).

{_unseen(recipe)}

{report_table(reports)}
"""
    (out / "README.md").write_text(card, encoding="utf-8")
    figures = {"groups": [asdict(report) for report in reports], "calibration": asdict(calibration), "rates": rates}
    (out / "validation.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def keep_card(folder: Path, out: Path) -> None:
    """Keep the card of the detector that was trained further, which says how to make it, and under it those before."""
    own = [folder / OWN_CARD, folder / "README.md"]  # in the folder of a pair, the second is the pair's
    cards = [*[card for card in own if card.exists()][:1], folder / FIRST_CARD]
    kept = [card.read_text(encoding="utf-8") for card in cards if card.exists()]
    if kept:
        (out / FIRST_CARD).write_text("\n".join(kept), encoding="utf-8")


def training_command(recipe: DetectorRecipe, rate_chosen: bool = False) -> str:
    """The command that makes a detector; a rate of 0 lets it choose one."""
    arguments, config = recipe.arguments, recipe.config
    said = [f"excise train detector --out DIR --epochs {arguments.epochs} --seed {arguments.seed}"]
    said += [f"--stop-after {arguments.stop_after}"] if arguments.stop_after else []
    said.append(f"--learning-rate {0 if rate_chosen else arguments.learning_rate:g} --generated {recipe.generated}")
    said.append(f"--most-plain {recipe.most_plain}")
    said += ["--data DATA"] if recipe.data else []
    said.append(f"--batch-tokens {arguments.batch_tokens}")
    if recipe.start is not None:
        said.append(f"--start FIRST --rehearse {recipe.start.rehearse:g} --keep {recipe.start.keep:g}")
    else:
        said.append(f"--rank {config.rank} --last-layers {config.last_layers}")
        said += [] if config.encoder == "minilm" else ["--backbone BASE"]
    said += [] if recipe.probes else ["--no-probes"]
    said += [] if recipe.later else ["--no-later"]
    said += ["--requests"] if recipe.requests else []
    said += [f"--leave-out {name}" for name in recipe.left_out]
    said += [f"--recombined {recipe.recombined}"] if recipe.recombined else []
    said += ["--teacher TEACHER"] * len(recipe.teachers)
    said += [f"--text CORPUS --sentences {recipe.sentences}"] if recipe.text else []
    return " ".join(said)


def report_table(reports: Sequence[GroupReport]) -> str:
    """What was measured, as a table of a page."""
    rows = [REPORT_HEADER, ["---"] * len(REPORT_HEADER), *report_rows(reports)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _adapted(recipe: DetectorRecipe) -> str:
    layers = recipe.config.last_layers
    if recipe.config.rank:
        return f"A rank-{recipe.config.rank} low-rank adaptation of the encoder's last {layers} layers"
    return f"An encoder of its own, its last {layers} layers trained, eight bits a weight,"


def _further(recipe: DetectorRecipe) -> str:
    if recipe.start is None:
        return ""
    return (
        f"- [FIRST]({FIRST_CARD}) was trained further, on the rows that were written later and "
        f"{recipe.start.rehearse:.0%} of the others;\n"
        f"  {recipe.start.keep:.0%} of what is written are its weights.\n"
    )


def _taught(recipe: DetectorRecipe) -> str:
    if not recipe.teachers:
        return ""
    times = Counter(Path(read_config(folder).encoder).name for folder in recipe.teachers)
    bases = ", ".join(name if number == 1 else f"{name} (counts {number} times)" for name, number in times.items())
    return (
        f"- TEACHER: detectors trained on labels alone, on {bases}.\n"
        f"  What they say of each query together counts {recipe.arguments.lesson_weight:.0%} in what is learned, the "
        f"labels have the rest.\n"
    )


def _data(recipe: DetectorRecipe, trained_on: int) -> str:
    others = (
        f"{recipe.recombined:,} exclusions and their partners with the topics of others, " if recipe.recombined else ""
    )
    public = (
        ", and public query sets (ExcluIR queries; MS MARCO, NQ and Million Query queries; SciFact and NFCorpus\n"
        "  training queries; a fifth of each held out)"
    )
    sentences = (
        f",\n  and up to {recipe.sentences:,} sentences of CORPUS as the teachers read them" if recipe.text else ""
    )
    made = f"generated pairs{public if recipe.data else ''}{sentences}."
    return (
        f"- Data: {trained_on:,} queries: the bundled suite's train families, hand-written pairs and decoys,\n"
        f"  {others}{'the probe files, ' if recipe.probes else ''}{made}"
    )


def _unseen(recipe: DetectorRecipe) -> str:
    if recipe.probes:
        return (
            "The figures below are those of a twin trained without the probe files (hard_fire, decoys, trap):\n"
            "nothing in the table was seen in training. The shipped weights were then trained on the probe files\n"
            "too. Some of the hand-written rows follow wordings that an earlier detector missed among these\n"
            "queries: recall may flatter it."
        )
    if recipe.start is not None:
        return (
            f"Nothing in the table was seen in this training; {FIRST_CARD} says whether the first one saw the probes."
        )
    return "Nothing in the table was seen in training."
