"""Training the exclusion adapter: the gold must beat its confusable negative under the operator's whole scoring."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from excise.documents import Document
from excise.encoders.adapter import Adapter, AdapterConfig, Side
from excise.rules.paper import Constants
from excise.training.adapter.learner import Learner, Tokens, penalised, relevance
from excise.training.adapter.loop import topic_evidence
from excise.training.adapter.protocol import Recipe, Trained, card_lines, command_line, train
from excise.training.adapter.triples import Triple

TEMPERATURE = 0.02  # scores are means of cosines: a few hundredths apart
DIRECT, PLAIN, ANCHOR = 0.5, 0.5, 1.0  # weights of the terms beside the exclusion contrast


def make_adapter(recipe: Recipe, out: Path) -> Trained:
    """Train an adapter, and write it with its card."""
    trained = train(recipe, "adapter", adapter_loss, lambda held: held.first_operator, out)
    saved_adapter(trained, "both").save_pretrained(out)
    card = f"""# Exclusion adapter on {Path(recipe.backbone).name}

Low-rank terms (rank 8) beside every linear map of the encoder. They re-embed a query, its excluded topics and the
shortlist; the frozen index and the frozen encoder stay as they are.

- Command: `{command_line("adapter", recipe)}`
- Objective: cross-entropy of the gold against its confusable negative and the batch's unjudged documents, on the score
  after the soft penalty; the same on MaxSim alone (weight {DIRECT}); ordinary ranking of both documents by the query's
  partner that excludes nothing (weight {PLAIN}); and one minus the cosine of every document token with its frozen self
  (weight {ANCHOR}), so that evidence keeps its scale. Temperature {TEMPERATURE}.
{card_lines(trained)}"""
    (out / "README.md").write_text(card, encoding="utf-8")
    return trained


def saved_adapter(trained: Trained, side: Side) -> Adapter:
    """The adapter that holds a learner's terms."""
    backbone, terms = trained.learner.backbone, trained.learner.terms
    assert terms is not None
    config = AdapterConfig(trained.recipe.backbone, backbone.weights_fingerprint, side=side)
    adapter = Adapter(backbone, config)
    adapter.terms.load_state(terms.state())
    return adapter


def adapter_loss(learner: Learner, batch: Sequence[Triple]) -> Tensor:
    """The exclusion contrast, ordinary ranking, and the anchor to the frozen space."""
    documents = unique_documents(batch)
    texts = [document.full_text for document in documents]
    encoded = learner.documents(texts)
    gold, negative, rivals = targets(batch, documents)
    scores = relevance(learner.queries([triple.query for triple in batch]), encoded)
    match = topic_evidence(learner, batch, encoded)
    after = penalised(scores, match, Constants())
    loss = contrast(after, gold, negative, rivals) + DIRECT * contrast(scores, gold, negative, rivals)
    plain = [i for i, triple in enumerate(batch) if triple.plain]
    if plain:
        asked = relevance(learner.queries([batch[i].plain or "" for i in plain]), encoded)
        both = [_ranked(asked, wanted[plain], rivals[plain]) for wanted in (gold, negative)]
        loss = loss + PLAIN * sum(both, torch.zeros(())) / 2
    return loss + ANCHOR * drift(encoded, learner.frozen_documents(texts))


def drift(adapted: Tokens, frozen: Tokens) -> Tensor:
    """How far token vectors have moved: one minus the mean cosine with their frozen selves."""
    return 1.0 - (adapted.vectors[adapted.mask] * frozen.vectors[frozen.mask]).sum(dim=1).mean()


def unique_documents(batch: Sequence[Triple]) -> list[Document]:
    """The documents of a batch, each once."""
    return list({document.id: document for triple in batch for document in triple.documents}.values())


def targets(batch: Sequence[Triple], documents: Sequence[Document]) -> tuple[Tensor, Tensor, Tensor]:
    """Each triple's gold and negative by position (the gold again where it has none), and what is not judged for it."""
    place = {document.id: i for i, document in enumerate(documents)}
    gold = torch.tensor([place[triple.gold.id] for triple in batch])
    negative = torch.tensor([place[(triple.negative or triple.gold).id] for triple in batch])
    rivals = torch.tensor([[document.id not in triple.judged for document in documents] for triple in batch])
    return gold, negative, rivals


def contrast(scores: Tensor, gold: Tensor, negative: Tensor, rivals: Tensor) -> Tensor:
    """Cross-entropy of the gold against its negative and the rivals."""
    return _ranked(scores, gold, rivals | _only(negative, rivals))


def _ranked(scores: Tensor, wanted: Tensor, rivals: Tensor) -> Tensor:
    """Cross-entropy of the wanted document against its rivals; what is neither does not count."""
    counted = rivals | _only(wanted, rivals)
    return cross_entropy(scores.masked_fill(~counted, float("-inf")) / TEMPERATURE, wanted)


def _only(columns: Tensor, like: Tensor) -> Tensor:
    chosen = torch.zeros_like(like)
    chosen[torch.arange(len(columns)), columns] = True
    return chosen
