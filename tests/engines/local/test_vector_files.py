"""How token vectors are stored: in half precision or in eight bits, for the whole life of an index."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from contract import ids_of
from made_up import DIMENSIONS, ENCODER, batch, query, ranking

from excise.documents import Document
from excise.engines import MANIFEST, EngineAddress, LocalEngine
from excise.engines.local.vector_files import packed, read_tokens
from excise.errors import BadIndex, InvalidInput
from excise.vectors.arithmetic import Backend
from excise.vectors.eight_bit import EightBitVectors
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.maxsim import maxsim
from excise.vectors.ragged import Ragged, Vectors

NAMES = [f"doc{i}" for i in range(40)]


@pytest.fixture
def eight(tmp_path: Path) -> LocalEngine:
    engine = LocalEngine.create(tmp_path / "index", ENCODER, vectors="int8")
    for start in range(0, 40, 4):
        engine.add(*batch(NAMES[start : start + 4]))
    return engine


def test_eight_bits_are_written_merged_deleted_and_read(eight: LocalEngine) -> None:
    eight.delete(NAMES[:3])
    eight.tidy()
    engine = LocalEngine.open(eight.folder)
    assert [part.segment.format for part in engine.reader().parts] == ["int8"] * len(engine.reader().parts)
    assert not list(engine.folder.rglob("vectors.f16"))
    expected = ranking(query(), dict.fromkeys(NAMES[3:], 0))
    found = engine.reader().search([query()], 40)[0]
    assert ids_of(found)[0] in [id for id, _ in expected[:3]]
    assert found.scores == pytest.approx([score for _, score in expected], abs=0.05)


def test_an_index_of_half_precision_says_nothing_new(tmp_path: Path, eight: LocalEngine) -> None:
    half = LocalEngine.create(tmp_path / "half", ENCODER)
    half.add(*batch(NAMES[:4]))
    assert b'"version": 1,' in (half.folder / MANIFEST).read_bytes()
    assert b'"vectors"' not in (half.folder / MANIFEST).read_bytes()
    assert b'"version": 2,' in (eight.folder / MANIFEST).read_bytes()


def test_an_index_keeps_to_what_it_was_made_with(eight: LocalEngine) -> None:
    assert LocalEngine.create(eight.folder, ENCODER).reader().manifest.vectors == "int8"
    with pytest.raises(InvalidInput, match="stores its vectors as int8, not f16"):
        LocalEngine.create(eight.folder, ENCODER, vectors="f16")


@pytest.mark.parametrize("strange", ["int4", "", "F16"])
def test_unknown_ways_are_refused(strange: str, tmp_path: Path, eight: LocalEngine) -> None:
    if strange:
        with pytest.raises(InvalidInput, match="choose one of f16, int8"):
            LocalEngine.create(tmp_path / "new", ENCODER, vectors=strange)
    manifest = eight.folder / MANIFEST
    manifest.write_bytes(manifest.read_bytes().replace(b'"vectors": "int8"', f'"vectors": "{strange}"'.encode()))
    with pytest.raises((BadIndex, InvalidInput)):
        LocalEngine.open(eight.folder)


def test_zeros_and_extremes_survive(tmp_path: Path) -> None:
    vectors = np.zeros((3, DIMENSIONS), dtype=np.float32)
    vectors[1, 0], vectors[2] = 60_000, 1e-4
    numbers = count()
    engine = LocalEngine.create(tmp_path / "index", ENCODER, vectors="int8")
    engine.add([Document(str(next(numbers)), "x")], EncodedDocuments(Ragged.of([vectors]), np.arange(2)))
    read = engine.reader().vectors(["0"]).windows.vectors
    assert read[0].tolist() == [0.0] * DIMENSIONS
    assert read[1, 0] == pytest.approx(60_000, rel=0.01)
    assert read[2] == pytest.approx(vectors[2], rel=0.1)
    with pytest.raises(InvalidInput, match="half precision"):
        packed("int8", vectors * 2)


def test_chunks_of_a_file_are_what_was_written(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).standard_normal((70_000, 3)).astype(np.float32)
    for name in ("f16", "int8"):
        for file, array in packed(name, vectors).items():
            array.tofile(tmp_path / file)
        chunks = list(read_tokens(name, tmp_path, 3, 10, 69_990))
        assert [start for start, _ in chunks] == [10, 65_546]
        assert np.concatenate([chunk for _, chunk in chunks]) == pytest.approx(vectors[10:69_990], abs=0.03)


def test_eight_bits_read_as_a_matrix() -> None:
    matrix = EightBitVectors.of(np.eye(4, dtype=np.float32))
    assert (matrix.shape, len(matrix), matrix.ndim) == ((4, 4), 4, 2)
    assert matrix[1:3] == pytest.approx(np.eye(4)[1:3], abs=0.001)


def test_a_new_index_by_its_address_takes_eight_bits_and_an_old_one_stays_as_it_is(tmp_path: Path) -> None:
    EngineAddress("local", str(tmp_path / "new")).create(ENCODER).add(*batch(NAMES[:4]))
    LocalEngine.create(tmp_path / "old", ENCODER).add(*batch(NAMES[:4]))
    for name, stored in (("new", "int8"), ("old", "f16")):
        engine = EngineAddress("local", str(tmp_path / name)).create(ENCODER)
        assert isinstance(engine, LocalEngine)
        assert engine.reader().manifest.vectors == stored


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_products_with_eight_bits_are_those_with_what_they_stand_for(backend: Backend) -> None:
    rng = np.random.default_rng(3)
    stored = EightBitVectors.of(rng.standard_normal((5_000, 24)).astype(np.float32))
    offsets = np.arange(0, 5_001, 50)
    asked = rng.standard_normal((7, 24)).astype(np.float32)
    expected = maxsim(asked, Ragged(stored[:], offsets), backend)
    assert maxsim(asked, Ragged(cast(Vectors, stored), offsets), backend) == pytest.approx(expected, rel=1e-5)
