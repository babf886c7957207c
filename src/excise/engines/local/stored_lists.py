"""The inverted lists of a segment on disk.

    list_rows.npy     the documents' rows, list after list
    list_offsets.npy  where each centroid's list starts
    centroids.npy     the codebook: centroids, half precision, those of a cell next to each other
    cells.npy         the middle of each cell
    cell_starts.npy   where each cell's centroids start
    codebook.json     its key, its closeness, and how many token vectors it was trained for

A segment has all of these or none: small ones, those of small indexes and those of excise 0.2 and before have none, and
are searched whole. Segments whose codebooks have one key share one in memory.
"""

from __future__ import annotations

import json
from collections.abc import Container, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excise.engines.local.codebook import Codebook
from excise.engines.local.inverted_lists import InvertedLists

_ROWS, _OFFSETS, _CODEBOOK = "list_rows.npy", "list_offsets.npy", "codebook.json"
_CENTROIDS, _CELLS, _STARTS = "centroids.npy", "cells.npy", "cell_starts.npy"


def write_lists(folder: Path, lists: InvertedLists) -> None:
    """Put lists beside the other files of a segment that is being written."""
    book = lists.codebook
    arrays: dict[str, NDArray[Any]] = {
        _ROWS: lists.rows,
        _OFFSETS: lists.offsets,
        _CENTROIDS: book.centroids.astype(np.float16),
        _CELLS: book.cells.astype(np.float16),
        _STARTS: book.starts,
    }
    for name, array in arrays.items():
        np.save(folder / name, array, allow_pickle=False)
    record = {"key": book.key, "closeness": book.closeness, "tokens": book.tokens}
    (folder / _CODEBOOK).write_text(json.dumps(record), encoding="utf-8")


def read_lists(
    folder: Path, files: Container[str], dimensions: int, known: MutableMapping[str, Codebook]
) -> InvertedLists | None:
    """The lists of a segment, mapped into memory; None where it has none. Anything strange is a ValueError.

    ``known`` are codebooks that are in memory already, by key; a new one joins them.
    """
    if _CODEBOOK not in files:
        return None
    try:
        record = json.loads((folder / _CODEBOOK).read_bytes())
        key, closeness, tokens = str(record["key"]), float(record["closeness"]), int(record["tokens"])
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{_CODEBOOK} is not what excise writes") from error
    if key not in known:
        known[key] = _read_codebook(folder, dimensions, closeness, tokens)
    offsets = np.load(folder / _OFFSETS, allow_pickle=False)
    rows = np.load(folder / _ROWS, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    if offsets.shape != (len(known[key]) + 1,) or offsets.dtype != np.int64 or rows.dtype != np.uint32:
        raise ValueError(f"{_OFFSETS} does not fit the codebook")
    if offsets[0] != 0 or offsets[-1] != len(rows) or (np.diff(offsets) < 0).any():
        raise ValueError(f"{_OFFSETS} does not say where lists start")
    return InvertedLists(known[key], offsets, rows)


def _read_codebook(folder: Path, dimensions: int, closeness: float, tokens: int) -> Codebook:
    centroids, cells, starts = (np.load(folder / name, allow_pickle=False) for name in (_CENTROIDS, _CELLS, _STARTS))
    shaped = centroids.ndim == cells.ndim == 2 and centroids.shape[1] == cells.shape[1] == dimensions
    if not shaped or starts.shape != (len(cells) + 1,) or starts[0] != 0 or starts[-1] != len(centroids):
        raise ValueError(f"{_CENTROIDS} and {_CELLS} do not fit together")
    wide = centroids.astype(np.float32)
    if not np.isfinite(wide).all() or (np.diff(starts) < 1).any():
        raise ValueError(f"{_CENTROIDS} holds what is not a number, or {_STARTS} cells with nothing in them")
    return Codebook(cells.astype(np.float32), wide, starts.astype(np.int64), closeness, tokens)
