"""The embedded engine in its folder: durable, cheap to write, and honest about folders that are not its own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from contract import agrees, ids_of
from filelock import FileLock
from made_up import DIMENSIONS, ENCODER, OTHER_ENCODER, batch, document, query

from excise.engines import MANIFEST, LocalEngine
from excise.engines.local import engine as local
from excise.engines.local.segment import Segment
from excise.errors import BackboneError, BadIndex, InvalidInput
from excise.vectors.encoded import EncodedDocuments, EncoderInfo

NAMES = ["a", "b", "c", "d", "e"]
LEAVINGS = "segment-0123456789ab"


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    made = LocalEngine.create(tmp_path / "index", ENCODER)
    made.add(*batch(NAMES))
    return made


def segments(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("segment-*"))


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


def test_writers_wait_for_one_another(engine: LocalEngine) -> None:
    lock = FileLock(engine.folder / "write.lock")
    with ThreadPoolExecutor(1) as threads:
        with lock:
            added = threads.submit(engine.add, *batch(["x"]))
            waiting = not added.done()
        added.result()
    assert waiting
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


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadIndex, match="is a file"):
        LocalEngine.create(tmp_path / "file", ENCODER)
    with pytest.raises(BadIndex):
        LocalEngine.create(tmp_path / "file" / "index", ENCODER).add(*batch(["a"]))


def test_foreign_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadIndex, match="no such index"):
        LocalEngine.open(tmp_path / "nowhere")
    (tmp_path / "segment-notes").mkdir()
    (tmp_path / "segment-notes" / "notes.txt").write_text("mine")
    with pytest.raises(BadIndex, match="not an excise index"):
        LocalEngine.open(tmp_path)
    with pytest.raises(BadIndex, match="not empty"):
        LocalEngine.create(tmp_path, ENCODER)
    assert (tmp_path / "segment-notes" / "notes.txt").exists()


def test_a_write_removes_nothing_but_segments(engine: LocalEngine) -> None:
    (engine.folder / "segment-notes").mkdir()
    (engine.folder / "README").write_text("mine")
    engine.add(*batch(["x"]))
    assert (engine.folder / "segment-notes").exists()
    assert (engine.folder / "README").read_text() == "mine"


def _edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def _rename_segment(folder: Path, name: str, **changes: object) -> None:
    part = json.loads((folder / MANIFEST).read_text())["segments"][0]
    _edit(folder / MANIFEST, segments=[part | {"name": name} | changes])


def _encoder(**changes: object) -> dict[str, object]:
    return {**ENCODER.__dict__, **changes}


def _npy(path: Path, array: np.ndarray) -> None:
    """Other numbers in an array's file, of the same size: what no check of sizes can see."""
    size = path.stat().st_size
    np.save(path, array)
    assert path.stat().st_size == size


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda f, s: (f / MANIFEST).write_text("{"), "damaged"),
        (lambda f, s: (f / MANIFEST).write_text(""), "damaged"),
        (lambda f, s: (f / MANIFEST).write_bytes(b"\xff\xfe\0"), "damaged"),
        (lambda f, s: (f / MANIFEST).write_text("[" * 100_000), "damaged"),
        (lambda f, s: (f / MANIFEST).write_text("[]"), "damaged"),
        (lambda f, s: (f / MANIFEST).write_text('{"format": "excise-index", "version": 1}'), "has no 'encoder'"),
        (lambda f, s: _edit(f / MANIFEST, format="other"), "not the manifest"),
        (lambda f, s: _edit(f / MANIFEST, version=99), "version 99"),
        (lambda f, s: _edit(f / MANIFEST, generation="7"), "generation"),
        (lambda f, s: _edit(f / MANIFEST, generation=-1), "generation"),
        (lambda f, s: _edit(f / MANIFEST, id=None), "the id"),
        (lambda f, s: _edit(f / MANIFEST, encoder=_encoder(dimensions="8")), "dimensions"),
        (lambda f, s: _edit(f / MANIFEST, encoder=_encoder(dimensions=0)), "dimensions"),
        (lambda f, s: _edit(f / MANIFEST, encoder=_encoder(code="x")), "encoder"),
        (lambda f, s: _edit(f / MANIFEST, encoder=None), "encoder"),
        (lambda f, s: _edit(f / MANIFEST, segments={}), "segments"),
        (lambda f, s: _edit(f / MANIFEST, segments=["segment-0123456789ab"]), "a segment"),
        (lambda f, s: _rename_segment(f, "../../etc"), "not the name of a segment"),
        (lambda f, s: _rename_segment(f, "/etc"), "not the name of a segment"),
        (lambda f, s: _rename_segment(f, ".."), "not the name of a segment"),
        (lambda f, s: _rename_segment(f, f"{s.name}\n"), "not the name of a segment"),
        (lambda f, s: _rename_segment(f, s.name, files={"../../../etc/passwd": 1}), "not a file of a segment"),
        (lambda f, s: _rename_segment(f, s.name, files={"vectors.f16": "80"}), "size of vectors.f16"),
        (lambda f, s: _rename_segment(f, "segment-0123456789ab"), "missing"),
        (lambda f, s: _edit(f / MANIFEST, deleted={s.name: [999]}), "no row 999"),
        (lambda f, s: _edit(f / MANIFEST, deleted={s.name: [-1]}), "deleted row"),
        (lambda f, s: _edit(f / MANIFEST, deleted={s.name: [1.5]}), "deleted row"),
        (lambda f, s: _edit(f / MANIFEST, deleted={s.name: [2**70]}), "deleted row"),
        (lambda f, s: _edit(f / MANIFEST, deleted={s.name: 3}), "deleted rows"),
        (lambda f, s: _edit(f / MANIFEST, encoder=_encoder(dimensions=DIMENSIONS * 2)), "damaged"),
        (lambda f, s: (s / "vectors.f16").write_bytes(b"short"), "vectors.f16 is damaged"),
        (lambda f, s: (s / "digests.npy").unlink(), "digests.npy is missing"),
        (lambda f, s: (s / "ids.bin").unlink(), "ids.bin is missing"),
        (lambda f, s: _npy(s / "document_windows.npy", np.arange(6) * 100), "end where"),
        (lambda f, s: _npy(s / "document_lines.npy", np.array([0, 9, 8, 7, 6, 5])), "pieces of no length"),
        (lambda f, s: _npy(s / "document_lines.npy", np.ones(6)), "where things start"),
        (lambda f, s: _npy(s / "id_offsets.npy", np.arange(6) * 2), "end where"),
        (lambda f, s: _npy(s / "digests.npy", np.ones(5)), "disagree"),
        (
            lambda f, s: (s / "window_tokens.npy").write_bytes(b"\0" * (s / "window_tokens.npy").stat().st_size),
            "damaged",
        ),
    ],
)
def test_damaged_folders_are_refused(engine: LocalEngine, damage: Callable[..., None], sentence: str) -> None:
    damage(engine.folder, next(engine.folder.glob("segment-*")))
    with pytest.raises(BadIndex, match=sentence):
        LocalEngine.open(engine.folder)


