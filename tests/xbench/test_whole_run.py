"""A whole run on recorded answers, from a small corpus to a suite that the harness evaluates."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from chat_server import JUDGE, WRITER, ChatServer, answer_batch, answered
from typer.testing import CliRunner

from excise.cli import app as cli
from excise.suites.suites import load_suite
from excise.xbench.audit import AuditSources, audit_suite
from excise.xbench.endpoint import EndpointError
from excise.xbench.irds import dataset

runner = CliRunner()
LENIENT = ("--bm25-share", "0", "--maxsim-share", "0")  # what is too easy is left to the gates here


def xbench(*arguments: object) -> dict[str, Any]:
    """Run a command and return what it prints with --json."""
    done = runner.invoke(cli.app, ["xbench", *map(str, arguments), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.output))


def mined(corpus: Path, index: Path, run: Path) -> Path:
    xbench("mine", corpus, "--index", index, "--out", run, "--anchors", 5, "--quantiles", 0.8, 0.999)
    return run


def by_batches(command: str, run: Path, model: str, folder: Path) -> tuple[dict[str, Any], list[int]]:
    """Write requests, have them answered, read the answers, until nothing is asked any more."""
    requests, answers, asked = folder / f"{command}-out.jsonl", folder / f"{command}-in.jsonl", []
    screen = LENIENT if command == "write" else ()
    said = xbench(command, run, "--model", model, "--batch-out", requests, *screen)
    shutil.copy(requests, folder / f"first-{command}.jsonl")
    while said["pending"]:
        asked.append(answer_batch(requests, answers))
        said = xbench(command, run, "--batch-in", answers, "--batch-out", requests)
        assert said["batch_in"]["taken"] == asked[-1]
        assert len(asked) < 10
    return said, asked


@pytest.fixture(scope="module")
def finished(small_corpus: Path, small_index: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The run folder, the suite, and what every step said."""
    folder = tmp_path_factory.mktemp("whole")
    run = mined(small_corpus, small_index, folder / "run")
    written, rounds = by_batches("write", run, WRITER, folder)
    judged, _ = by_batches("judge", run, JUDGE, folder)
    leaked = next(r for r in lines(run / "records.jsonl") if r["tier"] == "T2" and "carbon" in r["query"])
    (folder / "reference.jsonl").write_text(json.dumps({"text": leaked["query"].upper()}) + "\n")
    boolean = folder / "boolean.jsonl"
    boolean.write_text('{"_id": "b1", "text": "tea and milk", "positive": "Tea with milk.", "negative": "Tea."}\n')
    gated = xbench(
        "gate", run, "--out", folder / "suite", "--reference", folder / "reference.jsonl", "--boolean", boolean
    )
    return {
        "folder": folder,
        "run": run,
        "suite": folder / "suite",
        "leaked": leaked["id"],
        "write": written,
        "rounds": rounds,
        "judge": judged,
        "gate": gated,
    }


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_writing_goes_round_by_round(finished: dict[str, Any]) -> None:
    """Stage A, rewrites, readings, repairs, readings of these: what waits for nothing is asked at once."""
    said = finished["write"]
    assert finished["rounds"][0] == 5
    assert len(finished["rounds"]) >= 5
    assert (said["malformed"], said["unusable"]) == ({"t1": 2, "rewrite": 1}, {})
    assert said["dropped"]["hopeless"] == {"T1": 1}
    assert said["dropped"]["cue_in_implicit"] == {"T2": 1}
    assert said["dropped"]["exclusion_lost"] == {"T3": 1}
    assert said["tokens_in"] > 0
    assert said["tokens_estimated"] == 0
    records = {record["id"]: record for record in lines(finished["run"] / "records.jsonl")}
    assert Counter(record["tier"] for record in records.values())["T1"] == 8
    assert all("class action" in record["query"] for record in records.values() if record["repaired"])


