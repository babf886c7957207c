"""The embedded engine: an exact late-interaction index in a folder, with no server and no rewriting.

The manifest ``excise-index.json`` names the segments that make up the index. A write first puts a new segment
beside the others, then replaces the manifest in one step: a crash in between leaves the old index as it was,
and readers in other processes go on with what they have until their next search.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.engines.base import Candidate
from excise.engines.local.segment import Segment, digest, write_segment
from excise.errors import BackboneError, BadIndex
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import Ragged, Vectors

try:
    import fcntl
except ImportError:  # no advisory locks on this system: two writers at once are then the user's to avoid
    fcntl = None  # type: ignore[assignment]

MANIFEST = "excise-index.json"
_FORMAT, _VERSION = "excise-index", 1
SEGMENT_DOCUMENTS = 1024  # a full segment: what is committed at a time, and what merging aims at
_FEW_SEGMENTS = 8  # so few are left alone, however small
_READ_ATTEMPTS = 5  # a reader may meet a folder that a writer has just merged away


@dataclass(frozen=True)
class IndexInfo:
    """Which encoder an index was built with."""

    backbone: str
    fingerprint: str
    dimensions: int
    window_words: int
    word_budget: int

    @classmethod
    def of(cls, backbone: Backbone) -> IndexInfo:
        windowing = backbone.windowing
        return cls(backbone.name, backbone.fingerprint, backbone.dimensions, windowing.words, windowing.budget)


@dataclass(frozen=True, eq=False)
class _State:
    """What one manifest says, opened."""

    manifest: dict[str, Any]
    segments: list[Segment]
    deleted: list[NDArray[np.bool_]]
    places: dict[str, tuple[int, int]] = field(default_factory=dict)


class LocalEngine:
    """An index in a folder. Open one with :meth:`open`, make one with :meth:`create`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stamp: tuple[int, int, int] | None = None
        self._state = self._load()

    @classmethod
    def create(cls, folder: str | Path, info: IndexInfo) -> LocalEngine:
        """Make an empty index in a folder that is new, empty, or already an index of the same encoder."""
        path = Path(folder)
        if (path / MANIFEST).exists():
            engine = cls.open(path)
            engine.expect(info)
            return engine
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise BadIndex(f"{path} is not empty and is not an excise index; name a new folder.")
        try:
            path.mkdir(parents=True, exist_ok=True)
            _replace(path / MANIFEST, _manifest(info, 0, [], {}))
        except OSError as error:
            raise _unwritable(path, error) from error
        return cls(path)

    @classmethod
    def open(cls, folder: str | Path) -> LocalEngine:
        """Open an existing index for searching and for adding."""
        path = Path(folder)
        if not path.is_dir():
            raise BadIndex(f"{path}: there is no such index; make one with 'excise index'.")
        if not (path / MANIFEST).is_file():
            raise BadIndex(f"{path} is not an excise index: it has no {MANIFEST}.")
        return cls(path)

    def remove_if_empty(self) -> None:
        """Take an index that holds nothing off the disk again: what a first write that failed should leave."""
        if len(self) == 0:
            self._sweep()
            for name in (MANIFEST, f"{MANIFEST}.new", "write.lock"):
                (self.folder / name).unlink(missing_ok=True)
            with suppress(OSError):
                self.folder.rmdir()

    @property
    def info(self) -> IndexInfo:
        return IndexInfo(**self._state.manifest["encoder"])

    @property
    def fingerprint(self) -> str:
        manifest = self._state.manifest
        return f"{manifest['encoder']['fingerprint']}-{manifest['id']}-{manifest['generation']}"

    def expect(self, info: IndexInfo) -> None:
        """Refuse an encoder other than the one that the index was built with."""
        mine = self.info
        if mine.fingerprint != info.fingerprint:
            raise BackboneError(
                f"{self.folder} was built with the backbone {mine.backbone!r} ({mine.fingerprint}), and this is "
                f"{info.backbone!r} ({info.fingerprint}): their vectors do not compare. Use the same backbone, or "
                "build another index."
            )

    def __len__(self) -> int:
        return len(self._state.places)

    def __contains__(self, document: Document) -> bool:
        """Whether this very document, same title and text, is in the index."""
        place = self._state.places.get(document.id)
        return place is not None and int(self._state.segments[place[0]].digests[place[1]]) == digest(document)

    def ids(self) -> list[str]:
        """Every id in the index, in the order of indexing."""
        return list(self._state.places)

    def search(self, query: Vectors, k: int) -> list[Candidate]:
        self._refresh()
        state = self._state
        found: list[tuple[float, int, int]] = []
        for number, (segment, deleted) in enumerate(zip(state.segments, state.deleted, strict=True)):
            scores = segment.scores(query)
            if not np.isfinite(scores).all():
                raise BadIndex(f"{segment.folder} is damaged: it holds vectors that are not numbers.")
            scores = np.where(deleted, -np.inf, scores)
            best = np.argpartition(-scores, k - 1)[:k] if k < len(scores) else np.arange(len(scores))
            # What ties with the k-th best must come along: the order of indexing decides between them.
            best = np.flatnonzero(scores >= scores[best].min()) if len(best) else best
            found += [(-float(scores[i]), number, int(i)) for i in best if not deleted[i]]
        return [Candidate(state.segments[n].ids[i], -score) for score, n, i in sorted(found)[:k]]

    def fetch(self, ids: Sequence[str]) -> list[Document]:
        state = self._state
        return [state.segments[n].document(i) for n, i in self._places(state, ids)]

    def vectors(self, ids: Sequence[str]) -> EncodedDocuments:
        state = self._state
        windows = [state.segments[n].document_vectors(i) for n, i in self._places(state, ids)]
        offsets = np.concatenate([[0], np.cumsum([len(own) for own in windows])]).astype(np.int64)
        return EncodedDocuments(Ragged.of([window for own in windows for window in own]), offsets)

    def add(self, documents: Sequence[Document], encoded: EncodedDocuments) -> None:
        if not documents:
            return
        with self._writing() as state:
            segments = [*state.manifest["segments"], self._new_segment(documents, encoded)]
            self._commit(segments, self._tombstones(state, [d.id for d in documents]))

    def delete(self, ids: Sequence[str]) -> int:
        with self._writing() as state:
            known = [key for key in dict.fromkeys(ids) if key in state.places]
            if known:
                self._commit(state.manifest["segments"], self._tombstones(state, known))
        self.tidy()
        return len(known)

    def tidy(self) -> None:
        """Merge small neighbouring segments, and rewrite those that are mostly deleted. Order is kept."""
        with self._writing() as state:
            groups = _merge_groups([int((~deleted).sum()) for deleted in state.deleted])
            parts = state.manifest["segments"]
            merged: list[dict[str, Any]] = []
            for group in groups:
                dead = sum(int(state.deleted[number].sum()) for number in group)
                live = [key for number in group for key in self._live(state, number)]
                if len(group) == 1 and dead * 2 <= len(state.segments[group[0]]):
                    merged.append(parts[group[0]])
                elif live:
                    merged.append(self._new_segment(self.fetch(live), self.vectors(live)))
            if merged != parts:
                kept = {part["name"] for part in merged}
                self._commit(merged, {name: rows for name, rows in state.manifest["deleted"].items() if name in kept})

    def _places(self, state: _State, ids: Sequence[str]) -> list[tuple[int, int]]:
        missing = [key for key in ids if key not in state.places]
        if missing:
            raise BadIndex(f"{self.folder} holds no document with the id {missing[0]!r}.")
        return [state.places[key] for key in ids]

    def _tombstones(self, state: _State, ids: Sequence[str]) -> dict[str, list[int]]:
        """All deletions so far, and those of the given ids."""
        gone: dict[str, list[int]] = {name: list(rows) for name, rows in state.manifest["deleted"].items()}
        for place in (state.places[key] for key in ids if key in state.places):
            gone.setdefault(state.segments[place[0]].folder.name, []).append(place[1])
        return gone

    def _live(self, state: _State, number: int) -> list[str]:
        return [key for key, dead in zip(state.segments[number].ids, state.deleted[number], strict=True) if not dead]

    def _new_segment(self, documents: Sequence[Document], encoded: EncodedDocuments) -> dict[str, Any]:
        name = f"segment-{uuid.uuid4().hex[:12]}"
        return {"name": name, "files": write_segment(self.folder / name, documents, encoded)}

    @contextmanager
    def _writing(self) -> Iterator[_State]:
        """Hold the write lock, with the newest state loaded and the leavings of interrupted writes cleared away."""
        try:
            with (self.folder / "write.lock").open("w") as lock:
                if fcntl is not None:
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        raise BadIndex(f"{self.folder} is being written by another process; try again later.") from None
                self._refresh()
                self._sweep()
                yield self._state
        except OSError as error:
            self._sweep()
            raise _unwritable(self.folder, error) from error

    def _commit(self, segments: list[dict[str, Any]], deleted: dict[str, list[int]]) -> None:
        generation = self._state.manifest["generation"] + 1
        _replace(
            self.folder / MANIFEST, _manifest(self.info, generation, segments, deleted, self._state.manifest["id"])
        )
        self._refresh()
        self._sweep()

    def _sweep(self) -> None:
        named = {segment["name"] for segment in self._state.manifest["segments"]}
        for path in self.folder.glob("segment-*"):
            if path.name not in named:
                shutil.rmtree(path, ignore_errors=True)

    def _refresh(self) -> None:
        if self._stamp != _stamp(self.folder / MANIFEST):
            self._state = self._load()

    def _load(self) -> _State:
        for attempt in range(_READ_ATTEMPTS):
            try:
                self._stamp = _stamp(self.folder / MANIFEST)
                return _opened(self.folder)
            except FileNotFoundError as error:
                if attempt == _READ_ATTEMPTS - 1:
                    raise BadIndex(f"{self.folder} is damaged: {error.filename} is missing.") from error
        raise AssertionError("unreachable")


