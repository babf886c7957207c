"""What a database must offer for :class:`~excise.engines.shared.generations.GenerationalEngine` to stand on it.

Every version of a document has a place of its own, the generation that brought it, and the one that took it away. A
reader of generation g sees what was born up to g and had not died by then, so what it sees never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from excise.documents import Document
from excise.engines.shared.head import Head
from excise.filters import Where
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import Ragged, Vectors

FOREVER = 2**53  # the generation in which what is alive dies; every database and JSON can hold it


class Spot(NamedTuple):
    """Where a version of a document is: its place, and how many windows it has."""

    place: int
    windows: int


class HeldDocument(NamedTuple):
    """A document that is there, and the digest of what it says."""

    spot: Spot
    digest: int


class RankedSpot(NamedTuple):
    """A candidate and its MaxSim score."""

    score: float
    spot: Spot


class Stored(NamedTuple):
    """A document as it is stored, and its windows where they were asked for."""

    document: Document
    windows: Ragged | None


class Write(Protocol):
    """A write under way: nobody else writes, and nobody sees anything of it before :meth:`commit`."""

    @property
    def head(self) -> Head:
        """The newest committed state."""

    def insert(self, documents: Sequence[Document], encoded: EncodedDocuments, first: int, born: int) -> None:
        """Store documents at places from ``first`` on, born in a generation that is still to come."""

    def retire(self, spots: Sequence[Spot], died: int) -> None:
        """Let documents die in a generation that is still to come."""

    def commit(self, head: Head) -> None:
        """Make this the newest state, for good."""

    def tidy(self) -> None:
        """Remove for good what died long ago, and do what keeps searching fast."""


class Store(Protocol):
    """Documents and vectors in a database. Threads may share one; what goes wrong is told as a sentence."""

    @property
    def name(self) -> str:
        """What to call it in messages, with no secrets in it."""

    @property
    def exact(self) -> bool:
        """Whether :meth:`search` is."""

    def head(self) -> Head | None:
        """The newest committed state; None where there is no index. What somebody else made is refused."""

    def count(self, generation: int) -> int:
        """How many documents there are."""

    def ids(self, generation: int) -> Iterator[str]:
        """Every id, by place."""

    def find(self, ids: Sequence[str], generation: int) -> dict[str, HeldDocument]:
        """The documents of these ids; unknown ones are left out."""

    def search(
        self, queries: Sequence[Vectors], k: int, generation: int, where: Where | None
    ) -> list[list[RankedSpot]]:
        """For each query the k best, best first, equal ones by place."""

    def fetch(self, spots: Sequence[Spot], vectors: bool) -> dict[int, Stored]:
        """Documents by their place; what is gone is left out."""

    def writing(self, head: Head) -> AbstractContextManager[Write]:
        """Begin a write, in a new index with this head where there is none yet."""
