"""The paper's protocol for the adapter and every control: clean triples, a held-out choice of rate, then all of them.

What differs between them is the kind of learner, its objective, and how it is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from excise.encoders.adapter import Adapter, AdapterConfig, Side
from excise.encoders.backbone import Backbone, load_backbone
from excise.progress import Progress, silent
from excise.suites.suites import BUILT_IN, load_suite
from excise.training.contrastive.learner import Kind, Learner
from excise.training.contrastive.loop import (
    ADAPTER_RATES,
    FULL_RATES,
    Held,
    LearnerArguments,
    Objective,
    best_rate,
    fit,
    measure,
    sample,
)
from excise.training.contrastive.overlap import Measured, Overlap, measured_sets, without_leaks
from excise.training.contrastive.triples import (
    MENTIONS,
    Triple,
    ordinary_pairs,
    read_triples,
    split_by_group,
    suite_triples,
)
from excise.training.epochs import with_loss

RATES_FILE, CHECKPOINTS, FIGURES = "rates.json", "checkpoints", "training.json"


@dataclass(frozen=True)
class LearnerRecipe:
    """What a learner is trained on and how.

    Attributes
    ----------
    backbone
        preset name, hub id or folder.
    sources
        suites and files of triples, beside the bundled ones.
    data
        a folder of evaluation suites that must not be learned from; also the source of titles for rehearsal.
    per_query
        the most triples of one query.
    searched
        how many triples the search for a learning rate trains on.
    arguments
        learning rate, epochs, batch size and seed.
    choose_rate
        whether the learning rate is searched for.
    replay
        how many ordinary pairs are mixed in; 0 for none.
    limit
        use only so many triples, to try it out.
    """

    backbone: str = "minilm"
    sources: tuple[str, ...] = ()
    data: Path | None = None
    per_query: int = 2
    searched: int = 240
    arguments: LearnerArguments = field(default_factory=LearnerArguments)
    choose_rate: bool = True
    replay: int = 0
    limit: int | None = None


@dataclass(frozen=True)
class RateChoice:
    """The learning rate that was chosen, and what every rate of the grid, and no training, gave on held-out triples."""

    best: float
    rates: dict[float, Held]
    frozen: Held

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> RateChoice:
        rates = {float(rate): Held(**held) for rate, held in kept["rates"].items()}
        return cls(kept["best"], rates, Held(**kept["frozen"]))

    def to_dict(self) -> dict[str, Any]:
        rates = {str(rate): asdict(held) for rate, held in self.rates.items()}
        return {"best": self.best, "rates": rates, "frozen": asdict(self.frozen)}


@dataclass(frozen=True, eq=False)
class TrainedLearner:
    """A trained learner, and what is known about it. ``chosen`` is None where the rate was given."""

    learner: Learner
    recipe: LearnerRecipe
    triples: int
    pairs: int
    overlaps: list[Overlap]
    chosen: RateChoice | None
    frozen: Held
    adapted: Held

    @property
    def rates(self) -> dict[float, Held]:
        """What each rate gave that was tried."""
        return self.chosen.rates if self.chosen else {}

    def figures(self) -> dict[str, Any]:
        """What was measured, for a file beside the weights."""
        return {
            "triples": self.triples,
            "ordinary_pairs": self.pairs,
            "arguments": asdict(self.recipe.arguments),
            "leakage": [asdict(overlap) for overlap in self.overlaps],
            "held_out": {
                "frozen": asdict(self.chosen.frozen) if self.chosen else None,
                **{f"{rate:g}": asdict(held) for rate, held in self.rates.items()},
            },
            "own dev": {"frozen": asdict(self.frozen), "trained": asdict(self.adapted)},
        }


def train_learner(
    recipe: LearnerRecipe, kind: Kind, objective: Objective, out: Path, progress: Progress = silent
) -> TrainedLearner:
    """Train a learner of a kind. An interrupted run goes on: at the rate that was chosen, and after its last epoch."""
    sets = measured_sets(recipe.data)
    triples, overlaps = clean_triples(recipe, sets)
    pairs: list[Triple] = []
    if recipe.replay:
        pairs, _ = without_leaks(ordinary_pairs(recipe.data, recipe.replay // 3, recipe.arguments.seed), sets)
        pairs = sample(pairs, min(recipe.replay, recipe.limit or recipe.replay), recipe.arguments.seed)
    out.mkdir(parents=True, exist_ok=True)
    chosen: RateChoice | None = None
    if recipe.choose_rate:
        chosen = _chosen_rate(recipe, kind, objective, (triples, pairs), out, progress)
        recipe = replace(recipe, arguments=replace(recipe.arguments, learning_rate=chosen.best))
    learner = fresh_learner(recipe, kind)
    judged = dev_triples(recipe)
    frozen = measure(learner, judged)
    told = with_loss(progress, "training")
    fit(learner, [*triples, *pairs], objective.loss, recipe.arguments, told, out / CHECKPOINTS)
    adapted = measure(learner, judged)
    trained = TrainedLearner(learner, recipe, len(triples), len(pairs), overlaps, chosen, frozen, adapted)
    (out / FIGURES).write_text(json.dumps(trained.figures(), indent=1) + "\n", encoding="utf-8")
    return trained


def clean_triples(recipe: LearnerRecipe, sets: Sequence[Measured]) -> tuple[list[Triple], list[Overlap]]:
    """What a recipe learns from: nothing that an evaluation set holds; and what was found in each of them."""
    every = read_triples([BUILT_IN, MENTIONS, *recipe.sources], recipe.per_query, recipe.arguments.seed)
    return without_leaks(every[: recipe.limit], sets)


def dev_triples(recipe: LearnerRecipe) -> list[Triple]:
    """What is measured before and after: triples of the bundled suite's dev families, which no training sees."""
    return sample(suite_triples(load_suite(BUILT_IN, "dev"), 2), recipe.limit or 280, recipe.arguments.seed)


