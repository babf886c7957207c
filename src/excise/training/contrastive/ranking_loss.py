"""The loss of every objective on triples: cross-entropy of the gold against its negative and what is not judged."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from excise.documents import Document
from excise.training.contrastive.triples import Triple

TEMPERATURE = 0.02  # scores are means of cosines: a few hundredths apart


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
    return ranked(scores, gold, rivals | _only(negative, rivals))


def ranked(scores: Tensor, wanted: Tensor, rivals: Tensor) -> Tensor:
    """Cross-entropy of the wanted document against its rivals; what is neither does not count."""
    counted = rivals | _only(wanted, rivals)
    return cross_entropy(scores.masked_fill(~counted, float("-inf")) / TEMPERATURE, wanted)


def _only(columns: Tensor, like: Tensor) -> Tensor:
    chosen = torch.zeros_like(like)
    chosen[torch.arange(len(columns)), columns] = True
    return chosen
