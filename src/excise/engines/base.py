"""What a first stage must offer: a :class:`Reader`, which is one moment of an index, and a :class:`Writer`.

Engines store and search vectors; they know nothing of encoders' weights or of exclusions. The contract is made for
engines on other machines and for approximate ones: a reader never changes under its caller, one call brings a shortlist
with all that judging needs, several queries travel together, and a write has happened for good when it returns.
``tests/engines/contract.py`` holds every engine to it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.errors import BackboneError, InvalidInput
from excise.filters import Where
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
        """For each document, whether this very one, same id, title, text and metadata, is in the index."""

    def search(
        self, queries: Sequence[Vectors], k: int, vectors: bool = False, where: Where | None = None
    ) -> list[Found]:
        """For each query, the k best documents by MaxSim; equal scores in the order of indexing.

        Parameters
        ----------
        queries
            the token vectors of each query, in single precision.
        k
            how many documents to find, at least 1; fewer where the index holds fewer.
        vectors
            bring the documents' token vectors too.
        where
            leave out the documents whose metadata does not match: the k best are those of the others.
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


def digest(document: Document) -> int:
    """A digest of a document less its id, to tell a changed one from one that is there already.

    Examples
    --------
    >>> digest(Document("a", "text")) == digest(Document("b", "text")) != digest(Document("a", "text", "title"))
    True
    """
    content = f"{document.title}\0{document.text}"
    if document.metadata:  # without any, the digest is what it was before documents had metadata
        content += "\0" + json.dumps(document.metadata, sort_keys=True)
    return int.from_bytes(hashlib.blake2b(content.encode(), digest_size=8).digest(), "little")


def expect(engine: Engine, encoder: EncoderInfo) -> None:
    """Refuse an encoder other than the one that an index was built with."""
    expect_encoder(engine.name, engine.reader().encoder, encoder)


def expect_encoder(name: str, built: EncoderInfo, encoder: EncoderInfo) -> None:
    """Refuse an encoder other than the one that the index of this name was built with."""
    if built.fingerprint != encoder.fingerprint:
        raise BackboneError(
            f"{name} was built with the backbone {built.backbone!r} ({built.fingerprint}), and this is "
            f"{encoder.backbone!r} ({encoder.fingerprint}): their vectors do not compare. "
            + (
                "Its weights or the version of excise have changed: build the index again with 'excise index'."
                if built.backbone == encoder.backbone
                else "Use the same backbone, or build another index."
            )
        )


def check_batch(documents: Sequence[Document], encoded: EncodedDocuments, dimensions: int) -> None:
    """Refuse what no engine can add: two documents of one id, vectors of other documents or of another encoder."""
    if len(documents) != len(encoded):
        raise InvalidInput(f"there are {len(documents)} documents, and vectors of {len(encoded)}.")
    width = encoded.windows.vectors.shape[1]
    if width != dimensions:
        raise InvalidInput(f"the vectors have {width} dimensions, and those of the index have {dimensions}.")
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise InvalidInput(f"the id {document.id!r} stands for two documents.")
        seen.add(document.id)


def check_search(queries: Sequence[Vectors], k: int, dimensions: int) -> None:
    """Refuse what no engine can search for."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InvalidInput(f"k must be a whole number of at least 1, got {k!r}.")
    for query in queries:
        if query.ndim != 2 or len(query) == 0 or query.shape[1] != dimensions:
            raise InvalidInput(
                f"a query needs at least one token vector of {dimensions} dimensions, got shape {query.shape}."
            )
        if not np.isfinite(query).all():
            raise InvalidInput("a query's token vectors must be finite numbers.")
