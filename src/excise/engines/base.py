"""What a first stage must offer: a :class:`Reader`, which is one moment of an index, and a :class:`Writer`.

Engines store and search vectors; they know nothing of encoders' weights or of exclusions. The contract is made for
engines on other machines and for approximate ones: a reader never changes under its caller, one call brings a shortlist
with all that judging needs, several queries travel together, and a write has happened for good when it returns.
``tests/engines/contract.py`` holds every engine to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.errors import BackboneError
from excise.vectors.encoded import EncodedDocuments, EncoderInfo
from excise.vectors.ragged import Vectors


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found, best first: documents, their MaxSim scores, and their token vectors where asked for."""

    documents: tuple[Document, ...]
    scores: NDArray[np.float64]
    vectors: EncodedDocuments | None = None

    def __len__(self) -> int:
        return len(self.documents)


class Reader(Protocol):
    """An immutable snapshot of an index: whatever is asked of it is answered from one committed state."""

    @property
    def encoder(self) -> EncoderInfo:
        """Which encoder the vectors come from."""

    @property
    def fingerprint(self) -> str:
        """Differs between any two committed states of any index."""

    @property
    def exact(self) -> bool:
        """Whether :meth:`search` finds the very best documents, or most of them."""

    def __len__(self) -> int:
        """How many documents can be found."""

    def ids(self) -> Iterator[str]:
        """Every id, in the order of indexing."""

    def holds(self, documents: Sequence[Document]) -> list[bool]:
        """For each document, whether this very one, same id, title and text, is in the index."""

    def search(self, queries: Sequence[Vectors], k: int, vectors: bool = False) -> list[Found]:
        """For each query, the k best documents by MaxSim; equal scores in the order of indexing.

        Parameters
        ----------
        queries
            the token vectors of each query, in single precision.
        k
            how many documents to find, at least 1; fewer where the index holds fewer.
        vectors
            bring the documents' token vectors too.
        """

    def documents(self, ids: Sequence[str]) -> list[Document]:
        """The documents behind ids, in the order asked for. An unknown id is refused with :class:`BadIndex`."""

    def vectors(self, ids: Sequence[str]) -> EncodedDocuments:
        """The stored token vectors of documents (at least one), in the order asked for."""


class Writer(Protocol):
    """Changes an index. When a call returns, what it did outlives a crash; when it raises, nothing has changed."""

    def add(self, documents: Sequence[Document], encoded: EncodedDocuments) -> None:
        """Store documents and their vectors; one that is there already under the same id is replaced."""

    def delete(self, ids: Sequence[str]) -> int:
        """Forget documents; returns how many of them there were. Unknown ids are passed over."""

    def tidy(self) -> None:
        """Do what keeps searching fast (merge, compact, refresh). It changes no answer."""


@runtime_checkable
class Engine(Writer, Protocol):
    """An index that can be read and written, by several threads at once."""

    @property
    def name(self) -> str:
        """What to call it in messages: its folder, its collection."""

    def reader(self) -> Reader:
        """A snapshot of the newest committed state."""


def expect(engine: Engine, encoder: EncoderInfo) -> None:
    """Refuse an encoder other than the one that an index was built with."""
    built = engine.reader().encoder
    if built.fingerprint != encoder.fingerprint:
        raise BackboneError(
            f"{engine.name} was built with the backbone {built.backbone!r} ({built.fingerprint}), and this is "
            f"{encoder.backbone!r} ({encoder.fingerprint}): their vectors do not compare. Use the same backbone, or "
            "build another index."
        )