def _merge_groups(live: list[int]) -> list[list[int]]:
    """Runs of neighbouring segments to make one of; a run of one stays as it is."""
    if len(live) <= _FEW_SEGMENTS + 2 * sum(live) // SEGMENT_DOCUMENTS:
        return [[number] for number in range(len(live))]
    groups: list[list[int]] = []
    size = 0
    for number, documents in enumerate(live):
        if groups and size + documents <= SEGMENT_DOCUMENTS:
            groups[-1].append(number)
            size += documents
        else:
            groups.append([number])
            size = documents
    return groups


def _opened(folder: Path) -> _State:
    manifest = _read_manifest(folder / MANIFEST)
    dimensions = manifest["encoder"]["dimensions"]
    segments = [Segment(folder / part["name"], part["files"], dimensions) for part in manifest["segments"]]
    state = _State(manifest, segments, [np.zeros(len(segment), dtype=bool) for segment in segments])
    for number, segment in enumerate(segments):
        deleted = state.deleted[number]
        try:
            deleted[manifest["deleted"].get(segment.folder.name, [])] = True
        except IndexError as error:
            raise BadIndex(f"{folder / MANIFEST} is damaged: {error}.") from error
        state.places.update((key, (number, i)) for i, key in enumerate(segment.ids) if not deleted[i])
    return state


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_bytes())
        if manifest["format"] != _FORMAT:
            raise BadIndex(f"{path} is not the manifest of an excise index.")
        if manifest["version"] != _VERSION:
            raise BadIndex(f"{path} has version {manifest['version']}; this excise reads version {_VERSION}.")
        IndexInfo(**manifest["encoder"])
        for part in manifest["segments"]:
            if Path(part["name"]).name != part["name"] or any(Path(name).name != name for name in part["files"]):
                raise BadIndex(f"{path} is damaged: {part['name']!r} is not the name of a segment.")
        return dict(manifest) | {"deleted": dict(manifest["deleted"]), "generation": int(manifest["generation"])}
    except FileNotFoundError:
        raise
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise BadIndex(f"{path} is damaged: it is not a manifest that excise wrote ({error}).") from error


def _manifest(
    info: IndexInfo,
    generation: int,
    segments: list[dict[str, Any]],
    deleted: dict[str, list[int]],
    key: str | None = None,
) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "id": key or uuid.uuid4().hex[:12],
        "generation": generation,
        "encoder": info.__dict__,
        "segments": segments,
        "deleted": deleted,
    }


def _replace(path: Path, content: dict[str, Any]) -> None:
    """Put a file in place in one step, on the disk before its name is."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8") as out:
        json.dump(content, out, indent=1)
        out.flush()
        os.fsync(out.fileno())
    os.replace(temporary, path)


def _stamp(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _unwritable(folder: Path, error: OSError) -> BadIndex:
    return BadIndex(
        f"could not write the index {folder}: {error.strerror or error}. What was there before is unchanged."
    )
