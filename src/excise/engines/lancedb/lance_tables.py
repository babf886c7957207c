"""The tables of an index in LanceDB: the head, the documents with their vectors, a pooled vector for each window."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from excise.documents import Document
from excise.engines.base import digest
from excise.engines.lancedb.lance_options import LanceOptions
from excise.engines.shared.head import Head
from excise.engines.shared.store import FOREVER
from excise.engines.shared.window_means import window_means
from excise.errors import BadIndex
from excise.extras import need
from excise.vectors.encoded import EncodedDocuments

_SOURCE = re.compile(r",? \S+\.rs:\d+:\d+")  # where in LanceDB's own code something was noticed
PARTS = ("head", "documents", "windows")


@dataclass(frozen=True)
class LanceTables:
    """The three tables, opened."""

    head: Any
    documents: Any
    windows: Any


def connected(options: LanceOptions, name: str) -> Any:
    """A database; what others commit is seen at once."""
    need("the engine 'lancedb'", "lancedb", "lancedb", "pyarrow")
    import lancedb

    with told_of_lance(name):
        return lancedb.connect(options.url, read_consistency_interval=timedelta(0))


def opened_tables(database: Any, collection: str, name: str) -> LanceTables | None:
    """The tables of an index; None where there are none."""
    from pyarrow import ArrowException

    found = []
    for part in PARTS:
        try:
            found.append(database.open_table(f"{collection}_{part}"))
        except (ValueError, FileNotFoundError, ArrowException):
            continue
    if not found:
        return None
    if len(found) == len(PARTS) and "excise_head" in found[0].schema.names:
        return LanceTables(*found)
    if [table.name for table in found] == [f"{collection}_{part}" for part in PARTS[1 - len(found) :][: len(found)]]:
        return None  # the head comes last: excise was interrupted in making them
    raise BadIndex(f"{name} was not made by excise: tables of its names are there; name another one.")


def create_tables_for(database: Any, collection: str, head: Head) -> None:
    """Make the tables where there are none; the head, which makes them an index, comes last."""
    import pyarrow as pa

    dimensions = head.encoder.dimensions
    lives = [("place", pa.int64()), ("born", pa.int64()), ("died", pa.int64()), ("died_at", pa.float64())]
    texts = [(name, pa.large_string()) for name in ("id", "title", "text", "metadata")]
    own = [("key", pa.string()), ("digest", pa.string()), ("lengths", pa.list_(pa.int32()))]
    documents = pa.schema([*lives, *texts, *own, ("vectors", pa.large_binary())])
    windows = pa.schema([*lives, ("pooled", pa.list_(pa.float32(), dimensions))])
    heads = pa.schema([("excise_head", pa.string()), ("writer", pa.string()), ("lease", pa.float64())])
    database.create_table(f"{collection}_documents", schema=documents, exist_ok=True)
    database.create_table(f"{collection}_windows", schema=windows, exist_ok=True)
    first = pa.table({"excise_head": [head.to_json()], "writer": [""], "lease": [0.0]}, schema=heads)
    database.create_table(f"{collection}_head", data=first, exist_ok=True)


def key_of(id: str) -> str:
    """What ids are looked up by: it needs no quoting in a filter, whatever the id.

    Examples
    --------
    >>> key_of("it's")
    '27b305499ef2d760ba44acc01bcb8346'
    """
    return hashlib.blake2b(id.encode(), digest_size=16).hexdigest()


def document_rows(
    tables: LanceTables, documents: Sequence[Document], encoded: EncodedDocuments, first: int, born: int
) -> Any:
    """Documents and all their vectors, as rows."""
    import pyarrow as pa

    windows = [encoded.document(number) for number in range(len(documents))]
    columns = {
        **_lives(range(first, first + len(documents)), born),
        "id": [document.id for document in documents],
        "title": [document.title for document in documents],
        "text": [document.text for document in documents],
        "metadata": [json.dumps(dict(document.metadata)) for document in documents],
        "key": [key_of(document.id) for document in documents],
        "digest": [f"{digest(document):016x}" for document in documents],
        "lengths": [np.diff(own.offsets).tolist() for own in windows],
        "vectors": [np.ascontiguousarray(own.vectors).tobytes() for own in windows],
    }
    return pa.table(columns, schema=tables.documents.schema)


def window_rows(tables: LanceTables, encoded: EncodedDocuments, first: int, born: int) -> Any:
    """A pooled vector for each window, as rows."""
    import pyarrow as pa

    counts = np.diff(encoded.offsets)
    places = np.repeat(np.arange(first, first + len(encoded)), counts).tolist()
    pooled = list(window_means(encoded.windows))
    return pa.table({**_lives(places, born), "pooled": pooled}, schema=tables.windows.schema)


def _lives(places: Sequence[int], born: int) -> dict[str, list[Any]]:
    count = len(places)
    return {"place": list(places), "born": [born] * count, "died": [FOREVER] * count, "died_at": [0.0] * count}


@contextmanager
def told_of_lance(name: str) -> Iterator[None]:
    """What LanceDB or the storage under it refuses, as one sentence."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, NotImplementedError) as error:
        told = " ".join(_SOURCE.sub("", str(error)).split())[:300].rstrip(".")
        raise BadIndex(f"{name} could not be used: {told}.") from error
