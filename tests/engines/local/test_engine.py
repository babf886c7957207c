"""The embedded engine: exact, durable, and honest about folders that are not its own."""

from __future__ import annotations

import json
import multiprocessing
import resource
import signal
from pathlib import Path

import numpy as np
import pytest

from excise.documents import Document
from excise.engines.local import engine as local
from excise.engines.local.engine import MANIFEST, IndexInfo, LocalEngine
from excise.errors import BackboneError, BadIndex
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.maxsim import maxsim
from excise.vectors.ragged import Ragged

INFO = IndexInfo("test", "abc", 8, 200, 1000)


def made_up(names: list[str], seed: int = 0, windows: int = 1) -> tuple[list[Document], EncodedDocuments]:
    """Documents with random unit vectors: the engine does not care where vectors come from."""
    rng = np.random.default_rng(seed)
    vectors = []
    for _ in range(len(names) * windows):
        own = rng.standard_normal((int(rng.integers(1, 9)), 8))
        vectors.append((own / np.linalg.norm(own, axis=1, keepdims=True)).astype(np.float16))
    documents = [Document(name, f"text of {name}, größer", f"title {name}") for name in names]
    return documents, EncodedDocuments(Ragged.of(vectors), np.arange(len(names) + 1) * windows)


def query(seed: int = 9) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((4, 8)).astype(np.float32)


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    made = LocalEngine.create(tmp_path / "index", INFO)
    made.add(*made_up(["a", "b", "c", "d", "e"]))
    return made


def test_search_is_exact(engine: LocalEngine) -> None:
    documents, encoded = made_up(["a", "b", "c", "d", "e"])
    scores = maxsim(query(), encoded.windows)
    expected = [documents[i].id for i in np.argsort(-scores)]
    found = engine.search(query(), 5)
    assert [candidate.id for candidate in found] == expected
    assert [candidate.score for candidate in found] == pytest.approx(sorted(scores, reverse=True))
    assert engine.search(query(), 2) == found[:2]


def test_a_document_counts_by_its_best_window(tmp_path: Path) -> None:
    engine = LocalEngine.create(tmp_path / "index", INFO)
    documents, encoded = made_up(["a", "b"], windows=3)
    engine.add(documents, encoded)
    by_window = maxsim(query(), encoded.windows).reshape(2, 3)
    assert {c.id: c.score for c in engine.search(query(), 2)} == pytest.approx(
        {"a": by_window[0].max(), "b": by_window[1].max()}
    )


def test_equal_scores_keep_the_order_of_indexing(tmp_path: Path) -> None:
    engine = LocalEngine.create(tmp_path / "index", INFO)
    same = EncodedDocuments(Ragged.of([np.eye(8, dtype=np.float16)] * 20), np.arange(21))
    names = [f"doc{i}" for i in range(20)]
    engine.add([Document(name, "same") for name in names], same)
    for k in (1, 7, 20):
        assert [c.id for c in engine.search(query(), k)] == names[:k]


def test_texts_and_vectors_come_back(engine: LocalEngine) -> None:
    documents, encoded = made_up(["a", "b", "c", "d", "e"])
    assert engine.fetch(["d", "a"]) == [documents[3], documents[0]]
    stored = engine.vectors(["d", "a"])
    assert np.array_equal(stored.windows[0], encoded.windows[3])
    assert np.array_equal(stored.windows[1], encoded.windows[0])
    with pytest.raises(BadIndex, match="no document with the id 'zzz'"):
        engine.fetch(["zzz"])


def test_documents_can_be_added_replaced_and_deleted(engine: LocalEngine) -> None:
    before = engine.fingerprint
    engine.add(*made_up(["f"], seed=1))
    assert len(engine) == 6
    assert engine.fingerprint != before
    changed = Document("a", "another text")
    assert changed not in engine
    engine.add([changed], made_up(["a"], seed=2)[1])
    assert changed in engine
    assert len(engine) == 6
    assert engine.fetch(["a"])[0].text == "another text"
    assert engine.delete(["a", "nobody"]) == 1
    assert len(engine) == 5
    assert "a" not in [c.id for c in engine.search(query(), 10)]
    assert LocalEngine.open(engine.folder).ids() == engine.ids()


def test_deleting_everything_leaves_an_empty_index(engine: LocalEngine) -> None:
    assert engine.delete(engine.ids()) == 5
    assert engine.search(query(), 3) == []
    assert len(LocalEngine.open(engine.folder)) == 0
    assert not list(engine.folder.glob("segment-*"))


def test_many_small_additions_are_merged_without_changing_the_ranking(tmp_path: Path) -> None:
    engine = LocalEngine.create(tmp_path / "index", INFO)
    for i in range(30):
        engine.add(*made_up([f"doc{i}"], seed=i))
    engine.delete(["doc3"])  # tidies up
    assert len(list(engine.folder.glob("segment-*"))) == 1
    assert engine.ids() == [f"doc{i}" for i in range(30) if i != 3]
    scores = {f"doc{i}": float(maxsim(query(), made_up([f"doc{i}"], seed=i)[1].windows)[0]) for i in range(30)}
    del scores["doc3"]
    assert [c.id for c in engine.search(query(), 29)] == sorted(scores, key=lambda name: -scores[name])


