"""Eight-bit weights: nearly the same hidden states, one text at a time."""

from __future__ import annotations

import pytest
import torch

from excise.encoders.bert import Bert, BertShape
from excise.encoders.eight_bits import EightBitBert
from excise.encoders.packed import pack, unpack
from excise.errors import InvalidInput


@pytest.fixture
def bert() -> Bert:
    torch.manual_seed(0)
    shape = BertShape(
        100, 64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_position_embeddings=32
    )
    made = Bert(shape).eval()
    for name, parameter in made.named_parameters():
        if "LayerNorm" not in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return made


def test_the_hidden_states_are_nearly_those_of_floats(bert: Bert) -> None:
    ids = torch.randint(0, 100, (1, 20))
    with torch.inference_mode():
        exact, near = bert(ids).last_hidden_state, EightBitBert(bert)(ids).last_hidden_state
    assert torch.cosine_similarity(exact, near, dim=-1).min() > 0.995
    assert not torch.equal(exact, near)


def test_several_texts_or_padding_are_refused(bert: Bert) -> None:
    eight = EightBitBert(bert)
    for ids, mask in (([[1, 2], [3, 4]], None), ([[1, 2]], [[1, 0]])):
        with pytest.raises(InvalidInput, match="one at a time"):
            eight(torch.tensor(ids), None if mask is None else torch.tensor(mask))


def test_stored_weights_are_the_ones_that_it_computes_with(bert: Bert) -> None:
    """What was rounded once is not rounded again: a stored detector answers as it did before it was stored."""
    again = Bert(bert.shape).eval()
    again.load_state_dict(unpack(pack(bert.state_dict())))
    twice = unpack(pack(again.state_dict()))
    assert all(torch.allclose(tensor, twice[name], atol=1e-7) for name, tensor in again.state_dict().items())
