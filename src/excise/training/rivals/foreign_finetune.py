"""Models of others, fine-tuned on the triples that the adapter and the controls learn from.

A bi-encoder learns the gold against its confusable negative and the batch's unjudged documents, by its own pooled
vectors; a cross-encoder the gold against its negative and one unjudged document of the batch. Both read the query as
typed, with the prompts that the model itself puts before queries and documents, and every weight is trained. What is
written loads as ``dense=DIR`` or ``cross-encoder=DIR`` in the harness.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from excise.documents import Document
from excise.errors import InvalidInput
from excise.evaluation.systems.foreign_encoders import load_foreign, model_fingerprint
from excise.progress import Progress, silent
from excise.training.contrastive.loop import fit
from excise.training.contrastive.overlap import Overlap, measured_sets
from excise.training.contrastive.protocol import CHECKPOINTS, FIGURES, LearnerRecipe, clean_triples, dev_triples
from excise.training.contrastive.ranking_loss import TEMPERATURE, contrast, targets, unique_documents
from excise.training.contrastive.triples import Triple
from excise.training.epochs import with_loss

_BATCH = 16  # triples that are measured at a time
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")  # where sentence-transformers looks for one, in this order


class Rival(Protocol):
    """A model of others in training."""

    model: Any

    @property
    def trained(self) -> nn.Module: ...

    @property
    def kind(self) -> str: ...

    def loss(self, batch: Sequence[Triple]) -> Tensor:
        """The objective over one batch."""
        ...

    def pair_scores(self, rows: Sequence[tuple[str, Document]]) -> Tensor:
        """Scores of queries with documents, one by one."""
        ...


@dataclass(eq=False)
class DenseRival:
    """A bi-encoder of sentence-transformers, which pools as it itself does; ``kind`` tells its runs from others."""

    model: Any
    kind: str

    @property
    def trained(self) -> nn.Module:
        module: nn.Module = self.model
        return module

    def loss(self, batch: Sequence[Triple]) -> Tensor:
        """Cross-entropy of the gold against its negative and the batch's unjudged documents."""
        documents = unique_documents(batch)
        read = self._vectors([document.full_text for document in documents], "document", _DOCUMENT_PROMPTS)
        scores = self._vectors([triple.query for triple in batch], "query", ("query",)) @ read.T
        # Products of vectors that have no unit length are logits already.
        return contrast(scores if self._unit else scores * TEMPERATURE, *targets(batch, documents))

    def pair_scores(self, rows: Sequence[tuple[str, Document]]) -> Tensor:
        """Scores of queries with documents, one by one."""
        asked = self._vectors([query for query, _ in rows], "query", ("query",))
        read = self._vectors([document.full_text for _, document in rows], "document", _DOCUMENT_PROMPTS)
        return (asked * read).sum(dim=1)

    @property
    def _unit(self) -> bool:
        return str(self.model.similarity_fn_name) != "dot"

    def _vectors(self, texts: list[str], task: str, names: Iterable[str]) -> Tensor:
        """Pooled vectors with gradients, by the prompt that the harness's ``encode_query`` or the other would take."""
        known = {name: self.model.prompts[name] for name in names if name in self.model.prompts}
        prompt = next(iter(known.values()), self.model.prompts.get(self.model.default_prompt_name))
        features = self.model.preprocess(texts, prompt=prompt, task=task)
        vectors: Tensor = self.model(features, task=task)["sentence_embedding"]
        return normalize(vectors, dim=1) if self._unit else vectors


@dataclass(eq=False)
class CrossRival:
    """A cross-encoder of sentence-transformers; ``kind`` tells its runs from others."""

    model: Any
    kind: str

    @property
    def trained(self) -> nn.Module:
        module: nn.Module = self.model
        return module

    def loss(self, batch: Sequence[Triple]) -> Tensor:
        """Cross-entropy of the gold against its negative and one document of the batch that is not judged."""
        rows: list[tuple[str, Document]] = []
        lengths: list[int] = []
        for place, triple in enumerate(batch):
            compared = (*triple.documents, *_unjudged(batch, place))
            rows += [(triple.query, document) for document in compared]
            lengths.append(len(compared))
        parts = torch.split(self.pair_scores(rows), lengths)  # a gold stands first in each
        scores = nn.utils.rnn.pad_sequence(list(parts), batch_first=True, padding_value=float("-inf"))
        return cross_entropy(scores, torch.zeros(len(batch), dtype=torch.long))

    def pair_scores(self, rows: Sequence[tuple[str, Document]]) -> Tensor:
        """Scores of queries with documents, one by one; of several labels the last one counts, as in the harness."""
        prompt = self.model.prompts.get(self.model.default_prompt_name)
        pairs = [(query, document.full_text) for query, document in rows]
        scores: Tensor = self.model(self.model.preprocess(pairs, prompt=prompt))["scores"]
        return scores.reshape(len(rows), -1)[:, -1]


RIVALS: dict[str, tuple[str, type[DenseRival] | type[CrossRival], str, str]] = {
    "dense": (
        "SentenceTransformer",
        DenseRival,
        "dense=DIR",
        "cross-entropy of the gold against its confusable negative and the batch's unjudged documents, on the "
        "similarity of the model's own pooled vectors",
    ),
    "cross": (
        "CrossEncoder",
        CrossRival,
        "cross-encoder=DIR",
        "cross-entropy of the gold against its confusable negative and one unjudged document of the batch",
    ),
}


