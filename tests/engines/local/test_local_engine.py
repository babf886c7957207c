"""The embedded engine in its folder: when it comes into being, what a commit costs, which state a reader gets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from contract import NAMES, agrees, ids_of
from index_folders import LEAVINGS, segments
from made_up import ENCODER, OTHER_ENCODER, batch, query

from excise.engines import MANIFEST, LocalEngine
from excise.engines.local.segment import Segment
from excise.errors import BackboneError, BadIndex


def test_nothing_is_written_before_the_first_documents(tmp_path: Path) -> None:
    engine = LocalEngine.create(tmp_path / "deep" / "index", ENCODER)
    assert len(engine.reader()) == 0
    assert engine.delete(["a"]) == 0
    engine.tidy()
    assert list(tmp_path.iterdir()) == []
    engine.add(*batch(["a"]))
    agrees(LocalEngine.open(engine.folder).reader(), {"a": 0})


def test_the_leavings_of_an_interrupted_first_write_are_no_hindrance(tmp_path: Path) -> None:
    for leaving in (LEAVINGS, "segment-ffffffffffff"):
        (tmp_path / leaving).mkdir()
        (tmp_path / leaving / "vectors.f16").write_bytes(b"half")
    (tmp_path / "write.lock").touch()
    (tmp_path / f"{MANIFEST}.new").write_text("{")
    engine = LocalEngine.create(tmp_path, ENCODER)
    assert (tmp_path / LEAVINGS).exists()
    engine.add(*batch(["a"]))
    agrees(LocalEngine.open(tmp_path).reader(), {"a": 0})
    assert len(segments(tmp_path)) == 1
    assert not (tmp_path / f"{MANIFEST}.new").exists()


def test_a_second_creator_adopts_the_index_of_the_first(tmp_path: Path) -> None:
    first, second = (LocalEngine.create(tmp_path / "index", ENCODER) for _ in range(2))
    first.add(*batch(["a", "b"]))
    assert second.reader().fingerprint == first.reader().fingerprint
    second.add(*batch(["c"]))
    agrees(first.reader(), {"a": 0, "b": 0, "c": 0})


def test_a_second_creator_with_another_encoder_is_refused(tmp_path: Path) -> None:
    first, second = (LocalEngine.create(tmp_path / "index", one) for one in (ENCODER, OTHER_ENCODER))
    first.add(*batch(["a"]))
    with pytest.raises(BackboneError, match="built with the backbone 'test'"):
        second.add(*batch(["b"]))
    with pytest.raises(BackboneError):
        second.reader()
    with pytest.raises(BackboneError):
        LocalEngine.create(tmp_path / "index", OTHER_ENCODER)
    agrees(first.reader(), {"a": 0})


def test_creating_what_is_there_opens_it(engine: LocalEngine) -> None:
    agrees(LocalEngine.create(engine.folder, ENCODER).reader(), dict.fromkeys(NAMES, 0))


def test_an_index_that_was_removed_does_not_come_back(engine: LocalEngine) -> None:
    before = engine.reader()
    for path in engine.folder.rglob("*"):
        if path.is_file():
            path.unlink()
    for use in (engine.reader, lambda: engine.add(*batch(["x"])), lambda: engine.delete(["a"]), engine.tidy):
        with pytest.raises(BadIndex, match="No such file"):
            use()
    assert not (engine.folder / MANIFEST).exists()
    agrees(before, dict.fromkeys(NAMES, 0))  # what is mapped stays


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Which segments are opened from here on."""
    opened: list[Path] = []
    really = Segment.__init__

    def counted(self: Segment, folder: Path, *rest: object) -> None:
        opened.append(folder)
        really(self, folder, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Segment, "__init__", counted)
    return opened


def test_a_commit_opens_its_own_segment_and_no_other(tmp_path: Path, openings: list[Path]) -> None:
    engine = LocalEngine.create(tmp_path / "index", ENCODER)
    other = LocalEngine.create(tmp_path / "index", ENCODER)
    for i in range(40):
        engine.add(*batch([f"doc{i}"]))
    assert len(openings) == 40
    other.reader()
    assert len(openings) == 80
    engine.delete(["doc0"])  # merges, too
    merged = len(segments(engine.folder))
    assert len(openings) <= 80 + merged
    other.reader()
    assert len(openings) <= 80 + 2 * merged


def test_a_state_shares_what_has_not_changed_with_the_one_before(engine: LocalEngine) -> None:
    before = engine.reader()
    engine.add(*batch(["f", "g"]))
    engine.delete(["f"])
    after = engine.reader()
    assert after.parts[0] is before.parts[0]
    engine.delete(["a"])
    assert engine.reader().parts[0].segment is before.parts[0].segment


def test_searching_needs_no_ids_and_parses_only_what_it_returns(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []
    really = Segment.document
    monkeypatch.setattr(Segment, "document", lambda self, row: (parsed.append(row), really(self, row))[1])
    reader = LocalEngine.open(engine.folder).reader()
    reader.search([query()], 2)
    assert len(parsed) == 2
    assert "rows" not in vars(reader.parts[0].segment)
    assert list(reader.ids()) == NAMES
    assert len(parsed) == 2


def test_the_number_of_segments_and_of_open_files_stays_small(tmp_path: Path) -> None:
    engine = LocalEngine.create(tmp_path / "index", ENCODER)
    for i in range(80):
        engine.add(*batch([f"doc{i}"]))
        assert len(engine.reader().parts) <= 65
    assert _open_files(tmp_path) <= 2 * 65
    assert list(engine.reader().ids()) == [f"doc{i}" for i in range(80)]
    engine.tidy()
    assert len(engine.reader().parts) < 8 * 3
    assert len(segments(engine.folder)) == len(engine.reader().parts)
    agrees(engine.reader(), {f"doc{i}": 0 for i in range(80)})


def _open_files(folder: Path) -> int:
    """How many files below a folder this process holds open; maps of deleted ones count."""
    handles = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]
    return sum(str(folder) in os.readlink(handle) for handle in handles if handle.is_symlink())