def test_repairs_are_read_again_and_keep_a_true_label(finished: dict[str, Any]) -> None:
    nike = {pair["gold"]: pair["id"] for pair in lines(finished["run"] / "pairs.jsonl")}["running-shoes-08"]
    own = {record["id"]: record for record in lines(finished["run"] / "records.jsonl") if record["pair"] == nike}
    repaired = {id.removeprefix(f"{nike}-"): record for id, record in own.items() if record["repaired"]}
    assert set(repaired) == {"T1-long", "T2-long", "T3-short"}  # an implicit one had its second try, too
    assert "lawyer" in repaired["T2-long"]["query"]
    assert repaired["T3-short"]["form"] == "disjunctive"  # read as open in both halves, whatever it was meant to be
    assert f"{nike}-T3-long" not in own  # its repair was read, and found wanting


def test_topics_are_read_together_and_openly_worded_ones_by_sample(finished: dict[str, Any]) -> None:
    verdicts = {line["id"]: line["topics"] for line in lines(finished["run"] / "verdicts.jsonl")}
    by = Counter(topic["by"] for id, topics in verdicts.items() if "-T1-" in id for topic in topics)
    assert by["cues"] > by["judge"] >= 1
    assert all(topic["by"] == "judge" for id, topics in verdicts.items() if "-T1-" not in id for topic in topics)
    requests = finished["gate"]["requests"]
    assert requests["judge_document"] == 4  # one a pair, for all of its queries
    assert requests["t1"] + requests["rewrite"] == 5 + 4 + 3  # three answers were malformed


def test_documents_reach_the_prompts_whole(finished: dict[str, Any], small_corpus: Path) -> None:
    coffee = next(line for line in lines(small_corpus) if line["_id"] == "coffee-brewing-02")
    asked = [line["body"]["messages"][1]["content"] for line in lines(finished["folder"] / "first-write.jsonl")]
    assert any(" ".join(coffee["text"].split()) in text for text in asked)
    assert not any("...\n</" in text for text in asked)


def test_every_gate_that_should_drop_something_does(finished: dict[str, Any]) -> None:
    dropped = {line["id"]: {f["code"] for f in line["failures"]} for line in lines(finished["run"] / "gates.jsonl")}
    pairs = {pair["gold"]: pair["id"] for pair in lines(finished["run"] / "pairs.jsonl")}
    coffee, norway, hoka = (pairs[id] for id in ("coffee-brewing-02", "electric-cars-05", "running-shoes-05"))
    assert all(not dropped[f"{coffee}-T1-{length}"] for length in ("short", "long"))
    assert all("z_in_gold" in codes for id, codes in dropped.items() if id.startswith(norway))
    assert "exclusion_not_read" in dropped[f"{norway}-T2-short"]  # the judge is unsure
    assert {"z_not_in_negative", "paraphrase_unsafe"} <= dropped[f"{hoka}-T3-short"]
    assert dropped[finished["leaked"]] == {"leaked"}
    funnel = json.loads((finished["run"] / "funnel.json").read_text())
    left = [sum(gate["left"].values()) for gate in funnel["gates"]]
    assert left == sorted(left, reverse=True)
    assert left[-1] == sum(not codes for codes in dropped.values()) == finished["gate"]["queries"]["exclusion"]


def test_the_report_and_its_picture_show_the_funnel(finished: dict[str, Any]) -> None:
    page = (finished["run"] / "report.html").read_text()
    assert "prefers-color-scheme: dark" in page
    assert "<script" not in page
    assert "src=" not in page
    for words in ("round-trip", "negative_too_easy", "Dropped while writing", "cue_in_implicit", "<svg"):
        assert words in page
    assert (finished["run"] / "funnel.svg").read_text().startswith("<svg")


