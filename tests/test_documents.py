"""Corpora in every accepted form, and what bad ones get."""

from __future__ import annotations

from pathlib import Path

import pytest

from excise.documents import Corpus, Document, read_documents
from excise.errors import BadCorpus, InvalidInput


def read(path: Path, skip_bad: bool = False) -> list[Document]:
    return list(Corpus([path], skip_bad))


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"_id": "a", "title": "T", "text": "x"}\n\n{"id": 7, "text": "y", "title": null}\n')
    assert read(path) == [Document("a", "x", "T"), Document("7", "y")]


@pytest.mark.parametrize(("name", "mark"), [("c.csv", ","), ("c.tsv", "\t")])
def test_tables(tmp_path: Path, name: str, mark: str) -> None:
    path = tmp_path / name
    path.write_text(f'id{mark}title{mark}text\na{mark}T{mark}"two\nlines"\nb{mark}{mark}y\n')
    assert read(path) == [Document("a", "two\nlines", "T"), Document("b", "y")]


def test_a_beir_folder(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "x"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "never read"}\n')
    assert [document.id for document in read(tmp_path)] == ["a"]


def test_a_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.md").write_text("# A title\n\nBody.")
    (tmp_path / "a.txt").write_text("Plain.")
    (tmp_path / "skip.pdf").write_bytes(b"%PDF")
    assert read(tmp_path) == [Document("a.txt", "Plain."), Document("sub/b.md", "Body.", "A title")]


def test_several_paths_are_one_corpus(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text(f'{{"id": "{name}", "text": "x"}}\n')
    corpus = Corpus([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert [d.id for d in corpus] == [d.id for d in corpus] == ["a", "b"]  # it can be read twice


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "not valid JSON"),
        ("[1]", "must be an object"),
        ('{"text": "x"}', "needs an '_id' or 'id'"),
        ('{"id": "b"}', "has no 'text'"),
        ('{"id": "b", "text": " "}', "empty text"),
        ('{"id": "", "text": "x"}', "non-empty id"),
        ('{"id": true, "text": "x"}', "string or a whole number"),
        ('{"id": "b", "text": 5}', "must be strings"),
        ('{"id": "a", "text": "again"}', "already used at"),
        ('{"id": "' + "x" * 600 + '", "text": "x"}', "at most 512"),
        ("[" * 100_000, "not valid JSON"),
        ('{"id": ' + "9" * 5_000 + ', "text": "x"}', "not valid JSON"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, sentence: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(f'{{"id": "a", "text": "x"}}\n{line}\n{{"id": "z", "text": "x"}}\n')
    with pytest.raises(BadCorpus, match=sentence) as caught:
        read(path)
    assert "line 2" in str(caught.value)
    assert str(path) in str(caught.value)
    corpus = Corpus([path], skip_bad=True)
    assert [document.id for document in corpus] == ["a", "z"]
    assert corpus.skipped == 1


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"id": "a", "text": "\xff\xfe"}\n')
    with pytest.raises(BadCorpus, match="line 1: not UTF-8"):
        read(path)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "x.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadCorpus, match="not UTF-8"):
        read(tmp_path / "t")


def test_halves_of_characters_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "a\\ud83d", "title": "\\udcff", "text": "x\\ud83d \\ud83d\\ude00"}\n')
    assert read(path) == [Document("a\ufffd", "x\ufffd \U0001f600", "\ufffd")]
    assert Document("a\udcff", "x\udcff", "t\udcff") == Document("a\ufffd", "x\ufffd", "t\ufffd")


def test_ids_that_are_one_when_replaced_are_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "a\\ud83d", "text": "x"}\n{"id": "a\\ud83e", "text": "y"}\n')
    with pytest.raises(BadCorpus, match="line 2: the id 'a\ufffd' was already used at"):
        read(path)
    with pytest.raises(InvalidInput, match="stands for two documents"):
        read_documents([{"id": "a\ud83d", "text": "x"}, {"id": "a\ud83e", "text": "y"}])


def test_control_characters_are_text_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_bytes(b"id,text\na,nul\x00 and \x1b[2J\n")
    assert read(path) == [Document("a", "nul\x00 and \x1b[2J")]


@pytest.mark.parametrize(
    ("name", "line"), [("c.csv", b"b,caf\xe9\n"), ("c.jsonl", b'{"id": "b", "text": "caf\xe9"}\n')]
)
def test_bytes_that_are_not_utf_8_are_refused_by_line(tmp_path: Path, name: str, line: bytes) -> None:
    path = tmp_path / name
    path.write_bytes((b"id,text\n" if name == "c.csv" else b"") + line)
    with pytest.raises(BadCorpus, match="not UTF-8 text"):
        read(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("name,text\na,b\n", "the header needs"),
        ("", "the header needs"),
        ("id,text\na\n", "line 2: the row does not have"),
        ("id,text\na,b,c\n", "line 2: the row does not have"),
        ("id,text\na,\n", "empty text"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "c.csv"
    path.write_text(content)
    with pytest.raises(BadCorpus, match=sentence):
        read(path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails when it is read")
@pytest.mark.parametrize("name", ["c.jsonl", "c.csv", "c.txt"])
def test_files_that_cannot_be_read_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("/proc/self/mem")
    with pytest.raises(BadCorpus, match=f"{name}: cannot be read"):
        read(tmp_path / name)


def test_missing_empty_and_unknown(tmp_path: Path) -> None:
    with pytest.raises(BadCorpus, match="no such file"):
        Corpus([tmp_path / "nowhere"])
    with pytest.raises(BadCorpus, match="no such file"):
        read_documents("a text that was taken for a path " * 200)
    with pytest.raises(BadCorpus, match="no such file"):
        read_documents("nul\x00")
    with pytest.raises(BadCorpus, match="at least one corpus"):
        Corpus([])
    with pytest.raises(BadCorpus, match="holds neither"):
        read(tmp_path)
    (tmp_path / "c.parquet").write_text("x")
    with pytest.raises(BadCorpus, match=r"unknown kind of file '\.parquet'"):
        read(tmp_path / "c.parquet")


def test_documents_in_memory() -> None:
    given = [{"id": "a", "text": "x"}, Document("b", "y")]
    assert read_documents(given) == [Document("a", "x"), Document("b", "y")]
    with pytest.raises(InvalidInput, match="stands for two documents"):
        read_documents([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}])
    with pytest.raises(InvalidInput, match="a path or a list"):
        read_documents(5)
    with pytest.raises(InvalidInput, match="enormous number"):
        read_documents([{"id": 10**5_000, "text": "x"}])


def test_title_and_text_are_encoded_together() -> None:
    assert Document("a", "Body", "Why?").full_text == "Why? Body"
    assert Document("a", "Body", " ").full_text == "Body"
