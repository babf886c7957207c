"""What the adapter is compared with: the same triples and protocol, put into the encoder by standard fine-tuning.

A LoRA fine-tune and a full one become checkpoints, whose corpus has to be indexed again; a query-side adapter works on
the frozen index. All learn from the query as it is typed: the gold against its confusable negative and the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from torch import Tensor

from excise.errors import InvalidInput
from excise.progress import Progress, silent
from excise.training.contrastive.learner import Learner, relevance
from excise.training.contrastive.loop import Objective
from excise.training.contrastive.protocol import (
    LearnerRecipe,
    TrainedLearner,
    adapter_of,
    card_lines,
    command_line,
    train_learner,
)
from excise.training.contrastive.ranking_loss import contrast, targets, unique_documents
from excise.training.contrastive.triples import Triple

Control = Literal["lora", "full", "query"]
REPLAYED = 420  # ordinary pairs that a control with rehearsal sees beside its triples: half as many
CONTROLS: dict[str, str] = {
    "lora": "A LoRA fine-tune (rank 8) of the encoder, folded into its weights; the corpus has to be indexed again.",
    "full": "A fine-tune of every weight of the encoder; the corpus has to be indexed again.",
    "query": "A query-side adapter (rank 8): adapted queries against the frozen index.",
}


def make_control(recipe: LearnerRecipe, kind: str, out: Path, progress: Progress = silent) -> TrainedLearner:
    """Train a control and write it: a checkpoint for ``--backbone``, or for "query" an adapter.

    Parameters
    ----------
    kind
        "lora", "full" or "query".
    """
    if kind not in CONTROLS:
        raise InvalidInput(f"unknown control {kind!r}; choose one of {', '.join(CONTROLS)}.")
    control: Control = kind  # type: ignore[assignment]
    trained = train_learner(recipe, control, Objective(control_loss, lambda held: held.first), out, progress)
    learner = trained.learner
    encoder = learner.backbone.encoder
    if control == "query":
        adapter_of(trained, "query").save_pretrained(out)
    else:
        if learner.terms is not None:
            learner.terms.fold(encoder.transformer)
        encoder.save_pretrained(out)
    command = command_line(f"control --kind {kind}", recipe) + (" --replay" if recipe.replay else "")
    card = f"""# Control: {kind} on {Path(recipe.backbone).name}

{CONTROLS[kind]}

- Command: `{command}`
- Objective: cross-entropy of the gold against its confusable negative and the batch's unjudged documents, on MaxSim.
{card_lines(trained)}"""
    (out / "README.md").write_text(card, encoding="utf-8")
    return trained


def control_loss(learner: Learner, batch: Sequence[Triple]) -> Tensor:
    """Standard contrastive fine-tuning on the query as typed."""
    documents = unique_documents(batch)
    gold, negative, rivals = targets(batch, documents)
    encoded = learner.documents([document.full_text for document in documents])
    scores = relevance(learner.queries([triple.query for triple in batch]), encoded)
    return contrast(scores, gold, negative, rivals)