def test_the_suite_is_what_the_harness_and_ir_datasets_expect(finished: dict[str, Any], small_index: Path) -> None:
    suite = load_suite(finished["suite"], "test")
    assert {query.tier for query in suite.queries} == {"T1", "T2", "T3"}
    for query in suite.queries:
        assert {"tier", "length", "form", "wanted", "excluded", "topics", "negatives"} <= set(query.metadata)
        assert all(wording.lower() in query.text.lower() for wording in query.excluded)
        assert suite.negatives[query.id] == set(query.metadata["negatives"])
    card = (finished["suite"] / "README.md").read_text()
    assert WRITER in card
    assert JUDGE in card
    assert str(finished["folder"]) not in card
    data = dataset(finished["suite"], "test")
    run = [ir_measures.ScoredDoc(qrel.query_id, qrel.doc_id, 1.0) for qrel in data.qrels_iter()]
    measured = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], data.qrels_iter(), run)
    assert measured[ir_measures.nDCG @ 10] == pytest.approx(1.0)
    assert {qrel.relevance for qrel in data.negatives_iter()} == {-1}
    assert {doc.doc_id for doc in data.docs_iter()} >= {qrel.doc_id for qrel in data.negatives_iter()}

    out = finished["folder"] / "evaluated"
    arguments = ["eval", str(finished["suite"]), "--split", "test", "--systems", "excise:oracle", "--out", str(out)]
    done = runner.invoke(cli.app, [*arguments, "--index", str(small_index), "--json"], catch_exceptions=False)
    assert json.loads(done.output)["queries"] == len(suite.queries)
    pairs = [
        "eval-pairs",
        str(finished["suite"] / "boolean.jsonl"),
        "--systems",
        "frozen",
        "--out",
        str(out) + "-pairs",
    ]
    assert runner.invoke(cli.app, pairs, catch_exceptions=False).exit_code == 0


def test_the_finished_suite_passes_its_audit(finished: dict[str, Any]) -> None:
    audit = audit_suite(finished["suite"], "test")
    assert all(found.share == 1.0 for found in audit.cue_test.values())
    assert all(found.share == 1.0 for found in audit.document_side["Z not in gold"].values())


def test_the_funnel_says_what_was_dropped_and_what_was_asked(finished: dict[str, Any]) -> None:
    told = xbench("funnel", finished["run"])
    assert told["pairs"] == 5
    assert told["writing"] == finished["write"]["dropped"]
    assert told["admitted"] == finished["gate"]["admitted"]
    asked = sum(number for stage, number in told["requests"].items() if stage != "grade")
    assert told["requests_per_admitted"] == round(asked / sum(told["admitted"].values()), 2)
    shown = runner.invoke(cli.app, ["xbench", "funnel", str(finished["run"])], catch_exceptions=False).output
    for words in ("5 pairs", "hopeless", "z_in_gold", "requests an admitted query"):
        assert words in shown


def test_a_shortlist_is_graded_and_the_suite_knows_what_else_covers_z(
    finished: dict[str, Any], small_index: Path, tmp_path: Path
) -> None:
    suite = tmp_path / "graded"
    shutil.copytree(finished["suite"], suite)
    requests, answers = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    place = ("grade", finished["run"], "--out", suite)
    said = xbench(*place, "--depth", 12, "--documents", 5, "--batch-out", requests)
    assert said["pending"] > 0
    assert not (suite / "graded").exists()
    answer_batch(requests, answers)
    said = xbench(*place, "--batch-in", answers)
    assert said["pending"] == 0
    assert said["grades"]["none"] == 1  # of one the grader is unsure
    assert said["golds"] == []
    assert said["further"] > 0
    loaded = load_suite(suite, "test")
    pair = {line["gold"]: line["id"] for line in lines(finished["run"] / "pairs.jsonl")}["coffee-brewing-02"]
    grades = loaded.graded[f"{pair}-T1-short"]
    assert (grades["coffee-brewing-01"], grades["coffee-brewing-06"], grades["coffee-brewing-02"]) == (2, 2, 0)
    assert "coffee-brewing-04" not in grades

    systems = ["--systems", "frozen", "--index", str(small_index), "--out", str(tmp_path / "run"), "--json"]
    done = runner.invoke(cli.app, ["eval", str(suite), "--split", "test", *systems], catch_exceptions=False)
    figures = json.loads(done.output)["systems"]["frozen"]
    assert figures["graded_leak@10"] >= figures["leak@10"]
    assert figures["graded_success@10"] <= figures["success@10"]

    labels = ["eval-coverage", str(suite / "coverage" / "test.jsonl"), "--corpus", f"graded={suite / 'corpus.jsonl'}"]
    where = ["--index", f"graded={small_index}", "--systems", "excise", "--out", str(tmp_path / "labels"), "--json"]
    assert runner.invoke(cli.app, [*labels, *where], catch_exceptions=False).exit_code == 0


