"""Documents into an engine, a commit at a time: what is there already is passed over, so a run can be interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.engines.base import Engine
from excise.vectors.encoded import EncodedDocuments

IndexProgress = Callable[[int, int], None]
"""Called with the documents done, and the documents in all."""

COMMIT_DOCUMENTS = 1_024  # documents that are encoded and committed at a time
COMMIT_WORDS = 200_000  # or so many words, which ever comes first: what is held in memory stays the same
TIDY_EVERY = 16  # commits between two merges: the engine never has many small parts


def add_new(
    engine: Engine, corpus: Iterable[Document], total: int, backbone: Backbone, progress: IndexProgress | None
) -> int:
    """Add what the engine does not hold yet, a commit at a time; returns how many documents that were."""
    added = done = 0
    with ThreadPoolExecutor(1) as pool:
        writer = _Writer(engine, pool)
        for portion in portions(corpus):
            writer.wait_for(portion)
            new = not_held(engine, portion)
            if new:
                texts = [document.full_text for document in new]
                writer.write(new, backbone.encode_documents(texts, _share_of(len(new), done, total, progress)))
                added += len(new)
            done += len(portion)
            if progress is not None:
                progress(done, total)
        writer.finish()
    return added


class _Writer:
    """Commits a portion while the next one is encoded: one at a time, so no more than two are ever held."""

    def __init__(self, engine: Engine, pool: ThreadPoolExecutor) -> None:
        self._engine, self._pool = engine, pool
        self._written: Future[None] | None = None
        self._ids: frozenset[str] = frozenset()
        self._commits = 0

    def wait_for(self, documents: list[Document]) -> None:
        """Wait where the engine cannot tell yet whether it holds one of these documents."""
        if not self._ids.isdisjoint(document.id for document in documents):
            self.finish()

    def write(self, documents: list[Document], encoded: EncodedDocuments) -> None:
        """Begin to commit documents, once those before them are committed."""
        self.finish()
        self._ids = frozenset(document.id for document in documents)
        self._written = self._pool.submit(self._commit, documents, encoded)

    def finish(self) -> None:
        """Wait until all is committed, and raise what went wrong."""
        written, self._written, self._ids = self._written, None, frozenset()
        if written is not None:
            written.result()

    def _commit(self, documents: list[Document], encoded: EncodedDocuments) -> None:
        self._engine.add(documents, encoded)
        self._commits += 1
        if self._commits % TIDY_EVERY == 0:
            self._engine.tidy()


def _share_of(
    documents: int, before: int, total: int, progress: IndexProgress | None
) -> Callable[[float], None] | None:
    """Progress within a portion, as the encoder tells it."""
    return None if progress is None else lambda share: progress(before + int(share * documents), total)


def not_held(engine: Engine, documents: list[Document]) -> list[Document]:
    """The documents that the engine does not hold as they are."""
    held = engine.reader().holds(documents)
    return [document for document, there in zip(documents, held, strict=True) if not there]


def portions(documents: Iterable[Document], most: int | None = None) -> Iterator[list[Document]]:
    """Documents in the portions that are committed at a time, of at most so many."""
    most = most or COMMIT_DOCUMENTS
    portion: list[Document] = []
    words = 0
    for document in documents:
        portion.append(document)
        words += len(document.text) // 6  # about a word: cutting the text to count them would cost as much again
        if len(portion) == most or words >= COMMIT_WORDS:
            yield portion
            portion, words = [], 0
    if portion:
        yield portion
