"""Files of passage pairs, and the sentence that each kind of bad one gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from excise.errors import SuiteError
from excise.suites.pairs import PassagePair, Preference, load_pairs


def write_lines(path: Path, records: list[object]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_boolean_pairs(tmp_path: Path) -> None:
    record = {"_id": "p1", "text": "x not z", "operator": "NOT", "positive": "about x", "negative": "about z"}
    pairs = load_pairs(write_lines(tmp_path / "dev_pairs.jsonl", [record]))
    assert (pairs.name, pairs.kind) == ("dev_pairs", "boolean")
    assert pairs.pairs == (PassagePair("p1", (Preference("x not z", "about x", "about z"),)),)


def test_nevir_pairs_have_two_preferences(tmp_path: Path) -> None:
    record = {"q1": "who did?", "q2": "who did not?", "doc1": "he did", "doc2": "he did not"}
    pairs = load_pairs(write_lines(tmp_path / "n.jsonl", [record]))
    first = Preference("who did?", "he did", "he did not")
    second = Preference("who did not?", "he did not", "he did")
    assert (pairs.kind, pairs.pairs) == ("nevir", (PassagePair("line-1", (first, second)),))


BOOLEAN = {"_id": "p1", "text": "x not z", "positive": "about x", "negative": "about z"}


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        ([], "holds no pairs"),
        ([BOOLEAN, BOOLEAN], "line 2: the pair id 'p1' was already used"),
        ([BOOLEAN, {"q1": "a", "q2": "b", "doc1": "c", "doc2": "d"}], "line 2: a nevir pair among boolean pairs"),
        ([BOOLEAN | {"negative": ""}], "line 1: a pair needs the texts text, positive, negative or q1, q2"),
        ([{}], "got the fields none"),
        ([BOOLEAN | {"_id": None}], "line 1: a pair's '_id' must be"),
        (["text"], "line 1: must be a JSON object, got str"),
    ],
)
def test_bad_pairs_get_one_sentence(tmp_path: Path, records: list[object], sentence: str) -> None:
    with pytest.raises(SuiteError, match=sentence):
        load_pairs(write_lines(tmp_path / "p.jsonl", records))


def test_a_missing_file_of_pairs(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="no such file"):
        load_pairs(tmp_path / "nowhere.jsonl")
