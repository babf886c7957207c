"""Eight-bit weights: nearly the same hidden states, one text at a time."""

from __future__ import annotations

import pytest
import torch

from excise.encoders.bert import Bert, BertShape
from excise.encoders.eight_bits import EightBitBert, input_reach
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


def test_an_input_that_dwarfs_the_others_costs_less_where_it_is_known(bert: Bert) -> None:
    for layer in bert.encoder.layer:
        layer.attention.output.LayerNorm.bias.data[7] = 40.0
    rows = torch.randint(0, 100, (9, 20))
    reach = input_reach(bert, rows[1:].tolist())
    assert reach["0.inner"][7] > 30 > reach["0.inner"][8]
    with torch.inference_mode():
        exact, rough, near = (
            network(rows[:1]).last_hidden_state for network in (bert, EightBitBert(bert), EightBitBert(bert, reach))
        )
    assert (near - exact).square().mean() < 0.25 * (rough - exact).square().mean()


def test_looking_for_the_reach_leaves_nothing_behind(bert: Bert) -> None:
    before = input_reach(bert, [[1, 2, 3]])
    bert(torch.tensor([[4, 5, 6, 7]]))
    assert all(torch.equal(before[name], reach) for name, reach in input_reach(bert, [[1, 2, 3]]).items())
    assert not any(module._forward_pre_hooks for module in bert.modules())


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
