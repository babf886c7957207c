"""One immutable part of a local index: a folder with some documents and their token vectors.

A segment is written once, whole, and never changed, so that readers in other processes can keep it memory-mapped
while the index around it grows. The files:

    vectors.f16          token vectors, half precision, row after row
    window_tokens.npy    where each window's tokens start
    document_windows.npy where each document's windows start
    documents.jsonl      id, title and text, one line a document
    document_lines.npy   where each line starts
    digests.npy          a digest of each document's title and text
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.errors import BadIndex
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.maxsim import maxsim
from excise.vectors.ragged import Ragged, Vectors
from excise.vectors.windows import best_window

_ARRAYS = ("window_tokens", "document_windows", "document_lines", "digests")


def digest(document: Document) -> int:
    """A digest of what is encoded, to tell a changed document from one that is there already."""
    content = f"{document.title}\0{document.text}".encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def write_segment(folder: Path, documents: Sequence[Document], encoded: EncodedDocuments) -> dict[str, int]:
    """Write a segment and return its files' sizes. The folder becomes part of an index when a manifest names it."""
    folder.mkdir(parents=True)
    lines = [
        json.dumps({"id": d.id, "title": d.title, "text": d.text}, ensure_ascii=False).encode() + b"\n"
        for d in documents
    ]
    arrays = {
        "window_tokens": encoded.windows.offsets,
        "document_windows": encoded.offsets,
        "document_lines": np.concatenate([[0], np.cumsum([len(line) for line in lines])]).astype(np.int64),
        "digests": np.array([digest(d) for d in documents], dtype=np.uint64),
    }
    with _synced(folder / "vectors.f16") as out:
        out.write(np.ascontiguousarray(encoded.windows.vectors, dtype="<f2").data)
    with _synced(folder / "documents.jsonl") as out:
        out.writelines(lines)
    for name, array in arrays.items():
        with _synced(folder / f"{name}.npy") as out:
            np.save(out, array, allow_pickle=False)
    return {path.name: path.stat().st_size for path in sorted(folder.iterdir())}


class _synced:
    """A file that is on the disk, not only in the system's cache, once it is closed."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def __enter__(self) -> Any:
        return self._file

    def __exit__(self, *error: object) -> None:
        try:
            if error[0] is None:
                self._file.flush()
                os.fsync(self._file.fileno())
        finally:
            self._file.close()


class Segment:
    """A segment opened for reading; its vectors stay on disk, memory-mapped."""

    def __init__(self, folder: Path, sizes: dict[str, int], dimensions: int) -> None:
        self.folder = folder
        for name, size in sizes.items():
            found = (folder / name).stat().st_size
            if found != size:
                raise BadIndex(f"{folder / name} is damaged: it has {found:,} bytes and should have {size:,}.")
        try:
            arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in _ARRAYS}
            self._arrays: dict[str, NDArray[Any]] = arrays
            tokens = int(self._arrays["window_tokens"][-1])
            # "c" (copy on write) lets torch share the pages; nothing is ever written back.
            vectors = np.memmap(folder / "vectors.f16", dtype="<f2", mode="c", shape=(tokens, dimensions))
            self.windows = Ragged(vectors, self._arrays["window_tokens"])
            # Texts are mapped too: a writer may merge this folder away while a reader still holds it.
            self._lines = np.memmap(folder / "documents.jsonl", dtype=np.uint8, mode="r")
            self.ids = [str(json.loads(line)["id"]) for line in self._lines.tobytes().splitlines()]
        except FileNotFoundError:
            raise
        except (ValueError, OSError, KeyError, IndexError, TypeError) as error:
            raise BadIndex(f"{folder} is damaged: {error}.") from error
        if len(self) != len(self._arrays["document_lines"]) - 1 or len(self) != len(self.ids):
            raise BadIndex(f"{folder} is damaged: its files disagree about the number of documents.")

    def __len__(self) -> int:
        return len(self._arrays["document_windows"]) - 1

    @property
    def digests(self) -> NDArray[np.uint64]:
        return self._arrays["digests"]

    def scores(self, query: Vectors) -> NDArray[np.float32]:
        """Every document's MaxSim score: that of its best window."""
        return best_window(maxsim(query, self.windows), self._arrays["document_windows"])

    def document(self, position: int) -> Document:
        start, end = self._arrays["document_lines"][position : position + 2]
        try:
            record = json.loads(self._lines[start:end].tobytes())
            return Document(record["id"], record["text"], record["title"])
        except (ValueError, KeyError) as error:
            raise BadIndex(f"{self.folder / 'documents.jsonl'} is damaged at byte {start}: {error}.") from error

    def document_vectors(self, position: int) -> list[Vectors]:
        """The token vectors of each of a document's windows."""
        first, last = self._arrays["document_windows"][position : position + 2]
        return [self.windows[window] for window in range(int(first), int(last))]
