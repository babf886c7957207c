"""The command line as a user meets it: real processes for the exit codes, in-process calls for the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from excise.cli import app as cli
from excise.cli.app import app
from excise.rules.coverage import Coverage

runner = CliRunner()


def run(*arguments: str) -> tuple[int, str, str]:
    """A whole process, as from a shell."""
    done = subprocess.run(
        [sys.executable, "-c", "from excise.cli.app import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said on stderr when the command is refused with exit code 2."""
    sys_argv, sys.argv = sys.argv, ["excise", *arguments]
    try:
        with pytest.raises(SystemExit) as stop:
            cli.main()
    finally:
        sys.argv = sys_argv
    captured = capsys.readouterr()
    assert stop.value.code == 2
    assert captured.out == ""
    return captured.err


def test_index_then_search_from_a_shell(corpus_file: Path, tmp_path: Path) -> None:
    index = str(tmp_path / "index")
    code, out, err = run("index", str(corpus_file), "--index", index, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"index": index, "added": 6, "unchanged": 0, "skipped": 0, "documents": 6}
    code, out, err = run("search", "electric cars", "--index", index, "-k", "3", "--exclude", "Tesla", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert list(result) == ["query", "fired", "score", "topics", "hits", "removed", "timing_ms"]
    assert result["fired"] is True
    assert {one["id"] for one in result["removed"]} == {"model3", "modely"}
    assert len(result["hits"]) == 3


def test_bad_input_ends_a_process_with_code_2(tmp_path: Path) -> None:
    code, out, err = run("index", str(tmp_path / "nowhere.jsonl"), "--index", str(tmp_path / "i"))
    assert (code, out) == (2, "")
    assert "nowhere.jsonl: no such file or folder" in err
    assert "Traceback" not in err
    assert not (tmp_path / "i").exists()


def test_search_for_people(demo_index: Path) -> None:
    shown = runner.invoke(
        app, ["search", "electric cars, not Tesla", "-i", str(demo_index), "-x", "Tesla", "--explain"]
    )
    assert shown.exit_code == 0
    for word in ("removed", "probability of covering: Tesla", "surely covers the topic", "█"):
        assert word in shown.output


def test_how_sure_to_be_before_anything_is_removed(demo_index: Path) -> None:
    asked = ["search", "electric cars, not Tesla", "-i", str(demo_index), "-x", "Tesla", "-k", "80", "--json"]
    more = ([], ["--caution", "1"])
    usual, careful = (json.loads(runner.invoke(app, [*asked, *options]).output) for options in more)
    assert usual["removed"]
    assert all(one["probability"] >= 0.45 and "Tesla" in one["passage"] for one in usual["removed"])
    assert careful["removed"] == []
    assert {one["id"] for one in usual["removed"]} <= {hit["id"] for hit in careful["hits"]}
    shown = runner.invoke(app, [*asked[:-1], "--preset", "cautious", "--explain"])
    for word in ("probability of covering: Tesla", "% sure", "surely covers", "“"):
        assert word in shown.output


def test_the_help_and_the_page_name_the_default_caution() -> None:
    default = f"{Coverage().caution:g}"
    told = " ".join(runner.invoke(app, ["search", "--help"], env={"COLUMNS": "200"}).output.split())
    assert f"({default} by default)" in told
    page = files("excise") / "service" / "page"
    assert f"const CAUTION = {default};" in (page / "app.js").read_text()
    assert f'value="{default}"' in (page / "index.html").read_text()


def test_search_without_an_exclusion_says_so(demo_index: Path) -> None:
    shown = runner.invoke(app, ["search", "electric cars", "-i", str(demo_index), "--explain"])
    assert "engine's ranking, unchanged" in shown.output


def test_explain_as_json(demo_index: Path) -> None:
    shown = runner.invoke(app, ["search", "electric cars", "-i", str(demo_index), "-x", "Tesla", "--explain", "--json"])
    assert json.loads(shown.output)["explanation"]["branch"] == "coverage"
    paper = ["search", "electric cars", "-i", str(demo_index), "-x", "Tesla", "--explain", "--json"]
    shown = runner.invoke(app, [*paper, "--preset", "frozen-paper"])
    assert json.loads(shown.output)["explanation"]["branch"] == "relative"


def test_re_embedding_part_of_the_shortlist(demo_index: Path) -> None:
    asked = ["search", "electric cars", "--index", str(demo_index), "--exclude", "Tesla", "--json", "--explain"]
    for preset in ("default", "paper"):
        shown = runner.invoke(app, [*asked, "--preset", preset, "--reembed", "2"])
        assert shown.exit_code == 0
        assert json.loads(shown.stdout)["explanation"]["cache"]["entries"] == 2


def test_the_demo_shows_both_rankings(tmp_path: Path) -> None:
    shown = runner.invoke(app, ["demo", "--index", str(tmp_path / "demo")], env={"COLUMNS": "160"})
    assert shown.exit_code == 0
    assert "frozen MaxSim" in shown.output
    assert "excise" in shown.output


def test_the_demo_builds_its_own_index_again(
    monkeypatch: pytest.MonkeyPatch, plain_checkpoint: Path, corpus_file: Path, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (".excise-demo", "kept"):
        arguments = ["index", str(corpus_file), "--index", folder, "--backbone", str(plain_checkpoint)]
        assert runner.invoke(app, arguments).exit_code == 0
    shown = runner.invoke(app, ["demo"])
    assert shown.exit_code == 0
    assert "building it again" in shown.output
    assert runner.invoke(app, ["demo", "--index", "kept"]).exit_code != 0


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{oops", "line 2: not valid JSON"),
        ('{"id": "a", "text": "again"}', "already used at"),
        ('{"id": "b", "text": ""}', "empty text"),
    ],
)
def test_bad_corpora_write_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str, sentence: str
) -> None:
    corpus = tmp_path / "c.jsonl"
    corpus.write_text(f'{{"id": "a", "text": "x"}}\n{line}\n')
    said = refused(capsys, "index", str(corpus), "--index", str(tmp_path / "i"))
    assert sentence in said
    assert "c.jsonl, line 2" in said
    assert not (tmp_path / "i").exists()
    shown = runner.invoke(app, ["index", str(corpus), "--index", str(tmp_path / "i"), "--skip-bad", "--json"])
    assert json.loads(shown.output)["skipped"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["search", "", "--index", "{index}"], "query is empty"),
        (["search", "word " * 2_000, "--index", "{index}"], "2,000 words"),
        (["search", "cars", "--index", "{index}", "-k", "0"], "k must be"),
        (["search", "cars", "--index", "{index}", "-k", "1000000"], "k must be"),
        (["search", "cars", "--index", "{index}", "-x", " "], "excluded topic"),
        (["search", "cars", "--index", "{index}", "--backbone", "nonsense"], "unknown backbone 'nonsense'"),
        (["search", "cars", "--index", "{index}", "--backbone", "{plain}"], "was built with the backbone 'minilm'"),
        (["search", "cars", "--index", "{tmp}/none"], "no such index"),
        (["search", "cars", "--index", "{tmp}"], "not an excise index"),
        (["index", "{corpus}", "--index", "{tmp}/i", "--backbone", "nonsense"], "unknown backbone"),
        (["index", "{corpus}", "--index", "{tmp}/i", "--engine", "nonsense"], "unknown engine"),
        (["index", "{corpus}", "--index", "{index}", "--backbone", "{plain}"], "was built with the backbone 'minilm'"),
        (["index", "{corpus}", "--index", "{tmp}"], "not empty"),
    ],
)
def test_what_bad_input_gets(
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
    demo_index: Path,
    plain_checkpoint: Path,
    corpus_file: Path,
    tmp_path: Path,
) -> None:
    places = {"index": demo_index, "plain": plain_checkpoint, "corpus": corpus_file, "tmp": tmp_path}
    said = refused(capsys, *(argument.format(**places) for argument in arguments))
    assert sentence in said
    assert not (tmp_path / "i").exists()


def test_version() -> None:
    assert runner.invoke(app, ["--version"]).output.startswith("excise 0.")
