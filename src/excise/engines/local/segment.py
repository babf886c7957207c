"""One immutable part of a local index: a folder with some documents and their token vectors.

A segment is written once, whole, and never changed, so that readers can keep it mapped into memory while the index
around it grows, and even after a writer has merged it away. The files:

    vectors.f16          token vectors, half precision, row after row (or eight bits: see vector_files.py)
    window_tokens.npy    where each window's tokens start
    document_windows.npy where each document's windows start
    documents.jsonl      id, title, text, and metadata where there is any, one line a document
    document_lines.npy   where each line starts
    digests.npy          a digest of each document's title, text and metadata
    ids.bin              the ids again, UTF-8, one after the other
    id_offsets.npy       where each id starts

The last two spare parsing all documents to learn their ids. Segments of excise 0.1 do not have them. Larger segments
have inverted lists too (:mod:`excise.engines.local.stored_lists`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.cores import on_all_cores
from excise.documents import Document
from excise.engines.local.codebook import Codebook
from excise.engines.local.stored_lists import read_lists
from excise.engines.local.vector_files import format_of, gathered, mapped
from excise.errors import BadIndex
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.maxsim import maxsim_many, stored_rows
from excise.vectors.ragged import Ragged, Vectors, ranges, starts
from excise.vectors.windows import best_window

DOCUMENTS, IDS = "documents.jsonl", "ids.bin"
OFFSETS = ("window_tokens", "document_windows", "document_lines")
DIGESTS, ID_OFFSETS = "digests", "id_offsets"
_SCAN_TOKENS = 65_536  # token vectors that one core compares at a time


class StoredIds(NamedTuple):
    """The ids of a segment: id i is the UTF-8 text from ``offsets[i]`` to ``offsets[i + 1]``."""

    text: bytes
    offsets: NDArray[np.int64]


class Segment:
    """A segment opened for reading. All it will ever need is read or mapped here: the folder may vanish afterwards.

    ``codebooks`` are those of other segments, by key: what they share with this one is in memory once.
    """

    def __init__(
        self,
        folder: Path,
        sizes: Mapping[str, int],
        dimensions: int,
        codebooks: MutableMapping[str, Codebook] | None = None,
    ) -> None:
        self.folder = folder
        for name, size in sizes.items():
            found = (folder / name).stat().st_size
            if found != size:
                raise BadIndex(f"{folder / name} is damaged: it has {found:,} bytes and should have {size:,}.")
        try:
            self._window_tokens, self.document_windows, self.document_lines = (
                _offsets(folder / f"{name}.npy") for name in OFFSETS
            )
            self.digests: NDArray[np.uint64] = np.load(folder / f"{DIGESTS}.npy", allow_pickle=False)
            self.format, self.dimensions = format_of(sizes), dimensions
            tokens = int(self._window_tokens[-1])
            self.windows = Ragged(mapped(self.format, folder, tokens, dimensions), self._window_tokens)
            self._lines = np.memmap(folder / DOCUMENTS, dtype=np.uint8, mode="r").view(np.ndarray)
            self._own_ids = None
            if IDS in sizes:
                self._own_ids = StoredIds((folder / IDS).read_bytes(), _offsets(folder / f"{ID_OFFSETS}.npy"))
            self.lists = read_lists(folder, sizes, dimensions, {} if codebooks is None else codebooks)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise BadIndex(f"{folder} could not be read: {error.strerror or error}.") from error
        except (ValueError, EOFError) as error:
            raise BadIndex(f"{folder} is damaged: {error}.") from error
        self._refuse_disagreement()

    def _refuse_disagreement(self) -> None:
        counts = {len(self.document_windows) - 1, len(self.document_lines) - 1, len(self.digests)}
        ends = [(self.document_windows, len(self.windows)), (self.document_lines, len(self._lines))]
        if self._own_ids is not None:
            counts.add(len(self._own_ids.offsets) - 1)
            ends.append((self._own_ids.offsets, len(self._own_ids.text)))
        if len(counts) != 1 or self.digests.dtype != np.uint64:
            raise BadIndex(f"{self.folder} is damaged: its files disagree about the number of documents.")
        if any(offsets[-1] != end for offsets, end in ends):
            raise BadIndex(f"{self.folder} is damaged: its files do not end where they should.")

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def ids(self) -> StoredIds:
        """Every document's id. An older segment has them in its documents only, which are then parsed, once."""
        if self._own_ids is not None:
            return self._own_ids
        found = [self.document(row).id.encode() for row in range(len(self))]
        return StoredIds(b"".join(found), starts([len(id) for id in found]))

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each id, in order. Made when it is first needed, and shared by all states with this segment."""
        text, offsets = self.ids
        bounds = offsets.tolist()
        try:
            return {text[bounds[row] : bounds[row + 1]].decode(): row for row in range(len(self))}
        except UnicodeDecodeError as error:
            raise BadIndex(f"{self.folder / IDS} is damaged: {error}.") from error

    def scores(self, queries: Sequence[Vectors]) -> NDArray[np.float32]:
        """Every document's MaxSim score, that of its best window, for each query: queries by documents."""
        pieces = list(self.windows.chunks(_SCAN_TOKENS))

        def scored(piece: tuple[slice, slice]) -> NDArray[np.float32]:
            windows, rows = piece
            offsets = self._window_tokens[windows.start : windows.stop + 1] - rows.start
            return maxsim_many(queries, Ragged(stored_rows(self.windows.vectors, rows), offsets))

        by_window = np.concatenate(list(on_all_cores(scored, pieces)), axis=1)
        if not np.isfinite(by_window).all():
            raise BadIndex(f"{self.folder} is damaged: it holds vectors that are not numbers.")
        return np.stack([best_window(scores, self.document_windows) for scores in by_window])

    def document(self, row: int) -> Document:
        start, end = self.document_lines[row : row + 2]
        try:
            record = json.loads(self._lines[start:end].tobytes())
            return Document(record["id"], record["text"], record["title"], record.get("metadata") or {})
        except (ValueError, KeyError, TypeError) as error:
            raise BadIndex(f"{self.folder / DOCUMENTS} is damaged at byte {start}: {error}.") from error

    @cached_property
    def metadata(self) -> list[Mapping[str, Any]]:
        """Every document's metadata. Parsed when a search first filters, and shared by all states with this segment."""
        return [self.document(row).metadata for row in range(len(self))]

    def window_bounds(self, row: int) -> NDArray[np.int64]:
        """Where the windows of a document start among the token vectors, and where the last one ends."""
        first, last = self.document_windows[row : row + 2]
        return np.asarray(self._window_tokens[first : last + 1])

    def picked(self, rows: NDArray[np.int64]) -> EncodedDocuments:
        """The token vectors of some documents, at least one, copied out of the file as they are stored."""
        first, last = self.document_windows[rows], self.document_windows[rows + 1]
        windows = ranges(first, last)
        lengths = self._window_tokens[windows + 1] - self._window_tokens[windows]
        ends = self._window_tokens[last].tolist()
        vectors = gathered(self.windows.vectors, self._window_tokens[first].tolist(), ends)
        return EncodedDocuments(Ragged(vectors, starts(lengths)), starts(last - first))


def _offsets(path: Path) -> NDArray[np.int64]:
    """Where pieces start: whole numbers from 0 upwards."""
    offsets: NDArray[np.int64] = np.load(path, allow_pickle=False)
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or not len(offsets) or offsets[0] != 0:
        raise ValueError(f"{path.name} does not say where things start")
    offsets = offsets.astype(np.int64, copy=False)
    if (np.diff(offsets) < 1).any():
        raise ValueError(f"{path.name} holds pieces of no length")
    return offsets
