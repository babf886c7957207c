"""A large index is searched by inverted lists: nearly all that an exact search finds, whatever is written meanwhile.

The vectors are random, which is as hard as it gets: real ones lie in clusters (docs/performance.md).
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from contract import ids_of
from index_folders import has_leavings
from made_up import DIMENSIONS, ENCODER, batch, metadata_of, query, same_vectors, version_of

from excise.documents import Document
from excise.engines import LocalEngine
from excise.engines.copying import copy_index
from excise.engines.local import candidates, inverted_lists, segment_writer
from excise.engines.local import engine as local
from excise.engines.local.snapshot import Snapshot
from excise.errors import BadIndex, InvalidInput
from excise.filters import read_where
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import Ragged

SIZE = 5_000
K = 50


@pytest.fixture(scope="module")
def unlisted_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index as excise wrote it before it had lists."""
    engine = LocalEngine.create(tmp_path_factory.mktemp("large") / "index", ENCODER)
    for start in range(0, SIZE, 1000):
        engine.add(*batch([f"doc{i}" for i in range(start, start + 1000)]))
    return engine.folder


@pytest.fixture(scope="module")
def listed_folder(unlisted_folder: Path) -> Path:
    folder = unlisted_folder.with_name("listed")
    shutil.copytree(unlisted_folder, folder)
    LocalEngine.open(folder).tidy()
    return folder


@pytest.fixture
def large(listed_folder: Path, tmp_path: Path) -> LocalEngine:
    shutil.copytree(listed_folder, tmp_path / "index")
    return LocalEngine.open(tmp_path / "index")


def recall(engine: LocalEngine, queries: int = 12) -> float:
    """How much of what an exact search finds is found by lists."""
    rough, exact = engine.reader(), LocalEngine.open(engine.folder, exact=True).reader()
    assert not rough.exact
    assert exact.exact
    shares = []
    for seed in range(queries):
        found, true = (reader.search([query(seed)], K)[0] for reader in (rough, exact))
        assert list(found.scores) == sorted(found.scores, reverse=True)
        scores = dict(zip(ids_of(true), true.scores, strict=True))
        for id, score in zip(ids_of(found), found.scores, strict=True):
            assert id not in scores or score == pytest.approx(scores[id], rel=1e-5)
        shares.append(len(set(ids_of(found)) & set(scores)) / len(scores))
    return float(np.mean(shares))


def listed_parts(reader: Snapshot) -> list[bool]:
    return [part.segment.lists is not None for part in reader.parts]


def test_nearly_all_is_found(large: LocalEngine) -> None:
    assert recall(large) > 0.9


def test_an_index_without_lists_is_searched_whole_until_it_is_tidied(unlisted_folder: Path, tmp_path: Path) -> None:
    engine = LocalEngine.open(shutil.copytree(unlisted_folder, tmp_path / "index"))
    before = engine.reader()
    assert before.exact
    assert listed_parts(before) == [False] * 5
    engine.tidy()
    assert listed_parts(engine.reader()) == [True]
    assert recall(engine) > 0.9
    assert ids_of(before.search([query()], K)[0]) == ids_of(
        LocalEngine.open(engine.folder, exact=True).reader().search([query()], K)[0]
    )
    generation = engine.reader().fingerprint
    engine.tidy()
    assert engine.reader().fingerprint == generation  # what is tidy stays as it is


def test_a_small_index_is_exact(tmp_path: Path) -> None:
    engine = LocalEngine.create(tmp_path / "index", ENCODER)
    engine.add(*batch([f"doc{i}" for i in range(600)]))
    engine.tidy()
    assert engine.reader().exact
    assert listed_parts(engine.reader()) == [False]


def test_what_is_deleted_is_not_found(large: LocalEngine) -> None:
    gone = ids_of(large.reader().search([query()], K)[0])
    before = large.reader()
    large.delete(gone)
    assert not set(gone) & set(ids_of(large.reader().search([query()], K)[0]))
    assert recall(large) > 0.9
    assert ids_of(before.search([query()], K)[0]) == gone