def test_answers_by_hand_get_an_estimate_of_their_tokens(small_corpus: Path, small_index: Path, tmp_path: Path) -> None:
    run, requests, answers = (
        mined(small_corpus, small_index, tmp_path / "run"),
        tmp_path / "o.jsonl",
        tmp_path / "i.jsonl",
    )
    xbench("write", run, "--model", WRITER, "--batch-out", requests)
    names = [line["custom_id"] for line in lines(requests)]
    answers.write_text("".join(json.dumps({"custom_id": name, "content": "{}"}) + "\n" for name in names))
    said = xbench("write", run, "--batch-in", answers)
    assert said["tokens_estimated"] == len(names)
    assert said["tokens_in"] > 100 * len(names)


def test_reading_the_same_answers_again_changes_nothing(finished: dict[str, Any]) -> None:
    before = (finished["run"] / "records.jsonl").read_text()
    stored = {path.name: path.read_bytes() for path in (finished["run"] / "answers").iterdir()}
    said = xbench("write", finished["run"], "--batch-in", finished["folder"] / "write-in.jsonl")
    assert said["batch_in"]["taken"] == said["batch_in"]["unknown"] == 0
    assert (finished["run"] / "records.jsonl").read_text() == before
    assert {path.name: path.read_bytes() for path in (finished["run"] / "answers").iterdir()} == stored


def test_an_endpoint_gives_the_same_records_and_an_interrupted_run_asks_nothing_twice(
    finished: dict[str, Any], small_corpus: Path, small_index: Path, server: ChatServer, tmp_path: Path
) -> None:
    run = mined(small_corpus, small_index, tmp_path / "run")
    command = ["xbench", "write", str(run), "--model", WRITER, "--endpoint", server.url, "--retries", "0", *LENIENT]
    server.script = [*[answered] * 7, *[lambda _: (500, {}, "{}")] * 100]
    with pytest.raises(EndpointError, match="what was answered is kept"):
        runner.invoke(cli.app, [*command, "--concurrency", "2"], catch_exceptions=False)
    server.script = []
    said = xbench(*command[1:], "--concurrency", 3)
    assert said["pending"] == 0
    assert (run / "records.jsonl").read_text() == (finished["run"] / "records.jsonl").read_text()
    stored = [line["key"] for path in (run / "answers").iterdir() for line in lines(path)]
    assert len(stored) == len(set(stored)) == sum(finished["rounds"])
    assert said["endpoint"]["answered"] == len(stored) - 7


def test_the_writer_may_not_judge(finished: dict[str, Any]) -> None:
    done = runner.invoke(cli.app, ["xbench", "judge", str(finished["run"]), "--model", WRITER.upper()])
    assert "wrote the queries" in str(done.exception)


def test_a_second_judge_is_kept_apart_and_compared(finished: dict[str, Any], tmp_path: Path) -> None:
    run, requests, answers = finished["run"], tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    before = (run / "verdicts.jsonl").read_text()
    said = xbench("judge", run, "--model", "other-judge", "--name", "second", "--batch-out", requests)
    assert said["judged"] == 0
    answer_batch(requests, answers)
    assert xbench("judge", run, "--name", "second", "--batch-in", answers)["judged"] == said["records"]
    assert (run / "verdicts.jsonl").read_text() == before
    second = run / "verdicts-second.jsonl"
    disagreeing = lines(second)
    admitted = {query.id for query in load_suite(finished["suite"], "test").queries}
    against = next(line for line in disagreeing if line["id"] in admitted and line["id"].endswith("T1-short"))
    against["topics"][0]["excludes"] = False
    second.write_text("".join(json.dumps(line) + "\n" for line in disagreeing))
    audit = audit_suite(finished["suite"], "test", AuditSources(second_judge=second))
    assert audit.second_judge is not None
    assert audit.second_judge.agreement["all"].share == pytest.approx((len(admitted) - 1) / len(admitted), abs=1e-4)
    assert [finding.query for finding in audit.findings if finding.check == "second judge"] == [against["id"]]
