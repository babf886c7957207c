"""Writing to PostgreSQL: the tables, and the statements of one transaction."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from excise.documents import Document
from excise.engines.base import digest
from excise.engines.postgres.postgres_door import Connection
from excise.engines.shared.head import Head
from excise.engines.shared.store import FOREVER, Spot
from excise.engines.shared.window_means import window_means
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import Vectors

if TYPE_CHECKING:
    from psycopg import sql

Named = Callable[..., "sql.Composed"]
"""Puts the names of the tables into a statement."""

_ROWS_A_TIME = 64
_MOST_DIMENSIONS = 4_000  # that pgvector's graph takes
_ESCAPED = re.compile("\x1b([01])")


def to_database(text: str) -> str:
    """A text as PostgreSQL can hold it: it has no NUL, which is written as an escape.

    Examples
    --------
    >>> from_database(to_database("a\\0b\\x1b0")) == "a\\0b\\x1b0"
    True
    """
    return text.replace("\x1b", "\x1b1").replace("\0", "\x1b0") if "\0" in text or "\x1b" in text else text


def from_database(text: str) -> str:
    """What :func:`to_database` was given."""
    return _ESCAPED.sub(lambda found: "\0" if found[1] == "0" else "\x1b", text) if "\x1b" in text else text


def written(vector: Vectors) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{value:.6g}" for value in np.asarray(vector, dtype=np.float64).tolist()) + "]"


def create_tables(connection: Connection, named: Named, collection: str, head: Head) -> None:
    """Make the tables where there are none, in one transaction; two that try at once take turns."""
    dimensions = head.encoder.dimensions
    with connection.transaction():
        connection.run("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"excise {collection}"])
        connection.run("CREATE EXTENSION IF NOT EXISTS vector")
        connection.run(
            named("CREATE TABLE IF NOT EXISTS {head} (only_one boolean PRIMARY KEY, excise_head text NOT NULL)")
        )
        connection.run(
            named(
                'CREATE TABLE IF NOT EXISTS {documents} (place bigint PRIMARY KEY, id text COLLATE "C" NOT NULL, '
                "title text NOT NULL, text text NOT NULL, metadata jsonb NOT NULL, digest text NOT NULL, "
                "born bigint NOT NULL, died bigint NOT NULL, died_at timestamptz, "
                "dimensions int NOT NULL, lengths int[] NOT NULL, vectors bytea STORAGE EXTERNAL NOT NULL)"
            )
        )
        connection.run(named("CREATE INDEX IF NOT EXISTS {by_id} ON {documents} (id)"))
        connection.run(
            named(
                "CREATE TABLE IF NOT EXISTS {windows} (place bigint NOT NULL REFERENCES {documents} ON DELETE CASCADE, "
                f"number int NOT NULL, pooled halfvec({dimensions}) NOT NULL, PRIMARY KEY (place, number))"
            )
        )
        if dimensions <= _MOST_DIMENSIONS:
            connection.run(
                named("CREATE INDEX IF NOT EXISTS {by_pooled} ON {windows} USING hnsw (pooled halfvec_ip_ops)")
            )
        connection.run(named("INSERT INTO {head} VALUES (true, %s) ON CONFLICT DO NOTHING"), [head.to_json()])


class PostgresWrite:
    """A :class:`~excise.engines.shared.store.Write` inside a transaction that holds the head's row."""

    def __init__(self, connection: Connection, named: Named, head: Head, keep_seconds: int) -> None:
        self._connection, self._named, self.head = connection, named, head
        self._keep_seconds = keep_seconds

    def insert(self, documents: Sequence[Document], encoded: EncodedDocuments, first: int, born: int) -> None:
        for start in range(0, len(documents), _ROWS_A_TIME):
            numbers = range(start, min(start + _ROWS_A_TIME, len(documents)))
            rows, pooled = [], []
            for number in numbers:
                windows, document = encoded.document(number), documents[number]
                rows.append(
                    (
                        first + number,
                        to_database(document.id),
                        to_database(document.title),
                        to_database(document.text),
                        json.dumps(dict(document.metadata)),
                        f"{digest(document):016x}",
                        born,
                        FOREVER,
                        windows.vectors.shape[1],
                        np.diff(windows.offsets).tolist(),
                        np.ascontiguousarray(windows.vectors).tobytes(),
                    )
                )
                means = window_means(windows)
                pooled += [(first + number, window, written(mean)) for window, mean in enumerate(means)]
            self._connection.run_many(
                self._named(
                    "INSERT INTO {documents} (place, id, title, text, metadata, digest, born, died, dimensions, "
                    "lengths, vectors) VALUES (%s, %s, %s, %s, %s::text::jsonb, %s, %s, %s, %s, %s, %b)"
                ),
                rows,
            )
            self._connection.run_many(self._named("INSERT INTO {windows} VALUES (%s, %s, %s::halfvec)"), pooled)

    def retire(self, spots: Sequence[Spot], died: int) -> None:
        statement = self._named("UPDATE {documents} SET died = %s, died_at = now() WHERE place = ANY(%s)")
        self._connection.run(statement, [died, [spot.place for spot in spots]])

    def commit(self, head: Head) -> None:
        self._connection.run(self._named("UPDATE {head} SET excise_head = %s"), [head.to_json()])
        self.head = head

    def tidy(self) -> None:
        statement = self._named(
            "DELETE FROM {documents} WHERE died <= %s AND died_at < now() - make_interval(secs => %s)"
        )
        self._connection.run(statement, [self.head.generation, self._keep_seconds])
