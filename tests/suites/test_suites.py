"""Suites as they are on disk, and the sentence that each kind of bad one gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from excise.documents import Document
from excise.errors import InvalidInput, SuiteError
from excise.suites import corpus_file
from excise.suites.suites import Query, Suite, load_suite

QRELS = "query-id\tcorpus-id\tscore\n"
NEGATIVES = "query-id\tcorpus-id\n"


def write_lines(path: Path, records: list[object]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three queries: two in the split dev, of which one only rules out, and one in the split train."""
    suite = tmp_path / "cars"
    (suite / "qrels").mkdir(parents=True)
    (suite / "negatives").mkdir()
    write_lines(suite / "corpus.jsonl", [{"_id": name, "title": "", "text": f"about {name}"} for name in "abc"])
    queries = [
        {"_id": "q2", "text": "cars, not c", "metadata": {"tier": "T1", "excluded": ["c"], "length": "short"}},
        {"_id": "q1", "text": "cars", "metadata": None},
        {"_id": 3, "text": "anything but a"},
    ]
    write_lines(suite / "queries.jsonl", queries)
    (suite / "qrels" / "dev.tsv").write_text(f"{QRELS}q2\ta\t2\nq2\tb\t0\n")
    (suite / "qrels" / "train.tsv").write_text(f"{QRELS}q1\ta\t1\n")
    (suite / "negatives" / "dev.tsv").write_text(f"{NEGATIVES}q2\tc\n3\ta\n3\ta\n")
    return suite


def test_a_split_holds_the_queries_with_a_row_in_the_order_of_the_file(folder: Path) -> None:
    suite = load_suite(folder, "dev")
    assert (suite.name, suite.folder, suite.split) == ("cars", folder, "dev")
    assert suite.corpus == folder / "corpus.jsonl"
    assert suite.queries == (
        Query("q2", "cars, not c", {"tier": "T1", "excluded": ["c"], "length": "short"}),
        Query("3", "anything but a"),
    )
    assert suite.qrels == {"q2": {"a": 2, "b": 0}}
    assert suite.negatives == {"q2": frozenset("c"), "3": frozenset("a")}


def test_negatives_metadata_and_header_are_optional(folder: Path) -> None:
    (folder / "qrels" / "train.tsv").write_text("q1\ta\t1\n\n")
    suite = load_suite(str(folder), "train")
    assert (suite.qrels, suite.negatives) == ({"q1": {"a": 1}}, {})
    assert (suite.queries[0].tier, suite.queries[0].excluded) == (None, ())


def test_a_limit_keeps_the_first_queries_and_their_rows(folder: Path) -> None:
    suite = load_suite(folder, "dev", limit=1)
    assert [query.id for query in suite.queries] == ["q2"]
    assert suite.negatives == {"q2": frozenset("c")}
    assert load_suite(folder, "dev", limit=9) == load_suite(folder, "dev")
    with pytest.raises(InvalidInput, match="limit must be a whole number of at least 1, got 0"):
        load_suite(folder, "dev", limit=0)


def test_document_ids_are_read_from_any_valid_line(folder: Path) -> None:
    lines = [
        '\ufeff{"_id": "a", "text": "x"}',
        '{"text": "says \\"_id\\": \\"no\\"", "meta": {"_id": "no"}, "_id": "b"}',
        '{ "_id" : "\\u0063" , "text": "an escaped id"}',
        '{"_id": 12, "text": "a number"}',
        '{"id": "d", "text": "the other name"}',
    ]
    (folder / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "qrels" / "dev.tsv").write_text(f"{QRELS}q1\ta\t1\nq1\tb\t1\nq1\tc\t1\nq1\t12\t1\nq1\td\t1\n")
    (folder / "negatives" / "dev.tsv").unlink()
    assert set(load_suite(folder, "dev").qrels["q1"]) == {"a", "b", "c", "12", "d"}
    (folder / "qrels" / "dev.tsv").write_text(f"{QRELS}q1\tno\t1\n")
    with pytest.raises(SuiteError, match="'no' is not in corpus"):
        load_suite(folder, "dev")


def test_the_built_in_suite() -> None:
    train, dev = load_suite("own", "train"), load_suite("own", "dev")
    assert (train.name, len(train.queries), len(dev.queries)) == ("own", 540, 180)
    assert {query.tier for query in dev.queries} == {"T1", "T2", "T3", "plain", "AND", "OR"}
    assert {query.id for query in dev.queries if query.excluded} == set(dev.negatives)


def test_own_as_a_path_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SuiteError, match="own: no such folder"):
        load_suite(Path("own"), "dev")


