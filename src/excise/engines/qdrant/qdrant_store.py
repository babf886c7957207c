"""Documents in a Qdrant collection: a point for each window, with its token vectors and their mean.

The points of a document have consecutive ids, by which its texts and vectors are fetched in one request. The head of
the index is a point of its own with no vectors; Qdrant applies conditional changes of it one after the other, which is
what the writers' lease and the commit stand on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from excise.documents import Document
from excise.engines.qdrant.qdrant_client_door import QdrantDoor, open_door, told_of_qdrant
from excise.engines.qdrant.qdrant_filters import METADATA, alive_filter
from excise.engines.qdrant.qdrant_layout import HEAD_ID, POOLED, TOKENS, create_collection, is_ours
from excise.engines.qdrant.qdrant_options import QdrantOptions
from excise.engines.qdrant.qdrant_write import QdrantWrite, point_id
from excise.engines.shared.head import Head
from excise.engines.shared.lease import held_lease
from excise.engines.shared.store import HeldDocument, RankedSpot, Spot, Stored
from excise.engines.shared.window_means import window_mean
from excise.errors import BadIndex
from excise.filters import Where
from excise.vectors.ragged import Ragged, Vectors

if TYPE_CHECKING:
    from qdrant_client import models

_PAGE = 1_000
_IDS_A_TIME = 500
_POINTS_A_TIME = 200


class QdrantStore:
    """A :class:`~excise.engines.shared.store.Store` in a collection of Qdrant's."""

    def __init__(self, options: QdrantOptions) -> None:
        self.options = options
        self.name = f"the collection {options.collection!r} of Qdrant at {options.url}"
        self.exact = options.mode == "exact"
        # Most replicas have a write when it returns, and most are asked: one of them knows.
        self._reading: dict[str, Any] = {"consistency": "majority"} if options.replicas > 1 else {}

    @cached_property
    def _door(self) -> QdrantDoor:
        return open_door(self.options)

    @contextmanager
    def client(self) -> Iterator[Any]:
        """The client, to be used by one thread where it has to be."""
        with self._door.lock, told_of_qdrant(self.name, self.options.timeout):
            yield self._door.client

    def head(self) -> Head | None:
        if self.options.folder is not None and not self.options.folder.exists():
            return None  # Qdrant makes the folders that it is asked about; who only looks must leave no trace
        with self.client() as client:
            if not client.collection_exists(self.options.collection):
                return None
            found = client.retrieve(self.options.collection, [HEAD_ID], with_payload=["excise"], **self._reading)
            if found:
                head = Head.from_json((found[0].payload or {}).get("excise"), self.name)
                return head if head.generation else None
            ours = is_ours(client, self.options.collection)
        if not ours:
            raise BadIndex(f"{self.name} was not made by excise; name another collection.")
        return None

    def count(self, generation: int) -> int:
        with self.client() as client:
            counted = client.count(
                self.options.collection, count_filter=alive_filter(generation, None, _first_window()), exact=True
            )
            return int(counted.count)

    def ids(self, generation: int) -> Iterator[str]:
        wanted = alive_filter(generation, None, _first_window())
        yield from (payload["id"] for _, payload in self._scrolled(wanted, ["id"]))

    def find(self, ids: Sequence[str], generation: int) -> dict[str, HeldDocument]:
        from qdrant_client import models

        found: dict[str, HeldDocument] = {}
        for start in range(0, len(ids), _IDS_A_TIME):
            named = models.FieldCondition(key="id", match=models.MatchAny(any=list(ids[start : start + _IDS_A_TIME])))
            wanted = alive_filter(generation, None, _first_window(), named)
            for place, payload in self._scrolled(wanted, ["id", "windows", "digest"]):
                found[payload["id"]] = HeldDocument(Spot(place, payload["windows"]), int(payload["digest"], 16))
        return found

    def _scrolled(self, wanted: models.Filter, keys: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Places and payloads of points, by place: Qdrant goes through a collection in the order of the ids."""
        offset: Any = None
        while True:
            with self.client() as client:
                points, offset = client.scroll(
                    self.options.collection,
                    scroll_filter=wanted,
                    limit=_PAGE,
                    offset=offset,
                    with_payload=keys,
                    with_vectors=False,
                    **self._reading,
                )
            for point in points:
                yield _place(point.id), point.payload or {}
            if offset is None:
                return

    def search(
        self, queries: Sequence[Vectors], k: int, generation: int, where: Where | None
    ) -> list[list[RankedSpot]]:
        wanted = alive_filter(generation, where)
        most = self.options.candidates if self.options.mode == "pooled" else None
        results: list[list[RankedSpot]] = [[] for _ in queries]
        limit, open_ = 2 * k + 16, list(range(len(queries)))
        while open_:
            limit = limit if most is None else min(limit, most)
            with self.client() as client:
                answers = client.query_batch_points(
                    self.options.collection,
                    requests=[self._request(queries[number], wanted, limit) for number in open_],
                    **self._reading,
                )
            unfinished = []
            for number, answer in zip(open_, answers, strict=True):
                results[number] = _documents_of(answer.points)
                if len(answer.points) >= limit != most and not _settled(results[number], answer.points, k):
                    unfinished.append(number)
            open_, limit = unfinished, limit * 4
        return [ranked[:k] for ranked in results]

    def _request(self, query: Vectors, wanted: models.Filter, limit: int) -> models.QueryRequest:
        from qdrant_client import models

        tokens = np.asarray(query, dtype=np.float32)
        request: dict[str, Any] = {"query": tokens.tolist(), "using": TOKENS, "limit": limit}
        if self.options.mode == "pooled":
            request["prefetch"] = models.Prefetch(
                query=window_mean(tokens).tolist(), using=POOLED, limit=self.options.candidates, filter=wanted
            )
        else:
            request["filter"] = wanted
        if self.exact and self.options.remote:
            request["params"] = models.SearchParams(exact=True)
        return models.QueryRequest(**request, with_payload=["windows"])

    def fetch(self, spots: Sequence[Spot], vectors: bool) -> dict[int, Stored]:
        wanted = [point_id(spot.place, window) for spot in spots for window in range(spot.windows if vectors else 1)]
        payloads: dict[int, dict[str, Any]] = {}
        tokens: dict[str, Any] = {}
        for start in range(0, len(wanted), _POINTS_A_TIME):
            with self.client() as client:
                points = client.retrieve(
                    self.options.collection,
                    wanted[start : start + _POINTS_A_TIME],
                    with_payload=["id", "title", "text", METADATA],
                    with_vectors=[TOKENS] if vectors else False,
                    **self._reading,
                )
            for point in points:
                if "text" in (point.payload or {}):
                    payloads[_place(point.id)] = point.payload
                if vectors:
                    tokens[str(point.id)] = np.array(point.vector[TOKENS], dtype=np.float16)
        return {
            spot.place: Stored(_document(payloads[spot.place]), _windows(tokens, spot) if vectors else None)
            for spot in spots
            if spot.place in payloads and (not vectors or _whole(tokens, spot))
        }

    @contextmanager
    def writing(self, head: Head) -> Iterator[QdrantWrite]:
        if self.head() is None:
            with self.client() as client:
                create_collection(client, self.options, head)
        write = QdrantWrite(self.client, self.options, self.name)
        with held_lease(write.claim, write.release, self.options.patience, self.name) as lease:
            write.begin(lease)
            yield write


def _first_window() -> models.Condition:
    from qdrant_client import models

    return models.FieldCondition(key="window", match=models.MatchValue(value=0))


def _place(id: Any) -> int:
    return UUID(str(id)).int >> 32


def _document(payload: dict[str, Any]) -> Document:
    return Document(payload["id"], payload["text"], payload["title"], payload.get(METADATA) or {})


def _whole(tokens: dict[str, Any], spot: Spot) -> bool:
    return all(point_id(spot.place, window) in tokens for window in range(spot.windows))


def _windows(tokens: dict[str, Any], spot: Spot) -> Ragged:
    return Ragged.of([tokens[point_id(spot.place, window)] for window in range(spot.windows)])


def _documents_of(points: Sequence[Any]) -> list[RankedSpot]:
    """Each document with the score of its best window, best first, equal ones by place."""
    best: dict[Spot, float] = {}
    for point in points:
        spot = Spot(_place(point.id), point.payload["windows"])
        best[spot] = max(best.get(spot, -np.inf), point.score)
    return sorted(
        (RankedSpot(score, spot) for spot, score in best.items()), key=lambda one: (-one.score, one.spot.place)
    )


def _settled(ranked: Sequence[RankedSpot], points: Sequence[Any], k: int) -> bool:
    """Whether no further point can change the k best: there are k, and the last point scores below the last of them."""
    return len(ranked) >= k and points[-1].score < ranked[k - 1].score
