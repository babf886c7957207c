"""Text without labels: its sentences are learned from as a teacher reads them, its titles stand for topics."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from test_detector_training import EXAMPLES
from typer.testing import CliRunner

from excise.cli.app import app
from excise.documents import Document
from excise.errors import InvalidInput
from excise.topics.detector import Detector, DetectorConfig
from excise.training.detector.examples import Example
from excise.training.detector.tagging import DetectorArguments, span_scores, train_detector
from excise.training.detector.teaching import lessons, recombined
from excise.training.detector.unlabelled import UNLABELLED, sentences

ARGUMENTS = DetectorArguments(learning_rate=2e-3, epochs=25, batch_tokens=128, head_rate=5.0)


def test_half_of_the_sentences_have_a_word_that_can_exclude() -> None:
    texts = [f"Number {i} of them is a plain one. Number {i} is not a plain one. Too short." for i in range(20)]
    found = sentences([Document(str(i), text) for i, text in enumerate(texts)], 20, seed=1)
    assert len({example.text for example in found}) == 20
    assert sum(" not " in example.text for example in found) == 10
    assert {example.form for example in found} == {UNLABELLED}
    assert found == sentences([Document(str(i), text) for i, text in enumerate(texts)], 20, seed=1)


def test_titles_take_the_places_of_topics() -> None:
    rows = [
        Example("cars without ABS", ((13, 16),), "w", "explicit", pair="1"),
        Example("cars with ABS", (), "w", "partner", pair="1"),
    ]
    made = [row for seed in range(12) for row in recombined(rows, 1, seed=seed, others=["Ada Lovelace", "a, b", ""])]
    assert {row.text for row in made if row.fires} == {
        "cars without Ada Lovelace"
    }  # its own topic is no other one, and "a, b" is no name


def test_what_has_no_label_says_what_the_teacher_says(plain_checkpoint: Path) -> None:
    """Labels would say that nothing is excluded; where there are none, the teacher alone counts."""
    config = DetectorConfig(encoder=str(plain_checkpoint), rank=0)
    taught = train_detector(EXAMPLES, ARGUMENTS, config)
    detector = Detector(taught.tagger, taught.tokenizer, config)
    said = lessons(detector, EXAMPLES, 64)
    bare = [replace(example, spans=(), form=UNLABELLED) for example in EXAMPLES]
    learned = train_detector(bare, replace(ARGUMENTS, lesson_weight=0.0), config, lessons=said)
    assert [score > 0.5 for score in span_scores(learned, EXAMPLES[:4])] == [True, False, True, False]


def test_the_command_reads_a_text_with_a_teacher_alone(plain_checkpoint: Path, tmp_path: Path) -> None:
    config = DetectorConfig(encoder=str(plain_checkpoint), rank=0)
    train_detector(EXAMPLES, replace(ARGUMENTS, epochs=1), config).save_pretrained(tmp_path / "teacher")
    rows = [{"_id": str(i), "title": f"Ada {i}", "text": f"This is no sentence of {i} words."} for i in range(30)]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["train", "detector", "--out", str(tmp_path / "out"), "--start", str(tmp_path / "teacher")]
    command += ["--limit", "40", "--epochs", "1", "--generated", "20", "--no-probes", "--text", str(corpus)]
    alone = CliRunner().invoke(app, command)
    assert isinstance(alone.exception, InvalidInput)
    assert "--teacher" in str(alone.exception)
    command += ["--teacher", str(tmp_path / "teacher"), "--recombined", "5", "--sentences", "10"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    card = (tmp_path / "out" / "README.md").read_text()
    assert "--teacher TEACHER --text CORPUS --sentences 10" in card