def put(name: str, content: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(content)


def gone(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (gone("corpus.jsonl"), r"corpus\.jsonl: no such file"),
        (gone("queries.jsonl"), r"queries\.jsonl: no such file"),
        (gone("qrels/dev.tsv"), "the suite 'cars' has no split 'dev'; it has train"),
        (put("qrels/dev.tsv", f"{QRELS}q2\ta\n"), r"dev\.tsv, line 2: a row must be query-id, corpus-id, score"),
        (put("qrels/dev.tsv", f"{QRELS}q2 a 1\n"), "line 2: a row must be"),
        (put("qrels/dev.tsv", f"{QRELS}q2\t\t1\n"), "line 2: a row must be"),
        (put("qrels/dev.tsv", f"{QRELS}q2\ta\tyes\n"), "line 2: the score must be a whole number, got 'yes'"),
        (put("qrels/dev.tsv", f"{QRELS}q2\ta\t1\nq2\ta\t2\n"), "line 3: .* already have another score"),
        (put("qrels/dev.tsv", f"{QRELS}q2\tz\t1\n"), "line 2: the document 'z' is not in corpus"),
        (put("qrels/dev.tsv", f"{QRELS}q9\ta\t1\n"), "line 2: the query 'q9' is not in queries"),
        (put("negatives/dev.tsv", f"{NEGATIVES}q2\tz\n"), r"negatives/dev\.tsv, line 2: the document 'z'"),
        (put("negatives/dev.tsv", f"{NEGATIVES}q9\ta\n"), r"negatives/dev\.tsv, line 2: the query 'q9'"),
        (put("negatives/dev.tsv", f"{NEGATIVES}q2\tc\t1\n"), "line 2: a row must be query-id, corpus-id with"),
        (put("negatives/dev.tsv", f"{NEGATIVES}q2\ta\n"), "query 'q2' both wants and rules out document 'a'"),
        (put("queries.jsonl", '{"_id": "q", "text": "x"}\n' * 2), "line 2: the query id 'q' was already used"),
        (put("queries.jsonl", "{\n"), "line 1: not valid JSON"),
        (put("queries.jsonl", "[]\n"), "line 1: must be a JSON object, got list"),
        (put("queries.jsonl", '{"text": "x"}\n'), "line 1: a query needs an '_id'"),
        (put("queries.jsonl", '{"_id": "q", "text": " "}\n'), "the query 'q' needs a non-empty 'text'"),
        (put("queries.jsonl", '{"_id": "q", "text": "x", "metadata": [1]}\n'), "must be an object"),
        (put("queries.jsonl", '{"_id": "q", "text": "x", "metadata": {"excluded": "y"}}\n'), "a list of texts"),
        (put("queries.jsonl", '{"_id": "q", "text": "x", "metadata": {"tier": 1}}\n'), "tier of query 'q' must be"),
        (put("corpus.jsonl", '{"text": "x"}\n'), r"corpus\.jsonl, line 1: a document needs an '_id'"),
        (put("corpus.jsonl", '{"_id": true}\n'), r"corpus\.jsonl, line 1: a document's id must be .*, got True"),
        (put("corpus.jsonl", '{"_id": "a", "text": " "}\n'), r"corpus\.jsonl, line 1: document 'a' has an empty text"),
        (put("corpus.jsonl", '{"_id": "a", "text": "x"}\n' * 2), "line 2: the id 'a' was already used at line 1"),
        (lambda folder: (folder / "corpus.jsonl").write_bytes(b'{"_id": "\xff"}'), "line 1: not UTF-8"),
    ],
)
def test_bad_suites_get_one_sentence(folder: Path, spoil: Callable[[Path], object], sentence: str) -> None:
    spoil(folder)
    with pytest.raises(SuiteError, match=sentence) as caught:
        load_suite(folder, "dev")
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_missing_folders_and_empty_splits(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="no such folder; a suite is a folder, or 'own'"):
        load_suite(tmp_path / "nowhere", "dev")
    with pytest.raises(SuiteError, match="qrels: no such folder, so the suite has no splits"):
        load_suite(tmp_path, "dev")
    with pytest.raises(SuiteError, match=r"no split '../dev'; it has dev and train\."):
        load_suite(folder, "../dev")
    (folder / "qrels" / "train.tsv").write_text(QRELS)
    with pytest.raises(SuiteError, match="the split 'train' is empty"):
        load_suite(folder, "train")


def test_the_corpus_is_read_once(folder: Path) -> None:
    """What is asked for later comes from memory: the file may be gone."""
    suite = load_suite(folder, "dev", limit=1)
    content = (folder / "corpus.jsonl").read_bytes()
    (folder / "corpus.jsonl").unlink()
    assert list(suite.documents()) == [Document(name, f"about {name}") for name in "abc"]
    assert suite.documents() is suite.documents()
    assert suite.corpus_fingerprint == sha256(content).hexdigest()[:16]


def test_a_long_corpus_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = load_suite(folder, "dev")
    monkeypatch.setattr(corpus_file, "KEPT_BYTES", 1)
    long = load_suite(folder, "dev")
    assert long.corpus_file is not None
    assert long.corpus_file.kept is None
    assert list(long.documents()) == list(short.documents())
    assert long.corpus_fingerprint == short.corpus_fingerprint


def test_a_suite_made_by_hand_reads_its_corpus_when_asked(folder: Path) -> None:
    suite = Suite("cars", folder, "dev", folder / "corpus.jsonl", (), {}, {})
    assert [document.id for document in suite.documents()] == ["a", "b", "c"]
    assert suite.corpus_fingerprint == load_suite(folder, "dev").corpus_fingerprint


def test_broken_text_in_queries_and_documents_is_replaced(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text(r'{"_id": "a", "text": "\ud83d x"}' + "\n")
    (folder / "queries.jsonl").write_text(r'{"_id": "q1", "text": "tea \ud83d"}' + "\n")
    suite = load_suite(folder, "train")
    assert suite.queries[0].text == "tea \N{REPLACEMENT CHARACTER}"
    assert [document.text for document in suite.documents()] == ["\N{REPLACEMENT CHARACTER} x"]
