"""Training a detector further: from the weights that it has, with some of the rows that it has seen."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from test_detector_training import EXAMPLES
from typer.testing import CliRunner

from excise.cli.app import app
from excise.errors import BackboneError, InvalidInput
from excise.topics.detector import Detector, DetectorConfig
from excise.training.detector.examples import Example
from excise.training.detector.further import Start, rehearsed, train_further
from excise.training.detector.tagging import DetectorArguments, span_scores, train_detector

ARGUMENTS = DetectorArguments(learning_rate=2e-3, epochs=25, batch_tokens=128, head_rate=5.0)
SHORT = DetectorArguments(learning_rate=1e-3, epochs=1, batch_tokens=128)


@pytest.fixture(scope="module", params=[0, 4])
def trained(request: pytest.FixtureRequest, plain_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A detector of whole layers, and one of low-rank terms."""
    folder = tmp_path_factory.mktemp("trained")
    config = DetectorConfig(encoder=str(plain_checkpoint), rank=request.param)
    train_detector(EXAMPLES, ARGUMENTS, config).save_pretrained(folder)
    return folder


def test_it_goes_on_from_the_weights_that_it_has(trained: Path) -> None:
    slow = DetectorArguments(learning_rate=1e-9, epochs=1, batch_tokens=128)
    further = train_further(Start(trained), EXAMPLES, slow)
    before = Detector.to_train_on(trained)
    assert span_scores(further, EXAMPLES) == pytest.approx(span_scores(before, EXAMPLES), abs=1e-4)
    assert span_scores(further, EXAMPLES[:2]) == pytest.approx([1, 0], abs=0.4)


def test_the_weights_of_before_are_mixed_in(trained: Path) -> None:
    before = Detector.to_train_on(trained).tagger.state()
    after = train_detector(EXAMPLES, SHORT, start=trained).tagger.state()
    mixed = train_further(Start(trained, keep=0.25), EXAMPLES, SHORT).tagger.state()
    for name, weights in mixed.items():
        assert torch.allclose(weights, 0.25 * before[name] + 0.75 * after[name], atol=1e-5)
    assert any(not torch.equal(before[name], after[name]) for name in mixed)


def test_a_run_from_another_start_is_not_gone_on_with(trained: Path, plain_checkpoint: Path, tmp_path: Path) -> None:
    train_further(Start(trained), EXAMPLES, SHORT, checkpoints=tmp_path / "run")
    other = tmp_path / "other"
    config = DetectorConfig(encoder=str(plain_checkpoint), rank=Detector.to_train_on(trained).config.rank)
    train_detector(EXAMPLES, SHORT, config).save_pretrained(other)
    with pytest.raises(InvalidInput, match="another run"):
        train_further(Start(other), EXAMPLES, SHORT, checkpoints=tmp_path / "run")


def test_pairs_stay_together_and_later_rows_are_all_there() -> None:
    rows = [Example(f"{name} {i}", (), "old", "p", pair=str(i)) for i in range(30) for name in ("fire", "partner")]
    rows += [Example("new", (), "later-rows", "p")]
    chosen = rehearsed(rows, 0.2, seed=3)
    assert chosen[-1].text == "new"
    assert len(chosen) == 13
    old = [row.pair for row in chosen[:-1]]
    assert all(old.count(pair) == 2 for pair in old)
    assert chosen == rehearsed(rows, 0.2, seed=3) != rehearsed(rows, 0.2, seed=4)


@pytest.mark.parametrize(("rehearse", "keep"), [(1.2, 0), (-0.1, 0), (0.5, 1), (0.5, -1)])
def test_shares_are_shares(rehearse: float, keep: float) -> None:
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        Start(Path(), rehearse, keep)


def test_the_command_trains_further(trained: Path, tmp_path: Path) -> None:
    (trained / "README.md").write_text("how the first one was made")
    command = ["train", "detector", "--out", str(tmp_path / "out"), "--start", str(trained), "--keep", "0.5"]
    command += ["--limit", "40", "--epochs", "1", "--generated", "20", "--no-probes", "--leave-out", "decoys"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    card = (tmp_path / "out" / "README.md").read_text()
    assert "--start FIRST --rehearse 0.33 --keep 0.5 --no-probes --leave-out decoys" in card
    assert (tmp_path / "out" / "FIRST.md").read_text() == "how the first one was made"
    refused = CliRunner().invoke(app, [*command[:5], str(tmp_path), *command[6:]])
    assert isinstance(refused.exception, BackboneError)
    for senseless in (["--learning-rate", "0"], ["--no-later"], ["--leave-out", "riddles"]):
        assert isinstance(CliRunner().invoke(app, [*command, *senseless]).exception, InvalidInput)
