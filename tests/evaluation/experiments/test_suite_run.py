"""Runs over suites: what is written, going on after an interruption, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from excise.encoders.adapter import Adapter
from excise.engines.local.manifest import MANIFEST
from excise.errors import InvalidInput, SuiteError
from excise.evaluation.experiments import suite_run as runner
from excise.evaluation.experiments.run_folder import RunError
from excise.evaluation.experiments.suite_run import evaluate
from excise.evaluation.measures.outcomes import METRICS
from excise.search.operator import Excise

SYSTEMS = "frozen,bm25,excise:oracle,bm25-z:oracle"


_opened: list[str] = []
_watching = False


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event == "open":
        _opened.append(os.fspath(arguments[0]) if isinstance(arguments[0], str | Path) else "")


sys.addaudithook(_watch)  # for good: a hook cannot be taken back, only told not to look


@pytest.fixture
def opened() -> Iterator[Callable[[str], int]]:
    """How many times files whose path ends in a text were opened, for reading or writing."""
    global _watching
    _opened.clear()
    _watching = True
    yield lambda end: sum(path.endswith(end) for path in _opened)
    _watching = False


@pytest.fixture(scope="module")
def finished(small_suite: Path, demo_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over the first 18 queries: one family, with every tier."""
    out = tmp_path_factory.mktemp("runs") / "small"
    evaluate(small_suite, "dev", SYSTEMS, out, limit=18, index=demo_index)
    return out


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "per_query.jsonl").read_text().splitlines()]


def test_the_summary(finished: Path) -> None:
    metrics = json.loads((finished / "metrics.json").read_text())
    assert list(metrics) == [
        *("suite", "split", "queries", "systems", "tiers", "intervals", "significance", "config"),
    ]
    assert (metrics["suite"], metrics["split"], metrics["queries"]) == ("small", "dev", 18)
    assert list(metrics["systems"]) == SYSTEMS.split(",")
    assert list(metrics["systems"]["excise:oracle"]) == list(METRICS)
    assert list(metrics["systems"]["frozen"]) == [name for name in METRICS if name != "removal_precision"]
    assert set(metrics["tiers"]) == {"T1", "T2", "T3", "plain", "AND", "OR"}
    frozen, excised = metrics["systems"]["frozen"], metrics["systems"]["excise:oracle"]
    assert excised["success@10"] >= frozen["success@10"]
    assert excised["leaked_documents@10"] < frozen["leaked_documents@10"]
    assert frozen["unlabelled_removed"] == 0.0
    assert 0.5 < excised["removal_precision"] <= 1.0
    assert (frozen["fire_rate"], excised["fire_rate"]) == (0.0, pytest.approx(14 / 18))
    low, high = metrics["intervals"]["frozen"]["hit@10"]
    assert low <= frozen["hit@10"] <= high
    assert set(metrics["significance"]) == {"bm25", "excise:oracle", "bm25-z:oracle"}
    against = metrics["significance"]["excise:oracle"]["success@10"]
    assert against["difference"] == pytest.approx(excised["success@10"] - frozen["success@10"])
    assert {"low", "high", "p_value"} <= set(against)
    config = metrics["config"]
    assert (config["backbone"], config["limit"], config["baseline"]) == ("minilm", 18, "frozen")
    assert set(config["fingerprints"]) == {"adapter", "backbone", "corpus", "coverage", "queries"}
    assert (config["rule"], config["constants"]["caution"]) == ("coverage", 0.45)


def test_a_line_per_system_and_query(finished: Path) -> None:
    records = lines(finished)
    assert len(records) == 4 * 18
    assert len({(record["system"], record["id"]) for record in records}) == 4 * 18
    record = next(r for r in records if r["system"] == "excise:oracle" and r["removed"])
    assert list(record) == ["system", "id", "text", "metadata", "fired", "topics", "metrics", "top", "removed"]
    assert record["fired"] is True
    assert record["topics"][0]["text"] == record["metadata"]["excluded"][0]
    assert list(record["metrics"]) == list(METRICS)
    assert [hit["rank"] for hit in record["top"]] == list(range(1, 11))
    keys = {"rank", "id", "title", "score", "frozen_rank", "evidence", "status", "probability", "label"}
    assert all(set(hit) == keys for hit in record["top"])
    assert {hit["label"] for r in records for hit in r["top"]} == {"gold", "excluded", "neutral"}
    assert not set(record["removed"]) & {hit["id"] for hit in record["top"]}


