"""Token vectors on disk: half precision, or eight bits a dimension and a scale a token.

    f16    vectors.f16              two bytes a dimension, row after row
    int8   vectors.i8, scales.f16   one byte a dimension, and what to multiply a row with

An index keeps to the one it was made with. Whoever reads vectors gets numbers; eight bits are widened as they are read.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from excise.errors import InvalidInput
from excise.vectors.arithmetic import scaled
from excise.vectors.eight_bit import EightBitVectors
from excise.vectors.ragged import Vectors

FORMATS = ("f16", "int8")
COMPACT = "int8"  # loses nothing that a suite shows, in half the space
HALF_FILE, EIGHT_FILE, SCALE_FILE = "vectors.f16", "vectors.i8", "scales.f16"
STORED_HALF = np.dtype("<f2")
_READ_TOKENS = 65_536


def check_format(name: str) -> str:
    """Refuse what is no way to store vectors."""
    if name not in FORMATS:
        raise InvalidInput(f"unknown vectors {name!r}; choose one of {', '.join(FORMATS)}.")
    return name


def format_of(files: Container[str]) -> str:
    """How a segment with such files stores its vectors."""
    return "int8" if EIGHT_FILE in files else "f16"


def token_bytes(name: str, dimensions: int) -> dict[str, int]:
    """The files of a format, and the bytes that a token takes in each.

    Examples
    --------
    >>> token_bytes("f16", 128), token_bytes("int8", 248)
    ({'vectors.f16': 256}, {'vectors.i8': 248, 'scales.f16': 2})
    """
    if name == "f16":
        return {HALF_FILE: dimensions * STORED_HALF.itemsize}
    return {EIGHT_FILE: dimensions, SCALE_FILE: STORED_HALF.itemsize}


def packed(name: str, vectors: Vectors) -> dict[str, NDArray[Any]]:
    """What goes into the files for some token vectors; what half precision cannot hold is refused."""
    with np.errstate(over="ignore"):  # what is too large is infinite then, and refused
        half = np.ascontiguousarray(vectors, dtype=STORED_HALF)
    if not np.isfinite(half).all():
        raise InvalidInput("token vectors must be finite numbers, none larger than half precision can hold.")
    if name == "f16":
        return {HALF_FILE: half}
    stored = EightBitVectors.of(vectors)
    return {EIGHT_FILE: stored.values, SCALE_FILE: stored.scales}


def mapped(name: str, folder: Path, tokens: int, dimensions: int) -> Vectors:
    """The vectors of a segment, mapped into memory: a matrix, or what reads as one."""
    # "c" (copy on write) lets torch share the pages; nothing is ever written back.
    if name == "f16":
        return np.memmap(folder / HALF_FILE, dtype=STORED_HALF, mode="c", shape=(tokens, dimensions))
    values = np.memmap(folder / EIGHT_FILE, dtype=np.int8, mode="c", shape=(tokens, dimensions))
    scales = np.fromfile(folder / SCALE_FILE, dtype=STORED_HALF, count=tokens)
    return cast(Vectors, EightBitVectors(values.view(np.ndarray), scales))


def gathered(stored: Vectors, starts: Sequence[int], ends: Sequence[int]) -> Vectors:
    """Runs of rows, copied next to each other."""
    runs = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
    if isinstance(stored, EightBitVectors):
        values, scales = (np.concatenate([part[run] for run in runs]) for part in (stored.values, stored.scales))
        return cast(Vectors, EightBitVectors(values, scales))
    plain = stored.view(np.ndarray)  # cutting a map into pieces takes longer than copying them
    return np.concatenate([plain[run] for run in runs])


def as_numbers(runs: Sequence[tuple[Vectors, slice]]) -> Vectors:
    """Rows of any segments next to each other, as numbers: eight bits are copied as such, and widened together."""
    if all(isinstance(stored, EightBitVectors) for stored, _ in runs):
        values, scales = ([getattr(stored, part)[rows] for stored, rows in runs] for part in ("values", "scales"))
        return scaled(np.concatenate(values), np.concatenate(scales))
    return np.concatenate([stored[rows] for stored, rows in runs])


def read_tokens(name: str, folder: Path, dimensions: int, first: int, last: int) -> Iterator[tuple[int, Vectors]]:
    """The token vectors from ``first`` up to ``last``, in chunks with the number of their first.

    Read from the files rather than through a map, whose pages would count as this process's memory.
    """
    with ExitStack() as open_files:
        files = {file: open_files.enter_context((folder / file).open("rb")) for file in token_bytes(name, dimensions)}
        for file, width in token_bytes(name, dimensions).items():
            files[file].seek(first * width)
        for start in range(first, last, _READ_TOKENS):
            count = min(_READ_TOKENS, last - start)
            if name == "f16":
                half = np.fromfile(files[HALF_FILE], dtype=STORED_HALF, count=count * dimensions)
                yield start, half.reshape(count, dimensions)
            else:
                values = np.fromfile(files[EIGHT_FILE], dtype=np.int8, count=count * dimensions)
                scales = np.fromfile(files[SCALE_FILE], dtype=STORED_HALF, count=count)
                yield start, EightBitVectors(values.reshape(count, dimensions), scales)[:]