def fresh_learner(recipe: LearnerRecipe, kind: Kind, backbone: Backbone | None = None) -> Learner:
    """An untrained learner; the seed decides its terms. An adapter learns to judge, by what judging sees."""
    torch.manual_seed(recipe.arguments.seed)
    loaded = backbone or load_backbone(recipe.backbone)
    return Learner.of(loaded.judging if kind == "adapter" else loaded, kind)


def _chosen_rate(
    recipe: LearnerRecipe,
    kind: Kind,
    objective: Objective,
    material: tuple[Sequence[Triple], Sequence[Triple]],
    out: Path,
    progress: Progress,
) -> RateChoice:
    """The best rate of the grid after one pass over a sample; kept in a file."""
    stored = out / RATES_FILE
    if stored.exists():
        return RateChoice.from_dict(json.loads(stored.read_text(encoding="utf-8")))
    seed = recipe.arguments.seed
    triples, pairs = material
    train_on, held = split_by_group(triples, seed=seed)
    rehearsed = len(pairs) * recipe.searched // len(triples)
    searched = [*sample(train_on, recipe.searched, seed), *sample(pairs, rehearsed, seed)]
    held = sample(held, 200, seed)
    frozen = measure(fresh_learner(recipe, kind), held)
    best, rates = best_rate(
        lambda: fresh_learner(recipe, kind),
        objective,
        FULL_RATES if kind == "full" else ADAPTER_RATES,
        (searched, held),
        replace(recipe.arguments, epochs=1),
        progress,
    )
    chosen = RateChoice(best, rates, frozen)
    stored.write_text(json.dumps(chosen.to_dict(), indent=1) + "\n", encoding="utf-8")
    return chosen


def adapter_of(trained: TrainedLearner, side: Side) -> Adapter:
    """The adapter that holds a learner's terms."""
    backbone, terms = trained.learner.backbone, trained.learner.terms
    assert terms is not None
    config = AdapterConfig(trained.recipe.backbone, backbone.weights_fingerprint, side=side)
    adapter = Adapter(backbone, config)
    adapter.terms.load_state(terms.state())
    return adapter


def card_lines(trained: TrainedLearner) -> str:
    """What every card says: data, leakage, rates and figures."""
    arguments = trained.recipe.arguments
    tried = [f"{rate:g}: {held.first:.3f} / {held.first_operator:.3f}" for rate, held in trained.rates.items()]
    rates = ", ".join(tried)
    overlaps = "\n".join(f"| {one.name} | {one.queries} | {one.documents} |" for one in trained.overlaps)
    rows = "\n".join(
        f"| {name} | {held.relevance:.3f} | {held.evidence:.3f} | {held.operator:.3f} | {held.first:.3f} | "
        f"{held.first_operator:.3f} |"
        for name, held in (("frozen", trained.frozen), ("trained", trained.adapted))
    )
    sources = ", ".join(
        ["the bundled suite's train families and the bundled mentions", *(Path(s).name for s in trained.recipe.sources)]
    )
    return f"""- Data: {trained.triples:,} triples (query, wanted document, confusable one) of {sources};
  ordinary pairs mixed in: {trained.pairs:,}.
- Seed: {arguments.seed}. Arguments: `{json.dumps(asdict(arguments))}`
- Learning rates tried, one pass over {trained.recipe.searched} triples, on held-out groups (first, by MaxSim and
  after the penalty): {rates or "none, the rate was given"}.
  The best was then trained on all triples.

Leakage, by normalised exact match; a triple that shared anything would have been left out:

| evaluation set | shared queries | shared documents |
| --- | --- | --- |
{overlaps}

On triples of the bundled suite's dev families, which no training saw, the share of triples in which the gold scores
above its negative by MaxSim (relevance), has less evidence for the topic (evidence), scores above it after the penalty
(operator), and also scores above every document that is not judged (first, by MaxSim and after the penalty):

| vectors | relevance | evidence | operator | first, MaxSim | first, penalised |
| --- | --- | --- | --- | --- | --- |
{rows}
"""


def command_line(what: str, recipe: LearnerRecipe) -> str:
    """The command that trains the same again."""
    parts = [f"excise train {what} --out DIR --epochs {recipe.arguments.epochs} --seed {recipe.arguments.seed}"]
    parts += [f"--batch {recipe.arguments.batch} --per-query {recipe.per_query} --searched {recipe.searched}"]
    parts += [f"--learning-rate {recipe.arguments.learning_rate:g}" if not recipe.choose_rate else ""]
    parts += [f"--backbone {recipe.backbone}" if recipe.backbone != "minilm" else ""]
    parts += [*(f"--triples {Path(source).name}" for source in recipe.sources), "--data DATA" if recipe.data else ""]
    return " ".join(part for part in parts if part)
