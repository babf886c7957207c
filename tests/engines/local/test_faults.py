"""Real faults: processes killed while they write, many at once, a full disk, an interrupted first run.

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
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest
import workers
from filelock import FileLock
from index_folders import has_leavings
from made_up import ENCODER, batch

from excise.engines import MANIFEST, LocalEngine

SOAK = os.environ.get("EXCISE_SOAK") == "1"
pytestmark = pytest.mark.soak


@contextmanager
def process(role: str, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """One of :mod:`workers`, gone when the test is."""
    here = Path(workers.__file__)
    path = os.pathsep.join(filter(None, (str(here.parent.parent), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, str(here), role, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment) as running:
        try:
            yield running
        finally:
            running.kill()


def told(running: subprocess.Popen[bytes]) -> dict[str, object]:
    assert running.stdout is not None
    line = running.stdout.readline()
    assert line, f"the process ended with code {running.wait()}"
    return dict(json.loads(line))


def ended(running: subprocess.Popen[bytes]) -> dict[str, object]:
    """The last that a process had to tell, when it has ended well."""
    assert running.stdout is not None
    lines = running.stdout.read().splitlines()
    assert running.wait() == 0
    return dict(json.loads(lines[-1]))


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGINT])
def test_a_writer_killed_at_any_moment_loses_nothing_it_has_told(tmp_path: Path, fault: signal.Signals) -> None:
    kills = (200 if fault == signal.SIGKILL else 40) if SOAK else (12 if fault == signal.SIGKILL else 4)
    folder = tmp_path / "index"
    rng = random.Random()
    versions: dict[str, int] = {}
    half_written = 0
    with process("nursery", folder) as parent:
        assert parent.stdin is not None
        for seed in range(1, kills + 1):
            parent.stdin.write(b"%d\n" % seed)
            parent.stdin.flush()
            child = int(str(told(parent)["started"]))
            time.sleep(rng.uniform(0, 0.25))
            os.kill(child, fault)
            done = 0
            while "ended" not in (message := told(parent)):
                done = int(str(message["finished"])) + 1
                if done % 50 == 0:  # Python drops an interrupt that comes while it collects garbage
                    os.kill(child, fault)
            versions = _whole(folder, versions, seed, done)
            half_written += (folder / MANIFEST).exists() and has_leavings(folder)
            engine = LocalEngine.create(folder, ENCODER)
            engine.add(*batch(["afterwards"], version=seed))
            versions = workers.Write("add", ("afterwards",), seed).applied(versions)
            assert workers.state_of(engine.reader()) == versions
            assert not has_leavings(folder)
    if SOAK and fault == signal.SIGKILL:
        assert half_written > 0  # some of the kills came in the middle of a write


def _whole(folder: Path, versions: dict[str, int], seed: int, done: int) -> dict[str, int]:
    """The state after a kill: all that was told, and the write that was under way either whole or not at all."""
    for write in islice(workers.writes(seed), done):
        versions = write.applied(versions)
    under_way = next(islice(workers.writes(seed), done, None)).applied(versions)
    if not (folder / MANIFEST).exists():  # killed before the first commit
        assert versions == {}
        return {}
    found = workers.state_of(LocalEngine.open(folder).reader())
    assert found in (versions, under_way)
    assert list(found) in (list(versions), list(under_way))
    return found


def test_two_writers_and_three_readers_at_once(tmp_path: Path) -> None:
    batches = 300 if SOAK else 24
    folder, stop = tmp_path / "index", tmp_path / "stop"
    with (
        process("watcher", folder, stop) as one,
        process("watcher", folder, stop) as two,
        process("watcher", folder, stop) as three,
        process("writer", folder, "left", batches) as left,
        process("writer", folder, "right", batches) as right,
    ):
        assert ended(left) == ended(right) == {"done": batches}
        stop.touch()
        states = [int(str(ended(watcher)["states"])) for watcher in (one, two, three)]
    assert max(states) > 1
    last = batches - 1
    kept = workers.visible(last, False)
    assert workers.state_of(LocalEngine.open(folder).reader()) == {
        f"{name}-{number}-{i}": number for name in ("left", "right") for number in kept for i in range(workers.BATCH)
    }
    assert not has_leavings(folder)


def _fill(folder: Path, limit: int) -> str:
    """Let a process write until nothing fits; what it has told must be there, and the sentence comes back."""
    versions: dict[str, int] = {}
    with process("full_disk", folder, limit) as running:
        while "sentence" not in (message := told(running)):
            versions |= dict.fromkeys(message["added"], message["version"])  # type: ignore[call-overload]
        assert running.wait() == 0
    assert versions
    engine = LocalEngine.open(folder)
    assert workers.state_of(engine.reader()) == versions
    assert not has_leavings(folder)
    engine.delete(list(versions)[:1])
    assert len(engine.reader()) == len(versions) - 1
    return str(message["sentence"])


def test_a_process_that_may_write_no_more(tmp_path: Path) -> None:
    sentence = _fill(tmp_path / "index", 16_384)
    assert sentence == (
        f"could not write the index {tmp_path / 'index'}: File too large. What was there before is unchanged."
    )


@pytest.mark.skipif(not SOAK or os.name != "posix" or os.geteuid() != 0, reason="mounts a disk: make soak, as root")
def test_a_full_disk(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=False)
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    try:
        sentence = _fill(small / "index", 0)
        assert "No space left on device. What was there before is unchanged." in sentence
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)  # some files may still be mapped


def test_an_interrupted_first_run_does_not_touch_the_index_of_another(tmp_path: Path) -> None:
    """Two runs on one new folder; the first commits, the second is interrupted while it encodes its first batch."""
    folder = tmp_path / "index"
    with process("first_run", folder) as second:
        assert told(second) == {"documents": 0}
        assert not folder.exists()
        first = LocalEngine.create(folder, ENCODER)
        first.add(*batch(["a", "b"]))
        second.send_signal(signal.SIGINT)
        assert second.wait() != 0
    assert workers.state_of(first.reader()) == {"a": 0, "b": 0}


def test_an_interrupted_wait_for_the_lock_does_not_touch_the_index_of_another(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with process("first_run", folder) as second:
        assert told(second) == {"documents": 0}
        first = LocalEngine.create(folder, ENCODER)
        first.add(*batch(["a", "b"]))
        with FileLock(folder / "write.lock"):
            assert second.stdin is not None
            second.stdin.write(b"\n")
            second.stdin.flush()
            assert told(second) == {"adding": 1}
            second.send_signal(signal.SIGINT)
            assert second.wait() != 0
    first.add(*batch(["c"]))
    assert workers.state_of(LocalEngine.open(folder).reader()) == {"a": 0, "b": 0, "c": 0}
