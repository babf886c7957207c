"""An encoder in training: what of it is trained, token vectors with gradients, and the operator's scores from them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from excise.encoders.backbone import Backbone
from excise.encoders.lora import SwitchedLora
from excise.encoders.token_encoder import Task
from excise.rules.paper import Constants

Kind = Literal["adapter", "lora", "full", "query"]
_BATCH = 8  # texts encoded at a time


@dataclass(frozen=True, eq=False)
class Tokens:
    """Token vectors of several texts, padded: which of them count is in the mask."""

    vectors: Tensor
    mask: Tensor


@dataclass(eq=False)
class Learner:
    """A backbone, and what of it is trained.

    Attributes
    ----------
    backbone
        the encoder. A "full" learner changes its weights; the others only put terms beside them.
    kind
        "adapter" and "lora" train low-rank terms for queries and documents, "query" for queries alone (documents stay
        as a frozen index has them), "full" every weight.
    terms
        the low-rank terms; None where every weight is trained.
    query_tokens, document_tokens
        where longer texts are cut in training.
    """

    backbone: Backbone
    kind: Kind
    terms: SwitchedLora | None
    query_tokens: int = 128
    document_tokens: int = 192
    _frozen: dict[str, Tensor] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, backbone: Backbone, kind: Kind, terms: SwitchedLora | None = None) -> Learner:
        """A learner of a kind, with fresh low-rank terms where it has any and none are given."""
        encoder = backbone.encoder
        if kind == "full":
            encoder.requires_grad_(True)
            return cls(backbone, kind, None)
        encoder.requires_grad_(False)
        return cls(backbone, kind, terms or SwitchedLora(encoder.transformer))

    @property
    def trained(self) -> nn.Module:
        """What is trained."""
        return self.backbone.encoder if self.terms is None else self.terms

    def queries(self, texts: Sequence[str]) -> Tokens:
        """Token vectors of queries."""
        with self._active():
            return self._encode(texts, "query", self.query_tokens)

    def topics(self, texts: Sequence[str]) -> Tokens:
        """Token vectors of topics: only the tokens that name something count."""
        with self._active() if self.kind != "query" else nullcontext():
            tokens = self._encode(texts, "query", self.query_tokens)
        rows = zip(texts, tokens.mask.numpy(), strict=True)
        content = [torch.from_numpy(self.backbone.content_tokens(text, mask)) for text, mask in rows]
        return Tokens(tokens.vectors, torch.stack(content))

    def documents(self, texts: Sequence[str]) -> Tokens:
        """Token vectors of documents, as far as ``document_tokens``."""
        if self.kind == "query":
            return self.frozen_documents(texts)
        with self._active():
            return self._encode(texts, "document", self.document_tokens)

    @torch.no_grad()
    def frozen_documents(self, texts: Sequence[str]) -> Tokens:
        """What the backbone gave before training. Each text is encoded once."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._frozen]
        if missing:
            fresh = self._encode(missing, "document", self.document_tokens)
            for text, vectors, mask in zip(missing, fresh.vectors, fresh.mask, strict=True):
                self._frozen[text] = vectors[mask]
        return _padded([self._frozen[text] for text in texts])

    def _active(self) -> AbstractContextManager[None]:
        return nullcontext() if self.terms is None else self.terms.active()

    def _encode(self, texts: Sequence[str], task: Task, most: int) -> Tokens:
        """Texts of like length together, since padding is paid for; dropout is off."""
        most = min(most, self.backbone.length(task))
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors: list[Tensor] = [torch.empty(0)] * len(texts)
        masks: list[Tensor] = [torch.empty(0)] * len(texts)
        for start in range(0, len(texts), _BATCH):
            part = order[start : start + _BATCH]
            output = self.backbone.encoder([texts[i] for i in part], task, most)
            for i, row, mask in zip(part, *output, strict=True):
                vectors[i], masks[i] = row, mask
        padded = nn.utils.rnn.pad_sequence(vectors, batch_first=True)
        return Tokens(padded, nn.utils.rnn.pad_sequence(masks, batch_first=True))


def _padded(rows: list[Tensor]) -> Tokens:
    lengths = torch.tensor([len(row) for row in rows])
    vectors = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return Tokens(vectors, torch.arange(vectors.shape[1]) < lengths[:, None])


def relevance(queries: Tokens, documents: Tokens) -> Tensor:
    """MaxSim of every query with every document, as the mean over the query's tokens."""
    return _pooled(queries, documents)


def best_evidence(topics: Tokens, owners: Sequence[int], queries: int, documents: Tokens) -> Tensor:
    """Each query's evidence in each document: that of its best-covered topic, 0 where it has none.

    Parameters
    ----------
    topics, owners
        the topics of all queries, and the number of the query that each one belongs to.
    queries
        how many queries there are.
    """
    matches = _pooled(topics, documents)
    place = torch.tensor(owners)[:, None].expand_as(matches)
    empty = matches.new_full((queries, matches.shape[1]), -1.0)
    found: Tensor = empty.scatter_reduce(0, place, matches, "amax")
    return torch.where(found > -1.0, found, torch.zeros_like(found))


def penalised(scores: Tensor, match: Tensor, constants: Constants) -> Tensor:
    """The operator's score, with gradients: relevance less what the evidence exceeds the relative cut by.

    Relevance is a mean over query tokens, so that it and the evidence are both cosines; the cut is a constant to the
    gradient, as the shortlist that it comes from is at query time.
    """
    cut = (match.mean(dim=1) + constants.anomaly_width * match.std(dim=1)).detach()
    return scores - constants.penalty_scale * torch.relu(match - cut[:, None])


def _pooled(queries: Tokens, documents: Tokens) -> Tensor:
    similarity = torch.einsum("qld,bmd->qblm", queries.vectors, documents.vectors)
    best = similarity.masked_fill(~documents.mask[None, :, None, :], -1.0).amax(dim=3)
    counted = queries.mask[:, None, :].to(best.dtype)
    pooled: Tensor = (best * counted).sum(dim=2) / counted.sum(dim=2)
    return pooled
