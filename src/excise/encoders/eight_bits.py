"""A BERT that computes with eight-bit weights: twice as fast as floats on short texts, and a little less exact.

Inputs of each linear map are rounded to eight bits as well, on a scale of the whole batch. What a text gives would
therefore depend on its neighbours, so texts go through one by one.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from excise.encoders.bert import Bert, BertOutput
from excise.errors import InvalidInput


class EightBitBert(nn.Module):
    """The same hidden states as a BERT's, nearly, for one text at a time.

    Examples
    --------
    >>> from excise.encoders.bert import BertShape
    >>> shape = BertShape(10, 8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
    ...                   max_position_embeddings=6)
    >>> EightBitBert(Bert(shape).eval())(torch.tensor([[1, 2, 3]])).last_hidden_state.shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.shape = bert.shape
        self.embeddings = bert.embeddings
        self.norms = nn.ModuleList()
        self._maps: list[tuple[Any, Any, Any, Any]] = []
        for layer in bert.encoder.layer:
            own: Any = layer
            three = own.attention.self.query, own.attention.self.key, own.attention.self.value
            attended, inner, outer = own.attention.output, own.intermediate, own.output
            self._maps.append((_packed(*three), *(_packed(part.dense) for part in (attended, inner, outer))))
            self.norms.extend([attended.LayerNorm, outer.LayerNorm])

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> BertOutput:
        """Hidden states of one text. A mask may be given and must hide nothing."""
        if len(input_ids) != 1 or (attention_mask is not None and not bool(attention_mask.all())):
            raise InvalidInput("with eight-bit weights, texts are read one at a time and without padding.")
        hidden: Tensor = self.embeddings(input_ids)
        tokens = input_ids.shape[1]
        for number, (three, attended, inner, outer) in enumerate(self._maps):
            heads = _product(hidden, three).view(tokens, 3, self.shape.num_attention_heads, -1)
            query, key, value = heads.permute(1, 2, 0, 3).unsqueeze(1)
            seen = scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(hidden.shape)
            hidden = self.norms[2 * number](_product(seen, attended) + hidden)
            hidden = self.norms[2 * number + 1](_product(gelu(_product(hidden, inner)), outer) + hidden)
        return BertOutput(hidden)


def _packed(*maps: nn.Linear) -> Any:
    """Linear maps of the same input as one, each row of weights with a scale of its own."""
    weight = torch.cat([part.weight.detach() for part in maps])
    scale = weight.abs().amax(dim=1).clamp(min=1e-12) / 127
    whole = torch.round(weight / scale[:, None]).to(torch.int8)
    zeros = torch.zeros(len(scale), dtype=torch.long)
    with warnings.catch_warnings():  # torch means to drop these tensors some day: see Detector, which can do without
        warnings.simplefilter("ignore")
        rows = torch._make_per_channel_quantized_tensor(whole, scale.double(), zeros, 0)
    return torch.ops.quantized.linear_prepack(rows, torch.cat([part.bias.detach() for part in maps]))


def _product(inputs: Tensor, packed: Any) -> Tensor:
    # Seven bits for the inputs: with eight, sums of products overflow on processors that lack instructions for them.
    product: Tensor = torch.ops.quantized.linear_dynamic(inputs, packed, reduce_range=True)
    return product