def test_what_is_replaced_is_found_as_it_is_now(large: LocalEngine) -> None:
    replaced = [f"doc{i}" for i in range(0, 1200, 3)]  # enough for lists of their own
    large.add(*batch(replaced, version=1))
    assert listed_parts(large.reader()) == [True, True]
    assert recall(large) > 0.9
    found = large.reader().search([query()], SIZE, vectors=True)[0]
    assert found.vectors is not None
    for place, one in enumerate(found.documents[:200]):
        assert version_of(one) == (one.id in replaced)
        assert same_vectors(found.vectors.document(place), one.id, version_of(one))


def test_a_few_new_documents_are_found_without_lists(large: LocalEngine) -> None:
    large.add(*batch(["new1", "new2"]))
    reader = large.reader()
    assert listed_parts(reader) == [True, False]
    asked = reader.vectors(["new2"]).document(0)[0].astype(np.float32)
    assert "new2" in ids_of(reader.search([asked], 10)[0])


def test_merging_keeps_the_places_of_tokens(large: LocalEngine) -> None:
    for start in range(0, 2400, 300):
        large.add(*batch([f"more{i}" for i in range(start, start + 300)]))
    large.delete([f"more{i}" for i in range(0, 2400, 7)])
    books = {part.segment.lists.codebook.key for part in large.reader().parts if part.segment.lists}
    large.tidy()
    parts = large.reader().parts
    assert len(parts) < 9
    assert {part.segment.lists.codebook.key for part in parts if part.segment.lists} == books
    assert recall(large) > 0.9


def test_filters_that_leave_little_are_answered_exactly(large: LocalEngine) -> None:
    exact = LocalEngine.open(large.folder, exact=True).reader()
    for written in ({"year": 2018}, {"tags": 7}, {"lang": "größer", "open": True}):
        where = read_where(written)
        assert where is not None
        found, true = (reader.search([query()], K, where=where)[0] for reader in (large.reader(), exact))
        assert all(where.matches(metadata_of(id)) for id in ids_of(found))
        assert ids_of(found) == ids_of(true)


def test_more_than_there_is_can_be_asked_for(large: LocalEngine) -> None:
    found = large.reader().search([query()], 2 * SIZE)[0]
    assert set(ids_of(found)) == {f"doc{i}" for i in range(SIZE)}


def test_vectors_of_another_kind_get_a_codebook_of_their_own(tmp_path: Path) -> None:
    """Half of the dimensions hold one kind of documents, the other half those that come later."""
    rng = np.random.default_rng(0)

    def made(kind: int, count: int) -> tuple[list[Document], EncodedDocuments]:
        vectors = np.zeros((count * 4, DIMENSIONS), dtype=np.float32)
        half = DIMENSIONS // 2
        vectors[:, kind * half : (kind + 1) * half] = rng.standard_normal((count * 4, half))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        ragged = Ragged(vectors.astype(np.float16), np.arange(0, count * 4 + 1, 4))
        return [Document(f"{kind}-{i}", "made up") for i in range(count)], EncodedDocuments(
            ragged, np.arange(count + 1)
        )

    engine = LocalEngine.create(tmp_path / "index", ENCODER)
    engine.add(*made(0, 4_200))
    engine.tidy()
    engine.add(*made(1, 400))
    assert listed_parts(engine.reader()) == [True, False]
    engine.tidy()
    lists = [part.segment.lists for part in engine.reader().parts]
    assert [one is not None for one in lists] == [True, True]
    assert len({one.codebook.key for one in lists if one is not None}) == 2


