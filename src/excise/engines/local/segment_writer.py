"""Writing segments: from new documents, or by copying what is alive in others, in little memory however large."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.durable import sync
from excise.engines.base import digest
from excise.engines.local.codebook import Codebook
from excise.engines.local.inverted_lists import InvertedLists
from excise.engines.local.listing import lists_of_added, lists_of_merged
from excise.engines.local.manifest import SegmentEntry
from excise.engines.local.parts import Part
from excise.engines.local.segment import DIGESTS, DOCUMENTS, ID_OFFSETS, IDS, OFFSETS, Segment
from excise.engines.local.stored_lists import write_lists
from excise.engines.local.vector_files import STORED_HALF, packed, token_bytes
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import starts

_CHUNK_BYTES = 4 * 1024 * 1024
_LENGTHS = (*OFFSETS, ID_OFFSETS)


def write_segment(
    folder: Path,
    documents: Sequence[Document],
    encoded: EncodedDocuments,
    codebook: Codebook | None = None,
    vectors: str = "f16",
) -> SegmentEntry:
    """Write documents as a segment, with lists where there is a codebook that fits them.

    It becomes part of an index when a manifest names it. ``vectors`` is how it stores its token vectors.
    """
    with _SegmentWriter(folder, vectors, encoded.windows.vectors.shape[1]) as out:
        out.add(documents, encoded)
    return out.finished(lists_of_added(codebook, encoded))


def merge_segments(
    folder: Path, parts: Sequence[Part], codebook: Codebook | None = None, listed: bool = False
) -> SegmentEntry:
    """Write one segment of what is alive in several, in their order.

    What is copied is read from the files rather than through the memory maps, whose pages would count as this
    process's memory.

    Parameters
    ----------
    folder
        the new segment's.
    parts
        what to merge.
    codebook
        the one that others in the index use.
    listed
        whether the segment shall have inverted lists, if it is not too small for them.
    """
    vectors, dimensions = parts[0].segment.format, parts[0].segment.dimensions  # all parts of an index are alike
    with _SegmentWriter(folder, vectors, dimensions) as out:
        for part in parts:
            with ExitStack() as sources:
                files = {
                    name: sources.enter_context((part.segment.folder / name).open("rb")) for name in out.copied_files
                }
                for first, last in living_runs(part.deleted):
                    out.copy(part.segment, first, last, files)
    if not listed:
        return out.finished()
    return out.finished(lists_of_merged(folder, out.document_tokens(), parts, codebook))


def living_runs(deleted: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Runs of neighbouring rows that are not deleted: (first, one past the last).

    Examples
    --------
    >>> living_runs(np.array([True, False, False, True, False]))
    [(1, 3), (4, 5)]
    """
    edges = np.flatnonzero(np.diff(deleted, prepend=True, append=True))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


class _SegmentWriter:
    """The files of a segment while they grow; they are on the disk when :meth:`finished` returns."""

    def __init__(self, folder: Path, vectors: str, dimensions: int) -> None:
        self._folder = folder
        self._vectors, self._widths = vectors, token_bytes(vectors, dimensions)
        self.copied_files = (*self._widths, DOCUMENTS)
        self._files: dict[str, IO[bytes]] = {}
        self._lengths: dict[str, list[NDArray[np.int64]]] = {name: [] for name in _LENGTHS}
        self._digests: list[NDArray[np.uint64]] = []
        self._open = ExitStack()

    def __enter__(self) -> _SegmentWriter:
        self._folder.mkdir()
        for name in (*self._widths, DOCUMENTS, IDS):
            self._files[name] = self._open.enter_context((self._folder / name).open("wb"))
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    def add(self, documents: Sequence[Document], encoded: EncodedDocuments) -> None:
        ids = [document.id.encode() for document in documents]
        lines = [_line(document) for document in documents]
        vectors = encoded.windows.vectors
        rows = max(1, _CHUNK_BYTES // (STORED_HALF.itemsize * vectors.shape[1]))
        for start in range(0, len(vectors), rows):
            for name, array in packed(self._vectors, vectors[start : start + rows]).items():
                self._files[name].write(array.data)
        self._files[DOCUMENTS].writelines(lines)
        self._files[IDS].writelines(ids)
        self._note("window_tokens", np.diff(encoded.windows.offsets))
        self._note("document_windows", np.diff(encoded.offsets))
        self._note("document_lines", np.array([len(line) for line in lines]))
        self._note(ID_OFFSETS, np.array([len(id) for id in ids]))
        self._digests.append(np.array([digest(document) for document in documents], dtype=np.uint64))

    def copy(self, segment: Segment, first: int, last: int, files: Mapping[str, IO[bytes]]) -> None:
        """Copy the rows from ``first`` up to ``last`` of another segment, whose files are open for reading."""
        windows = slice(*segment.document_windows[[first, last]])
        tokens = segment.windows.offsets[windows.start : windows.stop + 1]
        for name, width in self._widths.items():
            self._stream(name, files[name], int(tokens[0]) * width, int(tokens[-1]) * width)
        self._stream(DOCUMENTS, files[DOCUMENTS], *segment.document_lines[[first, last]].tolist())
        text, id_offsets = segment.ids
        self._files[IDS].write(text[id_offsets[first] : id_offsets[last]])
        self._note("window_tokens", np.diff(tokens))
        self._note("document_windows", np.diff(segment.document_windows[first : last + 1]))
        self._note("document_lines", np.diff(segment.document_lines[first : last + 1]))
        self._note(ID_OFFSETS, np.diff(id_offsets[first : last + 1]))
        self._digests.append(segment.digests[first:last])

    def document_tokens(self) -> NDArray[np.int64]:
        """Where each document's token vectors start, and the end."""
        tokens, windows = (
            starts(np.concatenate(self._lengths[name])) for name in ("window_tokens", "document_windows")
        )
        return tokens[windows]

    def finished(self, lists: InvertedLists | None = None) -> SegmentEntry:
        """Write what is known only at the end, bring everything to the disk, and say what there is."""
        if lists is not None:
            write_lists(self._folder, lists)
        arrays = {name: starts(np.concatenate(lengths)) for name, lengths in self._lengths.items()}
        for name, array in {**arrays, DIGESTS: np.concatenate(self._digests)}.items():
            np.save(self._folder / f"{name}.npy", array, allow_pickle=False)
        files = sorted(self._folder.iterdir())
        sync([*files, self._folder, self._folder.parent])
        return SegmentEntry(self._folder.name, {path.name: path.stat().st_size for path in files})

    def _note(self, name: str, lengths: NDArray[np.int64]) -> None:
        self._lengths[name].append(lengths)

    def _stream(self, name: str, source: IO[bytes], start: int, end: int) -> None:
        for chunk in _chunks(source, start, end):
            self._files[name].write(chunk)


def _line(document: Document) -> bytes:
    record: dict[str, object] = {"id": document.id, "title": document.title, "text": document.text}
    if document.metadata:  # an older excise reads such lines too, and passes the metadata over
        record["metadata"] = document.metadata
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def _chunks(source: IO[bytes], start: int, end: int) -> Iterator[bytes]:
    source.seek(start)
    while start < end:
        chunk = source.read(min(_CHUNK_BYTES, end - start))
        if not chunk:
            raise OSError(f"{source.name} ends too early")
        start += len(chunk)
        yield chunk
