"""What a firing adds to a frozen search: the default, and re-embedding with a cold and a warm cache.

    python benchmarks/firing_latency.py --index DIR [--shortlist 100]

Prints milliseconds (medians over the queries) and, within this run, ratios to the frozen search of the same queries.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

import excise
from excise.operator import Excise
from excise.settings import resolve

QUERIES = (
    ("electric cars made in Europe, but not Tesla", "Tesla"),
    ("novels adapted into films, except those by Stephen King", "Stephen King"),
    ("rivers of South America other than the Amazon", "Amazon"),
    ("British rock bands of the 1960s without the Beatles", "the Beatles"),
    ("capital cities in Africa, not Cairo", "Cairo"),
    ("winners of the Nobel prize in physics besides Einstein", "Einstein"),
    ("islands in the Mediterranean Sea, excluding Sicily", "Sicily"),
)


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def measure(operator: Excise, exclude: bool, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        for query, topic in QUERIES:
            times.append(milliseconds(lambda q=query, t=topic: operator.search(q, exclude=[t] if exclude else ())))
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shortlist", type=int, default=100, help="candidates that are re-embedded")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    default = excise.load(arguments.index)
    measure(default, False, 1)  # the index is read from disk once
    frozen = measure(default, False, 3)
    print(f"{len(default.engine or []):,} documents, {arguments.threads} threads, {len(QUERIES)} queries")
    print(f"  frozen search          {frozen:8.1f} ms")
    rows = [("default, topic named", measure(default, True, 3))]
    detected = statistics.median(milliseconds(lambda q=query: default.search(q)) for query, _ in QUERIES)
    rows.append(("default, topic detected", detected))
    paper = resolve("paper")
    paper = replace(paper, constants=replace(paper.constants, shortlist=arguments.shortlist))
    adapted = Excise(default.backbone, default.engine, paper)
    rows.append((f"paper, cold, k={arguments.shortlist}", measure(adapted, True, 1)))
    rows.append((f"paper, warm, k={arguments.shortlist}", measure(adapted, True, 3)))
    for name, spent in rows:
        print(f"  {name:<22} {spent:8.1f} ms   {spent / frozen:.2f} of frozen")


if __name__ == "__main__":
    main()
