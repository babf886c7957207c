"""Writing: one writer at a time, everything on the disk before it counts, nothing changed by what breaks off."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from contract import NAMES, agrees
from filelock import FileLock
from index_folders import LEAVINGS, segments
from made_up import ENCODER, batch

from excise.engines import MANIFEST, LocalEngine
from excise.engines.local import engine as local
from excise.errors import BadIndex


def test_tidying_what_is_tidy_takes_no_lock(engine: LocalEngine) -> None:
    (engine.folder / "write.lock").unlink()
    engine.tidy()
    assert not (engine.folder / "write.lock").exists()


def test_a_merge_that_fails_does_not_fail_the_write_before_it(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(10):
        engine.add(*batch([f"doc{i}"]))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local, "merge_segments", full)
    assert engine.delete(["a"]) == 1
    with pytest.raises(BadIndex, match=r"No space left on device\. What was there before is unchanged"):
        engine.tidy()
    monkeypatch.undo()
    expected = dict.fromkeys([*NAMES[1:], *(f"doc{i}" for i in range(10))], 0)
    agrees(engine.reader(), expected)
    engine.tidy()
    agrees(engine.reader(), expected)


def test_writers_wait_for_one_another(engine: LocalEngine) -> None:
    lock = FileLock(engine.folder / "write.lock")
    with ThreadPoolExecutor(1) as threads:
        with lock:
            added = threads.submit(engine.add, *batch(["x"]))
            done, _ = wait([added], timeout=0.3)
        added.result()
    assert not done
    agrees(engine.reader(), dict.fromkeys([*NAMES, "x"], 0))


def test_a_writer_that_waited_in_vain_says_so_and_sweeps_nothing(engine: LocalEngine) -> None:
    impatient = LocalEngine.open(engine.folder, patience=0.05)
    half_written = engine.folder / LEAVINGS
    half_written.mkdir()
    with FileLock(engine.folder / "write.lock"):
        for write in (lambda: impatient.add(*batch(["x"])), lambda: impatient.delete(["a"])):
            with pytest.raises(BadIndex, match="being written by another process"):
                write()
        assert half_written.exists()
    impatient.add(*batch(["x"]))
    assert not half_written.exists()
    agrees(engine.reader(), dict.fromkeys([*NAMES, "x"], 0))


def test_what_is_removed_is_removed_while_the_lock_is_held(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []
    really = local.shutil.rmtree

    def watched(path: Path, ignore_errors: bool) -> None:
        probe = FileLock(engine.folder / "write.lock", timeout=0)
        try:
            probe.acquire()
            probe.release()
            held.append(False)
        except OSError:
            held.append(True)
        really(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(local.shutil, "rmtree", watched)
    for i in range(8):
        engine.add(*batch([f"doc{i}"]))
    engine.tidy()
    with pytest.raises(BadIndex):
        _with_a_full_disk(lambda: engine.add(*batch([f"big{i}" for i in range(500)])))
    assert held
    assert all(held)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is brought to the disk, and when the manifest is replaced, in order."""
    events: list[str] = []
    fsync, replace = os.fsync, os.replace

    def watched_fsync(handle: int) -> None:
        events.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        fsync(handle)

    def watched_replace(source: Path, target: Path) -> None:
        events.append("replaced")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    return events


def test_all_is_on_the_disk_before_the_manifest_names_it(tmp_path: Path, synced: list[str]) -> None:
    engine = LocalEngine.create(tmp_path / "above" / "index", ENCODER)
    engine.add(*batch(["a"]))
    (segment,) = segments(engine.folder)
    before, after = synced[: synced.index("replaced")], synced[synced.index("replaced") + 1 :]
    files = [path.name for path in (engine.folder / segment).iterdir()]
    assert {*files, segment, "index", "above", tmp_path.name, f"{MANIFEST}.new"} == set(before)
    assert after == ["index"]


@pytest.mark.parametrize("step", ["write_segment", "replace_file"])
@pytest.mark.parametrize("fault", [KeyboardInterrupt(), MemoryError()])
def test_what_breaks_off_in_mid_write_leaves_the_old_index(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, step: str, fault: BaseException
) -> None:
    really: Callable[..., object] = getattr(local, step)

    def breaks_off(*given: object) -> None:
        if step == "write_segment":
            really(*given)
        raise fault

    monkeypatch.setattr(local, step, breaks_off)
    with pytest.raises(type(fault)):
        engine.add(*batch(["x", "y"]))
    monkeypatch.undo()
    agrees(engine.reader(), dict.fromkeys(NAMES, 0))
    assert len(segments(engine.folder)) == 1  # the new one is swept away
    engine.add(*batch(["z"]))
    agrees(LocalEngine.open(engine.folder).reader(), dict.fromkeys([*NAMES, "z"], 0))


def test_what_breaks_off_after_the_commit_keeps_the_new_index(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest on disk decides what is swept away, not what this process believes."""
    really = local.replace_file

    def interrupted(path: Path, content: bytes) -> None:
        really(path, content)
        raise KeyboardInterrupt

    monkeypatch.setattr(local, "replace_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.add(*batch(["x"]))
    monkeypatch.undo()
    agrees(engine.reader(), dict.fromkeys([*NAMES, "x"], 0))
    agrees(LocalEngine.open(engine.folder).reader(), dict.fromkeys([*NAMES, "x"], 0))


def _with_a_full_disk(write: Callable[[], object]) -> None:
    """No file may grow past 4 KB: the system refuses with the same kind of error as a full disk."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
    try:
        write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)


def test_a_disk_that_takes_no_more_is_a_sentence_and_changes_nothing(engine: LocalEngine) -> None:
    with pytest.raises(BadIndex, match=r"could not write .*: File too large\. What was there before is unchanged\."):
        _with_a_full_disk(lambda: engine.add(*batch([f"big{i}" for i in range(500)])))
    agrees(LocalEngine.open(engine.folder).reader(), dict.fromkeys(NAMES, 0))
    assert len(segments(engine.folder)) == 1
