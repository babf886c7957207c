"""Indexing a portion at a time: written while the next is encoded, and the same as if it were not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import get_ident

import pytest

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.engines import LocalEngine
from excise.search import indexing
from excise.search.indexing import add_new
from excise.vectors.encoded import EncodedDocuments


class Watched(LocalEngine):
    """A local engine that notes what is committed, by which thread; it refuses documents that say so."""

    commits: list[list[str]]
    threads: set[int]

    def add(self, documents: Sequence[Document], encoded: EncodedDocuments) -> None:
        if any("refuse me" in document.text for document in documents):
            raise OSError("the disk is full")
        super().add(documents, encoded)
        self.commits.append([document.id for document in documents])
        self.threads.add(get_ident())


@pytest.fixture
def engine(minilm: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    monkeypatch.setattr(indexing, "COMMIT_DOCUMENTS", 2)
    made = Watched.create(tmp_path / "i", minilm.info)
    assert isinstance(made, Watched)
    made.commits, made.threads = [], set()
    return made


def documents(*texts: str) -> list[Document]:
    return [Document(str(number), text) for number, text in enumerate(texts)]


def test_portions_are_committed_in_order_by_another_thread(engine: Watched, minilm: Backbone) -> None:
    told: list[tuple[int, int]] = []
    corpus = documents(*(f"text number {number}" for number in range(7)))
    assert add_new(engine, corpus, 7, minilm, lambda done, total: told.append((done, total))) == 7
    assert engine.commits == [["0", "1"], ["2", "3"], ["4", "5"], ["6"]]
    assert get_ident() not in engine.threads
    assert list(engine.reader().ids()) == [str(number) for number in range(7)]
    assert told == sorted(told)
    assert told[-1] == (7, 7)


def test_an_id_that_comes_again_at_once_is_known(engine: Watched, minilm: Backbone) -> None:
    first = documents("one", "two")
    corpus = [*first, first[1], Document("0", "another one"), first[1], Document("9", "nine")]
    assert add_new(engine, corpus, 6, minilm, None) == 4
    assert engine.commits == [["0", "1"], ["0"], ["9"]]
    assert [document.text for document in engine.reader().documents(["0", "1"])] == ["another one", "two"]


def test_what_goes_wrong_while_writing_is_raised_and_the_rest_is_kept(engine: Watched, minilm: Backbone) -> None:
    corpus = documents("one", "two", "refuse me", "four", "five", "six", "seven")
    with pytest.raises(OSError, match="disk is full"):
        add_new(engine, corpus, 7, minilm, None)
    assert sorted(engine.reader().ids()) == ["0", "1"]


def test_the_last_portion_too_is_refused_aloud(engine: Watched, minilm: Backbone) -> None:
    with pytest.raises(OSError, match="disk is full"):
        add_new(engine, documents("one", "two", "refuse me"), 3, minilm, None)