def test_a_write_that_breaks_off_leaves_the_old_state(
    unlisted_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = LocalEngine.open(shutil.copytree(unlisted_folder, tmp_path / "index"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(segment_writer, "write_lists", full)
    with pytest.raises(BadIndex, match="No space left on device"):
        engine.tidy()
    monkeypatch.undo()
    assert not has_leavings(engine.folder)
    assert listed_parts(engine.reader()) == [False] * 5
    engine.tidy()
    assert recall(engine) > 0.9


def test_a_writer_that_dies_before_its_commit_changes_nothing(
    unlisted_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = LocalEngine.open(shutil.copytree(unlisted_folder, tmp_path / "index"))
    monkeypatch.setattr(local, "replace_file", lambda *_: os._exit(9))
    child = os.fork()
    if child == 0:
        try:
            engine.tidy()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.undo()
    again = LocalEngine.open(engine.folder)
    assert has_leavings(engine.folder)
    assert listed_parts(again.reader()) == [False] * 5
    again.tidy()
    assert not has_leavings(engine.folder)
    assert recall(again) > 0.9


def test_readers_are_not_disturbed_by_a_writer(large: LocalEngine) -> None:
    done = Event()

    def reading(seed: int) -> int:
        states = 0
        while not done.is_set() or not states:
            reader = LocalEngine.open(large.folder).reader()
            alive = set(reader.ids())
            for one in reader.search([query(seed)], K)[0].documents:
                assert one.id in alive
            states += 1
        return states

    with ThreadPoolExecutor(3) as threads:
        readers = [threads.submit(reading, seed) for seed in range(3)]
        try:
            for turn in range(4):
                large.add(*batch([f"turn{turn}-{i}" for i in range(300)]))
                large.delete([f"doc{i}" for i in range(turn * 100, turn * 100 + 90)])
                large.tidy()
        finally:
            done.set()
        assert all(reader.result() for reader in readers)


@pytest.mark.parametrize("name", ["list_rows.npy", "list_offsets.npy", "centroids.npy", "codebook.json"])
def test_damaged_lists_are_told(large: LocalEngine, name: str) -> None:
    path = next(large.folder.glob(f"segment-*/{name}"))
    content = path.read_bytes()
    path.write_bytes(content[:-3])
    with pytest.raises(BadIndex, match=r"is damaged"):
        LocalEngine.open(large.folder)
    path.write_bytes(b"x" * len(content))
    with pytest.raises(BadIndex, match=r"is damaged"):
        LocalEngine.open(large.folder)


def test_lists_that_name_nobody_are_told(large: LocalEngine) -> None:
    path = next(large.folder.glob("segment-*/list_rows.npy"))
    rows = np.load(path)
    rows[:] = SIZE + 7
    np.save(path, rows)
    with pytest.raises(BadIndex, match="name documents that it has not"):
        LocalEngine.open(large.folder).reader().search([query()], 3)


def test_exact_search_can_be_asked_for_by_name(large: LocalEngine) -> None:
    from excise.engines.catalogue import EngineAddress

    assert not EngineAddress("local", str(large.folder)).open().reader().exact
    assert EngineAddress("local", str(large.folder), exact=True).open().reader().exact
    with pytest.raises(InvalidInput, match="contradict"):
        EngineAddress("qdrant", ":memory:", {"mode": "pooled"}, exact=True)


def test_eight_bits_find_nearly_what_half_precision_finds(large: LocalEngine, tmp_path: Path) -> None:
    small = LocalEngine.create(tmp_path / "small", ENCODER, vectors="int8")
    copy_index(large, small)
    assert len(small.reader()) == SIZE
    assert recall(small) > 0.9
    exact, eighth = (LocalEngine.open(one.folder, exact=True).reader() for one in (large, small))
    shares = []
    for seed in range(12):
        true, found = (reader.search([query(seed)], K)[0] for reader in (exact, eighth))
        assert found.scores == pytest.approx(true.scores, abs=0.05)
        shares.append(len(set(ids_of(true)) & set(ids_of(found))) / K)
    assert np.mean(shares) > 0.95
    assert small.reader().vectors(["doc7"]).windows.vectors == pytest.approx(
        large.reader().vectors(["doc7"]).windows.vectors.astype(np.float32), abs=0.01
    )


@pytest.mark.parametrize("in_bytes", [False, True])
def test_bytes_find_what_floats_find(large: LocalEngine, in_bytes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "bytes_pay", lambda: in_bytes)
    monkeypatch.setattr(inverted_lists, "bytes_pay", lambda: in_bytes)
    assert recall(large) > 0.9