@dataclass(frozen=True)
class TrainedRival:
    """What is known about a fine-tuned model: what it learned from, and how often the gold was ahead."""

    recipe: LearnerRecipe
    kind: str
    triples: int
    overlaps: list[Overlap]
    held: int
    before: float
    after: float

    def figures(self) -> dict[str, Any]:
        """What was measured, for a file beside the weights."""
        return {
            "triples": self.triples,
            "arguments": asdict(self.recipe.arguments),
            "leakage": [asdict(overlap) for overlap in self.overlaps],
            "own dev": {"triples": self.held, "before": self.before, "after": self.after},
        }


def make_rival(recipe: LearnerRecipe, kind: str, out: Path, progress: Progress = silent) -> TrainedRival:
    """Fine-tune a model of others and write it with its card. An interrupted run goes on after its last epoch.

    Parameters
    ----------
    recipe
        what it learns from and how; its backbone is the model, a folder or a hub id of sentence-transformers.
    kind
        "dense" or "cross".
    out
        the folder that is written to; not the model's own.
    """
    if kind not in RIVALS:
        raise InvalidInput(f"unknown kind {kind!r} of model to fine-tune; choose one of {', '.join(RIVALS)}.")
    if out.resolve() == Path(recipe.backbone).resolve():
        raise InvalidInput(f"{out} holds the model that is fine-tuned: name another folder for the outcome.")
    rival = load_rival(recipe.backbone, kind, recipe.arguments.seed)
    triples, overlaps = clean_triples(recipe, measured_sets(recipe.data))
    judged = dev_triples(recipe)
    before = share_ahead(rival, judged, progress)
    told = with_loss(progress, "training")
    fit(rival, triples, lambda one, batch: one.loss(batch), recipe.arguments, told, out / CHECKPOINTS)
    after = share_ahead(rival, judged, progress)
    rival.model.save_pretrained(str(out), create_model_card=False, safe_serialization=True)
    trained = TrainedRival(recipe, kind, len(triples), overlaps, len(judged), before, after)
    (out / FIGURES).write_text(json.dumps(trained.figures(), indent=1) + "\n", encoding="utf-8")
    (out / "README.md").write_text(_rival_card(trained), encoding="utf-8")
    return trained


def load_rival(base: str, kind: str, seed: int = 0) -> Rival:
    """A model of others, ready for training; the seed decides the weights of a head that the base does not have."""
    loader, rival, _, _ = RIVALS[kind]
    torch.manual_seed(seed)
    model = load_foreign(loader, base)
    model.eval()  # no dropout, as for the adapter and the controls: a run that goes on ends as an uninterrupted one
    model.float().requires_grad_(True)
    return rival(model, f"{kind} {model_fingerprint(base)}")


@torch.no_grad()
def share_ahead(rival: Rival, triples: Sequence[Triple], progress: Progress = silent) -> float:
    """The share of triples whose gold scores above the confusable negative."""
    rows = [(triple.query, triple.gold, triple.negative) for triple in triples if triple.negative is not None]
    if not rows:
        raise InvalidInput("there are no triples with a negative to measure on.")
    ahead = 0
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        gold = rival.pair_scores([(query, document) for query, document, _ in part])
        negative = rival.pair_scores([(query, document) for query, _, document in part])
        ahead += int((gold > negative).sum())
        progress("measuring", min(start + _BATCH, len(rows)), len(rows))
    return round(ahead / len(rows), 4)


def _unjudged(batch: Sequence[Triple], place: int) -> list[Document]:
    """The next document of a batch that is not judged for the triple in a place, if there is one."""
    others = (document for triple in (*batch[place + 1 :], *batch[:place]) for document in triple.documents)
    return next(([document] for document in others if document.id not in batch[place].judged), [])


def _rival_card(trained: TrainedRival) -> str:
    recipe, arguments = trained.recipe, trained.recipe.arguments
    base = Path(recipe.backbone)
    shown = f".../{base.name}" if base.is_dir() else recipe.backbone
    parts = [f"excise train rival --kind {trained.kind} --base {shown} --out DIR --epochs {arguments.epochs}"]
    parts += [f"--learning-rate {arguments.learning_rate:g} --batch {arguments.batch} --seed {arguments.seed}"]
    parts += [f"--per-query {recipe.per_query}", *(f"--triples {Path(source).name}" for source in recipe.sources)]
    parts += ["--data DATA"] if recipe.data else []
    parts += [f"--limit {recipe.limit}"] if recipe.limit else []
    sources = ["the bundled suite's train families and the bundled mentions", *(Path(s).name for s in recipe.sources)]
    overlaps = "\n".join(f"| {one.name} | {one.queries} | {one.documents} |" for one in trained.overlaps)
    _, _, system, objective = RIVALS[trained.kind]
    return f"""# {base.name}, fine-tuned on exclusions

Every weight of {base.name} was trained on the triples that excise's adapter and controls learn from, the query as
typed. In the harness it is the system `{system}`. The licence is that of {base.name}.

- Command: `{" ".join(parts)}`
- Data: {trained.triples:,} triples (query, wanted document, confusable one) of {", ".join(sources)}.
- Objective: {objective}.
- Seed: {arguments.seed}. The learning rate was given, not searched for.
- Held out: of {trained.held} triples of the bundled suite's dev families, which no training saw, the gold scored above
  its negative in {trained.before:.3f} before, and in {trained.after:.3f} after.

Leakage, by normalised exact match; a triple that shared anything would have been left out:

| evaluation set | shared queries | shared documents |
| --- | --- | --- |
{overlaps}
"""
