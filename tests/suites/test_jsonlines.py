"""JSON lines: what is read, and where a complaint points."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from excise.errors import BadCorpus, SuiteError
from excise.suites import jsonlines
from excise.suites.jsonlines import read_objects


def test_blank_lines_are_passed_over_and_counted(tmp_path: Path) -> None:
    path, digest = tmp_path / "lines.jsonl", sha256()
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"a": 2}')
    found = [(line.where, record) for line, record in read_objects(path, SuiteError, digest)]
    assert found == [(f"{path}, line 1", {"a": 1}), (f"{path}, line 4", {"a": 2})]
    assert digest.digest() == sha256(path.read_bytes()).digest()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{oops", "line 1: not valid JSON"),
        (b"{}\n\xff\n", "line 2: not UTF-8 text"),
        (b"[]", "line 1: must be a JSON object, got list"),
        (b"[" * 100_000, "line 1: not valid JSON"),
        (b'{"a": ' + b"1" * 5_000 + b"}", "line 1: not valid JSON"),
        (b'{"a": "' + b"x" * 100 + b'"}', "line 1: the line has 109 bytes; at most 64 are read"),
    ],
)
def test_complaints_name_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, sentence: str
) -> None:
    if "at most 64" in sentence:
        monkeypatch.setattr(jsonlines, "LINE_LIMIT", 64)
    (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(BadCorpus, match=sentence):
        list(read_objects(tmp_path / "bad.jsonl", BadCorpus))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"nowhere\.jsonl: no such file"):
        list(read_objects(tmp_path / "nowhere.jsonl", SuiteError))
