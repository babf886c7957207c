"""Writing to LanceDB, where each table commits by itself: a lease, rows of a coming generation, then the head."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from excise.documents import Document
from excise.engines.lancedb.lance_options import LanceOptions
from excise.engines.lancedb.lance_tables import LanceTables, document_rows, window_rows
from excise.engines.shared.head import Head
from excise.engines.shared.lease import Lease
from excise.engines.shared.store import FOREVER, Spot
from excise.errors import BadIndex
from excise.vectors.encoded import EncodedDocuments

_PLACES_A_TIME = 1_000
_INDEXED_WINDOWS = 20_000  # with fewer, going through all pooled vectors is fast, and exact


class LanceWrite:
    """A :class:`~excise.engines.shared.store.Write` under a lease."""

    def __init__(self, tables: LanceTables, options: LanceOptions, name: str) -> None:
        self._tables, self._options, self._name = tables, options, name
        self._lease: Lease
        self.head: Head

    def begin(self, lease: Lease) -> None:
        """The lease is held: read the head, and clear away what an interrupted write has left."""
        self._lease = lease
        self.head = Head.from_json(self._row()["excise_head"], self._name)
        now = self.head.generation
        for table in (self._tables.documents, self._tables.windows):
            if table.count_rows(f"born > {now}"):
                table.delete(f"born > {now}")
            dying = f"died > {now} AND died < {FOREVER}"
            if table.count_rows(dying):
                table.update(where=dying, values={"died": FOREVER})

    def insert(self, documents: Sequence[Document], encoded: EncodedDocuments, first: int, born: int) -> None:
        self._lease.renew()
        self._tables.documents.add(document_rows(self._tables, documents, encoded, first, born))
        self._lease.renew()
        self._tables.windows.add(window_rows(self._tables, encoded, first, born))

    def retire(self, spots: Sequence[Spot], died: int) -> None:
        for start in range(0, len(spots), _PLACES_A_TIME):
            places = ", ".join(str(spot.place) for spot in spots[start : start + _PLACES_A_TIME])
            for table in (self._tables.documents, self._tables.windows):
                self._lease.renew()
                table.update(where=f"place IN ({places})", values={"died": died, "died_at": time.time()})

    def commit(self, head: Head) -> None:
        self._lease.renew()
        changed = self._change(self._lease.key, {"excise_head": head.to_json()})
        if not changed or self._row()["excise_head"] != head.to_json():
            raise BadIndex(f"{self._name}: another writer came between; nothing was stored. Try again.")
        self.head = head

    def tidy(self) -> None:
        since = time.time() - self._options.keep_seconds
        gone = f"died <= {self.head.generation} AND died_at < {since:.3f}"
        kept = timedelta(seconds=self._options.keep_seconds)
        for table in (self._tables.documents, self._tables.windows):
            self._lease.renew()
            if table.count_rows(gone):
                table.delete(gone)
            table.optimize(cleanup_older_than=kept)
        self._tables.head.optimize(cleanup_older_than=kept)
        windows = self._tables.windows
        if windows.count_rows() >= _INDEXED_WINDOWS and not windows.list_indices():
            self._lease.renew()
            windows.create_index(metric="dot", vector_column_name="pooled", index_type="IVF_HNSW_SQ")

    def claim(self, key: str, now: float, until: float) -> bool:
        """Take the lease, or renew it."""
        try:
            self._tables.head.update(
                where=f"lease < {now:.3f} OR writer = '{key}'", values={"writer": key, "lease": until}
            )
        except (OSError, RuntimeError, ValueError):
            if self._row()["writer"] != key:  # two tried at once; a storage that fails says so here
                return False
        return bool(self._row()["writer"] == key)

    def release(self, key: str) -> None:
        """Give the lease back."""
        self._change(key, {"writer": "", "lease": 0.0})

    def _row(self) -> dict[str, Any]:
        rows: list[dict[str, Any]] = self._tables.head.search().limit(1).to_arrow().to_pylist()
        if not rows:
            raise BadIndex(f"{self._name} is damaged: it has no head.")
        return rows[0]

    def _change(self, key: str, values: dict[str, Any]) -> bool:
        """Change the head while the lease is this writer's."""
        return bool(self._tables.head.update(where=f"writer = '{key}'", values=values).rows_updated)
