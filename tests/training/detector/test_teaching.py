"""Learning from a teacher: what it says of queries counts beside their labels, and topics change places."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_detector_training import EXAMPLES
from typer.testing import CliRunner

from excise.cli.app import app
from excise.errors import InvalidInput
from excise.topics.detector import Detector, DetectorConfig
from excise.training.detector.examples import Example
from excise.training.detector.kept_lessons import asked_once
from excise.training.detector.tagging import DetectorArguments, span_scores, train_detector
from excise.training.detector.teaching import Lesson, check_same_words, lessons, load_teacher, recombined

ARGUMENTS = DetectorArguments(learning_rate=2e-3, epochs=25, batch_tokens=128, head_rate=5.0)


@pytest.fixture(scope="module")
def teacher(plain_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    train_detector(EXAMPLES, ARGUMENTS, DetectorConfig(encoder=str(plain_checkpoint), rank=0)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def whole_words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder that is no plain BERT, and knows whole words alone."""
    from transformers import BertTokenizerFast, MPNetConfig, MPNetModel

    base = tmp_path_factory.mktemp("mpnet")
    words = ["<s>", "<pad>", "</s>", "<unk>", "[MASK]", *sorted({w for row in EXAMPLES for w in row.text.split()})]
    (base / "vocab.txt").write_text("\n".join(words))
    special = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>"}
    BertTokenizerFast(str(base / "vocab.txt"), **special).save_pretrained(base)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    MPNetModel(MPNetConfig(vocab_size=len(words), **sizes)).save_pretrained(base)
    return base


def test_a_teacher_says_what_it_would_detect(teacher: Path) -> None:
    one = load_teacher(teacher)
    told: list[tuple[str, int, int]] = []
    said = lessons(one, EXAMPLES[:6], 64, lambda *step: told.append(step))
    assert told[-1] == ("asking the teacher", 6, 6)
    for example, lesson in zip(EXAMPLES, said, strict=False):
        assert len(lesson.tags) == len(one.tokenizer.pieces(example.text).ids)
        assert lesson.tags.sum(dim=1).tolist() == pytest.approx([1.0] * len(lesson.tags), abs=1e-2)
        assert (lesson.query > 0.5) == example.fires == bool(lesson.excluded.max() > 0.5)


def test_who_learns_from_a_teacher_says_what_it_says(teacher: Path, plain_checkpoint: Path) -> None:
    """All labels say that nothing is excluded; the teacher alone knows better."""
    said = lessons(load_teacher(teacher), EXAMPLES, 64)
    unlabelled = [replace(example, spans=()) for example in EXAMPLES]
    config = DetectorConfig(encoder=str(plain_checkpoint), rank=0)
    trusting = replace(ARGUMENTS, lesson_weight=1.0, typo_rate=0.0)
    taught = train_detector(unlabelled, trusting, config, lessons=said)
    assert [score > 0.5 for score in span_scores(taught, EXAMPLES[:4])] == [True, False, True, False]
    deaf = train_detector(unlabelled, replace(trusting, lesson_weight=0.0), config, lessons=said)
    assert max(span_scores(deaf, EXAMPLES)) < 0.5


def test_a_run_with_other_lessons_is_not_gone_on_with(plain_checkpoint: Path, tmp_path: Path) -> None:
    config, once = DetectorConfig(encoder=str(plain_checkpoint), rank=0), replace(ARGUMENTS, epochs=1)
    tokenizer = Detector.untrained(config).tokenizer
    sizes = [len(tokenizer.pieces(example.text).ids) for example in EXAMPLES[:4]]
    ways = [[Lesson(torch.full((size, 3), 1 / 3), chance) for size in sizes] for chance in (0.2, 0.8)]
    train_detector(EXAMPLES[:4], once, config, checkpoints=tmp_path, lessons=ways[0])
    with pytest.raises(InvalidInput, match="another run"):
        train_detector(EXAMPLES[:4], once, config, checkpoints=tmp_path, lessons=ways[1])


