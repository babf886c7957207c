"""Runs over files of pairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from excise.errors import InvalidInput, SuiteError
from excise.evaluation.experiments.pair_run import evaluate_pairs

LEAF = "The Nissan Leaf is an electric hatchback."
TESLA = "The Tesla Model 3 is an electric car: cars from Tesla are electric."
BREAD = "A recipe for rye bread."
BOOLEAN = [
    {"_id": "p1", "text": "electric cars, not Tesla", "positive": LEAF, "negative": TESLA},
    {"_id": "p2", "text": "electric cars", "positive": LEAF, "negative": BREAD},
]
NEVIR = [{"_id": "n1", "q1": "electric cars", "q2": "rye bread", "doc1": LEAF, "doc2": BREAD}]


def write(path: Path, records: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_boolean_pairs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = write(tmp_path / "p.jsonl", BOOLEAN)
    report = evaluate_pairs(file, "bm25,excise,-soft", out)
    metrics = report.to_dict()
    assert metrics == json.loads((out / "metrics.json").read_text())
    assert list(metrics) == ["file", "kind", "pairs", "systems", "intervals", "significance", "config"]
    assert report.systems["frozen"]["accuracy"].n == 2
    assert (metrics["file"], metrics["kind"], metrics["pairs"]) == ("p", "boolean", 2)
    assert metrics["systems"]["frozen"] == {"accuracy": 0.5}
    assert metrics["systems"]["-soft"] == {"accuracy": 1.0}
    assert metrics["significance"]["-soft"]["accuracy"]["difference"] == 0.5
    records = [json.loads(line) for line in (out / "per_query.jsonl").read_text().splitlines()]
    assert len(records) == 8
    one = {record["system"]: record["preferences"][0] for record in records if record["id"] == "p1"}
    assert one["excise"]["fired"] is True
    assert one["-soft"]["other_score"] is None  # with two candidates and no penalty, the strongest match is removed
    gap = {name: side["other_score"] - side["preferred_score"] for name, side in one.items() if name != "-soft"}
    assert gap["excise"] < gap["frozen"]
    assert evaluate_pairs(file, "bm25,excise,-soft", out) == report


def test_nevir_pairs_hold_both_ways(tmp_path: Path) -> None:
    report = evaluate_pairs(write(tmp_path / "n.jsonl", NEVIR), "frozen,bm25", tmp_path / "out")
    assert report.to_dict()["systems"] == {"frozen": {"accuracy": 1.0}, "bm25": {"accuracy": 1.0}}


def test_a_limit_takes_the_first_pairs(tmp_path: Path) -> None:
    file = write(tmp_path / "p.jsonl", BOOLEAN)
    assert evaluate_pairs(file, "frozen", tmp_path / "out", limit=1).pairs == 1
    with pytest.raises(InvalidInput, match="limit must be"):
        evaluate_pairs(file, "frozen", tmp_path / "out", limit=0)


def test_refusals(tmp_path: Path) -> None:
    file = write(tmp_path / "p.jsonl", BOOLEAN)
    with pytest.raises(InvalidInput, match="'excise:oracle': pairs name no excluded topics"):
        evaluate_pairs(file, "excise:oracle", tmp_path / "out")
    with pytest.raises(SuiteError, match="no such file"):
        evaluate_pairs(tmp_path / "nowhere.jsonl", "frozen", tmp_path / "out")
    assert not (tmp_path / "out").exists()