def test_damaged_documents_and_ids_are_noticed_when_they_are_read(engine: LocalEngine) -> None:
    segment = next(engine.folder.glob("segment-*"))
    for name, filler in (("documents.jsonl", b"\n"), ("ids.bin", b"\xff")):
        path = segment / name
        path.write_bytes(filler * path.stat().st_size)
    reader = LocalEngine.open(engine.folder).reader()
    with pytest.raises(BadIndex, match=r"documents\.jsonl is damaged"):
        reader.search([query()], 2)
    with pytest.raises(BadIndex, match=r"ids\.bin is damaged"):
        reader.holds([document("a")])


def test_vectors_that_are_not_numbers_are_noticed(engine: LocalEngine) -> None:
    vectors = next(engine.folder.glob("segment-*")) / "vectors.f16"
    vectors.write_bytes(np.full(vectors.stat().st_size // 2, np.nan, dtype=np.float16).tobytes())
    with pytest.raises(BadIndex, match="not numbers"):
        LocalEngine.open(engine.folder).reader().search([query()], 3)


def test_vectors_too_large_for_half_precision_are_refused(engine: LocalEngine) -> None:
    documents, encoded = batch(["x"])
    huge = type(encoded.windows)(encoded.windows.vectors.astype(np.float32) * 1e6, encoded.windows.offsets)
    with pytest.raises(InvalidInput, match="half precision"):
        engine.add(documents, EncodedDocuments(huge, encoded.offsets))
    agrees(engine.reader(), dict.fromkeys(NAMES, 0))


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


def test_the_engine_needs_neither_torch_nor_transformers() -> None:
    code = "import sys, excise.engines; sys.exit(any(n in sys.modules for n in ('torch', 'transformers', 'filelock')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_encoder_of_the_same_name_and_other_weights_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(BackboneError):
        LocalEngine.create(engine.folder, EncoderInfo("test", "abd", DIMENSIONS, 200, 1000))
