"""``excise eval`` and ``excise eval-pairs`` as a user meets them."""

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
