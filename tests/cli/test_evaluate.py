"""``excise eval``, ``eval-pairs``, ``eval-coverage`` and ``calibrate`` as a user meets them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from excise.cli import app as cli

runner = CliRunner()


def test_eval_prints_a_table_or_json(small_suite: Path, demo_index: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["eval", str(small_suite), "--split", "dev", "--systems", "excise:oracle", "--limit", "6"]
    arguments += ["--out", str(out), "--index", str(demo_index)]
    shown = runner.invoke(cli.app, arguments, env={"COLUMNS": "160"})
    assert shown.exit_code == 0
    for words in (
        "small dev, 6 queries",
        "frozen",
        "excise:oracle",
        "success",
        "differs from frozen",
        f"wrote {out}",
    ):
        assert words in shown.output.replace("\n", " ")
    again = runner.invoke(cli.app, [*arguments, "--json"])
    assert json.loads(again.output) == json.loads((out / "metrics.json").read_text())


def test_eval_pairs(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"_id": "p", "text": "bread", "positive": "A recipe for bread.", "negative": "Cars."}\n')
    arguments = ["eval-pairs", str(file), "--systems", "frozen,bm25", "--out", str(tmp_path / "run")]
    shown = runner.invoke(cli.app, arguments)
    assert shown.exit_code == 0
    assert "pairs, 1 pairs" in shown.output
    assert "accuracy" in shown.output


LABEL = {
    "id": "l1",
    "corpus": "cars",
    "query": "electric cars, not Tesla",
    "wanted": "electric cars",
    "topic": "Tesla",
    "kind": "present",
    "document": "model3",
    "grade": 2,
}


def write_labels(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_eval_coverage_prints_a_table_or_json(corpus_file: Path, tmp_path: Path) -> None:
    foreign = {**LABEL, "id": "l3", "topic": "chess openings", "kind": "foreign", "document": "leaf", "grade": 0}
    one = write_labels(tmp_path / "one.jsonl", LABEL, {**LABEL, "id": "l2", "document": "zoe", "grade": 0})
    two = write_labels(tmp_path / "two.jsonl", foreign)
    out = tmp_path / "run"
    arguments = ["eval-coverage", str(one), str(two), "--corpus", f"cars={corpus_file}", "--systems", "frozen,-soft"]
    arguments += ["--out", str(out), "--index", f"cars={tmp_path / 'index'}"]
    shown = runner.invoke(cli.app, arguments, env={"COLUMNS": "160"})
    assert shown.exit_code == 0, shown.output
    for words in (
        "one.jsonl, two.jsonl: 2 searches, 3 labelled candidates",
        "-soft",
        "prec.",
        "foreign",
        f"wrote {out}",
    ):
        assert words in shown.output.replace("\n", " ")
    again = runner.invoke(cli.app, [*arguments, "--json"])
    metrics = json.loads(again.output)
    assert metrics == json.loads((out / "metrics.json").read_text())
    assert metrics["systems"]["frozen"]["recall"] == 0.0
    assert not (out / "reliability.svg").exists()  # neither system has probabilities


@pytest.mark.parametrize(
    ("changed", "options", "sentence"),
    [
        ({"grade": 5}, [], "{labels}, line 1: the grade must be 0, 1 or 2, got 5."),
        ({"document": "beetle"}, [], "{labels}, line 1: the document 'beetle' is not in {corpus}."),
        (
            {"corpus": "boats"},
            [],
            "{labels}, line 1: the label is of the corpus 'boats', and only cars was given (--corpus name=FILE).",
        ),
        (
            {},
            ["--corpus", "more.jsonl"],
            "--corpus takes a corpus' name and a path, as in scifact=corpus.jsonl, got 'more.jsonl'.",
        ),
        ({}, ["--corpus", "cars=more.jsonl"], "--corpus names 'cars' twice."),
        ({}, ["--index", "boats=x"], "there is an index of 'boats', and no corpus of that name was given."),
        ({}, ["--limit", "0"], "limit must be a whole number of at least 1, got 0."),
    ],
)
def test_bad_labels_are_refused_in_one_sentence(
    changed: dict[str, object],
    options: list[str],
    sentence: str,
    corpus_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels, out = write_labels(tmp_path / "labels.jsonl", {**LABEL, **changed}), tmp_path / "out"
    arguments = ["eval-coverage", str(labels), "--corpus", f"cars={corpus_file}", "--systems", "frozen"]
    monkeypatch.setattr(sys, "argv", ["excise", *arguments, "--out", str(out), *options])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    said = capsys.readouterr()
    assert (stop.value.code, said.out) == (2, "")
    assert said.err == f"excise: {sentence.format(labels=labels, corpus=corpus_file)}\n"
    assert not out.exists()


def test_calibrate_writes_a_table_and_a_picture(
    small_suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCISE_CACHE", str(tmp_path / "cache"))
    arguments = ["calibrate", str(small_suite), "--split", "dev", "--limit", "3", "--oracle", "--json"]
    done = runner.invoke(cli.app, [*arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    assert printed == json.loads((tmp_path / "out" / "calibration.json").read_text())
    assert {"source", "constant", "default", "success", "spread", "noise", "verdict"} == set(printed[0])
    assert "<svg" in (tmp_path / "out" / "calibration.svg").read_text()
    refused = runner.invoke(cli.app, ["calibrate", str(small_suite), "--preset", "best"])
    assert "unknown preset 'best'" in str(refused.exception)


def test_refusals_are_sentences(
    small_suite: Path,
    demo_index: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = ["eval", str(small_suite), "--split", "dev", "--out", str(tmp_path / "r"), "--index", str(demo_index)]
    monkeypatch.setattr(sys, "argv", ["excise", *arguments, "--systems", "nonsense"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    said = capsys.readouterr()
    assert (stop.value.code, said.out) == (2, "")
    assert said.err.startswith("excise: there is no system 'nonsense': ")
    assert "z-conditional" in said.err