def test_queries_without_a_topic_keep_the_frozen_ranking(finished: Path) -> None:
    runs = {name: (finished / f"run.{name}.trec").read_text() for name in ("frozen", "excise_oracle")}
    plain = [record["id"] for record in lines(finished) if not record["metadata"]["excluded"]]
    assert plain
    for id in plain:
        first, second = (
            [line.rsplit(" ", 1)[0] for line in run.splitlines() if line.startswith(f"{id} ")] for run in runs.values()
        )
        assert first == second


def test_trec_runs(finished: Path) -> None:
    rows = [line.split(" ") for line in (finished / "run.bm25-z_oracle.trec").read_text().splitlines()]
    assert all(len(row) == 6 and row[1] == "Q0" and row[5] == "bm25-z:oracle" for row in rows)
    assert len({row[0] for row in rows}) == 18
    assert [int(row[3]) for row in rows[:80]] == list(range(1, 81))


def test_the_same_run_again_computes_nothing(
    finished: Path, small_suite: Path, demo_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in finished.iterdir()}
    monkeypatch.setattr(runner, "build_index", None)
    evaluate(small_suite, "dev", SYSTEMS, finished, limit=18, index=demo_index)
    assert {path.name: path.read_bytes() for path in finished.iterdir()} == before


def test_an_interrupted_run_goes_on(finished: Path, small_suite: Path, demo_index: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"
    shutil.copytree(finished, out)
    (out / "metrics.json").unlink()
    kept = (out / "per_query.jsonl").read_text().splitlines(keepends=True)
    (out / "per_query.jsonl").write_text("".join(kept[:-6]) + kept[-6][:40])
    searched: list[tuple[str, int, int]] = []

    def progress(*now: Any) -> None:
        searched.append(now)

    report = evaluate(small_suite, "dev", SYSTEMS, out, limit=18, index=demo_index, progress=progress)
    assert [now for now in searched if now[0] == "searching"] == [("searching", 16, 18), ("searching", 17, 18)]
    assert report.to_dict() == json.loads((finished / "metrics.json").read_text())
    for path in finished.glob("run.*.trec"):
        assert sorted((out / path.name).read_text().splitlines()) == sorted(path.read_text().splitlines())


def test_another_configuration_is_refused(finished: Path, small_suite: Path, demo_index: Path, tmp_path: Path) -> None:
    out = tmp_path / "other"
    shutil.copytree(finished, out)
    with pytest.raises(RunError, match=r"another configuration \(systems, limit, fingerprints differ\).*--overwrite"):
        evaluate(small_suite, "dev", "frozen", out, limit=2, index=demo_index)
    assert evaluate(small_suite, "dev", "frozen", out, limit=2, index=demo_index, overwrite=True).queries == 2
    assert {path.name for path in out.iterdir()} == {
        "config.json",
        "metrics.json",
        "per_query.jsonl",
        "run.frozen.trec",
    }
    (out / "config.json").write_text("{")
    with pytest.raises(RunError, match="another configuration"):
        evaluate(small_suite, "dev", "frozen", out, limit=2, index=demo_index)


def test_the_baseline_runs_without_being_named(small_suite: Path, demo_index: Path, tmp_path: Path) -> None:
    report = evaluate(small_suite, "dev", "cut:oracle", tmp_path, limit=2, index=demo_index, baseline="demote:oracle")
    assert list(report.systems) == ["demote:oracle", "cut:oracle"]
    assert set(report.significance) == {"cut:oracle"}


def test_the_detectors_topics(small_suite: Path, demo_index: Path, tmp_path: Path, operator: Excise) -> None:
    evaluate(small_suite, "dev", "frozen,excise,excise:detector", tmp_path, limit=6, index=demo_index)
    records = lines(tmp_path)
    found = {record["text"]: [topic["text"] for topic in record["topics"]] for record in records}
    assert any(found.values())
    for record in records:
        if record["system"] != "frozen":
            result = operator.search(record["text"])
            assert [topic["text"] for topic in record["topics"]] == [topic.text for topic in result.topics]
            assert [hit["id"] for hit in record["top"]] == [hit.id for hit in result.hits]
            assert record["removed"] == [one.id for one in result.removed]
        assert record["fired"] == bool(record["topics"])
    assert "detector" in json.loads((tmp_path / "metrics.json").read_text())["config"]["fingerprints"]


def test_names_with_colons_and_commas_run_and_are_reported_as_given(
    small_suite: Path, demo_index: Path, tmp_path: Path, operator: Excise
) -> None:
    folder = tmp_path / "a:b,c"
    Adapter(operator.backbone).save_pretrained(folder)
    name = f"query-only={folder}"
    report = evaluate(small_suite, "dev", ["frozen", name], tmp_path / "list", limit=2, index=demo_index)
    assert list(report.systems) == ["frozen", name]
    assert report.significance[name]["ndcg@10"].difference == 0.0  # a fresh adapter changes nothing
    quoted = f'query-only="{folder}"'
    again = evaluate(small_suite, "dev", f"frozen,{quoted}", tmp_path / "line", limit=2, index=demo_index)
    assert again.systems[quoted] == report.systems[name]
    names = {line["system"] for line in lines(tmp_path / "line")}
    assert names == {"frozen", quoted}


def test_the_corpus_is_read_once_and_the_index_opened_once(
    small_suite: Path, demo_index: Path, tmp_path: Path, opened: Callable[[str], int]
) -> None:
    segments = [path.name for path in demo_index.glob("segment-*")]
    evaluate(small_suite, "dev", "frozen,bm25,excise:oracle,second-look:oracle", tmp_path, limit=3, index=demo_index)
    assert opened("/small/corpus.jsonl") == 1
    for name in segments:
        assert opened(f"/{name}/vectors.i8") == 1


def test_the_built_in_suite_is_indexed_once_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXCISE_CACHE", str(tmp_path / "cache"))
    first = evaluate("own", "dev", "frozen,excise:oracle", tmp_path / "one", limit=2)
    (index,) = (tmp_path / "cache" / "indexes").glob("own-*")
    stamp = (index / MANIFEST).stat().st_mtime_ns
    second = evaluate("own", "dev", "frozen,excise:oracle", tmp_path / "two", limit=2)
    assert (index / MANIFEST).stat().st_mtime_ns == stamp
    assert first == second
    assert first.systems["excise:oracle"]["recall@100"].mean > 0


def test_refusals(small_suite: Path, demo_index: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(SuiteError, match="no such folder"):
        evaluate(tmp_path / "nowhere", "dev", "frozen", out)
    with pytest.raises(SuiteError, match="no split 'test'"):
        evaluate(small_suite, "test", "frozen", out, index=demo_index)
    with pytest.raises(InvalidInput, match="there is no system 'nonsense'"):
        evaluate(small_suite, "dev", "frozen,nonsense", out, index=demo_index)
    with pytest.raises(InvalidInput, match="there is no system 'best'"):
        evaluate(small_suite, "dev", "frozen", out, index=demo_index, baseline="best")
    with pytest.raises(InvalidInput, match="limit must be"):
        evaluate(small_suite, "dev", "frozen", out, limit=0)
    assert not out.exists()
    with pytest.raises(SuiteError, match=r"holds 80 documents that are not in .*corpus\.jsonl"):
        evaluate(tiny_suite(tmp_path), "dev", "frozen", out, index=demo_index)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="could not write to"):
        evaluate(small_suite, "dev", "frozen", tmp_path / "file" / "run", index=demo_index, limit=1)


def test_a_suite_without_exclusions(tmp_path: Path) -> None:
    report = evaluate(tiny_suite(tmp_path), "dev", "frozen,bm25,paper:oracle", tmp_path / "out", index=tmp_path / "i")
    assert report.tiers == {}
    assert "leak@10" not in report.systems["frozen"]
    assert report.systems["paper:oracle"]["ndcg@10"].mean == report.systems["frozen"]["ndcg@10"].mean == 1.0
    assert report.systems["bm25"]["fire_rate"].mean == 0.0


def tiny_suite(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    texts = {"a b": "Glaciers calve into the fjord.", "c": "A recipe for rye bread."}
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"_id": k, "text": v}) + "\n" for k, v in texts.items()))
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "glaciers"}\n')
    (folder / "qrels" / "dev.tsv").write_text("q\ta b\t1\n")
    return folder
