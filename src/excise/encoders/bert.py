"""BERT (Devlin et al., 2019) as far as the embedded encoder needs it: token ids in, one hidden state per token out.

The modules bear the names that published BERT weights are stored under, so that a weight file, and low-rank terms that
were trained on any other implementation, fit as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from excise.errors import BackboneError


@dataclass(frozen=True)
class BertShape:
    """The sizes of a BERT, named as in its ``config.json``."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> BertShape:
        """The sizes that a configuration names.

        Examples
        --------
        >>> BertShape.of({"model_type": "gpt2"})
        Traceback (most recent call last):
            ...
        excise.errors.BackboneError: these weights are of a 'gpt2' with None, not of a BERT with gelu.
        """
        kind, activation = config.get("model_type"), config.get("hidden_act")
        if (kind, activation) != ("bert", "gelu"):
            raise BackboneError(f"these weights are of a {kind!r} with {activation}, not of a BERT with gelu.")
        return cls(**{field.name: config[field.name] for field in fields(cls) if field.name in config})


class BertOutput(NamedTuple):
    """Hidden states, texts by tokens by width: the last layer's, and where asked for those before each layer too."""

    last_hidden_state: Tensor
    hidden_states: tuple[Tensor, ...] = ()


class Run(NamedTuple):
    """Texts of one length that stand next to each other: where their tokens start and end, and how many texts."""

    start: int
    end: int
    texts: int


# What a token may look at: a mask over padding, texts laid end to end, or, with None, all of its text.
Sight = Tensor | tuple[Run, ...] | None


class Bert(nn.Module):
    """A stack of transformer layers over word and position embeddings. It is called as encoders of transformers are.

    Its weights mean nothing until trained ones are put in, which :func:`load_bert` does.

    Examples
    --------
    >>> shape = BertShape(10, 8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
    ...                   max_position_embeddings=6)
    >>> Bert(shape).eval()(torch.tensor([[1, 2, 3]])).last_hidden_state.shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.shape = shape
        self.embeddings = _Embeddings(shape)
        self.encoder = _Stack(shape)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, output_hidden_states: bool = False
    ) -> BertOutput:
        """Hidden states of texts.

        Parameters
        ----------
        input_ids
            token ids, texts by tokens.
        attention_mask
            1 for tokens, 0 for padding; without one there is no padding.
        output_hidden_states
            also give what went into each layer, the last hidden state at the end.
        """
        # Without padding there is nothing to mask, and unmasked attention is faster.
        padded = attention_mask is not None and not bool(attention_mask.all())
        mask = attention_mask[:, None, None, :].bool() if attention_mask is not None and padded else None
        hidden: Tensor = self.embeddings(input_ids)
        states = [hidden]
        for layer in self.encoder.layer:
            hidden = layer(hidden, mask)
            if output_hidden_states:
                states.append(hidden)
        return BertOutput(hidden, tuple(states) if output_hidden_states else ())

    def packed(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """The last hidden states of texts laid end to end, tokens by width: padding is neither stored nor computed.

        Parameters
        ----------
        rows
            each text's token ids. Neighbours of the same length are faster.

        Examples
        --------
        >>> shape = BertShape(10, 8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        ...                   max_position_embeddings=6)
        >>> Bert(shape).eval().packed([[1, 2, 3], [4]]).shape
        torch.Size([4, 8])
        """
        lengths = [len(row) for row in rows]
        ids = torch.tensor([token for row in rows for token in row])
        hidden: Tensor = self.embeddings(ids, torch.cat([torch.arange(length) for length in lengths]))
        sight = _runs(lengths)
        for layer in self.encoder.layer:
            hidden = layer(hidden, sight)
        return hidden


def attend_to_all(bert: Bert) -> None:
    """Let no attention be dropped in training: it then has a kernel that is twice as fast."""
    for module in bert.modules():
        if isinstance(module, _SelfAttention):
            module.dropout = 0.0


def read_shape(file: Path) -> BertShape:
    """The sizes that a ``config.json`` names."""
    return BertShape.of(json.loads(file.read_text(encoding="utf-8")))


def is_bert(folder: Path) -> bool:
    """Whether a checkpoint's folder holds a plain BERT."""
    try:
        kind = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type")
    except (OSError, ValueError) as error:
        raise BackboneError(f"{folder} holds no encoder: {error}.") from error
    return bool(kind == "bert")