def test_mostly_deleted_segments_are_written_anew(tmp_path: Path) -> None:
    engine = LocalEngine.create(tmp_path / "index", ENCODER)
    names = [f"doc{i}" for i in range(100)]
    engine.add(*batch(names))
    engine.delete(names[:40])
    assert len(engine.reader().parts[0].segment) == 100
    engine.delete(names[40:60:2])
    kept = [*names[41:60:2], *names[60:]]
    assert len(engine.reader().parts[0].segment) == 100  # half of it is alive
    engine.delete(names[99:])
    assert len(engine.reader().parts[0].segment) == 49
    agrees(engine.reader(), dict.fromkeys(kept[:-1], 0))
    assert json.loads((engine.folder / MANIFEST).read_bytes())["deleted"] == {}


def test_a_state_that_could_not_be_opened_is_tried_again(engine: LocalEngine) -> None:
    """The stamp of a state must not be kept when loading it has failed."""
    reader = LocalEngine.open(engine.folder)
    reader.reader()
    engine.add(*batch(["new"]))
    fresh = engine.folder / engine.reader().parts[-1].entry.name
    fresh.rename(engine.folder / "aside")
    with pytest.raises(BadIndex, match="missing"):
        reader.reader()
    (engine.folder / "aside").rename(fresh)
    agrees(reader.reader(), dict.fromkeys([*NAMES, "new"], 0))


def test_a_new_state_is_noticed_though_the_file_looks_the_same(engine: LocalEngine) -> None:
    """Inode, time and size of the manifest may all be those of the old one."""
    reader = LocalEngine.open(engine.folder)
    before = reader.reader()
    manifest = engine.folder / MANIFEST
    times = (manifest.stat().st_atime_ns, manifest.stat().st_mtime_ns)
    content = manifest.read_bytes()
    manifest.write_bytes(content.replace(b'"generation": 1', b'"generation": 2'))
    os.utime(manifest, ns=times)
    assert reader.reader().fingerprint != before.fingerprint


def test_threads_that_wait_for_a_new_state_all_get_it(engine: LocalEngine, openings: list[Path]) -> None:
    reader = LocalEngine.open(engine.folder)
    engine.add(*batch(["new"]))
    del openings[:]
    start = threading.Barrier(8)

    def newest(_: int) -> int:
        start.wait()
        return len(reader.reader())

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(newest, range(8))) == {6}
    assert len(openings) == 1


@pytest.fixture
def merge_by_hand(tmp_path: Path) -> Callable[[], None]:
    """A second writer on the same index, which makes folders vanish under a reader that is just opening them."""
    return lambda: LocalEngine.open(tmp_path / "index").tidy()


def test_a_reader_that_meets_a_folder_just_merged_away_takes_the_new_state(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, merge_by_hand: Callable[[], None]
) -> None:
    for i in range(9):
        engine.add(*batch([f"doc{i}"]))
    reader = LocalEngine.open(engine.folder)
    engine.add(*batch(["last"]))
    really, merged = Segment.__init__, []

    def overtaken(self: Segment, *given: object) -> None:
        if not merged:
            merged.append(True)
            merge_by_hand()
        really(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Segment, "__init__", overtaken)
    names = [*NAMES, *(f"doc{i}" for i in range(9)), "last"]
    assert list(reader.reader().ids()) == names
    assert merged
    assert len(ids_of(reader.reader().search([query()], 100)[0])) == len(names)


@pytest.fixture
def old_index(engine: LocalEngine) -> Path:
    """An index as excise 0.1 wrote it: no files of ids, a manifest without a commit."""
    engine.add(*batch(["f", "g"]))
    engine.delete(["b"])
    manifest = json.loads((engine.folder / MANIFEST).read_text())
    del manifest["commit"]
    for part in manifest["segments"]:
        for name in ("ids.bin", "id_offsets.npy"):
            del part["files"][name]
            (engine.folder / part["name"] / name).unlink()
    (engine.folder / MANIFEST).write_text(json.dumps(manifest, indent=1))
    return engine.folder


def test_an_index_of_the_first_version_is_read_and_written(old_index: Path) -> None:
    engine = LocalEngine.open(old_index)
    agrees(engine.reader(), dict.fromkeys(["a", "c", "d", "e", "f", "g"], 0))
    engine.add(*batch(["c"], version=1))
    for i in range(10):
        engine.add(*batch([f"doc{i}"]))
    engine.tidy()
    expected = dict.fromkeys(["a", "d", "e", "f", "g"], 0) | {"c": 1} | {f"doc{i}": 0 for i in range(10)}
    agrees(LocalEngine.open(old_index).reader(), expected)


def test_the_engine_needs_neither_torch_nor_transformers() -> None:
    code = "import sys, excise.engines; sys.exit(any(n in sys.modules for n in ('torch', 'transformers', 'filelock')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
