"""An index copied from one engine to another, vectors and all: nothing is encoded again."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from excise.engines.base import Engine
from excise.results import CopyReport

CopyProgress = Callable[[int, int], None]
"""Called with the documents done, and the documents in all."""

COPY_DOCUMENTS = 512  # documents that are read and committed at a time
TIDY_AFTER = 16  # commits


def copy_index(source: Engine, target: Engine, progress: CopyProgress | None = None) -> CopyReport:
    """Copy every document of one moment of an index, with its vectors. What is there already is passed over.

    Parameters
    ----------
    source
        where the documents are.
    target
        where they go; its encoder is the source's.
    progress
        called with (documents done, documents in all).
    """
    reader = source.reader()
    total, done, added, commits = len(reader), 0, 0, 0
    ids = reader.ids()
    while portion := list(islice(ids, COPY_DOCUMENTS)):
        documents = reader.documents(portion)
        held = target.reader().holds(documents)
        new = [document for document, there in zip(documents, held, strict=True) if not there]
        if new:
            target.add(new, reader.vectors([document.id for document in new]))
            added, commits = added + len(new), commits + 1
            if commits % TIDY_AFTER == 0:
                target.tidy()
        done += len(portion)
        if progress is not None:
            progress(done, total)
    target.tidy()
    return CopyReport(copied=added, unchanged=total - added, documents=len(target.reader()))
