"""A BERT written as an ONNX graph, floats and whole numbers, read back under its own names."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from excise.cli.app import app
from excise.encoders.bert import Bert, BertShape, load_bert
from excise.errors import BackboneError
from excise.training.detector.onnx_base import read_onnx, write_base
from onnx_graphs import write_graph

onnx = pytest.importorskip("onnx")

SHAPE = BertShape(50, 16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32, max_position_embeddings=12)


def made_up() -> Bert:
    torch.manual_seed(0)
    bert = Bert(SHAPE).eval()
    for parameter in bert.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return bert


@pytest.mark.parametrize(("whole_numbers", "error"), [(False, 0.0), (True, 0.01)])
def test_the_weights_come_back(tmp_path: Path, whole_numbers: bool, error: float) -> None:
    bert = made_up()
    write_graph(bert, tmp_path / "model.onnx", whole_numbers)
    read = read_onnx(tmp_path / "model.onnx")
    assert read.keys() == bert.state_dict().keys()
    for name, tensor in bert.state_dict().items():
        assert read[name] == pytest.approx(tensor.numpy(), abs=error), name


def test_the_command_writes_what_a_detector_can_be_trained_on(tmp_path: Path) -> None:
    bert = made_up()
    write_graph(bert, tmp_path / "model.onnx", whole_numbers=False)
    command = ["train", "base", str(tmp_path / "model.onnx"), "--out", str(tmp_path / "base"), "--heads", "2"]
    done = CliRunner().invoke(app, [*command, "--layers", "2"])
    assert done.exit_code == 0, done.output
    assert "2 layers of width 16" in done.output
    again = load_bert(tmp_path / "base")
    bert.encoder.layer = bert.encoder.layer[:2]
    ids = torch.tensor([[1, 2, 3, 4]])
    assert torch.allclose(again(ids).last_hidden_state, bert(ids).last_hidden_state, atol=1e-5)
    assert (tmp_path / "base" / "tokenizer.json").read_text() == "{}"


def test_what_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    with pytest.raises(BackboneError, match=r"no tokenizer\.json"):
        write_base(file, tmp_path / "base")
    with pytest.raises(BackboneError, match="is not an ONNX file"):
        read_onnx(file)
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "empty", [], [])), str(file))
    with pytest.raises(BackboneError, match="no word embeddings"):
        read_onnx(file)
    write_graph(made_up(), file, whole_numbers=False)
    with pytest.raises(BackboneError, match="there are 3 layers, and 4 were asked for"):
        write_base(file, tmp_path / "base", layers=4)
    with pytest.raises(BackboneError, match="5 attention heads do not divide a width of 16"):
        write_base(file, tmp_path / "base", heads=5)
