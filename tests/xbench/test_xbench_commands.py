"""The commands as a user meets them: a whole build from one file, controls, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from chat_server import JUDGE, WRITER, ChatServer, answer_batch
from typer.testing import CliRunner

from excise.cli import app as cli
from excise.documents import Document
from excise.suites.suites import load_suite
from excise.xbench.build import build as build_all
from excise.xbench.build_config import BuildConfig
from excise.xbench.records import Record
from excise.xbench.storage import XBenchError
from excise.xbench.suite_writer import Controls, exclusion_content, write_suite

runner = CliRunner()
CONFIG = """
run = "run"
suite = "suite"
[mine]
index = "{index}"
anchors = 5
quantiles = [0.8, 0.999]
[writer]
model = "{writer}"
{writer_way}
tiers = ["T1"]
[judge]
model = "{judge}"
{judge_way}
[gates]
maxsim_share = 0.7
"""


def config(folder: Path, index: Path, writer_way: str, judge_way: str) -> Path:
    path = folder / "c.toml"
    text = CONFIG.format(writer=WRITER, judge=JUDGE, index=index, writer_way=writer_way, judge_way=judge_way)
    path.write_text(text)
    return path


def build(corpus: Path, file: Path) -> dict[str, Any]:
    done = runner.invoke(cli.app, ["xbench", "build", str(corpus), "--config", str(file), "--json"])
    assert done.exit_code == 0, done.exception
    return dict(json.loads(done.output))


def test_a_build_stops_for_answers_and_goes_on_to_the_suite(
    small_corpus: Path, small_index: Path, tmp_path: Path
) -> None:
    file = config(tmp_path, small_index, "batch = true", "batch = true")
    batch = tmp_path / "run" / "batch"
    for call in range(1, 9):
        said = build(small_corpus, file)
        if said["state"] == "done":
            break
        who = "writer" if "writer-requests" in said["state"] else "judge"
        answer_batch(batch / f"{who}-requests.jsonl", batch / f"{who}-answers-{call}.jsonl")
    assert call >= 5
    suite = load_suite(tmp_path / "suite", "test")
    assert len(suite.queries) == said["gate"]["queries"]["exclusion"] > 0
    assert (tmp_path / "run" / "audit" / "gallery.html").is_file()
    assert said["audit"]["cue_test"]["all"]["share"] == 1.0


def test_a_build_with_an_endpoint_is_one_call_and_the_second_asks_nothing(
    small_corpus: Path, small_index: Path, server: ChatServer, tmp_path: Path
) -> None:
    way = f'endpoint = "{server.url}"\nconcurrency = 2'
    file = config(tmp_path, small_index, way, way)
    first = build(small_corpus, file)
    asked = len(server.seen)
    assert first["state"] == "done"
    assert asked == first["write"]["endpoint"]["answered"] + first["judge"]["endpoint"]["answered"]
    assert build(small_corpus, file)["gate"]["admitted"] == first["gate"]["admitted"]
    assert len(server.seen) == asked


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("anchors = 5", "anchor = 5"), r"\[mine\] has no setting 'anchor'"),
        (("[gates]", "[gate]"), "'gate' is none of"),
        (("quantiles = [0.8, 0.999]", "quantiles = [0.8]"), "must be two numbers"),
        (("batch = true", "batch = false"), "needs endpoint = 'URL' or batch = true"),
        (('run = "run"', ""), "needs run = 'FOLDER'"),
        (("maxsim_share = 0.7", 'maxsim_share = "much"'), "must be like 0.8, got 'much'"),
        (("anchors = 5", "anchors = "), "not valid TOML"),
    ],
)
def test_a_wrong_configuration_is_told_in_a_sentence(
    change: tuple[str, str], words: str, small_corpus: Path, small_index: Path, tmp_path: Path
) -> None:
    file = config(tmp_path, small_index, "batch = true", "batch = true")
    file.write_text(file.read_text().replace(*change, 1))
    with pytest.raises(XBenchError, match=words):
        build_all(small_corpus, BuildConfig(file))
    assert not (tmp_path / "run").exists()


def test_the_example_configuration_is_valid(small_corpus: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "xbench.toml"
    settings = BuildConfig(example)
    settings.mining(small_corpus)
    settings.gates()
    settings.controls()
    assert settings.channel("writer").endpoint is not None
    assert settings.channel("judge").endpoint is not None


@pytest.mark.parametrize("command", ["write", "judge"])
def test_both_commands_that_ask_a_model_have_its_options_with_their_help(command: str) -> None:
    shown = runner.invoke(cli.app, ["xbench", command, "--help"], env={"COLUMNS": "160"}).output
    for words in ("--batch-out", "--endpoint", "--price-in", "--json ", "environment variable that holds the key"):
        assert words in shown


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What is said on stderr when a command is refused with exit code 2."""
    sys_argv, sys.argv = sys.argv, ["excise", "xbench", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as stop:
            cli.main()
    finally:
        sys.argv = sys_argv
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_steps_out_of_order_are_refused(
    capsys: pytest.CaptureFixture[str], small_corpus: Path, small_index: Path, tmp_path: Path
) -> None:
    run, requests = tmp_path / "run", tmp_path / "requests.jsonl"
    assert "is not a run" in refused(capsys, "write", run, "--model", "m", "--batch-out", requests)
    mine = ("mine", small_corpus, "--index", small_index, "--out", run, "--anchors", 2)
    assert "contradict" in refused(capsys, *mine, "--band", 0.5, 0.9, "--quantiles", 0.5, 0.9)
    assert "no two documents" in refused(capsys, *mine, "--band", 0.999, 1.0)
    runner.invoke(cli.app, ["xbench", *map(str, mine), "--overwrite"], catch_exceptions=False)
    assert "name the model" in refused(capsys, "write", run, "--batch-out", requests)
    both = ("--batch-out", requests, "--endpoint", "http://127.0.0.1:9/v1")
    assert "not to both" in refused(capsys, "write", run, "--model", "m", *both)
    assert "'T4' is none of the tiers" in refused(capsys, "write", run, "--model", "m", "--tiers", "T4")
    assert "no records yet" in refused(capsys, "judge", run, "--model", "j")
    shown = runner.invoke(cli.app, ["xbench", "write", str(run), "--model", "m"], catch_exceptions=False)
    assert "requests wait" in shown.output
    assert "no finished records" in refused(capsys, "judge", run, "--model", "j")
    assert "FOLDER:SPLIT" in refused(capsys, "gate", run, "--out", tmp_path / "s", "--no-harm", "folder")


def record(documents: list[Document]) -> Record:
    gold, negative = documents[0].id, documents[1].id
    return Record(
        "p1-T1-short", "p1", "T1", "explicit", "short", "cars, not z", "cars", ("z",), ("z",), gold, (negative,)
    )


def test_no_harm_controls_join_the_suite_or_stand_beside_it(own_documents: list[Document], tmp_path: Path) -> None:
    """Queries over documents that the corpus holds are joined; others keep a corpus of their own."""
    plain = tmp_path / "plain"
    (plain / "qrels").mkdir(parents=True)
    (plain / "queries.jsonl").write_text('{"_id": "1", "text": "family cars"}\n')
    lines = [{"_id": d.id, "title": d.title, "text": d.text} for d in own_documents[:3]]
    (plain / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (plain / "qrels" / "train.tsv").write_text(f"query-id\tcorpus-id\tscore\n1\t{own_documents[2].id}\t1\n")
    controls = Controls(no_harm=((plain, "train"),))

    content = exclusion_content([record(own_documents)], {d.id: d for d in own_documents[:5]})
    counts = write_suite(tmp_path / "joined", content, "test", controls, "card")
    assert counts.to_dict() == {"exclusion": 1, "no_harm": 1}
    joined = load_suite(tmp_path / "joined", "test")
    assert [query.tier for query in joined.queries] == ["T1", "plain"]
    assert joined.qrels["plain-plain-1"] == {own_documents[2].id: 1}

    content = exclusion_content([record(own_documents)], {d.id: d for d in own_documents[:2]})
    write_suite(tmp_path / "beside", content, "test", controls, "card")
    assert len(load_suite(tmp_path / "beside", "test").queries) == 1
    assert len(load_suite(tmp_path / "beside" / "controls" / "plain", "train").queries) == 1


def test_a_suite_is_not_written_over_something_else(own_documents: list[Document], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    content = exclusion_content([record(own_documents)], {d.id: d for d in own_documents[:2]})
    with pytest.raises(XBenchError, match="not empty and is not a suite"):
        write_suite(tmp_path / "mine", content, "test", Controls(), "card")
    empty = exclusion_content([], {})
    with pytest.raises(XBenchError, match="no record passed all nine gates"):
        write_suite(tmp_path / "new", empty, "test", Controls(), "card")
