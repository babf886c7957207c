"""Low-rank terms: none at the start, foldable at the end, and only they are trained."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import AutoModel

from excise.encoders.lora import SwitchedLora, inject, load_lora_state, lora_state, merge
from excise.errors import InvalidInput

IDS = torch.tensor([[101, 2000, 3000, 102]])


@pytest.fixture
def encoder(plain_checkpoint: Path) -> nn.Module:
    loaded: nn.Module = AutoModel.from_pretrained(str(plain_checkpoint)).eval()
    return loaded


def outputs(encoder: nn.Module) -> torch.Tensor:
    with torch.inference_mode():
        hidden: torch.Tensor = encoder(input_ids=IDS).last_hidden_state
    return hidden


def disturb(encoder: nn.Module) -> None:
    torch.manual_seed(0)
    for parameter in encoder.parameters():
        if parameter.requires_grad:
            nn.init.normal_(parameter, std=0.1)


def test_fresh_terms_change_nothing(encoder: nn.Module) -> None:
    before = outputs(encoder)
    inject(encoder, rank=4)
    assert torch.equal(outputs(encoder), before)


def test_merging_computes_the_same(encoder: nn.Module) -> None:
    before = outputs(encoder)
    inject(encoder, rank=4)
    disturb(encoder)
    adapted = outputs(encoder)
    assert not torch.allclose(adapted, before, atol=1e-3)
    merge(encoder)
    assert torch.allclose(outputs(encoder), adapted, atol=1e-5)
    assert not lora_state(encoder)


def test_only_the_low_rank_terms_of_the_last_layers_are_trained(encoder: nn.Module) -> None:
    inject(encoder, rank=4, last_layers=1)
    names = [name for name, parameter in encoder.named_parameters() if parameter.requires_grad]
    assert names
    assert all("layer.1." in name and name.endswith((".down", ".up")) for name in names)


def test_state_goes_round(encoder: nn.Module, plain_checkpoint: Path) -> None:
    inject(encoder, rank=4)
    disturb(encoder)
    other = AutoModel.from_pretrained(str(plain_checkpoint)).eval()
    inject(other, rank=4)
    load_lora_state(other, lora_state(encoder))
    assert torch.allclose(outputs(other), outputs(encoder))


def test_misfits_are_refused(encoder: nn.Module, plain_checkpoint: Path) -> None:
    inject(encoder, rank=4)
    other = AutoModel.from_pretrained(str(plain_checkpoint))
    inject(other, rank=2)
    with pytest.raises(InvalidInput, match="another encoder, or with another rank"):
        load_lora_state(other, lora_state(encoder))
    with pytest.raises(InvalidInput, match="at least 1"):
        inject(nn.Linear(2, 2), rank=0)
    with pytest.raises(InvalidInput, match="no stack of layers"):
        inject(nn.Linear(2, 2))


def test_switched_terms_count_only_while_they_are_on(encoder: nn.Module) -> None:
    before, names = outputs(encoder), list(encoder.state_dict())
    terms = SwitchedLora(encoder, rank=4)
    with terms.active():
        assert torch.equal(outputs(encoder), before)
    disturb(terms)
    with terms.active():
        adapted = outputs(encoder)
    assert not torch.allclose(adapted, before, atol=1e-3)
    assert torch.equal(outputs(encoder), before)
    assert list(encoder.state_dict()) == names
    with pytest.raises(KeyError), terms.active():
        raise KeyError
    assert not terms.is_active


def test_switched_terms_compute_what_injected_ones_do(encoder: nn.Module, plain_checkpoint: Path) -> None:
    terms = SwitchedLora(encoder, rank=4, last_layers=1)
    disturb(terms)
    injected = AutoModel.from_pretrained(str(plain_checkpoint)).eval()
    inject(injected, rank=4, last_layers=1)
    load_lora_state(injected, terms.state())
    with terms.active():
        assert torch.allclose(outputs(encoder), outputs(injected), atol=1e-5)


def test_threads_switch_for_themselves(encoder: nn.Module) -> None:
    terms = SwitchedLora(encoder, rank=4)
    disturb(terms)
    frozen = outputs(encoder)
    with terms.active(), ThreadPoolExecutor(1) as pool:
        assert torch.equal(pool.submit(outputs, encoder).result(), frozen)
        assert not torch.equal(outputs(encoder), frozen)


def test_terms_leave_no_trace_when_they_go(encoder: nn.Module) -> None:
    terms = SwitchedLora(encoder, rank=4)
    with pytest.raises(InvalidInput, match="another encoder"):
        terms.load_state({})
    del terms
    gc.collect()
    assert not any(module._forward_hooks for module in encoder.modules())


def test_folding_makes_the_terms_part_of_the_weights(encoder: nn.Module) -> None:
    terms = SwitchedLora(encoder, rank=4)
    disturb(terms)
    with terms.active():
        adapted = outputs(encoder)
    terms.fold(encoder)
    assert torch.allclose(outputs(encoder), adapted, atol=1e-5)
    with terms.active():
        assert torch.allclose(outputs(encoder), adapted, atol=1e-5)
