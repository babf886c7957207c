"""The exclusion adapter, trained and written by its command."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from typer.testing import CliRunner

from excise.cli.app import app
from excise.encoders.adapter import Adapter
from excise.encoders.backbone import load_backbone
from excise.training.adapter.exclusion_adapter import drift
from excise.training.contrastive.learner import Tokens


def test_drift_is_nothing_for_unmoved_vectors() -> None:
    tokens = Tokens(torch.eye(2)[None], torch.tensor([[True, True]]))
    assert drift(tokens, tokens).item() == 0
    assert drift(tokens, Tokens(torch.eye(2).flip(0)[None], tokens.mask)).item() == 1


def test_the_command_writes_an_adapter_with_its_card(plain_checkpoint: Path, tmp_path: Path) -> None:
    command = ["train", "adapter", "--out", str(tmp_path), "--backbone", str(plain_checkpoint)]
    command += ["--limit", "24", "--searched", "8", "--epochs", "1"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    figures = json.loads((tmp_path / "training.json").read_text())
    assert figures["leakage"] == [{"name": "own dev", "queries": 0, "documents": 0}]
    assert len(figures["held_out"]) == 6
    card = (tmp_path / "README.md").read_text()
    assert "excise train adapter --out DIR" in card
    assert "| own dev | 0 | 0 |" in card
    assert Adapter.from_pretrained(tmp_path, load_backbone(str(plain_checkpoint))).config.side == "both"
    first = (tmp_path / "adapter.safetensors").read_bytes()
    assert CliRunner().invoke(app, command).exit_code == 0  # nothing is left to do
    assert (tmp_path / "adapter.safetensors").read_bytes() == first
