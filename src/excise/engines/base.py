"""What a first stage must offer. Engines store and search vectors; they know nothing of encoders or exclusions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from excise.documents import Document
from excise.encoders.backbone import EncodedDocuments
from excise.vectors.maxsim import Vectors


class Candidate(NamedTuple):
    """One result of a first stage: a document's id and its canonical MaxSim score."""

    id: str
    score: float


class Engine(Protocol):
    """A frozen late-interaction index."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the documents in the index change."""

    def __len__(self) -> int:
        """How many documents can be found."""

    def add(self, documents: Sequence[Document], encoded: EncodedDocuments) -> None:
        """Store documents and their vectors; one that is there already under the same id is replaced."""

    def delete(self, ids: Sequence[str]) -> int:
        """Forget documents; returns how many there were."""

    def search(self, query: Vectors, k: int) -> list[Candidate]:
        """The k best documents by MaxSim, best first; equal scores in the order of indexing."""

    def fetch(self, ids: Sequence[str]) -> list[Document]:
        """The documents behind ids, in the order asked for."""

    def vectors(self, ids: Sequence[str]) -> EncodedDocuments:
        """The stored token vectors of documents, in the order asked for."""
