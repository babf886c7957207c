"""Corpora of any size for measuring: made of the token vectors of a real index, cut, mixed and perturbed.

Each document is two runs of neighbouring tokens from two paragraphs of the real index, every vector moved a little and
brought back to length 1, so that no two documents are equal and words still stand among their neighbours.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from excise.documents import Document
from excise.engines import LocalEngine
from excise.engines.local.vector_files import COMPACT
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import Ragged, Vectors

NOISE = 0.34  # as a vector's length: cosines of about 0.95 with the real vector
BATCH = 65_536  # documents a commit: what the engine merges smaller ones up to


def grown(source: LocalEngine, folder: Path, documents: int, tokens: int) -> float:
    """Build an index of so many documents of so many tokens; returns the seconds that the engine itself took."""
    reader = source.reader()
    vectors = np.concatenate([part.segment.windows.vectors[:].astype(np.float16) for part in reader.parts])
    engine = LocalEngine.create(folder, reader.encoder, vectors=COMPACT)
    rng = np.random.default_rng(documents)
    seconds = 0.0
    for start in range(len(engine.reader()), documents, BATCH):
        count = min(BATCH, documents - start)
        encoded = _documents(vectors, count, tokens, rng)
        named = [Document(str(start + i), f"grown document {start + i}") for i in range(count)]
        began = time.perf_counter()
        engine.add(named, encoded)
        engine.tidy()
        seconds += time.perf_counter() - began
    return seconds


def _documents(vectors: Vectors, count: int, tokens: int, rng: np.random.Generator) -> EncodedDocuments:
    half = tokens // 2
    starts = rng.integers(0, len(vectors) - half, 2 * count)
    made = np.empty((count * 2 * half, vectors.shape[1]), dtype=np.float16)
    for first in range(0, len(starts), 4096):
        rows = (starts[first : first + 4096, None] + np.arange(half)).ravel()
        moved = vectors[rows].astype(np.float32)
        moved += NOISE / np.sqrt(moved.shape[1]) * rng.standard_normal(moved.shape, dtype=np.float32)
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        made[first * half : first * half + len(rows)] = moved
    offsets = np.arange(0, len(made) + 1, 2 * half, dtype=np.int64)
    return EncodedDocuments(Ragged(made, offsets), np.arange(count + 1))
