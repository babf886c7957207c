"""The corpus of a suite, read once: its documents, its ids, and a fingerprint of the very bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from excise.documents import Corpus, Document
from excise.errors import InvalidInput, SuiteError
from excise.suites.jsonlines import read_objects

KEPT_BYTES = 256 * 1024 * 1024  # a longer file is read again whenever its documents are asked for


@dataclass(frozen=True, eq=False)
class CorpusFile:
    """A file of documents.

    Attributes
    ----------
    path
        the file, JSON lines.
    fingerprint
        the beginning of its SHA-256: equal for equal files.
    ids
        every document's id.
    kept
        the documents in the order of the file; None where it is too long for them to be kept.
    """

    path: Path
    fingerprint: str
    ids: frozenset[str]
    kept: tuple[Document, ...] | None

    def documents(self) -> Iterable[Document]:
        """The documents in the order of the file."""
        return Corpus([self.path]) if self.kept is None else self.kept


def read_corpus_file(path: Path) -> CorpusFile:
    """Read and check a corpus in one pass; a line that is no document, or an id that comes twice, is refused."""
    digest, places = sha256(), dict[str, int]()
    kept: list[Document] | None = []
    if path.is_file() and path.stat().st_size > KEPT_BYTES:
        kept = None
    for line, record in read_objects(path, SuiteError, digest):
        try:
            document = Document.from_record(record)
        except InvalidInput as error:
            raise SuiteError(f"{line.where}: {error}") from None
        if document.id in places:
            raise SuiteError(f"{line.where}: the id {document.id!r} was already used at line {places[document.id]}.")
        places[document.id] = line.number
        if kept is not None:
            kept.append(document)
    return CorpusFile(path, digest.hexdigest()[:16], frozenset(places), None if kept is None else tuple(kept))
