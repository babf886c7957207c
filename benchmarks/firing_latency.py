"""What a firing adds to a frozen search: the default, and re-embedding with a cold and a warm cache.

    python benchmarks/firing_latency.py --index DIR [--first 25 --first 50 --first 100] [--json]

Prints milliseconds (medians over queries and rounds), and the median of the ratios to the frozen search of the same
query in the same round: a noisy machine moves both alike. Below, where the milliseconds of the frozen search and of the
default one go: medians of each step.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import excise
from excise.results import STEPS, SearchResult
from excise.search.models import SearchModels
from excise.search.operator import Excise
from excise.settings import resolve
from measuring import milliseconds

QUERIES = (
    ("electric cars made in Europe, but not Tesla", "Tesla"),
    ("novels adapted into films, except those by Stephen King", "Stephen King"),
    ("rivers of South America other than the Amazon", "Amazon"),
    ("British rock bands of the 1960s without the Beatles", "the Beatles"),
    ("capital cities in Africa, not Cairo", "Cairo"),
    ("winners of the Nobel prize in physics besides Einstein", "Einstein"),
    ("islands in the Mediterranean Sea, excluding Sicily", "Sicily"),
)


def budget(results: list[SearchResult]) -> dict[str, float]:
    """The median milliseconds of each step."""
    return {step: statistics.median(one.timing_ms[step] for one in results) for step in STEPS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--first", type=int, action="append", help="re-embed so many candidates; repeat it")
    parser.add_argument("--json", action="store_true", help="one JSON object in place of lines")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    default = excise.load(arguments.index)
    models, engine = default.pipeline.models, default.engine
    one = Excise(models, engine, resolve(adapter_fusion=False))
    for query, _ in QUERIES:  # the index and the detector are read from disk once
        default.search(query)
    cold: dict[str, list[float]] = {}
    ways: dict[str, Callable[[str, str], object]] = {
        "frozen search": lambda query, _: default.search(query, exclude=()),
        "one reading, topic named": lambda query, topic: one.search(query, exclude=[topic]),
        "default, topic named": lambda query, topic: default.search(query, exclude=[topic]),
        "default, topic detected": lambda query, _: default.search(query),
    }
    for first in arguments.first or (25, 50, 100):
        # A cache of its own: what another one has re-embedded must not warm this one.
        own = SearchModels(models.backbone, models.detector, models.adapter)
        adapted = Excise(own, engine, resolve("paper", reembed_first=first))
        ways[f"paper, {first} re-embedded, warm"] = lambda query, topic, a=adapted: a.search(query, exclude=[topic])
        cold[f"paper, {first} re-embedded, cold"] = [
            milliseconds(lambda q=query, t=topic, a=adapted: a.search(q, exclude=[t])) for query, topic in QUERIES
        ]
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(arguments.rounds):
        for query, topic in QUERIES:
            for name, search in ways.items():
                times[name].append(milliseconds(lambda s=search, q=query, t=topic: s(q, t)))
    budgets = {
        "frozen search": [default.search(query, exclude=()) for query, _ in QUERIES * arguments.rounds],
        "default, topic detected": [default.search(query) for query, _ in QUERIES * arguments.rounds],
    }
    frozen = times["frozen search"]
    found = {
        "documents": len(engine.reader()) if engine is not None else 0,
        "threads": arguments.threads,
        "queries": len(QUERIES),
        "rounds": arguments.rounds,
        "ways": {
            name: {
                "ms": statistics.median(spent),
                "of_frozen": statistics.median(a / b for a, b in zip(spent, frozen, strict=False)),
            }
            for name, spent in (times | cold).items()
        },
        "budgets": {name: budget(results) for name, results in budgets.items()},
    }
    print(json.dumps(found) if arguments.json else lines(found))


def lines(found: dict[str, Any]) -> str:
    """What was measured, for people."""
    told = [f"{found['documents']:,} documents, {found['threads']} threads, {found['queries']} queries"]
    told += [f"  {name:<32} {w['ms']:8.1f} ms   {w['of_frozen']:6.2f} of frozen" for name, w in found["ways"].items()]
    for name, steps in found["budgets"].items():
        told.append(f"  {name}: " + ", ".join(f"{step} {ms:.1f}" for step, ms in steps.items()))
    return "\n".join(told)


if __name__ == "__main__":
    main()
