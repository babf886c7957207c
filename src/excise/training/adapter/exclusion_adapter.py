"""Training the exclusion adapter: the gold must beat its confusable negative under the operator's whole scoring."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from excise.progress import Progress, silent
from excise.rules.paper import Constants
from excise.training.contrastive.learner import Learner, Tokens, penalised, relevance
from excise.training.contrastive.loop import Objective, topic_evidence
from excise.training.contrastive.protocol import (
    LearnerRecipe,
    TrainedLearner,
    adapter_of,
    card_lines,
    command_line,
    train_learner,
)
from excise.training.contrastive.ranking_loss import TEMPERATURE, contrast, ranked, targets, unique_documents
from excise.training.contrastive.triples import Triple

DIRECT, PLAIN, ANCHOR = 0.5, 0.5, 1.0  # weights of the terms beside the exclusion contrast


def make_adapter(recipe: LearnerRecipe, out: Path, progress: Progress = silent) -> TrainedLearner:
    """Train an adapter, and write it with its card."""
    objective = Objective(adapter_loss, lambda held: held.first_operator)
    trained = train_learner(recipe, "adapter", objective, out, progress)
    adapter_of(trained, "both").save_pretrained(out)
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
        both = [ranked(asked, wanted[plain], rivals[plain]) for wanted in (gold, negative)]
        loss = loss + PLAIN * sum(both, torch.zeros(())) / 2
    return loss + ANCHOR * drift(encoded, learner.frozen_documents(texts))


def drift(adapted: Tokens, frozen: Tokens) -> Tensor:
    """How far token vectors have moved: one minus the mean cosine with their frozen selves."""
    return 1.0 - (adapted.vectors[adapted.mask] * frozen.vectors[frozen.mask]).sum(dim=1).mean()
