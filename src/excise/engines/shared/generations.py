"""The engine contract on top of a database: snapshots by generation, one commit for a whole batch.

A write puts documents in with a generation that is not committed yet, marks what they replace, and then moves the head:
readers see all of it or nothing. What an interrupted write has left is cleared away by the next one. What died is kept
for a while (the engines' setting ``keep_seconds``), so that readers go on with the state they have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np

from excise.documents import Document
from excise.engines.base import Found, check_batch, check_search, digest, expect_encoder
from excise.engines.shared.head import Head
from excise.engines.shared.store import RankedSpot, Spot, Store, Stored
from excise.errors import BadIndex, InvalidInput
from excise.filters import Where
from excise.vectors.encoded import EncodedDocuments, EncoderInfo
from excise.vectors.ragged import Ragged, Vectors

HALF = np.dtype("<f2")


class GenerationalEngine:
    """An :class:`~excise.engines.base.Engine` over a store. Make one with ``create`` or ``open``; threads share it."""

    def __init__(self, store: Store, head: Head) -> None:
        self.store = store
        self._first = head
        self._seen = head.generation > 0
        self._turn = Lock()

    @classmethod
    def create(cls, store: Store, encoder: EncoderInfo) -> GenerationalEngine:
        """An index for an encoder's vectors: the one that is there if its encoder is the same, else a new one.

        Nothing is written before the first documents are added.
        """
        head = store.head()
        if head is not None:
            expect_encoder(store.name, head.encoder, encoder)
        return cls(store, head or Head(encoder))

    @classmethod
    def open(cls, store: Store) -> GenerationalEngine:
        """Open an index that is there."""
        head = store.head()
        if head is None:
            raise BadIndex(f"{store.name}: there is no such index; make one with 'excise index'.")
        return cls(store, head)

    @property
    def name(self) -> str:
        return self.store.name

    def reader(self) -> GenerationReader:
        head = self.store.head()
        if head is None:
            if self._seen:
                raise BadIndex(f"{self.name} is gone: somebody has removed the index.")
            head = self._first
        self._accept(head)
        return GenerationReader(self.store, head)

    def _accept(self, head: Head) -> None:
        expect_encoder(self.name, head.encoder, self._first.encoder)
        self._seen = self._seen or head.generation > 0

    def add(self, documents: Sequence[Document], encoded: EncodedDocuments) -> None:
        check_batch(documents, encoded, self._first.encoder.dimensions)
        if not documents:
            return
        stored = _in_half_precision(encoded)
        with self._turn, self.store.writing(self._first) as write:
            self._accept(write.head)
            following = write.head.following(len(documents))
            replaced = self.store.find([document.id for document in documents], write.head.generation)
            write.insert(documents, stored, write.head.next_place, following.generation)
            if replaced:
                write.retire([held.spot for held in replaced.values()], following.generation)
            write.commit(following)
            self._accept(following)

    def delete(self, ids: Sequence[str]) -> int:
        reader = self.reader()
        if not ids or not reader.spots(ids):
            return 0
        with self._turn, self.store.writing(self._first) as write:
            self._accept(write.head)
            known = self.store.find(list(dict.fromkeys(ids)), write.head.generation)
            if known:
                following = write.head.following()
                write.retire([held.spot for held in known.values()], following.generation)
                write.commit(following)
            return len(known)

    def tidy(self) -> None:
        """Remove for good what died long enough ago, and let the database do its own upkeep."""
        if self.reader().head.generation == 0:
            return
        with self._turn, self.store.writing(self._first) as write:
            write.tidy()


class GenerationReader:
    """A :class:`~excise.engines.base.Reader` of one generation. It stays good while what died since is kept."""

    def __init__(self, store: Store, head: Head) -> None:
        self.store, self.head = store, head

    @property
    def encoder(self) -> EncoderInfo:
        return self.head.encoder

    @property
    def fingerprint(self) -> str:
        return self.head.fingerprint

    @property
    def exact(self) -> bool:
        return self.store.exact

    def __len__(self) -> int:
        return self.store.count(self.head.generation) if self.head.generation else 0

    def ids(self) -> Iterator[str]:
        return self.store.ids(self.head.generation) if self.head.generation else iter(())

    def holds(self, documents: Sequence[Document]) -> list[bool]:
        known = self.spots([document.id for document in documents])
        return [document.id in known and known[document.id][1] == digest(document) for document in documents]

    def spots(self, ids: Sequence[str]) -> dict[str, tuple[Spot, int]]:
        """Where documents are, and their digests; ids that are not in the index are left out."""
        if not ids or not self.head.generation:
            return {}
        return {id: (*held,) for id, held in self.store.find(list(dict.fromkeys(ids)), self.head.generation).items()}

    def search(
        self, queries: Sequence[Vectors], k: int, vectors: bool = False, where: Where | None = None
    ) -> list[Found]:
        check_search(queries, k, self.encoder.dimensions)
        ranked: list[list[RankedSpot]] = [[] for _ in queries]
        if queries and self.head.generation and not (where is not None and where.impossible):
            ranked = self.store.search(queries, k, self.head.generation, where)
        wanted = list(dict.fromkeys(one.spot for best in ranked for one in best))
        stored = self.store.fetch(wanted, vectors) if wanted else {}
        return [self._found([one for one in best if one.spot.place in stored], stored, vectors) for best in ranked]

    def documents(self, ids: Sequence[str]) -> list[Document]:
        return [stored.document for stored in self._known(ids, vectors=False)]

    def vectors(self, ids: Sequence[str]) -> EncodedDocuments:
        return self._encoded(self._known(ids, vectors=True))

    def _known(self, ids: Sequence[str], vectors: bool) -> list[Stored]:
        spots = self.spots(ids)
        stored = self.store.fetch([spot for spot, _ in spots.values()], vectors) if spots else {}
        for id in ids:
            if id not in spots or spots[id][0].place not in stored:
                raise BadIndex(f"{self.store.name} holds no document with the id {id!r}.")
        return [stored[spots[id][0].place] for id in ids]

    def _found(self, best: Sequence[RankedSpot], stored: dict[int, Stored], vectors: bool) -> Found:
        own = [stored[one.spot.place] for one in best]
        return Found(
            tuple(one.document for one in own),
            np.array([one.score for one in best], dtype=np.float64),
            self._encoded(own) if vectors else None,
        )

    def _encoded(self, stored: Sequence[Stored]) -> EncodedDocuments:
        if not stored:
            none = np.empty((0, self.encoder.dimensions), dtype=HALF)
            return EncodedDocuments(Ragged(none, np.zeros(1, dtype=np.int64)), np.zeros(1, dtype=np.int64))
        windows = [one.windows for one in stored if one.windows is not None]
        return EncodedDocuments.of(windows)


def _in_half_precision(encoded: EncodedDocuments) -> EncodedDocuments:
    """Vectors as every engine stores them."""
    with np.errstate(over="ignore"):  # what half precision cannot hold is infinite then, and refused
        vectors = np.ascontiguousarray(encoded.windows.vectors, dtype=HALF)
    if not np.isfinite(vectors).all():
        raise InvalidInput("token vectors must be finite numbers, none larger than half precision can hold.")
    return EncodedDocuments(Ragged(vectors, encoded.windows.offsets), encoded.offsets)
