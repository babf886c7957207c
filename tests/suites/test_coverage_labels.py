"""Files of graded labels, and the sentence that each kind of bad one gets."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest

from excise.errors import InvalidInput, SuiteError
from excise.suites.coverage_labels import LabelledSearch, load_labels

LABEL: dict[str, Any] = {
    "id": "l1",
    "corpus": "cars",
    "query": "electric cars, not Tesla",
    "wanted": "electric cars",
    "topic": "Tesla",
    "kind": "present",
    "document": "model3",
    "grade": 2,
}


def write_labels(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def changed(**fields: Any) -> dict[str, Any]:
    return {**LABEL, **fields}


def test_rows_of_one_search_are_grouped_across_files(tmp_path: Path, corpus_file: Path) -> None:
    one = [LABEL, changed(id="l2", document="leaf", grade=0), changed(id="l3", kind="foreign", topic="chess")]
    two = [changed(id=4, document="modely", grade=1), changed(id="l5", topic="BYD", document="dolphin")]
    paths = [write_labels(tmp_path / "one.jsonl", one), write_labels(tmp_path / "two.jsonl", two)]
    labels = load_labels(paths, {"cars": corpus_file, "unread": tmp_path / "nowhere.jsonl"})
    first, foreign, other = labels.searches
    assert first == LabelledSearch(
        *("l1", "cars", LABEL["query"], "electric cars", "Tesla", "present"), {"model3": 2, "leaf": 0, "modely": 1}
    )
    assert (foreign.kind, foreign.topic, other.topic) == ("foreign", "chess", "BYD")
    assert (labels.names, list(labels.corpora)) == (("one.jsonl", "two.jsonl"), ["cars"])
    assert labels.fingerprint != load_labels(paths[:1], {"cars": corpus_file}).fingerprint


def test_a_limit_takes_the_first_searches_and_their_corpora(tmp_path: Path, corpus_file: Path) -> None:
    rows = [LABEL, changed(id="l2", document="leaf", grade=0), changed(id="l3", corpus="more")]
    labels = load_labels([write_labels(tmp_path / "l.jsonl", rows)], {"cars": corpus_file, "more": corpus_file})
    assert labels.first(None) is labels
    limited = labels.first(1)
    assert ([search.id for search in limited.searches], list(limited.corpora)) == (["l1"], ["cars"])
    assert len(limited.searches[0].grades) == 2
    for bad in (0, True, 1.5):
        with pytest.raises(InvalidInput, match="limit must be a whole number of at least 1"):
            labels.first(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], r"l\.jsonl: no labels"),
        ([LABEL, "{"], "line 2: not valid JSON"),
        ([{"id": "l1", "corpus": "cars"}], "line 1: a label needs query, wanted, topic, kind, document, grade"),
        ([changed(topic=" ")], "line 1: 'topic' must be a non-empty text, got ' '"),
        ([changed(wanted=3)], "line 1: 'wanted' must be a non-empty text, got 3"),
        ([changed(document=1.5)], "line 1: 'document' must be a text or a whole number, got 1.5"),
        ([LABEL, changed(id="l2", grade=3)], "line 2: the grade must be 0, 1 or 2, got 3"),
        ([changed(grade=True)], "line 1: the grade must be 0, 1 or 2, got True"),
        ([changed(grade="2")], "line 1: the grade must be 0, 1 or 2, got '2'"),
        ([changed(grade=[2])], r"line 1: the grade must be 0, 1 or 2, got \[2\]"),
        ([changed(kind="absent")], "line 1: the kind must be present or foreign, got 'absent'"),
        ([changed(query="word " * 1_001)], "line 1: the query has 1,001 words"),
        ([changed(topic="word " * 101)], "line 1: an excluded topic has 101 words"),
        ([changed(corpus="boats")], r"line 1: .* corpus 'boats', and only cars was given \(--corpus name=FILE\)"),
        ([LABEL, changed(id="l2", document="beetle")], r"line 2: the document 'beetle' is not in .*cars\.jsonl"),
        ([LABEL, LABEL], r"line 2: the label id 'l1' was already used at .*l\.jsonl, line 1"),
        ([LABEL, changed(id="l2", grade=0)], "line 2: the document 'model3' was already graded for this search"),
    ],
)
def test_bad_labels_get_one_sentence(tmp_path: Path, corpus_file: Path, rows: list[Any], sentence: str) -> None:
    with pytest.raises(SuiteError, match=sentence):
        load_labels([write_labels(tmp_path / "l.jsonl", rows)], {"cars": corpus_file})


def test_files_that_are_missing(tmp_path: Path, corpus_file: Path) -> None:
    with pytest.raises(InvalidInput, match="name at least one file of labels"):
        load_labels([], {})
    with pytest.raises(SuiteError, match=r"nowhere\.jsonl: no such file"):
        load_labels([tmp_path / "nowhere.jsonl"], {"cars": corpus_file})
    labels = write_labels(tmp_path / "l.jsonl", [LABEL])
    with pytest.raises(SuiteError, match=r"corpus 'cars', and none was given"):
        load_labels([labels], {})
    with pytest.raises(SuiteError, match=r"nowhere\.jsonl: no such file"):
        load_labels([labels], {"cars": tmp_path / "nowhere.jsonl"})


def test_the_labels_that_ship_can_be_read(tmp_path: Path) -> None:
    """Their documents are elsewhere; files with the same ids stand in for them."""
    with as_file(files("excise") / "data" / "own" / "coverage") as folder:
        paths = sorted(folder.glob("*.jsonl"))
        rows = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
        corpora = {}
        for name in {row["corpus"] for row in rows}:
            ids = dict.fromkeys(row["document"] for row in rows if row["corpus"] == name)
            corpora[name] = write_labels(tmp_path / f"{name}.jsonl", [{"_id": id, "text": "text"} for id in ids])
        labels = load_labels(paths, corpora)
    assert (len(paths), len(labels.searches), sum(len(one.grades) for one in labels.searches)) == (7, 408, 2_605)
    assert sum(one.kind == "foreign" for one in labels.searches) == 44
    assert set(labels.corpora) == {"scifact", "reuters", "excluir", "eurlex", "finance"}
