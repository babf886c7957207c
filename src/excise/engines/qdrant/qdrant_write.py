"""Writing to a Qdrant collection, which has no transactions: a lease, points of a coming generation, then the head."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from excise.documents import Document
from excise.engines.base import digest
from excise.engines.qdrant.qdrant_filters import METADATA
from excise.engines.qdrant.qdrant_layout import HEAD_ID, POOLED, TOKENS
from excise.engines.qdrant.qdrant_options import QdrantOptions
from excise.engines.shared.head import Head
from excise.engines.shared.lease import Lease
from excise.engines.shared.store import FOREVER, Spot
from excise.engines.shared.window_means import window_mean
from excise.errors import BadIndex
from excise.vectors.encoded import EncodedDocuments

if TYPE_CHECKING:
    from qdrant_client import models

_NUMBERS_A_REQUEST = 1_000_000  # some 20 MB of JSON; a server takes 32 MB
_PLACES_A_TIME = 500


def point_id(place: int, window: int) -> str:
    """The id of a window's point: ids grow with places.

    Examples
    --------
    >>> point_id(1, 2)
    '00000000-0000-0000-0000-000100000002'
    """
    return str(UUID(int=(place << 32) | window))


class QdrantWrite:
    """A :class:`~excise.engines.shared.store.Write` under a lease."""

    def __init__(self, client: Callable[[], AbstractContextManager[Any]], options: QdrantOptions, name: str) -> None:
        self._client, self._options, self._name = client, options, name
        self._lease: Lease
        self.head: Head

    def begin(self, lease: Lease) -> None:
        """The lease is held: read the head, and clear away what an interrupted write has left."""
        from qdrant_client import models

        self._lease = lease
        self.head = Head.from_json(self._payload()["excise"], self._name)
        now = self.head.generation
        unborn = models.Filter(must=[_range("born", gt=now)])
        not_dead = models.Filter(must=[_range("died", gt=now, lt=FOREVER)])
        with self._client() as client:
            client.delete(self._options.collection, points_selector=models.FilterSelector(filter=unborn), wait=True)
            client.set_payload(self._options.collection, {"died": FOREVER}, points=not_dead, wait=True)

    def insert(self, documents: Sequence[Document], encoded: EncodedDocuments, first: int, born: int) -> None:
        for points in _requests(_points(documents, encoded, first, born)):
            self._lease.renew()
            with self._client() as client:
                client.upsert(self._options.collection, points, wait=True)

    def retire(self, spots: Sequence[Spot], died: int) -> None:
        for start in range(0, len(spots), _PLACES_A_TIME):
            ids = [
                point_id(spot.place, window)
                for spot in spots[start : start + _PLACES_A_TIME]
                for window in range(spot.windows)
            ]
            self._lease.renew()
            with self._client() as client:
                client.set_payload(
                    self._options.collection, {"died": died, "died_at": time.time()}, points=ids, wait=True
                )

    def commit(self, head: Head) -> None:
        self._lease.renew()
        self._change({"excise": head.to_json()}, _is("writer", self._lease.key))
        if self._payload().get("excise") != head.to_json():
            raise BadIndex(f"{self._name}: another writer came between; nothing was stored. Try again.")
        self.head = head

    def tidy(self) -> None:
        from qdrant_client import models

        since = time.time() - self._options.keep_seconds
        gone = models.Filter(must=[_range("died", lte=self.head.generation), _range("died_at", lt=since)])
        self._lease.renew()
        with self._client() as client:
            client.delete(self._options.collection, points_selector=models.FilterSelector(filter=gone), wait=True)

    def claim(self, key: str, now: float, until: float) -> bool:
        """Take the lease, or renew it."""
        from qdrant_client import models

        free = models.Filter(should=[_range("lease", lt=now), _is("writer", key)])
        self._change({"writer": key, "lease": until}, free)
        return bool(self._payload().get("writer") == key)

    def release(self, key: str) -> None:
        """Give the lease back."""
        self._change({"writer": "", "lease": 0.0}, _is("writer", key))

    def _payload(self) -> dict[str, Any]:
        with self._client() as client:
            found = client.retrieve(self._options.collection, [HEAD_ID])
        if not found:
            raise BadIndex(f"{self._name} is gone: somebody has removed the index.")
        return dict(found[0].payload or {})

    def _change(self, values: dict[str, Any], condition: models.Condition) -> None:
        """Change the head where a condition holds: Qdrant looks and changes in one step."""
        from qdrant_client import models

        where = models.Filter(must=[models.HasIdCondition(has_id=[HEAD_ID]), condition])
        ordering = models.WriteOrdering.STRONG
        with self._client() as client:
            client.set_payload(self._options.collection, values, points=where, wait=True, ordering=ordering)


def _points(
    documents: Sequence[Document], encoded: EncodedDocuments, first: int, born: int
) -> Iterator[models.PointStruct]:
    from qdrant_client import models

    for number, document in enumerate(documents):
        windows = encoded.document(number)
        common = {
            "id": document.id,
            "windows": len(windows),
            "born": born,
            "died": FOREVER,
            METADATA: document.metadata,
        }
        texts = {"title": document.title, "text": document.text, "digest": f"{digest(document):016x}"}
        for window in range(len(windows)):
            tokens = np.asarray(windows[window], dtype=np.float32)
            payload = {**common, "window": window, **(texts if window == 0 else {})}
            vector = {TOKENS: tokens.tolist(), POOLED: window_mean(tokens).tolist()}
            yield models.PointStruct(id=point_id(first + number, window), vector=vector, payload=payload)


def _requests(points: Iterator[models.PointStruct]) -> Iterator[list[models.PointStruct]]:
    batch: list[models.PointStruct] = []
    numbers = 0
    for point in points:
        vectors: Any = point.vector
        own = len(vectors[TOKENS]) * len(vectors[POOLED])
        if batch and numbers + own > _NUMBERS_A_REQUEST:
            yield batch
            batch, numbers = [], 0
        batch.append(point)
        numbers += own
    if batch:
        yield batch


def _range(key: str, **bounds: float) -> models.FieldCondition:
    from qdrant_client import models

    return models.FieldCondition(key=key, range=models.Range(**bounds))


def _is(key: str, value: str) -> models.FieldCondition:
    from qdrant_client import models

    return models.FieldCondition(key=key, match=models.MatchValue(value=value))