def write_shape(shape: BertShape, file: Path) -> None:
    """Write a BERT's sizes as a ``config.json``."""
    config = {"model_type": "bert", "hidden_act": "gelu", **asdict(shape)}
    file.write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def load_bert(folder: Path) -> Bert:
    """The BERT of a folder with ``config.json`` and ``model.safetensors``, not in training."""
    from safetensors.torch import load_file

    try:
        shape = read_shape(folder / "config.json")
        weights = load_file(folder / "model.safetensors")
    except (OSError, ValueError, TypeError) as error:
        raise BackboneError(f"{folder} does not hold a BERT: {error}.") from error
    with torch.device("meta"):  # no memory, no random numbers: every weight comes from the file
        bert = Bert(shape)
    needed = bert.state_dict().keys()
    bert.load_state_dict({name: tensor for name, tensor in weights.items() if name in needed}, assign=True)
    return bert.eval()


def _table(rows: int, width: int) -> nn.Embedding:
    """An embedding whose values are still to come. Drawing random ones on no device would load torch's compiler."""
    return nn.Embedding(rows, width, _weight=torch.zeros(rows, width), _freeze=False)


class _Embeddings(nn.Module):
    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.word_embeddings = _table(shape.vocab_size, shape.hidden_size)
        self.position_embeddings = _table(shape.max_position_embeddings, shape.hidden_size)
        self.token_type_embeddings = _table(shape.type_vocab_size, shape.hidden_size)
        self.LayerNorm = nn.LayerNorm(shape.hidden_size, eps=shape.layer_norm_eps)
        self.dropout = nn.Dropout(shape.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, positions: Tensor | None = None) -> Tensor:
        words = self.word_embeddings(input_ids) + self.token_type_embeddings.weight[0]  # all are of the first sentence
        table = self.position_embeddings.weight
        places = table[: input_ids.shape[1]] if positions is None else table[positions]
        placed: Tensor = self.dropout(self.LayerNorm(words + places))
        return placed


class _Stack(nn.Module):
    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.layer = nn.ModuleList(_Layer(shape) for _ in range(shape.num_hidden_layers))


class _Layer(nn.Module):
    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.attention = _Attention(shape)
        self.intermediate = _Intermediate(shape)
        self.output = _Output(shape.intermediate_size, shape)

    def forward(self, hidden: Tensor, sight: Sight) -> Tensor:
        attended: Tensor = self.attention(hidden, sight)
        output: Tensor = self.output(self.intermediate(attended), attended)
        return output


class _Attention(nn.Module):
    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.self = _SelfAttention(shape)
        self.output = _Output(shape.hidden_size, shape)

    def forward(self, hidden: Tensor, sight: Sight) -> Tensor:
        output: Tensor = self.output(self.self(hidden, sight), hidden)
        return output


class _SelfAttention(nn.Module):
    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.heads = shape.num_attention_heads
        self.dropout = shape.attention_probs_dropout_prob
        self.query = nn.Linear(shape.hidden_size, shape.hidden_size)
        self.key = nn.Linear(shape.hidden_size, shape.hidden_size)
        self.value = nn.Linear(shape.hidden_size, shape.hidden_size)

    def forward(self, hidden: Tensor, sight: Sight) -> Tensor:
        query, key, value = self.query(hidden), self.key(hidden), self.value(hidden)
        if not isinstance(sight, tuple):
            return self._attended(query, key, value, sight)
        width = hidden.shape[-1]
        seen = []
        for start, end, texts in sight:
            asks, offers, holds = (part[start:end].view(texts, -1, width) for part in (query, key, value))
            seen.append(self._attended(asks, offers, holds, None).reshape(-1, width))
        return torch.cat(seen)

    def _attended(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        query, key, value = (self._by_head(part) for part in (query, key, value))
        dropout = self.dropout if self.training else 0.0
        attended = scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        return attended.transpose(1, 2).flatten(2)

    def _by_head(self, part: Tensor) -> Tensor:
        texts, tokens, _ = part.shape
        return part.view(texts, tokens, self.heads, -1).transpose(1, 2)


def _runs(lengths: Sequence[int]) -> tuple[Run, ...]:
    runs, start = [], 0
    for length, group in groupby(lengths):
        texts = len(list(group))
        runs.append(Run(start, start + texts * length, texts))
        start += texts * length
    return tuple(runs)


class _Intermediate(nn.Module):
    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.dense = nn.Linear(shape.hidden_size, shape.intermediate_size)

    def forward(self, hidden: Tensor) -> Tensor:
        return gelu(self.dense(hidden))


class _Output(nn.Module):
    """A linear map added to what went in before, and normalised."""

    def __init__(self, width: int, shape: BertShape) -> None:
        super().__init__()
        self.dense = nn.Linear(width, shape.hidden_size)
        self.LayerNorm = nn.LayerNorm(shape.hidden_size, eps=shape.layer_norm_eps)
        self.dropout = nn.Dropout(shape.hidden_dropout_prob)

    def forward(self, hidden: Tensor, residual: Tensor) -> Tensor:
        output: Tensor = self.LayerNorm(self.dropout(self.dense(hidden)) + residual)
        return output
