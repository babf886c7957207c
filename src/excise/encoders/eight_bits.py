"""A BERT that computes with eight-bit weights: twice as fast as floats on short texts, and a little less exact.

Inputs of each linear map are rounded to eight bits as well, on a scale of the whole batch. What a text gives would
therefore depend on its neighbours, so texts go through one by one. Some inputs are ten times as large as the others,
which would leave few steps of that scale to those: where it is known how far each input reaches, most of that goes over
to the weights first (SmoothQuant: Xiao et al., 2023).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from excise.encoders.bert import Bert, BertOutput
from excise.errors import InvalidInput

_TO_WEIGHTS = 0.8  # how much of an input's reach its weights take over: the least error of a detector's logits


class EightBitBert(nn.Module):
    """The same hidden states as a BERT's, nearly, for one text at a time.

    Parameters
    ----------
    bert
        the BERT.
    reach
        how far the inputs of its linear maps reach, as :func:`input_reach` finds out.

    Examples
    --------
    >>> from excise.encoders.bert import BertShape
    >>> shape = BertShape(10, 8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
    ...                   max_position_embeddings=6)
    >>> EightBitBert(Bert(shape).eval())(torch.tensor([[1, 2, 3]])).last_hidden_state.shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, bert: Bert, reach: Mapping[str, Tensor] | None = None) -> None:
        super().__init__()
        self.shape = bert.shape
        self.embeddings = bert.embeddings
        self.norms = nn.ModuleList()
        self._maps: list[list[_Map]] = []
        known = reach or {}
        for number, layer in enumerate(bert.encoder.layer):
            own: Any = layer
            self._maps.append([_Map(maps, known.get(f"{number}.{name}")) for name, maps in _maps_of(layer).items()])
            self.norms.extend([own.attention.output.LayerNorm, own.output.LayerNorm])

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> BertOutput:
        """Hidden states of one text. A mask may be given and must hide nothing."""
        if len(input_ids) != 1 or (attention_mask is not None and not bool(attention_mask.all())):
            raise InvalidInput("with eight-bit weights, texts are read one at a time and without padding.")
        hidden: Tensor = self.embeddings(input_ids)
        tokens = input_ids.shape[1]
        for number, (three, attended, inner, outer) in enumerate(self._maps):
            heads = three(hidden).view(tokens, 3, self.shape.num_attention_heads, -1)
            query, key, value = heads.permute(1, 2, 0, 3).unsqueeze(1)
            seen = scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(hidden.shape)
            hidden = self.norms[2 * number](attended(seen) + hidden)
            hidden = self.norms[2 * number + 1](outer(gelu(inner(hidden))) + hidden)
        return BertOutput(hidden)


def input_reach(bert: Bert, texts: Iterable[Sequence[int]]) -> dict[str, Tensor]:
    """The largest absolute value of every input of every linear map that texts, given as token ids, bring about.

    Examples
    --------
    >>> from excise.encoders.bert import BertShape
    >>> shape = BertShape(10, 8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
    ...                   max_position_embeddings=6)
    >>> {name: len(reach) for name, reach in input_reach(Bert(shape).eval(), [[1, 2, 3]]).items()}
    {'0.three': 8, '0.attended': 8, '0.inner': 8, '0.outer': 16}
    """
    found: dict[str, Tensor] = {}

    def noted(name: str) -> Any:
        def note(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            largest = inputs[0].detach().abs().flatten(0, -2).amax(dim=0)
            found[name] = torch.maximum(found[name], largest) if name in found else largest

        return note

    hooks = [
        own[0].register_forward_pre_hook(noted(f"{number}.{name}"))
        for number, layer in enumerate(bert.encoder.layer)
        for name, own in _maps_of(layer).items()
    ]
    try:
        with torch.inference_mode():
            for ids in texts:
                bert(torch.tensor([ids]))
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _maps_of(layer: Any) -> dict[str, list[nn.Linear]]:
    """A layer's linear maps, in the order it uses them; those that share their input together."""
    attention = layer.attention.self
    return {
        "three": [attention.query, attention.key, attention.value],
        "attended": [layer.attention.output.dense],
        "inner": [layer.intermediate.dense],
        "outer": [layer.output.dense],
    }


class _Map:
    """Linear maps of the same input as one, each row of weights with a scale of its own."""

    def __init__(self, maps: Sequence[nn.Linear], reach: Tensor | None) -> None:
        weight = torch.cat([part.weight.detach() for part in maps])
        self.shrink = None if reach is None else _shrink(weight, reach)
        if self.shrink is not None:
            weight = weight / self.shrink
        scale = weight.abs().amax(dim=1).clamp(min=1e-12) / 127
        whole = torch.round(weight / scale[:, None]).to(torch.int8)
        zeros = torch.zeros(len(scale), dtype=torch.long)
        with warnings.catch_warnings():  # torch means to drop these tensors some day; floats serve then
            warnings.simplefilter("ignore")
            rows = torch._make_per_channel_quantized_tensor(whole, scale.double(), zeros, 0)
        self.packed = torch.ops.quantized.linear_prepack(rows, torch.cat([part.bias.detach() for part in maps]))

    def __call__(self, inputs: Tensor) -> Tensor:
        if self.shrink is not None:
            inputs = inputs * self.shrink
        # Seven bits for inputs: with eight, sums of products overflow on processors that lack instructions for them.
        product: Tensor = torch.ops.quantized.linear_dynamic(inputs, self.packed, reduce_range=True)
        return product


def _shrink(weight: Tensor, reach: Tensor) -> Tensor:
    """What each input is multiplied with, and its weights divided by."""
    largest = weight.abs().amax(dim=0).clamp(min=1e-5)
    ratio = largest ** (1 - _TO_WEIGHTS) / reach.clamp(min=1e-5) ** _TO_WEIGHTS
    return (ratio / ratio.median()).clamp(max=100.0)