def test_both_must_cut_words_alike(teacher: Path, whole_words: Path) -> None:
    one, other = load_teacher(teacher), Detector.untrained(DetectorConfig(encoder=str(whole_words), rank=0))
    check_same_words(one, load_teacher(teacher), "electrified cars, not tesla")
    with pytest.raises(InvalidInput, match="cut words alike"):
        check_same_words(one, other, "unbelievable electrifications")


def test_topics_change_places_in_both_queries_of_a_pair() -> None:
    rows = [
        Example("Bach, not the St John Passion, never the st john passion", ((14, 29), (41, 56)), "w", "e", pair="1"),
        Example("why the St John Passion is by Bach", (), "w", "partner", pair="1"),
        Example("fruit without apples: no (sour) plums", ((14, 20), (32, 37)), "w", "e", pair="2"),
        Example("fruit, apples and plums", (), "w", "partner", pair="2"),
        Example("no partner, no topic", ((15, 20),), "w", "e"),
    ]
    made = recombined(rows, 10, seed=1)
    assert len(made) == 4
    pairs = {pair: [row for row in made if row.pair == pair] for pair in {row.pair for row in made}}
    for fires, partner in pairs.values():
        assert fires.fires
        assert not partner.fires
        names = {fires.text[start:end] for start, end in fires.spans}
        assert names <= {"St John Passion", "st john passion", "apples", "plums"}
        assert any(name in partner.text for name in names)
        assert {row.source for row in (fires, partner)} == {"recombined"}
    assert made == recombined(rows, 10, seed=1)
    assert len(recombined(rows, 1, seed=1)) == 2


def test_the_command_learns_from_a_teacher_and_its_card_says_so(teacher: Path, tmp_path: Path) -> None:
    command = ["train", "detector", "--out", str(tmp_path / "out"), "--start", str(teacher), "--teacher", str(teacher)]
    command += ["--limit", "40", "--epochs", "1", "--generated", "20", "--no-probes", "--recombined", "30"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    card = (tmp_path / "out" / "README.md").read_text()
    assert "--recombined 30 --teacher TEACHER" in card
    assert "30 exclusions and their partners with the topics of others" in card
    assert "together counts 70% in what is learned" in card
    assert json.loads((tmp_path / "out" / "detector.json").read_text())["rank"] == 0


def test_any_encoder_can_be_trained_whole_and_asked(whole_words: Path, tmp_path: Path) -> None:
    """What is no plain BERT stays where it is, and the detector's folder has what was trained."""
    config = DetectorConfig(encoder=str(whole_words), rank=0, last_layers=1)
    detector = train_detector(EXAMPLES, replace(ARGUMENTS, epochs=1), config)
    detector.save_pretrained(tmp_path)
    assert not (tmp_path / "config.json").exists()
    for again in (Detector.from_pretrained(tmp_path), Detector.to_train_on(tmp_path)):
        assert span_scores(again, EXAMPLES[:3]) == pytest.approx(span_scores(detector, EXAMPLES[:3]), abs=1e-5)


def test_a_teacher_is_asked_the_same_once(teacher: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    first = asked_once(tmp_path, teacher, EXAMPLES[:6], 64, lambda *step: told.append(step))
    again = asked_once(tmp_path, teacher, EXAMPLES[:6], 64, lambda *step: told.append(step))
    assert [step for step in told if step[1:] == (6, 6)] == told[-1:]
    for one, other, fresh in zip(first, again, lessons(load_teacher(teacher), EXAMPLES[:6], 64), strict=True):
        assert one.tags.tolist() == other.tags.tolist()
        assert one.query == other.query == pytest.approx(fresh.query, abs=1e-6)
        assert one.tags.flatten().tolist() == pytest.approx(fresh.tags.flatten().tolist(), abs=1e-3)
    asked_once(tmp_path, teacher, EXAMPLES[:5], 64)
    assert len(list(tmp_path.glob("lessons-*.safetensors"))) == 2
