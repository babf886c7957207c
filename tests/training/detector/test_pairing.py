"""Two detectors written as one, with a threshold of their own."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from typer.testing import CliRunner

from excise.cli.app import app
from excise.errors import InvalidInput
from excise.topics.detector import Detector, DetectorConfig


def test_the_command_writes_both_and_a_card(plain_checkpoint: Path, tmp_path: Path) -> None:
    for seed, name in enumerate(("first", "second")):
        torch.manual_seed(seed)
        detector = Detector.untrained(DetectorConfig(encoder=str(plain_checkpoint), rank=2))
        assert detector.tagger.query is not None
        with torch.no_grad():  # it never fires: nothing is ever a topic
            detector.tagger.head.bias.copy_(torch.tensor([9.0, -9.0, -9.0]))
            detector.tagger.query.bias.fill_(-9.0)
        detector.save_pretrained(tmp_path / name)
        (tmp_path / name / "README.md").write_text(f"the card of the {name}")
    for name in ("excluir_queries_only/train", "plain_queries/train", "scifact/queries", "nfcorpus/queries"):
        file = tmp_path / "data" / f"{name}.jsonl"
        file.parent.mkdir(parents=True)
        row = {"text": "cars, not Tesla", "excluded_silver": ["Tesla"], "wanted_silver": "cars"}
        file.write_text((json.dumps(row if name.startswith("excluir") else {"text": "cars"}) + "\n") * 20)
    order = ["train", "pair", str(tmp_path / "first"), str(tmp_path / "second")]
    order += ["--out", str(tmp_path / "pair"), "--data", str(tmp_path / "data")]
    result = CliRunner().invoke(app, order)
    assert result.exit_code == 0, result.output
    pair = Detector.from_pretrained(tmp_path / "pair")
    assert pair.companion is not None
    assert pair.config.threshold == 0.1
    assert (tmp_path / "pair" / "companion" / "TRAINING.md").read_text() == "the card of the second"
    assert "fires above 0.1" in (tmp_path / "pair" / "README.md").read_text()
    assert json.loads((tmp_path / "pair" / "validation.json").read_text())["threshold"] == 0.1
    again = CliRunner().invoke(app, order)
    assert isinstance(again.exception, InvalidInput)
    assert "not empty" in str(again.exception)