def test_another_process_sees_additions_at_its_next_search(engine: LocalEngine) -> None:
    reader = LocalEngine.open(engine.folder)
    engine.add(*made_up(["new"], seed=4))
    assert "new" in [c.id for c in reader.search(query(), 10)]


def _keep_searching(folder: Path, stop: object, counts: object) -> None:
    reader = LocalEngine.open(folder)
    while not stop.is_set():  # type: ignore[attr-defined]
        found = reader.search(query(), 1000)
        reader.fetch([c.id for c in found])
        counts.put(len(found))  # type: ignore[attr-defined]


def test_two_processes_search_while_one_writes(engine: LocalEngine) -> None:
    context = multiprocessing.get_context("spawn")
    stop, counts = context.Event(), context.Queue()
    readers = [context.Process(target=_keep_searching, args=(engine.folder, stop, counts)) for _ in range(2)]
    for reader in readers:
        reader.start()
    seen = [counts.get(timeout=60) for _ in range(2)]
    for i in range(40):
        engine.add(*made_up([f"w{i}"], seed=i))
        if i % 10 == 9:
            engine.tidy()
    final = len(engine)
    while seen[-1] != final:
        seen.append(counts.get(timeout=60))
    stop.set()
    for reader in readers:
        while reader.is_alive():
            while not counts.empty():
                counts.get()
            reader.join(0.05)
        assert reader.exitcode == 0
    assert set(seen) <= set(range(5, final + 1))


def test_two_writers_do_not_mix(engine: LocalEngine) -> None:
    other = LocalEngine.open(engine.folder)
    with engine._writing(), pytest.raises(BadIndex, match="being written by another process"):
        other.add(*made_up(["x"]))
    other.add(*made_up(["x"]))
    assert len(other) == 6


@pytest.mark.parametrize("step", ["write_segment", "_replace"])
def test_a_crash_in_mid_write_leaves_the_old_index(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    real = local.write_segment
    if step == "write_segment":
        monkeypatch.setattr(local, step, lambda folder, d, e: (real(folder, d, e), crash()))
    else:
        monkeypatch.setattr(local, step, crash)
    before = engine.search(query(), 5)
    with pytest.raises(KeyboardInterrupt):
        engine.add(*made_up(["x", "y"]))
    monkeypatch.undo()
    again = LocalEngine.open(engine.folder)
    assert again.search(query(), 5) == before
    again.add(*made_up(["z"], seed=3))
    assert len(list(engine.folder.glob("segment-*"))) == 2  # the half-written one is swept away


def test_a_full_disk_is_a_sentence_and_changes_nothing(engine: LocalEngine) -> None:
    before = engine.search(query(), 5)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
        with pytest.raises(BadIndex, match=r"could not write .*unchanged"):
            engine.add(*made_up([f"big{i}" for i in range(500)]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, previous)
    assert LocalEngine.open(engine.folder).search(query(), 5) == before
    assert len(list(engine.folder.glob("segment-*"))) == 1


def test_another_encoder_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(BackboneError, match="built with the backbone 'test'"):
        engine.expect(IndexInfo("other", "xyz", 8, 200, 1000))
    with pytest.raises(BackboneError):
        LocalEngine.create(engine.folder, IndexInfo("other", "xyz", 8, 200, 1000))


def test_foreign_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadIndex, match="no such index"):
        LocalEngine.open(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadIndex, match="not an excise index"):
        LocalEngine.open(tmp_path)
    with pytest.raises(BadIndex, match="not empty"):
        LocalEngine.create(tmp_path, INFO)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def _edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda f, s: (f / MANIFEST).write_text("{"), "damaged"),
        (lambda f, s: (f / MANIFEST).write_text("[]"), "damaged"),
        (lambda f, s: _edit(f / MANIFEST, format="other"), "not the manifest"),
        (lambda f, s: _edit(f / MANIFEST, version=99), "version 99"),
        (lambda f, s: _edit(f / MANIFEST, segments=[{"name": "../../etc", "files": {}}]), "damaged"),
        (lambda f, s: _edit(f / MANIFEST, deleted={s.name: [999]}), "damaged"),
        (lambda f, s: (s / "vectors.f16").write_bytes(b"short"), "vectors.f16 is damaged"),
        (lambda f, s: (s / "digests.npy").unlink(), "missing"),
        (
            lambda f, s: (s / "window_tokens.npy").write_bytes(b"\0" * (s / "window_tokens.npy").stat().st_size),
            "damaged",
        ),
        (lambda f, s: (s / "documents.jsonl").write_bytes(b"\n" * (s / "documents.jsonl").stat().st_size), "damaged"),
    ],
)
def test_damaged_folders_are_refused(engine: LocalEngine, damage: object, sentence: str) -> None:
    damage(engine.folder, next(engine.folder.glob("segment-*")))  # type: ignore[operator]
    with pytest.raises(BadIndex, match=sentence):
        LocalEngine.open(engine.folder)


def test_vectors_that_are_not_numbers_are_noticed(engine: LocalEngine) -> None:
    vectors = next(engine.folder.glob("segment-*")) / "vectors.f16"
    vectors.write_bytes(np.full(vectors.stat().st_size // 2, np.nan, dtype=np.float16).tobytes())
    with pytest.raises(BadIndex, match="not numbers"):
        LocalEngine.open(engine.folder).search(query(), 3)
