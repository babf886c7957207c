"""Folders that are not an index, or no longer a whole one: refused with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from contract import NAMES, agrees
from made_up import DIMENSIONS, ENCODER, batch, document, query

from excise.engines import MANIFEST, LocalEngine
from excise.errors import BackboneError, BadIndex, InvalidInput
from excise.vectors.encoded import EncodedDocuments, EncoderInfo
from excise.vectors.ragged import Ragged


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
    huge = Ragged(encoded.windows.vectors.astype(np.float32) * 1e6, encoded.windows.offsets)
    with pytest.raises(InvalidInput, match="half precision"):
        engine.add(documents, EncodedDocuments(huge, encoded.offsets))
    agrees(engine.reader(), dict.fromkeys(NAMES, 0))


def test_an_encoder_of_the_same_name_and_other_weights_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(BackboneError):
        LocalEngine.create(engine.folder, EncoderInfo("test", "abd", DIMENSIONS, 200, 1000))
