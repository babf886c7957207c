"""A projection for an encoder that is published without its own: learned from titles, loaded like any checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from excise.cli.app import app
from excise.encoders.backbone import load_backbone
from excise.errors import InvalidInput
from excise.training.late_projection import ProjectionArguments, fit_late_projection, title_pairs
from excise.vectors.arithmetic import of_length_one

WORDS = ["cars", "tea", "novels", "chess", "moons", "guitars", "bread", "rivers", "opera", "tesla"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "corpus.jsonl"
    rows = []
    for number in range(420):
        title = " ".join(rng.choice(WORDS, 5))
        rows.append({"_id": str(number), "title": title, "text": f"{title} and more of {rng.choice(WORDS)}"})
    rows.append({"_id": "short", "title": "Tea", "text": "A title that says too little."})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_titles_of_few_words_are_passed_over_and_every_corpus_has_its_share(corpus: Path) -> None:
    pairs = title_pairs([corpus, corpus], 100)
    assert len(pairs) == 100
    assert all(len(title.split()) == 5 and text.startswith(title) for title, text in pairs)
    assert title_pairs([corpus], 100, seed=1) != title_pairs([corpus], 100, seed=2)


def test_what_matters_is_found_among_what_does_not() -> None:
    """Four dimensions tell texts apart, and noise in the other twelve, far louder, hides it."""
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((480, 4))

    def seen(count: int) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
        return [
            of_length_one(np.hstack([np.tile(one, (count, 1)), rng.standard_normal((count, 12)) * 3])) for one in signal
        ]

    fitted = fit_late_projection(seen(3), seen(5), ProjectionArguments(dimensions=8, epochs=40, rate=1e-2))
    assert fitted.rows.shape == (8, 16)
    assert fitted.before < 0.3
    assert fitted.after > 2 * fitted.before


def test_too_few_titles_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 408 titles of four words or more, got 3"):
        fit_late_projection([np.ones((2, 4))] * 3, [np.ones((2, 4))] * 3, ProjectionArguments())


def test_the_command_writes_a_backbone_with_its_markers_whole(
    plain_checkpoint: Path, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "fitted"
    command = f"train projection --backbone {plain_checkpoint} --corpus {corpus} --out {out} --threads 1"
    told = CliRunner().invoke(app, [*command.split(), "--dimensions", "8", "--markers", "tea,cars"])
    assert told.exit_code == 0, told.output
    backbone = load_backbone(str(out))
    assert backbone.dimensions == 8
    query = backbone.encode_query("chess novels")
    assert np.linalg.norm(query.vectors, axis=1) == pytest.approx(1.0, abs=1e-4)
    assert len(query.vectors) == 5  # [CLS] tea chess novels [SEP]: no mask tokens, which this encoder never learned
    assert backbone.encoder.prompts == {"query": "tea ", "document": "cars "}
    assert "not the published model" in " ".join((out / "README.md").read_text(encoding="utf-8").split())


def test_the_command_says_what_it_lacks(plain_checkpoint: Path, corpus: Path, tmp_path: Path) -> None:
    def refused(*given: str) -> str:
        told = CliRunner().invoke(
            app, ["train", "projection", "--backbone", str(plain_checkpoint), "--out", str(tmp_path / "x"), *given]
        )
        assert told.exit_code != 0
        return str(told.exception) + told.output

    assert "needs a --corpus" in refused()
    elsewhere = ("--backbone", str(tmp_path / "nowhere"), "--corpus", str(corpus))
    assert "is not the folder of an encoder" in refused(*elsewhere)
    assert "has no token '[nowhere]'" in refused("--corpus", str(corpus), "--markers", "[nowhere],")
