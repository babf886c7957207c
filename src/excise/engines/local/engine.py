"""The embedded engine: a late-interaction index in a folder, with no server and no rewriting.

A write puts a new segment beside the others, then replaces the manifest in one step: a crash in between leaves the old
index as it was, and readers, in this process and in others, go on with the state they have. Writers wait for one
another by a lock file; whatever removes or replaces files does so while it holds the lock. Readers never lock.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from excise.documents import Document
from excise.durable import make_folder, replace_file, unfinished
from excise.engines.base import check_batch, expect, expect_encoder
from excise.engines.local.listing import LISTED_FROM, listing_due, newest_codebook
from excise.engines.local.manifest import (
    MANIFEST,
    Manifest,
    SegmentEntry,
    head_of,
    is_segment_name,
    new_segment_name,
    read_head,
)
from excise.engines.local.merging import SegmentSize, merges_due
from excise.engines.local.parts import Place
from excise.engines.local.segment_writer import merge_segments, write_segment
from excise.engines.local.snapshot import Snapshot
from excise.engines.local.vector_files import check_format
from excise.errors import BadIndex, InvalidInput
from excise.vectors.encoded import EncodedDocuments, EncoderInfo

_LOCK = "write.lock"
_PATIENCE = 60.0
_MANY_SEGMENTS = 64  # adding merges by itself from here on: each segment keeps two files open


class LocalEngine:
    """An index in a folder. Open one with :meth:`open`, make one with :meth:`create`; threads may share it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from excise.vectors.ragged import Ragged
    >>> with TemporaryDirectory() as folder:
    ...     engine = LocalEngine.create(folder, EncoderInfo("made-up", "0", 2, 200, 1000))
    ...     vectors = Ragged.of([np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])])
    ...     engine.add([Document("x", "along x"), Document("y", "along y")], EncodedDocuments(vectors, np.arange(3)))
    ...     before = engine.reader()
    ...     deleted = engine.delete(["y"])
    ...     found = before.search([np.array([[0.6, 0.8]], dtype=np.float32)], k=1)[0]
    ...     found.documents[0].id, list(engine.reader().ids())
    ('y', ['x'])
    """

    def __init__(self, folder: Path, snapshot: Snapshot, patience: float, exact: bool = False) -> None:
        self.folder = folder
        self._exact = exact
        self._encoder = snapshot.encoder
        self._patience = patience
        self._snapshot = snapshot
        self._loading = Lock()

    @classmethod
    def create(
        cls,
        folder: str | Path,
        encoder: EncoderInfo,
        *,
        patience: float = _PATIENCE,
        exact: bool = False,
        vectors: str | None = None,
    ) -> LocalEngine:
        """An index for an encoder's vectors: a new one, or the one in the folder if its encoder is the same.

        Nothing is written before the first documents are added, so what fails before then leaves no trace.

        Parameters
        ----------
        folder
            new, empty, already an index, or holding nothing but what an interrupted first write has left.
        encoder
            where the vectors will come from.
        patience
            how many seconds a write waits while another process writes.
        exact
            compare a query with every document, however many there are.
        vectors
            how a new index stores token vectors: "f16" (the default here) or "int8", which takes half as much.
        """
        chosen = check_format(vectors or "f16")
        path = Path(folder)
        try:
            names = os.listdir(path)
        except FileNotFoundError:
            names = []
        except NotADirectoryError:
            raise BadIndex(f"{path} is a file; name a new folder.") from None
        except OSError as error:
            raise BadIndex(f"{path} could not be read: {error.strerror or error}.") from error
        if MANIFEST in names:
            engine = cls.open(path, patience=patience, exact=exact)
            expect(engine, encoder)
            stored = engine.reader().manifest.vectors
            if vectors not in (None, stored):
                raise InvalidInput(
                    f"{path} stores its vectors as {stored}, not {vectors}; 'excise copy --vectors {vectors}' makes "
                    "an index that does."
                )
            return engine
        if not all(name in (_LOCK, unfinished(Path(MANIFEST)).name) or is_segment_name(name) for name in names):
            raise BadIndex(f"{path} is not empty and is not an excise index; name a new folder.")
        return cls(path, Snapshot(path, Manifest(encoder, vectors=chosen), scan=exact), patience, exact)

    @classmethod
    def open(cls, folder: str | Path, *, patience: float = _PATIENCE, exact: bool = False) -> LocalEngine:
        """Open an existing index for searching and for writing; ``exact`` as for :meth:`create`."""
        path = Path(folder)
        if not path.is_dir():
            raise BadIndex(f"{path}: there is no such index; make one with 'excise index'.")
        if not (path / MANIFEST).is_file():
            raise BadIndex(f"{path} is not an excise index: it has no {MANIFEST}.")
        return cls(path, _newest(path, None, exact), patience, exact)

    @property
    def name(self) -> str:
        return str(self.folder)

    def reader(self) -> Snapshot:
        snapshot = self._snapshot
        if self._head() == snapshot.head:
            return snapshot
        with self._loading:  # one thread opens the new state, and those that wait find it here
            snapshot = self._snapshot
            if self._head() != snapshot.head:
                snapshot = _newest(self.folder, snapshot, self._exact)
                expect_encoder(self.name, snapshot.encoder, self._encoder)
                self._snapshot = snapshot
            return snapshot

    def add(self, documents: Sequence[Document], encoded: EncodedDocuments) -> None:
        check_batch(documents, encoded, self._encoder.dimensions)
        if not documents:
            return
        with self._writing() as snapshot:
            replaced = snapshot.places([document.id for document in documents]).values()
            codebook = newest_codebook(snapshot.parts)
            fresh = write_segment(
                self.folder / new_segment_name(), documents, encoded, codebook, snapshot.manifest.vectors
            )
            snapshot = self._commit(snapshot, [*snapshot.manifest.segments, fresh], replaced)
            if len(snapshot.parts) > _MANY_SEGMENTS:
                self._upkeep(snapshot)

    def delete(self, ids: Sequence[str]) -> int:
        if not self.reader().places(ids):
            return 0
        with self._writing() as snapshot:
            known = snapshot.places(ids).values()
            if known:
                self._upkeep(self._commit(snapshot, snapshot.manifest.segments, known))
            return len(known)

    def tidy(self) -> None:
        """Merge small neighbouring segments, rewrite those that are mostly deleted, give lists to those that lack them.

        Order is kept.
        """
        for due in (_due, _unlisted):
            while due(self.reader()):
                with self._writing() as snapshot:  # anew for each merge, so that other writers get their turn
                    self._merge_first(snapshot, due(snapshot))

    def _upkeep(self, snapshot: Snapshot) -> None:
        """Merge what is due after a write. The write has happened: if merging fails, it is for another time."""
        with suppress(OSError, BadIndex):
            while due := _due(snapshot):
                snapshot = self._merge_first(snapshot, due)

    def _merge_first(self, snapshot: Snapshot, due: Sequence[range]) -> Snapshot:
        if not due:
            return snapshot
        first, last = due[0].start, due[0].stop
        living = [part for part in snapshot.parts[first:last] if part.live]
        entries: list[SegmentEntry] = list(snapshot.manifest.segments)
        merged = self.folder / new_segment_name()
        codebook, listed = newest_codebook(snapshot.parts), len(snapshot) >= LISTED_FROM
        entries[first:last] = [merge_segments(merged, living, codebook, listed)] if living else []
        return self._commit(snapshot, entries)

    def _commit(self, snapshot: Snapshot, segments: Sequence[SegmentEntry], dead: Collection[Place] = ()) -> Snapshot:
        """Make segments, less dead rows, the index's state; a segment with no living row is left out."""
        deleted = dict(snapshot.manifest.deleted)
        kept = {entry.name: entry for entry in segments}
        dying: dict[int, list[int]] = {}
        for place in dead:
            dying.setdefault(place.part, []).append(place.row)
        for number, part in enumerate(snapshot.parts):
            rows, name = dying.get(number, []), part.entry.name
            deleted[name] = [*deleted.get(name, ()), *rows]
            if len(rows) == part.live:
                kept.pop(name, None)
        manifest = snapshot.manifest.following(
            list(kept.values()), {name: rows for name, rows in deleted.items() if name in kept}
        )
        content = manifest.to_bytes()
        # Opened before it is committed: what cannot be opened must not become the state.
        fresh = Snapshot(self.folder, manifest, head_of(content), snapshot, self._exact)
        replace_file(self.folder / MANIFEST, content)
        self._snapshot = fresh
        return fresh

    @contextmanager
    def _writing(self) -> Iterator[Snapshot]:
        """Hold the lock, with the newest state at hand and the leavings of interrupted writes cleared away."""
        from filelock import FileLock, Timeout  # here, since most processes only read

        self.reader()  # an index that is gone must not come back as a folder with a lock in it
        try:
            make_folder(self.folder)
            lock = FileLock(self.folder / _LOCK, timeout=self._patience, poll_interval=0.01)
            try:
                lock.acquire()
            except Timeout:
                raise BadIndex(f"{self.folder} is being written by another process; try again later.") from None
            try:
                self._sweep()
                yield self.reader()
            finally:
                try:
                    self._sweep()
                finally:
                    lock.release()
        except OSError as error:
            raise BadIndex(
                f"could not write the index {self.folder}: {error.strerror or error}. "
                "What was there before is unchanged."
            ) from error

    def _sweep(self) -> None:
        """Remove what no manifest names: only while the lock is held, when nobody is writing a segment."""
        try:
            named = {entry.name for entry in self.reader().manifest.segments}  # of what is on disk, whatever happened
        except BadIndex:
            return
        for name in os.listdir(self.folder):
            if is_segment_name(name) and name not in named:
                shutil.rmtree(self.folder / name, ignore_errors=True)
        unfinished(self.folder / MANIFEST).unlink(missing_ok=True)

    def _head(self) -> bytes | None:
        try:
            return read_head(self.folder)
        except OSError as error:
            raise BadIndex(f"{self.folder / MANIFEST} could not be read: {error.strerror or error}.") from error


def _newest(folder: Path, previous: Snapshot | None, exact: bool) -> Snapshot:
    """The state on disk. A writer may merge a folder away before it is opened; then there is a newer state to open."""
    path = folder / MANIFEST
    while True:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise BadIndex(f"{path} could not be read: {error.strerror or error}.") from error
        try:
            return Snapshot(folder, Manifest.from_bytes(content, path), head_of(content), previous, exact)
        except FileNotFoundError as error:
            if read_head(folder) == head_of(content):
                raise BadIndex(f"{folder} is damaged: {error.filename} is missing.") from error


def _due(snapshot: Snapshot) -> list[range]:
    return merges_due([SegmentSize(len(part.segment), part.live) for part in snapshot.parts])


def _unlisted(snapshot: Snapshot) -> list[range]:
    return listing_due(snapshot.parts)
