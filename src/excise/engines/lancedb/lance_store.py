"""Documents in tables of LanceDB. Its searches bring candidates; MaxSim over them is computed here, on their own scale.

(LanceDB's own score of several vectors is a sum of cosine distances, which is not MaxSim where vectors differ in
length; the distances of its searches by inner product are one less the product.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from excise.documents import Document
from excise.engines.lancedb.lance_options import LanceOptions
from excise.engines.lancedb.lance_tables import (
    LanceTables,
    connected,
    create_tables_for,
    key_of,
    opened_tables,
    told_of_lance,
)
from excise.engines.lancedb.lance_write import LanceWrite
from excise.engines.shared.head import Head
from excise.engines.shared.lease import held_lease
from excise.engines.shared.scanning import best_scanned, read_windows
from excise.engines.shared.store import HeldDocument, RankedSpot, Spot, Stored
from excise.engines.shared.window_means import window_mean
from excise.errors import BadIndex, ExciseError
from excise.filters import Where
from excise.vectors.ragged import Ragged, Vectors

_PLACES_A_TIME = 500
_DOCUMENTS_A_TIME = 200
_ALL = 2**31


class LanceStore:
    """A :class:`~excise.engines.shared.store.Store` in tables of LanceDB's."""

    def __init__(self, options: LanceOptions) -> None:
        self.options = options
        self.name = f"the index {options.collection!r} in LanceDB at {options.url}"
        self.exact = options.mode == "exact"

    @cached_property
    def _database(self) -> Any:
        return connected(self.options, self.name)

    def _opened(self) -> LanceTables | None:
        # LanceDB makes the folders that it is asked about; who only looks must leave no trace.
        if "_database" not in vars(self) and "://" not in self.options.url and not Path(self.options.url).exists():
            return None
        with told_of_lance(self.name):
            return opened_tables(self._database, self.options.collection, self.name)

    @contextmanager
    def _tables(self) -> Iterator[LanceTables]:
        tables = self._opened()
        if tables is None:
            raise BadIndex(f"{self.name} is gone: somebody has removed the index.")
        try:
            yield tables
        except ExciseError:
            raise
        except Exception:
            with told_of_lance(self.name):
                raise

    def head(self) -> Head | None:
        tables = self._opened()
        if tables is None:
            return None
        with told_of_lance(self.name):
            rows = tables.head.search().select(["excise_head"]).limit(1).to_arrow().to_pylist()
        head = Head.from_json(rows[0]["excise_head"] if rows else None, self.name)
        return head if head.generation else None

    def count(self, generation: int) -> int:
        with self._tables() as tables:
            return int(tables.documents.count_rows(_alive(generation)))

    def ids(self, generation: int) -> Iterator[str]:
        with self._tables() as tables:
            rows = _rows(tables.documents, _alive(generation), ["place", "id"])
        yield from (row["id"] for row in sorted(rows, key=lambda row: int(row["place"])))

    def find(self, ids: Sequence[str], generation: int) -> dict[str, HeldDocument]:
        found: dict[str, HeldDocument] = {}
        with self._tables() as tables:
            for start in range(0, len(ids), _PLACES_A_TIME):
                keys = ", ".join(f"'{key_of(id)}'" for id in ids[start : start + _PLACES_A_TIME])
                wanted = f"{_alive(generation)} AND key IN ({keys})"
                for row in _rows(tables.documents, wanted, ["id", "place", "lengths", "digest"]):
                    found[row["id"]] = HeldDocument(Spot(row["place"], len(row["lengths"])), int(row["digest"], 16))
        return found

    def search(
        self, queries: Sequence[Vectors], k: int, generation: int, where: Where | None
    ) -> list[list[RankedSpot]]:
        dimensions = queries[0].shape[1]
        with self._tables() as tables:
            allowed = None if where is None else _matching(tables, generation, where)
            few = allowed is not None and len(allowed) <= self.options.candidates
            if self.exact and allowed is None:
                return best_scanned(queries, self._all(tables, generation, dimensions), k)
            if allowed is not None and (self.exact or few):
                return best_scanned(queries, self._scanned(tables, allowed, dimensions), k)
            found: list[list[RankedSpot]] = []
            for query in queries:
                places = self._candidates(tables, query, generation, allowed)
                found += best_scanned([query], self._scanned(tables, places, dimensions), k)
            return found

    def _all(self, tables: LanceTables, generation: int, dimensions: int) -> Iterator[list[tuple[Spot, Ragged]]]:
        scan = tables.documents.search().where(_alive(generation)).select(["place", "lengths", "vectors"])
        for batch in scan.limit(_ALL).to_batches(_DOCUMENTS_A_TIME):
            yield [self._read(row, dimensions) for row in batch.to_pylist()]

    def _scanned(
        self, tables: LanceTables, places: Sequence[int], dimensions: int
    ) -> Iterator[list[tuple[Spot, Ragged]]]:
        for start in range(0, len(places), _DOCUMENTS_A_TIME):
            wanted = _at(places[start : start + _DOCUMENTS_A_TIME])
            rows = _rows(tables.documents, wanted, ["place", "lengths", "vectors"])
            yield [self._read(row, dimensions) for row in rows]

    def _candidates(
        self, tables: LanceTables, query: Vectors, generation: int, allowed: Sequence[int] | None
    ) -> list[int]:
        """The places of the documents whose pooled vectors are nearest."""
        wanted = _alive(generation) if allowed is None else f"{_alive(generation)} AND {_at(allowed)}"
        search = tables.windows.search(window_mean(query), vector_column_name="pooled").distance_type("dot")
        nearest = search.where(wanted, prefilter=True).limit(self.options.candidates).select(["place", "_distance"])
        return list(dict.fromkeys(nearest.to_arrow()["place"].to_pylist()))

    def _read(self, row: dict[str, Any], dimensions: int) -> tuple[Spot, Ragged]:
        windows = read_windows(row["lengths"], row["vectors"], dimensions, self.name)
        return Spot(row["place"], len(windows)), windows

    def fetch(self, spots: Sequence[Spot], vectors: bool) -> dict[int, Stored]:
        columns = ["place", "id", "title", "text", "metadata", *(("lengths", "vectors") if vectors else ())]
        found: dict[int, Stored] = {}
        with self._tables() as tables:
            for start in range(0, len(spots), _PLACES_A_TIME):
                wanted = _at([spot.place for spot in spots[start : start + _PLACES_A_TIME]])
                for row in _rows(tables.documents, wanted, columns):
                    document = Document(row["id"], row["text"], row["title"], json.loads(row["metadata"]))
                    found[row["place"]] = Stored(document, self._windows(row) if vectors else None)
        return found

    def _windows(self, row: dict[str, Any]) -> Ragged:
        values = len(row["vectors"]) // np.dtype(np.float16).itemsize
        return read_windows(row["lengths"], row["vectors"], values // max(1, sum(row["lengths"])), self.name)

    @contextmanager
    def writing(self, head: Head) -> Iterator[LanceWrite]:
        if self._opened() is None:
            with told_of_lance(self.name):
                create_tables_for(self._database, self.options.collection, head)
        with self._tables() as tables:
            write = LanceWrite(tables, self.options, self.name)
            with held_lease(write.claim, write.release, self.options.patience, self.name) as lease:
                write.begin(lease)
                yield write


def _alive(generation: int) -> str:
    return f"born <= {generation} AND died > {generation}"


def _at(places: Sequence[int]) -> str:
    return f"place IN ({', '.join(map(str, places))})" if places else "false"


def _rows(table: Any, wanted: str, columns: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.search().where(wanted).select(columns).limit(_ALL).to_arrow().to_pylist()
    return found


def _matching(tables: LanceTables, generation: int, where: Where) -> list[int]:
    """The places of the documents that match: two narrow columns are read, and no vectors."""
    rows = _rows(tables.documents, _alive(generation), ["place", "metadata"])
    return sorted(row["place"] for row in rows if where.matches(json.loads(row["metadata"])))
