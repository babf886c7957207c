"""Processes for the fault tests: writers to be killed, readers to watch them, a full disk, an interrupted first run.

Run as a program (``python workers.py ROLE FOLDER ...``) with this folder's parent on the path. What the tests check
afterwards is worked out from the same functions that the processes go by.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from made_up import ENCODER, batch, query, same_vectors, version_of

from excise.engines import LocalEngine, Reader
from excise.errors import ExciseError

BATCH = 3


class Write(NamedTuple):
    """One operation: "add", "delete" or "tidy"."""

    kind: str
    ids: tuple[str, ...] = ()
    version: int = 0

    def run(self, engine: LocalEngine) -> None:
        if self.kind == "add":
            engine.add(*batch(self.ids, self.version))
        elif self.kind == "delete":
            engine.delete(self.ids)
        else:
            engine.tidy()

    def applied(self, versions: dict[str, int]) -> dict[str, int]:
        """The state of an index, in the order of indexing, after this."""
        kept = {id: version for id, version in versions.items() if id not in self.ids}
        return kept | dict.fromkeys(self.ids, self.version) if self.kind == "add" else kept


def writes(seed: int) -> Iterator[Write]:
    """Endless adding, replacing, deleting and merging over a few dozen ids; the same for the same seed."""
    rng = random.Random(seed)
    number = seed * 100_000
    while True:
        number += 1
        kind = rng.choices(["add", "delete", "tidy"], [6, 2, 2])[0]
        ids = tuple(rng.sample([f"doc{i}" for i in range(40)], rng.randint(1, 6)))
        yield Write(kind, ids if kind != "tidy" else (), number)


def state_of(reader: Reader) -> dict[str, int]:
    """Every document of an index and its version, in the order of indexing; its vectors are those of that version."""
    ids = list(reader.ids())
    versions = dict(zip(ids, map(version_of, reader.documents(ids)), strict=True))
    assert len(reader) == len(ids) == len(versions)
    if ids:
        stored = reader.vectors(ids)
        assert all(same_vectors(stored.document(place), id, versions[id]) for place, id in enumerate(ids))
    return versions


def tell(**message: object) -> None:
    """A line to the test, out of this process at once: what was told survives any kill."""
    os.write(1, json.dumps(message).encode() + b"\n")


def nursery(folder: Path) -> None:
    """For each seed on standard input, a child that writes until it is killed and tells what it has finished."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            with suppress(KeyboardInterrupt):
                tell(started=os.getpid())
                engine = LocalEngine.create(folder, ENCODER)
                for number, write in enumerate(writes(int(line))):
                    write.run(engine)
                    tell(finished=number)
            os._exit(0)
        os.waitpid(child, 0)
        tell(ended=child)


def visible(last: int, deleted_before: bool) -> set[int]:
    """Which batches of a writer can be seen when ``last`` is its newest: every third stays, the others go two later."""
    gone = {number for number in range(last - (1 if deleted_before else 2)) if number % 3}
    return set(range(last + 1)) - gone


def writer(folder: Path, name: str, batches: int) -> None:
    engine = LocalEngine.create(folder, ENCODER)
    for number in range(batches):
        engine.add(*batch([f"{name}-{number}-{i}" for i in range(BATCH)], number))
        if number >= 2 and (number - 2) % 3:
            engine.delete([f"{name}-{number - 2}-{i}" for i in range(BATCH)])
        if number % 5 == 4:
            engine.tidy()
    tell(done=batches)


def watcher(folder: Path, stop: Path) -> None:
    """Reads until a file appears; every state must be one that the writers have committed, none older than the last."""
    engine = LocalEngine.create(folder, ENCODER)
    newest: dict[str, int] = {}
    states: set[str] = set()
    while not stop.exists() or not states:
        reader = engine.reader()
        versions = state_of(reader)
        found = reader.search([query()], 10_000, vectors=True)[0]
        assert {one.id: version_of(one) for one in found.documents} == versions
        assert list(found.scores) == sorted(found.scores, reverse=True)
        for name in {id.split("-")[0] for id in versions}:
            seen = [id.split("-") for id in versions if id.startswith(f"{name}-")]
            batches = {int(number) for _, number, _ in seen}
            assert len(seen) == BATCH * len(batches), f"half a batch: {seen}"
            last = max(batches)
            assert batches in (visible(last, False), visible(last, True)), f"no committed state: {batches}"
            assert last >= newest.get(name, 0), f"went back from {newest[name]} to {last}"
            newest[name] = last
        states.add(reader.fingerprint)
    tell(states=len(states))


def full_disk(folder: Path, limit: int) -> None:
    """Adds until nothing more fits, then tells the sentence. A limit of 0 leaves it to the disk itself."""
    engine = LocalEngine.create(folder, ENCODER)
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    for number in range(1000):
        ids = [f"{number}-{i}" for i in range(2 ** min(number, 8))]
        try:
            engine.add(*batch(ids, number))
        except ExciseError as error:
            tell(sentence=str(error))
            return
        tell(added=ids, version=number)


def first_run(folder: Path) -> None:
    """An index run that encodes its first batch until a line comes in."""
    engine = LocalEngine.create(folder, ENCODER)
    tell(documents=len(engine.reader()))
    sys.stdin.readline()
    tell(adding=1)
    engine.add(*batch(["second"]))


def main(role: str, folder: str, *rest: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start what runs in the background deaf to it
    sys.modules["torch"] = None  # type: ignore[assignment]  # not needed, and slow to load
    place = Path(folder)
    if role == "nursery":
        nursery(place)
    elif role == "writer":
        writer(place, rest[0], int(rest[1]))
    elif role == "watcher":
        watcher(place, Path(rest[0]))
    elif role == "full_disk":
        full_disk(place, int(rest[0]))
    else:
        first_run(place)


if __name__ == "__main__":
    main(*sys.argv[1:])
