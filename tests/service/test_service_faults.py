"""Services that are killed while they write, and services that are told to end: nothing acknowledged is lost.

The short form is part of every test run; ``make soak`` runs the long one.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import httpx
import pytest
import served
import service_nursery
from served import KEY

from excise.engines import MANIFEST, LocalEngine

SOAK = os.environ.get("EXCISE_SOAK") == "1"
KILLS = 50 if SOAK else 6
pytestmark = pytest.mark.soak
State = dict[str, str]


class Born(NamedTuple):
    """A service: where it is, and its process."""

    url: str
    process: int


class Nursery:
    """The process of :mod:`service_nursery`."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        self._running = running

    def start(self, folder: Path) -> Born:
        assert self._running.stdin is not None
        self._running.stdin.write(f"{folder}\n")
        self._running.stdin.flush()
        return Born(**self.told())

    def told(self) -> dict[str, Any]:
        assert self._running.stdout is not None
        line = self._running.stdout.readline()
        assert line, f"the nursery ended with code {self._running.wait()}"
        return dict(json.loads(line))


@contextmanager
def nursery() -> Iterator[Nursery]:
    path = os.pathsep.join(filter(None, (str(Path(served.__file__).parent), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command, pipe = [sys.executable, service_nursery.__file__], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, text=True) as running:
        try:
            yield Nursery(running)
        finally:
            running.kill()


class Writing(Thread):
    """Writes until the service is gone; knows what was acknowledged, and what that becomes with the write after it."""

    def __init__(self, url: str, state: State, chance: random.Random) -> None:
        super().__init__()
        self.url, self.acknowledged, self.chance = url, state, chance
        self.under_way = state
        self.writes = 0
        self.refusal = ""

    def run(self) -> None:
        with httpx.Client(base_url=self.url, headers={"X-API-Key": KEY}, timeout=60) as http:
            while True:
                ids = [f"document-{self.chance.randrange(12)}" for _ in range(self.chance.randint(1, 3))]
                ids = list(dict.fromkeys(ids))
                try:
                    answer = self._remove(http, ids) if self.chance.random() < 0.3 else self._store(http, ids)
                except httpx.TransportError:
                    return
                if answer.status_code != 200:
                    self.refusal = answer.text
                    return
                self.acknowledged = self.under_way
                self.writes += 1

    def _store(self, http: httpx.Client, ids: list[str]) -> httpx.Response:
        fresh = {id: f"airship number {self.chance.randrange(10**9)}" for id in ids}
        self.under_way = {**self.acknowledged, **fresh}
        documents = [{"id": id, "text": text} for id, text in fresh.items()]
        return http.post("/v1/documents", json={"documents": documents})

    def _remove(self, http: httpx.Client, ids: list[str]) -> httpx.Response:
        self.under_way = {id: text for id, text in self.acknowledged.items() if id not in ids}
        return http.delete("/v1/documents", params={"id": ids})


def stored(folder: Path) -> State:
    if not (folder / MANIFEST).exists():
        return {}
    reader = LocalEngine.open(folder).reader()
    return {document.id: document.text for document in reader.documents(list(reader.ids()))}


def test_a_service_killed_while_it_writes_loses_nothing_it_has_acknowledged(tmp_path: Path) -> None:
    chance = random.Random()
    state: State = {}
    writes = 0
    with nursery() as births:
        for _ in range(KILLS):
            born = births.start(tmp_path / "index")
            writing = Writing(born.url, state, chance)
            writing.start()
            while writing.writes == 0 and writing.is_alive():
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 0.3))
            os.kill(born.process, signal.SIGKILL)
            writing.join()
            assert not writing.refusal
            assert births.told() == {"ended": -signal.SIGKILL}
            found = stored(tmp_path / "index")
            assert found in (writing.acknowledged, writing.under_way)
            state, writes = found, writes + writing.writes
    assert writes >= KILLS


def test_a_service_that_is_told_to_end_finishes_what_it_has_begun(tmp_path: Path) -> None:
    with nursery() as births, ThreadPoolExecutor(8) as callers:
        born = births.start(tmp_path / "index")

        def call(number: int) -> int | None:
            try:
                body = {"documents": [{"id": str(number), "text": f"airship number {number}"}]}
                return httpx.post(
                    f"{born.url}v1/documents", json=body, headers={"X-API-Key": KEY}, timeout=60
                ).status_code
            except (httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError):
                return None  # it came too late: nothing of it was read, so nothing of it may be stored either

        assert call(0) == 200
        answers = callers.map(call, range(1, 25))
        time.sleep(0.1)
        os.kill(born.process, signal.SIGTERM)
        statuses = list(answers)
        assert births.told() == {"ended": 0}
    assert set(statuses) <= {200, None}
    acknowledged = {str(number) for number, status in enumerate([200, *statuses]) if status == 200}
    assert set(stored(tmp_path / "index")) == acknowledged
