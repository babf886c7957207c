"""Training a detector on a tiny encoder: it learns, repeats itself, and goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from excise.cli.app import app
from excise.encoders.bert import load_bert
from excise.errors import InvalidInput
from excise.topics.detector import Detector, DetectorConfig
from excise.training.detector.detector_recipe import DetectorRecipe
from excise.training.detector.examples import Example
from excise.training.detector.lengths import GROUPS, VARIANTS, compare_lengths, variant
from excise.training.detector.tagging import DetectorArguments, _item, _pairs, span_scores, train_detector

TEXTS = ["cars", "tea", "novels", "chess openings", "moons", "guitars", "bridges", "cheese"]
EXAMPLES = [
    example
    for x in TEXTS
    for z in ("tesla", "mars", "opera")
    for example in (
        Example(f"{x} not {z}", ((len(x) + 5, len(x) + 5 + len(z)),), "toy", "explicit"),
        Example(f"{x} and {z}", (), "toy", "partner"),
    )
]


@pytest.fixture
def config(plain_checkpoint: Path) -> DetectorConfig:
    return DetectorConfig(encoder=str(plain_checkpoint), rank=4)


def test_it_learns_the_construction_and_not_the_words(config: DetectorConfig) -> None:
    losses: list[float] = []
    arguments = DetectorArguments(learning_rate=1e-2, epochs=25, batch_tokens=128)
    detector = train_detector(EXAMPLES, arguments, config, lambda done, total, loss: losses.append(loss))
    assert np.mean(losses[-5:]) < 0.2 * np.mean(losses[:5])
    unseen = [Example("rivers not congo", ((11, 16),), "t", "e"), Example("rivers and congo", (), "t", "p")]
    scores = span_scores(detector, unseen)
    assert scores[0] > 0.76 > scores[1]
    assert [topic.text for topic in detector.detect(["rivers not congo"])[0].topics] == ["congo"]


def test_the_whole_encoder_is_trained_but_for_its_words(plain_checkpoint: Path) -> None:
    arguments = DetectorArguments(learning_rate=2e-3, epochs=25, batch_tokens=128, head_rate=5.0)
    detector = train_detector(EXAMPLES, arguments, DetectorConfig(encoder=str(plain_checkpoint), rank=0))
    first, second = detector.detect(["rivers not congo", "rivers and congo"])
    assert first.score > 0.76 > second.score
    base = load_bert(plain_checkpoint)
    assert torch.equal(
        detector.tagger.encoder.embeddings.word_embeddings.weight, base.embeddings.word_embeddings.weight
    )
    assert not torch.equal(
        detector.tagger.encoder.encoder.layer[0].output.dense.weight, base.encoder.layer[0].output.dense.weight
    )


def test_an_exclusion_goes_through_with_its_partner() -> None:
    """Each batch holds both members of its pairs, the exclusion first: they are compared with each other."""
    names = ("a", "b", "c", "d")
    fires = [Example(f"{name} " * 9 + "not x", ((22, 23),), "t", "e", pair=name) for name in names]
    partners = [Example(f"{name} and x", (), "t", "p", pair=name) for name in names]
    rows = [*partners, Example("alone", (), "t", "plain"), *fires]
    units = _pairs(rows)
    assert sorted(map(len, units)) == [1, 2, 2, 2, 2]
    assert all([rows[i].fires for i in unit] == [True, False] for unit in units if len(unit) == 2)


def test_tags_say_where_a_topic_starts(plain_checkpoint: Path) -> None:
    tokenizer = Detector.untrained(DetectorConfig(encoder=str(plain_checkpoint), rank=2)).tokenizer
    item = _item(tokenizer, Example("no salt sea air", ((3, 7), (8, 15)), "t", "e"), 20)
    assert item.tags == [0, 0, 1, 1, 2, 0]


def test_an_interrupted_run_ends_like_an_uninterrupted_one(config: DetectorConfig, tmp_path: Path) -> None:
    arguments = DetectorArguments(learning_rate=1e-3, epochs=3, batch_tokens=128)
    whole = train_detector(EXAMPLES, arguments, config)

    def interrupt(done: int, total: int, _: float) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_detector(EXAMPLES, arguments, config, interrupt, tmp_path)
    resumed = train_detector(EXAMPLES, arguments, config, checkpoints=tmp_path)
    assert span_scores(resumed, EXAMPLES) == pytest.approx(span_scores(whole, EXAMPLES), abs=1e-4)
    with pytest.raises(InvalidInput, match="another run"):
        train_detector(EXAMPLES, DetectorArguments(epochs=2), config, checkpoints=tmp_path)


def test_a_run_can_stop_after_some_of_its_passes(config: DetectorConfig) -> None:
    """It has then what the whole run had at that place, and not what a shorter run ends with."""
    steps: list[tuple[int, int]] = []
    arguments = DetectorArguments(learning_rate=1e-3, epochs=4, batch_tokens=128, stop_after=2)
    stopped = train_detector(EXAMPLES, arguments, config, lambda done, total, _: steps.append((done, total)))
    assert steps[-1] == (steps[-1][1] // 2, steps[-1][1])
    shorter = train_detector(EXAMPLES, DetectorArguments(learning_rate=1e-3, epochs=2, batch_tokens=128), config)
    assert span_scores(stopped, EXAMPLES) != pytest.approx(span_scores(shorter, EXAMPLES), abs=1e-6)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InvalidInput):
        DetectorArguments(learning_rate=0)
    with pytest.raises(InvalidInput, match="after one of its 2 epochs"):
        DetectorArguments(epochs=2, stop_after=3)


def test_the_command_writes_weights_and_card(plain_checkpoint: Path, tmp_path: Path) -> None:
    command = ["train", "detector", "--out", str(tmp_path), "--backbone", str(plain_checkpoint)]
    done = CliRunner().invoke(app, [*command, "--limit", "60", "--epochs", "1", "--generated", "20"])
    assert done.exit_code == 0, done.output
    assert {"detector.json", "detector.safetensors", "README.md", "validation.json"} <= {
        p.name for p in tmp_path.iterdir()
    }
    assert json.loads((tmp_path / "validation.json").read_text())["calibration"]["threshold"] >= 0.5


def test_lengths_are_compared_on_equally_many_queries(tmp_path: Path) -> None:
    rows = [Example("short query", (), "a", "plain") for _ in range(30)]
    rows += [Example("a long query " * 20, ((2, 6),), "a", "implicit") for _ in range(5)]
    rows += [Example("a long query " * 20, (), "a", "partner") for _ in range(5)]
    chosen = {name: variant(rows, keep, 20, seed=0) for name, keep in VARIANTS.items()}
    assert [len(examples) for examples in chosen.values()] == [20, 20, 20]
    assert [sum(example.is_long for example in examples) for examples in chosen.values()] == [0, 5, 10]
    recipe = DetectorRecipe(None, 20, 20, 24, False, DetectorConfig(), DetectorArguments(epochs=1))
    told: list[str] = []
    rates = compare_lengths(recipe, 8, tmp_path, lambda what, done, total: told.append(what))
    assert set(rates) == set(VARIANTS)
    assert all(set(found) <= set(GROUPS) for found in rates.values())
    assert json.loads((tmp_path / "lengths.json").read_text())["fire_rate"] == rates
    assert {what.rpartition(", loss")[0] for what in told} == set(VARIANTS)
