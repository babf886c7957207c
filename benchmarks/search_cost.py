"""What a search costs on one index: by lists and exactly, in one run, with recall, memory, disk and opening.

    python benchmarks/search_cost.py INDEX --queries queries.npz --exact 10

Prints one JSON object. ``make bench`` runs it for each size, each in a process of its own, since memory is part of what
is measured; ``queries.npz`` holds the token vectors (``vectors``) of all queries, and where each starts (``offsets``).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from excise.engines import LocalEngine, Reader
from excise.vectors.ragged import Ragged, Vectors
from measuring import peak_megabytes

SHORTLIST = 100


def stored_queries(path: Path, most: int) -> list[Vectors]:
    with np.load(path) as stored:
        ragged = Ragged(stored["vectors"].astype(np.float32), stored["offsets"].astype(np.int64))
    return [ragged[i] for i in range(min(most, len(ragged)))]


def timed(reader: Reader, queries: list[Vectors], k: int, vectors: bool) -> tuple[list[float], list[list[str]]]:
    """Milliseconds and ids of each query's search; the first query is asked once before."""
    reader.search([queries[0]], k, vectors=vectors)
    times, found = [], []
    for query in queries:
        start = time.perf_counter()
        best = reader.search([query], k, vectors=vectors)[0]
        times.append((time.perf_counter() - start) * 1000)
        found.append([one.id for one in best.documents])
    return times, found


def shared(found: list[list[str]], true: list[list[str]], k: int) -> float:
    """The mean share of the true k best that were found."""
    return statistics.mean(
        len(set(own[:k]) & set(best[:k])) / len(best[:k]) for own, best in zip(found, true, strict=False)
    )


def measured(folder: Path, queries: list[Vectors], exactly: int) -> dict[str, Any]:
    start = time.perf_counter()
    reader = LocalEngine.open(folder).reader()
    opening = (time.perf_counter() - start) * 1000
    times, _ = timed(reader, queries, 10, vectors=False)
    deep, found = timed(reader, queries, SHORTLIST, vectors=True)
    memory = peak_megabytes()
    scan = LocalEngine.open(folder, exact=True).reader()
    exact, true = timed(scan, queries[:exactly], SHORTLIST, vectors=True)
    files = [path for path in folder.rglob("*") if path.is_file()]
    lists = ("list_", "centroids", "cell", "codebook")
    return {
        "documents": len(reader),
        "tokens": sum(len(part.segment.windows.vectors) for part in reader.parts),
        "segments": len(reader.parts),
        "by_lists": not reader.exact,
        "open_ms": opening,
        "search_10_ms": statistics.median(times),
        "search_100_ms": statistics.median(deep),
        "worst_100_ms": max(deep),
        "exact_100_ms": statistics.median(exact),
        "recall_100": shared(found, true, SHORTLIST),
        "recall_10": shared(found, true, 10),
        "memory_mb": memory,
        "disk_mb": sum(path.stat().st_size for path in files) / 1e6,
        "lists_mb": sum(path.stat().st_size for path in files if path.name.startswith(lists)) / 1e6,
        "queries": len(queries),
        "exact_queries": len(true),
        "query_tokens": statistics.mean(len(query) for query in queries),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--most", type=int, default=50, help="so many of the queries")
    parser.add_argument("--exact", type=int, default=20, help="and so many of them exactly too, for recall")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    print(json.dumps(measured(options.index, stored_queries(options.queries, options.most), options.exact)))


if __name__ == "__main__":
    main()
