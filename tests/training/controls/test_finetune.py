"""The fine-tuned controls, trained and written by their command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from excise.cli.app import app
from excise.encoders.adapter import Adapter
from excise.encoders.backbone import load_backbone
from excise.errors import InvalidInput
from excise.training.contrastive.loop import LearnerArguments
from excise.training.contrastive.protocol import LearnerRecipe
from excise.training.controls.finetune import make_control


@pytest.mark.parametrize("kind", ["lora", "full"])
def test_a_fine_tuned_control_is_a_backbone(kind: str, pylate_checkpoint: Path, tmp_path: Path) -> None:
    command = ["train", "control", "--kind", kind, "--out", str(tmp_path), "--backbone", str(pylate_checkpoint)]
    command += ["--limit", "12", "--epochs", "1", "--learning-rate", "0.001", "--replay"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    tuned, base = load_backbone(str(tmp_path)), load_backbone(str(pylate_checkpoint))
    assert tuned.weights_fingerprint != base.weights_fingerprint
    assert tuned.encode_query("cars, not Tesla").vectors.shape == base.encode_query("cars, not Tesla").vectors.shape
    assert "--replay" in (tmp_path / "README.md").read_text()
    assert json.loads((tmp_path / "training.json").read_text())["ordinary_pairs"] == 12


def test_the_query_control_is_a_query_side_adapter(plain_checkpoint: Path, tmp_path: Path) -> None:
    recipe = LearnerRecipe(
        str(plain_checkpoint), arguments=LearnerArguments(1e-3, epochs=1), choose_rate=False, limit=12
    )
    make_control(recipe, "query", tmp_path)
    assert Adapter.from_pretrained(tmp_path, load_backbone(str(plain_checkpoint))).config.side == "query"
    with pytest.raises(InvalidInput, match="unknown control 'half'"):
        make_control(recipe, "half", tmp_path)
