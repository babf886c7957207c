"""The service under load: clients with mixed queries and a writer beside them, next to the library called directly.

    python benchmarks/serve_load.py                                  # 1, 8, 32 clients, a minute each, bundled corpus
    python benchmarks/serve_load.py --seconds 5 --clients 1,8        # a short look
    python benchmarks/serve_load.py --clients 8 --seconds 600        # is memory flat over ten minutes?
    python benchmarks/serve_load.py --index DIR                      # a copy of a real index (it is written to)

The service runs in a process of its own on loopback; clients are tasks of this one. Prints throughput, percentiles,
answers that were no 200, and the memory of the service before, in the middle and after. Exits with 1 where any answer
was an error: nothing may fail at these loads.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np

from excise.search.operator import Excise, load
from excise.suites import bundled
from excise.suites.suites import load_suite

KEY = "a-key-for-the-benchmark-0123456789"
WRITES_A_SECOND = 2


@dataclass
class Round:
    """What was measured with so many clients."""

    clients: int
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    writes: Counter[str] = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)

    @property
    def errors(self) -> int:
        return sum(count for name, count in (self.statuses + self.writes).items() if name != "200")

    def __str__(self) -> str:
        p50, p95, p99 = np.percentile(self.latencies, [50, 95, 99]) * 1000
        first, middle, last = self.memory[0], self.memory[len(self.memory) // 2], self.memory[-1]
        return (
            f"{self.clients:7d}  {len(self.latencies) / self.seconds:9.1f}  {p50:7.0f}  {p95:7.0f}  {p99:7.0f}  "
            f"{self.writes['200']:6d}  {self.errors:6d}   {first:.0f} / {middle:.0f} / {last:.0f}"
        )


def mixed_queries(seed: int) -> list[dict[str, object]]:
    """Queries of the bundled suite, with and without exclusions; some name the topic, some ask for an explanation."""
    chance = random.Random(seed)
    messages: list[dict[str, object]] = []
    for query in load_suite("own", "dev").queries:
        message: dict[str, object] = {"query": query.text}
        fate = chance.random()
        if fate < 0.1:
            message |= {"exclude": ["rye"]}
        elif fate < 0.2:
            message |= {"explain": True, "compare": True, "caution": 0.4}
        messages.append(message)
    chance.shuffle(messages)
    return messages


@contextmanager
def service(index: Path, keys: Path) -> Iterator[tuple[str, int]]:
    """A service over an index: its address and its process."""
    command = [
        sys.executable,
        "-m",
        "excise",
        "serve",
        "--index",
        str(index),
        "--port",
        "0",
        "--api-key-file",
        str(keys),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stderr is not None
            said = running.stderr.readline()
            if " at http" not in said:
                raise SystemExit(said + running.stderr.read())
            yield said.split(" at ")[1].split()[0], running.pid
        finally:
            running.terminate()


def resident_megabytes(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def client(http: httpx.AsyncClient, messages: Sequence[dict[str, object]], until: float, told: Round) -> None:
    place = random.randrange(len(messages))
    while time.perf_counter() < until:
        place = (place + 1) % len(messages)
        began = time.perf_counter()
        try:
            answer = await http.post("/v1/search", json=messages[place])
            told.statuses[str(answer.status_code)] += 1
        except httpx.HTTPError as error:
            told.statuses[type(error).__name__] += 1
        told.latencies.append(time.perf_counter() - began)


async def writer(http: httpx.AsyncClient, until: float, told: Round) -> None:
    """Adds, replaces and deletes a few documents, again and again."""
    number = 0
    while time.perf_counter() < until:
        number += 1
        documents = [{"id": f"load-{number % 20}-{i}", "text": f"Airship {number} over town {i}."} for i in range(3)]
        try:
            if number % 5 == 0:
                answer = await http.delete("/v1/documents", params={"id": [one["id"] for one in documents]})
            else:
                answer = await http.post("/v1/documents", json={"documents": documents})
            told.writes[str(answer.status_code)] += 1
        except httpx.HTTPError as error:
            told.writes[type(error).__name__] += 1
        await asyncio.sleep(1 / WRITES_A_SECOND)


async def watcher(process: int, until: float, told: Round) -> None:
    while time.perf_counter() < until:
        told.memory.append(resident_megabytes(process))
        await asyncio.sleep(0.5)


async def measured(url: str, process: int, clients: int, seconds: float) -> Round:
    told, messages = Round(clients), mixed_queries(clients)
    limits = httpx.Limits(max_connections=clients + 2, max_keepalive_connections=clients + 2)
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, limits=limits) as http:
        began = time.perf_counter()
        until = began + seconds
        callers = [client(http, messages, until, told) for _ in range(clients)]
        await asyncio.gather(*callers, writer(http, until, told), watcher(process, until, told))
        told.seconds = time.perf_counter() - began
    told.memory.append(resident_megabytes(process))
    return told


def direct(operator: Excise, seconds: float) -> str:
    """The library called one query at a time, in this process, with nobody else about."""
    messages, latencies = mixed_queries(0), []
    operator.search("home bread, but not rye")
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        start = time.perf_counter()
        operator.search(str(messages[len(latencies) % len(messages)]["query"]))
        latencies.append(time.perf_counter() - start)
    p50, p95, p99 = np.percentile(latencies, [50, 95, 99]) * 1000
    return f"library  {len(latencies) / (time.perf_counter() - began):9.1f}  {p50:7.0f}  {p95:7.0f}  {p99:7.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, help="by default the bundled corpus is indexed")
    parser.add_argument("--clients", default="1,8,32")
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="excise-load-") as folder:
        index, keys = Path(folder) / "index", Path(folder) / "keys"
        keys.write_text(KEY + "\n")
        if chosen.index is None:
            with bundled.corpus() as corpus:
                load().index(corpus, index)
        else:
            shutil.copytree(chosen.index, index)
        print("clients  queries/s   p50 ms   p95 ms   p99 ms  writes  errors   memory MB (start / middle / end)")
        print(direct(load(index), min(chosen.seconds, 20.0)))
        failed = 0
        with service(index, keys) as (url, process):
            for clients in map(int, chosen.clients.split(",")):
                told = asyncio.run(measured(url, process, clients, chosen.seconds))
                failed += told.errors
                print(told, flush=True)
                if told.errors:
                    print(f"  searches {dict(told.statuses)}, writes {dict(told.writes)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
