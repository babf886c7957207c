"""Documents in three tables: the head, the documents with their vectors, and one pooled vector for each window.

All vectors of a document are one value of bytes, in half precision; pgvector's graph stands on the pooled ones. A write
is one transaction, which holds the head's row: what a commit has returned for is on the server's disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from excise.documents import Document
from excise.engines.postgres.postgres_door import Connection, PostgresDoor
from excise.engines.postgres.postgres_filters import SqlCondition, sql_filter
from excise.engines.postgres.postgres_options import PostgresOptions
from excise.engines.postgres.postgres_write import PostgresWrite, create_tables, from_database, to_database, written
from excise.engines.shared.head import Head
from excise.engines.shared.scanning import best_scanned, read_windows
from excise.engines.shared.store import HeldDocument, RankedSpot, Spot, Stored
from excise.engines.shared.window_means import window_mean
from excise.errors import BadIndex
from excise.filters import Where
from excise.vectors.ragged import Ragged, Vectors

if TYPE_CHECKING:
    from psycopg import sql

_PAGE = 5_000
_DOCUMENTS_A_TIME = 200
_ALIVE = "d.born <= %s AND d.died > %s"
_MOST_CONSIDERED = 1_000  # what pgvector's graph is asked for at a time; it goes on by itself where filters are strict


class PostgresStore:
    """A :class:`~excise.engines.shared.store.Store` in tables of PostgreSQL's."""

    def __init__(self, options: PostgresOptions) -> None:
        self.options = options
        self.name = f"the index {options.collection!r} in PostgreSQL at {_shown(options.url)}"
        self.exact = options.mode == "exact"
        self._door = PostgresDoor(options.url, self.name, options.timeout)

    def _sql(self, text: str, *also: sql.Composable) -> sql.Composed:
        """A statement with the names of the tables put in: {head}, {documents}, {windows}."""
        from psycopg import sql

        parts = ("head", "documents", "windows", "by_id", "by_pooled")
        names = {part: sql.Identifier(f"{self.options.collection}_{part}") for part in parts}
        return sql.SQL(text).format(*also, **names)

    def head(self) -> Head | None:
        with self._door.connection() as connection:
            head = self._head(connection)
        return head if head is not None and head.generation else None

    def _head(self, connection: Connection, lock: bool = False) -> Head | None:
        tables = [f'"{self.options.collection}_{part}"' for part in ("head", "documents", "windows")]
        there = connection.run("SELECT to_regclass(%s), to_regclass(%s), to_regclass(%s)", tables).fetchone()
        if there is None or there == (None, None, None):
            return None
        ours = connection.run(
            "SELECT count(*) FROM information_schema.columns WHERE table_name = %s AND column_name = 'excise_head'",
            [f"{self.options.collection}_head"],
        ).fetchone()
        if None in there or ours != (1,):
            raise BadIndex(f"{self.name} was not made by excise: tables of its names are there; name another one.")
        row = connection.run(self._sql("SELECT excise_head FROM {head}" + (" FOR UPDATE" if lock else ""))).fetchone()
        return None if row is None else Head.from_json(row[0], self.name)

    def count(self, generation: int) -> int:
        with self._door.connection() as connection:
            found = connection.run(
                self._sql(f"SELECT count(*) FROM {{documents}} d WHERE {_ALIVE}"), [generation, generation]
            ).fetchone()
            return int(found[0]) if found else 0

    def ids(self, generation: int) -> Iterator[str]:
        statement = self._sql(
            f"SELECT d.place, d.id FROM {{documents}} d WHERE {_ALIVE} AND d.place > %s ORDER BY d.place LIMIT %s"
        )
        last = 0
        while True:
            with self._door.connection() as connection:
                rows = connection.run(statement, [generation, generation, last, _PAGE]).fetchall()
            yield from (from_database(id) for _, id in rows)
            if len(rows) < _PAGE:
                return
            last = rows[-1][0]

    def find(self, ids: Sequence[str], generation: int) -> dict[str, HeldDocument]:
        statement = self._sql(
            "SELECT d.id, d.place, cardinality(d.lengths), d.digest FROM {documents} d "
            f"WHERE {_ALIVE} AND d.id = ANY(%s)"
        )
        with self._door.connection() as connection:
            rows = connection.run(statement, [generation, generation, [to_database(id) for id in ids]]).fetchall()
        return {
            from_database(id): HeldDocument(Spot(place, windows), int(digest, 16))
            for id, place, windows, digest in rows
        }

    def search(
        self, queries: Sequence[Vectors], k: int, generation: int, where: Where | None
    ) -> list[list[RankedSpot]]:
        filtered = sql_filter(where)
        if self.exact:
            return best_scanned(queries, self._all(generation, filtered, queries[0].shape[1]), k)
        found = []
        for query in queries:
            places = self._candidates(query, generation, filtered)
            portions = [
                self._scanned(places[i : i + _DOCUMENTS_A_TIME], query.shape[1])
                for i in range(0, len(places), _DOCUMENTS_A_TIME)
            ]
            found += best_scanned([query], portions, k)
        return found

    def _all(self, generation: int, filtered: SqlCondition, dimensions: int) -> Iterator[list[tuple[Spot, Ragged]]]:
        """Everything that matches, by place, in portions."""
        statement = self._sql(
            f"SELECT d.place, d.lengths, d.vectors FROM {{documents}} d WHERE {_ALIVE} AND d.place > %s{{}} "
            "ORDER BY d.place LIMIT %s",
            filtered.text,
        )
        last = 0
        while True:
            values = [generation, generation, last, *filtered.values, _DOCUMENTS_A_TIME]
            with self._door.connection() as connection:
                rows = connection.run(statement, values).fetchall()
            yield [self._read(row, dimensions) for row in rows]
            if len(rows) < _DOCUMENTS_A_TIME:
                return
            last = rows[-1][0]

    def _candidates(self, query: Vectors, generation: int, filtered: SqlCondition) -> list[int]:
        """The places of the documents whose pooled vectors are nearest."""
        wanted = self.options.candidates
        statement = self._sql(
            "SELECT w.place FROM {windows} w JOIN {documents} d USING (place) "
            f"WHERE {_ALIVE}{{}} ORDER BY w.pooled <#> %s::halfvec LIMIT %s",
            filtered.text,
        )
        values = [generation, generation, *filtered.values, written(window_mean(query)), wanted]
        with self._door.connection() as connection, connection.transaction():
            connection.run(f"SET LOCAL hnsw.ef_search = {min(wanted, _MOST_CONSIDERED)}")
            connection.run("SET LOCAL hnsw.iterative_scan = relaxed_order")
            rows = connection.run(statement, values).fetchall()
        return list(dict.fromkeys(place for (place,) in rows))

    def _scanned(self, places: Sequence[int], dimensions: int) -> list[tuple[Spot, Ragged]]:
        statement = self._sql("SELECT d.place, d.lengths, d.vectors FROM {documents} d WHERE d.place = ANY(%s)")
        with self._door.connection() as connection:
            rows = connection.run(statement, [list(places)]).fetchall()
        return [self._read(row, dimensions) for row in rows]

    def _read(self, row: tuple[Any, ...], dimensions: int) -> tuple[Spot, Ragged]:
        place, lengths, vectors = row
        return Spot(place, len(lengths)), read_windows(lengths, vectors, dimensions, self.name)

    def fetch(self, spots: Sequence[Spot], vectors: bool) -> dict[int, Stored]:
        statement = self._sql(
            "SELECT d.place, d.id, d.title, d.text, d.metadata, d.lengths, d.dimensions"
            + (", d.vectors" if vectors else "")
            + " FROM {documents} d WHERE d.place = ANY(%s)"
        )
        found: dict[int, Stored] = {}
        for start in range(0, len(spots), _DOCUMENTS_A_TIME):
            places = [spot.place for spot in spots[start : start + _DOCUMENTS_A_TIME]]
            with self._door.connection() as connection:
                rows = connection.run(statement, [places]).fetchall()
            for place, id, title, text, metadata, lengths, dimensions, *own in rows:
                document = Document(from_database(id), from_database(text), from_database(title), metadata)
                windows = read_windows(lengths, own[0], dimensions, self.name) if vectors else None
                found[place] = Stored(document, windows)
        return found

    @contextmanager
    def writing(self, head: Head) -> Iterator[PostgresWrite]:
        with self._door.connection() as connection:
            if self._head(connection) is None:
                create_tables(connection, self._sql, self.options.collection, head)
            with connection.transaction():
                connection.run(f"SET LOCAL lock_timeout = {self.options.patience * 1000}")
                connection.run(f"SET LOCAL statement_timeout = {(self.options.patience + self.options.timeout) * 1000}")
                connection.run("SET LOCAL synchronous_commit = on")
                newest = self._head(connection, lock=True)
                if newest is None:
                    raise BadIndex(f"{self.name} is gone: somebody has removed the index.")
                yield PostgresWrite(connection, self._sql, newest, self.options.keep_seconds)


def _shown(url: str) -> str:
    """An address with no password in it."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname or 'this machine'}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "an address that cannot be read"
