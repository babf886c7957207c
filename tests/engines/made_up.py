"""Documents with random unit vectors, the same for the same id and version: engines care not where vectors are from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from excise.documents import Document
from excise.vectors.encoded import EncodedDocuments, EncoderInfo
from excise.vectors.ragged import Ragged, Vectors

DIMENSIONS = 8
ENCODER = EncoderInfo("test", "abc", DIMENSIONS, 200, 1000)
OTHER_ENCODER = EncoderInfo("other", "xyz", DIMENSIONS, 200, 1000)


def document(id: str, version: int = 0) -> Document:
    text = f"version {version} of {id}, größer\nwith a second line"
    return Document(id, text, f"title {id}", metadata_of(id, version))


def metadata_of(id: str, version: int = 0) -> dict[str, object]:
    """Fields of every kind; the same for the same id and version, and some documents have none."""
    seed = _seed(id, version)
    if seed % 7 == 0:
        return {}
    found: dict[str, object] = {
        "year": 2015 + seed % 10,
        "price": (seed % 40) / 4,
        "lang": ["en", "größer", "O'Neill\"s"][seed % 3],
        "tags": [["a", "b"], ["b", 7], []][seed // 3 % 3],
        "open": bool(seed % 2),
        "day": f"2024-{seed % 12 + 1:02}-{seed % 28 + 1:02}" + ("T12:00:00Z" if seed % 5 == 0 else ""),
        "two words-and": seed % 3,
        "nested": {"year": 1},
    }
    if seed % 4 == 0:
        found["year"] = str(found["year"])
    if seed % 11 == 0:
        found["lang"] = None
    return found


def version_of(found: Document) -> int:
    """Which version of a made-up document this is."""
    return int(found.text.split()[1])


def windows_of(id: str, version: int = 0) -> Ragged:
    """One to three windows of one to eight token vectors."""
    seed = _seed(id, version)
    rng = np.random.default_rng(seed)
    return Ragged.of([_unit(rng.standard_normal((int(rng.integers(1, 9)), DIMENSIONS))) for _ in range(1 + seed % 3)])


def _seed(id: str, version: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{id}\0{version}".encode(), digest_size=8).digest(), "little")


def same_vectors(stored: Ragged, id: str, version: int = 0) -> bool:
    """Whether stored windows are those of a document."""
    given = windows_of(id, version)
    return np.array_equal(stored.offsets, given.offsets) and np.array_equal(
        stored.vectors.astype(np.float16), given.vectors
    )


def _unit(vectors: Vectors) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


def batch(ids: Sequence[str], version: int = 0) -> tuple[list[Document], EncodedDocuments]:
    """What a writer's ``add`` takes."""
    return [document(id, version) for id in ids], EncodedDocuments.of([windows_of(id, version) for id in ids])


def query(seed: int = 9, tokens: int = 4) -> Vectors:
    return np.random.default_rng(seed).standard_normal((tokens, DIMENSIONS)).astype(np.float32)


def score(asked: Vectors, id: str, version: int = 0) -> float:
    """MaxSim as it is defined, one product at a time: the best window's sum over the query's tokens."""
    windows = windows_of(id, version)
    return max(
        sum(
            max(float(np.dot(token.astype(np.float64), own.astype(np.float64))) for own in windows[i])
            for token in asked
        )
        for i in range(len(windows))
    )


def ranking(asked: Vectors, versions: Mapping[str, int]) -> list[tuple[str, float]]:
    """Every document and its score, best first; ``versions`` is in the order of indexing."""
    scores = [(id, score(asked, id, version)) for id, version in versions.items()]
    return sorted(scores, key=lambda one: -one[1])
