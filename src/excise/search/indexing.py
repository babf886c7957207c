"""Documents into an engine, a commit at a time: what is there already is passed over, so a run can be interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.engines.base import Engine

IndexProgress = Callable[[int, int], None]
"""Called with the documents done, and the documents in all."""

COMMIT_DOCUMENTS = 1_024  # documents that are encoded and committed at a time
COMMIT_WORDS = 200_000  # or so many words, which ever comes first: what is held in memory stays the same
TIDY_EVERY = 16  # commits between two merges: the engine never has many small parts


def add_new(
    engine: Engine, corpus: Iterable[Document], total: int, backbone: Backbone, progress: IndexProgress | None
) -> int:
    """Add what the engine does not hold yet, a commit at a time; returns how many documents that were."""
    added = commits = done = 0
    for portion in portions(corpus):
        new = not_held(engine, portion)
        if new:
            _add(engine, new, backbone, done, total, progress)
            added, commits = added + len(new), commits + 1
            if commits % TIDY_EVERY == 0:
                engine.tidy()
        done += len(portion)
        if progress is not None:
            progress(done, total)
    return added


def not_held(engine: Engine, documents: list[Document]) -> list[Document]:
    """The documents that the engine does not hold as they are."""
    held = engine.reader().holds(documents)
    return [document for document, there in zip(documents, held, strict=True) if not there]


def _add(
    engine: Engine, new: list[Document], backbone: Backbone, before: int, total: int, progress: IndexProgress | None
) -> None:
    def share_done(share: float) -> None:
        if progress is not None:
            progress(before + int(share * len(new)), total)

    engine.add(new, backbone.encode_documents([document.full_text for document in new], share_done))


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
