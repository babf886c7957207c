"""The network inside the detector: an encoder that was adapted, and heads that judge each token and the whole query."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from excise.encoders.lora import inject, merge, unfreeze
from excise.errors import InvalidInput

TAGS = 3  # outside of any topic, the first token of one, inside of one


class TagLogits(NamedTuple):
    """What the tagger says of queries, in logits.

    Attributes
    ----------
    tags
        queries by tokens by tags.
    query
        for each query that it excludes something, read off the token that stands for all of it; None where the
        tagger has never learned that.
    """

    tags: Tensor
    query: Tensor | None

    @property
    def excluded(self) -> Tensor:
        """For each token that it names an excluded topic, whichever part of it."""
        return torch.logsumexp(self.tags[..., 1:], dim=-1) - self.tags[..., 0]


class TokenTagger(nn.Module):
    """An encoder, a linear head that gives each token a logit for each tag, and one for the query as a whole.

    Parameters
    ----------
    transformer
        what reads the query; its weights belong to the tagger from now on.
    width
        the width of its hidden states.
    rank, alpha
        the size of the low-rank terms; with a rank of 0 there are none, and whole layers are trained. The embeddings
        never are: a few thousand queries would only teach them about the words that they happen to use.
    last_layers
        how many layers are adapted.
    """

    def __init__(self, transformer: nn.Module, width: int, rank: int, alpha: float, last_layers: int) -> None:
        super().__init__()
        self.encoder = transformer
        if rank:
            inject(self.encoder, rank, alpha, last_layers)
        else:
            unfreeze(self.encoder, last_layers)
        self.head = nn.Linear(width, TAGS)
        self.query: nn.Linear | None = nn.Linear(width, 1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> TagLogits:
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state.float()
        with torch.autocast("cpu", enabled=False):  # in training, what comes before may be in bfloat16
            return TagLogits(self.head(hidden), None if self.query is None else self.query(hidden[:, 0]).squeeze(-1))

    def state(self) -> dict[str, Tensor]:
        """The trained weights by name."""
        return {name: weight.detach().clone() for name, weight in self.named_parameters() if weight.requires_grad}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Put trained weights in."""
        if "query.weight" not in state:
            self.query = None
        if len(state.get("head.weight", ())) == 1:
            state = {**state, **_three_tags(state["head.weight"], state["head.bias"])}
        own = self.state()
        if own.keys() != state.keys() or any(own[name].shape != state[name].shape for name in own):
            raise InvalidInput("these weights were trained on another encoder, or with another rank.")
        self.load_state_dict(state, strict=False)

    def fold(self) -> None:
        """Make the low-rank terms part of the encoder's weights: the same logits at the frozen encoder's cost."""
        merge(self.encoder)


def _three_tags(weight: Tensor, bias: Tensor) -> dict[str, Tensor]:
    """The head of a detector of version 0.1, which knew topics but not where they start, with the same chances."""
    return {
        "head.weight": torch.cat([torch.zeros_like(weight), weight, weight]),
        "head.bias": torch.cat([torch.zeros_like(bias), bias - math.log(2), bias - math.log(2)]),
    }
