"""Filters on metadata: what they match, and what is refused. What engines make of them is in the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from excise.documents import Corpus, Document
from excise.errors import BadCorpus, InvalidInput
from excise.filters import read_where
from excise.search.operator import load


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ([("year", 2020)], "must be a mapping"),
        ({"year": {"above": 1}}, "unknown operator 'above'"),
        ({"year": {}}, "no operator for 'year'"),
        ({"year": None}, "exists"),
        ({"year": {"gte": "soon"}}, "a number or a date"),
        ({"year": {"gte": True}}, "a number or a date"),
        ({"year": {"gte": float("nan")}}, "texts, numbers"),
        ({"year": [2020]}, "texts, numbers"),
        ({"year": {"in": "2020"}}, "takes a list"),
        ({"year": {"in": [[1]]}}, "texts, numbers"),
        ({"year": {"exists": "yes"}}, "true or false"),
        ({"a.b": 1}, "no field's name"),
        ({'"; DROP': 1}, "no field's name"),
        ({7: 1}, "no field's name"),
        ({f"f{i}": i for i in range(60)}, "60 conditions"),
    ],
)
def test_what_cannot_be_asked_is_refused(where: object, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        read_where(where)  # type: ignore[arg-type]


def test_nothing_asked_is_no_filter() -> None:
    assert read_where(None) is None
    assert read_where({}) is None


def test_true_is_not_one() -> None:
    one = read_where({"n": 1})
    assert one is not None
    assert one.matches({"n": 1.0})
    assert not one.matches({"n": True})
    assert not one.matches({"n": "1"})


@pytest.mark.parametrize(
    "metadata", [{"a": float("inf")}, {"a": {1, 2}}, {"a": "x" * 70_000}, {"a": [[[[[[[[[1]]]]]]]]]}, ["a"]]
)
def test_metadata_that_is_no_plain_json_is_refused(metadata: object) -> None:
    with pytest.raises(InvalidInput, match="'x'"):
        Document("x", "text", metadata=metadata)  # type: ignore[arg-type]


def test_metadata_is_cleaned_and_the_documents_own() -> None:
    given = {"a": ["caf\udce9", "nul\0"], "b": (1, 2)}
    document = Document("x", "text", metadata=given)
    assert document.metadata == {"a": ["caf\ufffd", "nul\ufffd"], "b": [1, 2]}
    given["a"].append("later")  # type: ignore[union-attr]
    assert len(document.metadata["a"]) == 2
    assert hash(document) == hash(Document("x", "text"))


def test_metadata_comes_from_json_lines_and_tables(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"id": "a", "text": "t", "metadata": {"year": 2020}}\n{"id": "b", "text": "t"}\n'
    )
    (tmp_path / "b.csv").write_text('id,text,metadata\nc,t,"{""year"": 2021}"\nd,t,\n')
    documents = list(Corpus([tmp_path / "a.jsonl", tmp_path / "b.csv"]))
    assert [one.metadata for one in documents] == [{"year": 2020}, {}, {"year": 2021}, {}]
    (tmp_path / "bad.csv").write_text("id,text,metadata\nc,t,year 2021\n")
    with pytest.raises(BadCorpus, match=r"bad.csv, line 2: the column 'metadata' is not valid JSON"):
        list(Corpus([tmp_path / "bad.csv"]))


def test_exclusion_and_filters_combine() -> None:
    excise = load()
    texts = {
        "leaf": ("The Nissan Leaf is an electric hatchback made in Sunderland.", 2010),
        "model3": ("The Tesla Model 3 is an electric sedan with a large touchscreen.", 2017),
        "zoe": ("The Renault Zoe is a small electric car.", 2012),
        "dolphin": ("BYD's Dolphin is an electric hatchback from China.", 2021),
        "ioniq": ("The Hyundai Ioniq 5 is an electric crossover.", 2021),
        "modely": ("The Tesla Model Y is an electric crossover built in Berlin.", 2020),
    }
    excise.index([{"id": id, "text": text, "metadata": {"year": year}} for id, (text, year) in texts.items()])
    found = excise.search("electric cars", exclude=["Tesla"], where={"year": {"gte": 2011}})
    assert {hit.id for hit in found.hits} | {one.id for one in found.removed} == set(texts) - {"leaf"}
    assert not {"model3", "modely"} & {hit.id for hit in found.hits[:3]}
    assert excise.search("electric cars", where={"year": 1900}).hits == ()
    with pytest.raises(InvalidInput, match="unknown operator"):
        excise.search("electric cars", where={"year": {"at": 1}})
