"""Two detectors written as one, with a threshold of their own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from excise.cli.app import app
from excise.errors import InvalidInput
from excise.topics.detector import Detector, DetectorConfig
from excise.training.detector.examples import Example
from excise.training.detector.pairing import least_threshold


def ordinary(count: int, source: str = "plain") -> list[Example]:
    return [Example("how tall is a giraffe", (), source, "", held_out=True)] * count


def test_the_least_threshold_within_every_budget() -> None:
    rows = [*ordinary(1_000), *ordinary(100, "nfcorpus")]
    quiet = np.zeros(1_000)
    quiet[:2] = 0.3, 0.2  # one of a thousand may fire
    loud = np.zeros(100)
    loud[:2] = 0.9, 0.5  # and one of a hundred titles
    assert least_threshold(quiet, ordinary(1_000)) == 0.2
    assert least_threshold(np.concatenate([quiet, loud]), rows) == 0.5


def test_detectors_that_always_fire_are_no_pair() -> None:
    with pytest.raises(InvalidInput, match="at every threshold"):
        least_threshold(np.ones(100), ordinary(100))


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
