"""Runs over graded labels: what is written, going on after an interruption, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from excise.errors import BackboneError, InvalidInput, SuiteError
from excise.evaluation.experiments import coverage_run
from excise.evaluation.experiments.coverage_run import evaluate_coverage
from excise.evaluation.experiments.run_folder import RunError
from excise.search.operator import Excise, load
from excise.suites.suites import load_suite

SYSTEMS = "frozen,bm25,paper,paper+k=5,excise"
FOREIGN = "baroque counterpoint"


def label_rows(small_suite: Path) -> list[dict[str, Any]]:
    """Of three searches, what is excluded covers the topic and what is wanted does not; and a topic of no document."""
    suite = load_suite(small_suite, "dev")
    queries = [query for query in suite.queries if query.tier == "T1" and suite.negatives.get(query.id)][:3]
    rows: list[dict[str, Any]] = []

    def add(query: str, topic: str, kind: str, document: str, grade: int) -> None:
        row = {"id": f"l{len(rows)}", "corpus": "small", "query": query, "wanted": "wanted", "topic": topic}
        rows.append({**row, "kind": kind, "document": document, "grade": grade})

    for query in queries:
        for grade, documents in ((2, sorted(suite.negatives[query.id])), (0, list(suite.qrels[query.id]))):
            for document in documents:
                add(query.text, query.excluded[0], "present", document, grade)
    add(queries[0].text, FOREIGN, "foreign", next(iter(suite.qrels[queries[0].id])), 0)
    return rows


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def labels(small_suite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("labels") / "small.jsonl", label_rows(small_suite))


@pytest.fixture(scope="module")
def corpora(small_suite: Path) -> dict[str, Path]:
    return {"small": small_suite / "corpus.jsonl"}


@pytest.fixture(scope="module")
def finished(
    labels: Path, corpora: dict[str, Path], demo_index: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out = tmp_path_factory.mktemp("runs") / "coverage"
    evaluate_coverage([labels], corpora, SYSTEMS, out, indexes={"small": demo_index})
    return out


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "per_search.jsonl").read_text().splitlines()]


def test_the_summary(finished: Path, small_suite: Path) -> None:
    rows = label_rows(small_suite)
    metrics = json.loads((finished / "metrics.json").read_text())
    assert list(metrics) == [
        *("labels", "searches", "candidates", "systems", "intervals", "corpora", "reliability", "config"),
    ]
    assert (metrics["labels"], metrics["searches"], metrics["candidates"]) == (["small.jsonl"], 4, len(rows))
    assert list(metrics["systems"]) == SYSTEMS.split(",")
    for name, own in metrics["systems"].items():
        assert own == metrics["corpora"]["small"]["systems"][name]
        for metric, mean in own.items():
            low, high = metrics["intervals"][name][metric]
            assert low <= mean <= high
    frozen, paper, excised = (metrics["systems"][name] for name in ("frozen", "paper", "excise"))
    assert frozen["recall"] == frozen["present_removals"] == frozen["foreign_removals"] == 0.0
    assert not {"precision", "average_precision", "brier"} & set(frozen)
    assert min(excised["recall"], excised["precision"], paper["recall"]) > 0.5
    assert excised["average_precision"] > 0.5
    assert metrics["systems"]["paper+k=5"]["not_shortlisted"] > 0 == paper["not_shortlisted"]
    config = metrics["config"]
    assert (config["labels"], config["limit"], config["depth"]) == ("small.jsonl", None, 100)
    assert set(config["fingerprints"]) == {
        "adapter",
        "backbone",
        "corpus small",
        "coverage",
        "labels",
    }  # the detector has no part


def test_a_line_per_system_and_search_says_what_the_product_does(
    finished: Path, operator: Excise, small_suite: Path
) -> None:
    records, rows = lines(finished), label_rows(small_suite)
    assert len({(record["system"], record["id"]) for record in records}) == len(records) == 5 * 4
    for record in (record for record in records if record["system"] == "excise"):
        assert list(record) == [
            *("system", "id", "corpus", "query", "wanted", "topic", "kind", "metrics", "removed", "labelled"),
        ]
        result = operator.search(record["query"], exclude=[record["topic"]])
        assert [one["id"] for one in record["removed"]] == [one.id for one in result.removed]
        assert [one["frozen_rank"] for one in record["removed"]] == [one.frozen_rank for one in result.removed]
        top = sum(one.frozen_rank <= 10 for one in result.removed)
        assert record["metrics"] == {"removals": len(result.removed), "removals@10": top}
        assert result.explanation is not None
        judged = {one.id: one for one in result.explanation.candidates}
        own = {row["document"]: row["grade"] for row in rows if row["topic"] == record["topic"]}
        assert {one["document"]: one["grade"] for one in record["labelled"]} == own
        for one in record["labelled"]:
            candidate = judged[one["document"]]
            assert one["status"] == candidate.status
            expected = candidate.evidence if one["probability"] is None else one["probability"]
            assert one["score"] == pytest.approx(expected)
        grades = {one["id"]: one["grade"] for one in record["removed"]}
        assert grades == {id: own.get(id) for id in grades}


def test_what_a_system_never_saw_is_not_removed(finished: Path) -> None:
    unseen = [
        one
        for record in lines(finished)
        for one in record["labelled"]
        if record["system"] == "paper+k=5" and one["status"] == "not_shortlisted"
    ]
    assert unseen
    assert all(one["score"] is one["probability"] is None for one in unseen)


def test_the_suffix_of_a_name_makes_no_difference(
    finished: Path, labels: Path, corpora: dict[str, Path], demo_index: Path, tmp_path: Path
) -> None:
    report = evaluate_coverage([labels], corpora, ["excise:oracle"], tmp_path, indexes={"small": demo_index})
    metrics = json.loads((finished / "metrics.json").read_text())
    assert report.to_dict()["systems"]["excise:oracle"] == metrics["systems"]["excise"]


def test_the_same_run_again_computes_nothing(
    finished: Path, labels: Path, corpora: dict[str, Path], demo_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in finished.iterdir()}
    monkeypatch.setattr(coverage_run, "build_index", None)
    evaluate_coverage([labels], corpora, SYSTEMS, finished, indexes={"small": demo_index})
    assert {path.name: path.read_bytes() for path in finished.iterdir()} == before


def test_an_interrupted_run_goes_on(
    finished: Path, labels: Path, corpora: dict[str, Path], demo_index: Path, tmp_path: Path
) -> None:
    out = tmp_path / "again"
    shutil.copytree(finished, out)
    (out / "metrics.json").unlink()
    kept = (out / "per_search.jsonl").read_text().splitlines(keepends=True)
    (out / "per_search.jsonl").write_text("".join(kept[:-6]) + kept[-6][:40])
    seen: list[tuple[str, int, int]] = []
    evaluate_coverage(
        [labels], corpora, SYSTEMS, out, indexes={"small": demo_index}, progress=lambda *now: seen.append(now)
    )
    assert [now for now in seen if now[0] == "searching"] == [("searching", 3, 4), ("searching", 3, 4)]
    assert (out / "metrics.json").read_bytes() == (finished / "metrics.json").read_bytes()


def test_another_configuration_is_refused(
    finished: Path, labels: Path, corpora: dict[str, Path], demo_index: Path, tmp_path: Path
) -> None:
    out = tmp_path / "other"
    shutil.copytree(finished, out)
    (out / "reliability.svg").write_text("<svg/>")
    indexes = {"small": demo_index}
    with pytest.raises(RunError, match=r"another configuration \(systems, limit differ\).*--overwrite"):
        evaluate_coverage([labels], corpora, "frozen", out, indexes=indexes, limit=1)
    report = evaluate_coverage([labels], corpora, "frozen", out, indexes=indexes, limit=1, overwrite=True)
    assert report.searches == 1
    assert {path.name for path in out.iterdir()} == {"config.json", "metrics.json", "per_search.jsonl"}


def test_each_corpus_has_figures_of_its_own_and_an_index_in_the_cache(
    small_suite: Path, corpora: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCISE_CACHE", str(tmp_path / "cache"))
    rows = label_rows(small_suite)
    (tmp_path / "tiny").mkdir()
    tiny = tmp_path / "tiny" / "corpus.jsonl"
    tiny.write_text("".join((small_suite / "corpus.jsonl").read_text().splitlines(keepends=True)[:20]))
    ids = {json.loads(line)["_id"] for line in tiny.read_text().splitlines()}
    more = [{**row, "id": f"more-{row['id']}", "corpus": "tiny"} for row in rows if row["document"] in ids]
    assert more
    labels = [write_rows(tmp_path / "one.jsonl", rows), write_rows(tmp_path / "two.jsonl", more)]
    report = evaluate_coverage(labels, {**corpora, "tiny": tiny}, "excise", tmp_path / "out")
    assert list(report.corpora) == ["small", "tiny"]
    whole, parts = report.systems["excise"], [own["excise"] for own in report.corpora.values()]
    removed = sum(own["recall"].mean * own["recall"].n for own in parts)
    assert whole["recall"].mean == pytest.approx(removed / sum(own["recall"].n for own in parts))
    assert whole["recall"].n == sum(own["recall"].n for own in parts)
    folders = (tmp_path / "cache" / "indexes").iterdir()
    # Named after the folder of the corpus: the very index that ``excise eval`` uses for a suite there.
    assert sorted(folder.name.rsplit("-", 1)[0] for folder in folders) == ["small", "tiny"]


def test_refusals(
    labels: Path,
    corpora: dict[str, Path],
    demo_index: Path,
    corpus_file: Path,
    plain_checkpoint: Path,
    small_suite: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    with pytest.raises(InvalidInput, match="there is no system 'nonsense'"):
        evaluate_coverage([labels], corpora, "nonsense", out)
    with pytest.raises(InvalidInput, match="name at least one system"):
        evaluate_coverage([labels], corpora, "", out)
    with pytest.raises(InvalidInput, match="an index of 'large', and no corpus of that name"):
        evaluate_coverage([labels], corpora, "frozen", out, indexes={"large": demo_index})
    with pytest.raises(InvalidInput, match="limit must be"):
        evaluate_coverage([labels], corpora, "frozen", out, limit=0)
    with pytest.raises(SuiteError, match="corpus 'small', and only large was given"):
        evaluate_coverage([labels], {"large": corpora["small"]}, "frozen", out)
    rows = label_rows(small_suite)[:1]
    rows.append({**rows[0], "id": "other", "corpus": "cars", "document": "leaf"})
    two = write_rows(tmp_path / "two.jsonl", rows)
    other = tmp_path / "other-index"
    load(backbone=str(plain_checkpoint)).index([{"id": "leaf", "text": "A car."}], other)
    indexes = {"small": demo_index, "cars": other}
    with pytest.raises(BackboneError, match="their vectors do not compare"):
        evaluate_coverage([two], {**corpora, "cars": corpus_file}, "frozen", out, indexes=indexes)
    assert not out.exists()
    cars = write_rows(tmp_path / "cars-labels.jsonl", rows[1:])
    with pytest.raises(SuiteError, match=r"holds 80 documents that are not in .*cars\.jsonl"):
        evaluate_coverage([cars], {"cars": corpus_file}, "frozen", out, indexes={"cars": demo_index})
