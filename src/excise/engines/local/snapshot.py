"""One committed state of a local index, opened: what its readers hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from excise.cores import on_all_cores
from excise.documents import Document
from excise.engines.base import Found, check_search, digest
from excise.engines.local.candidates import Listed, best_listed
from excise.engines.local.codebook import Codebook
from excise.engines.local.listing import LISTED_FROM
from excise.engines.local.manifest import MANIFEST, Manifest, SegmentEntry
from excise.engines.local.parts import Part, Place
from excise.engines.local.segment import Segment
from excise.engines.local.vector_files import STORED_HALF, as_numbers
from excise.errors import BadIndex
from excise.filters import Where
from excise.vectors.encoded import EncodedDocuments, EncoderInfo
from excise.vectors.ragged import Ragged, Vectors, starts


class Snapshot:
    """A :class:`~excise.engines.base.Reader`. It never changes, and it needs nothing but what it has mapped.

    Parameters
    ----------
    folder
        the index's.
    manifest
        the state to open.
    head
        the first bytes of the manifest on disk, by which a newer state is noticed; None before the first commit.
    previous
        an older state. What both have in common is not opened again, so a commit costs the same however many segments
        there are.
    scan
        compare with every document, however many there are.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        head: bytes | None = None,
        previous: Snapshot | None = None,
        scan: bool = False,
    ) -> None:
        self.folder, self.manifest, self.head = folder, manifest, head
        self._codebooks: dict[str, Codebook] = {} if previous is None else dict(previous._codebooks)
        self.parts = tuple(self._part(entry, previous) for entry in manifest.segments)
        self._named = {part.entry.name: part for part in self.parts}
        self._live = sum(part.live for part in self.parts)
        used = {part.segment.lists.codebook.key for part in self.parts if part.segment.lists is not None}
        self._codebooks = {key: book for key, book in self._codebooks.items() if key in used}
        self.exact = scan or self._live < LISTED_FROM or not used

    def _part(self, entry: SegmentEntry, previous: Snapshot | None) -> Part:
        rows = self.manifest.deleted.get(entry.name, [])
        known = None if previous is None else previous._named.get(entry.name)
        if known is not None and previous is not None and rows == previous.manifest.deleted.get(entry.name, []):
            return known
        if known is not None:
            segment = known.segment
        else:
            dimensions = self.manifest.encoder.dimensions
            segment = Segment(self.folder / entry.name, entry.files, dimensions, self._codebooks)
        if rows and max(rows) >= len(segment):
            raise BadIndex(f"{self.folder / MANIFEST} is damaged: {entry.name} has no row {max(rows)} to delete.")
        deleted = np.zeros(len(segment), dtype=np.bool_)
        deleted[rows] = True
        return Part(entry, segment, deleted, len(segment) - int(np.count_nonzero(deleted)))

    @property
    def encoder(self) -> EncoderInfo:
        return self.manifest.encoder

    @property
    def fingerprint(self) -> str:
        return self.manifest.fingerprint

    def __len__(self) -> int:
        return self._live

    def ids(self) -> Iterator[str]:
        for part in self.parts:
            yield from (id for id, row in part.segment.rows.items() if not part.deleted[row])

    def places(self, ids: Sequence[str]) -> dict[str, Place]:
        """Where documents are; ids that are not in the index are left out."""
        found: dict[str, Place] = {}
        wanted = set(ids)
        for number in range(len(self.parts) - 1, -1, -1):  # the newest first: most likely looked for
            if not wanted:
                break
            rows, deleted = self.parts[number].segment.rows, self.parts[number].deleted
            here = {id: Place(number, rows[id]) for id in rows.keys() & wanted if not deleted[rows[id]]}
            found |= here
            wanted -= here.keys()
        return found

    def holds(self, documents: Sequence[Document]) -> list[bool]:
        places = self.places([document.id for document in documents])
        return [
            (place := places.get(document.id)) is not None
            and int(self.parts[place.part].segment.digests[place.row]) == digest(document)
            for document in documents
        ]

    def search(
        self, queries: Sequence[Vectors], k: int, vectors: bool = False, where: Where | None = None
    ) -> list[Found]:
        check_search(queries, k, self.encoder.dimensions)
        ranked: list[list[tuple[float, Place]]] = [[] for _ in queries]
        if not queries:
            return []
        listed: list[Listed] = []
        for number, part in enumerate(self.parts):
            passed_over = part.deleted if where is None else part.deleted | ~_matching(part.segment, where)
            if passed_over.all():
                continue
            if not self.exact and part.segment.lists is not None:
                listed.append(Listed(number, part.segment, passed_over))
                continue
            for best, scores in zip(ranked, part.segment.scores(queries), strict=True):
                best += [(float(scores[row]), Place(number, row)) for row in _best_rows(scores, passed_over, k)]

        def found(number: int) -> Found:
            best = ranked[number] + (best_listed(listed, queries[number], k) if listed else [])
            return self._found(sorted(best, key=_better)[:k], vectors)

        # The many small products of a query take half the time on a core of their own.
        return list(on_all_cores(found, range(len(queries))))

    def documents(self, ids: Sequence[str]) -> list[Document]:
        return [self._document(place) for place in self._known(ids)]

    def vectors(self, ids: Sequence[str]) -> EncodedDocuments:
        return self._encoded(self._known(ids))

    def _found(self, ranked: Sequence[tuple[float, Place]], vectors: bool) -> Found:
        places = [place for _, place in ranked]
        return Found(
            tuple(self._document(place) for place in places),
            np.array([score for score, _ in ranked], dtype=np.float64),
            self._encoded(places) if vectors else None,
        )

    def _known(self, ids: Sequence[str]) -> list[Place]:
        places = self.places(ids)
        for id in ids:
            if id not in places:
                raise BadIndex(f"{self.folder} holds no document with the id {id!r}.")
        return [places[id] for id in ids]

    def _document(self, place: Place) -> Document:
        return self.parts[place.part].segment.document(place.row)

    def _encoded(self, places: Sequence[Place]) -> EncodedDocuments:
        if not places:
            none = np.empty((0, self.encoder.dimensions), dtype=STORED_HALF)
            return EncodedDocuments(Ragged(none, np.zeros(1, dtype=np.int64)), np.zeros(1, dtype=np.int64))
        segments = [self.parts[place.part].segment for place in places]
        bounds = [segment.window_bounds(place.row) for segment, place in zip(segments, places, strict=True)]
        runs = [(one.windows.vectors, slice(own[0], own[-1])) for one, own in zip(segments, bounds, strict=True)]
        windows = Ragged(as_numbers(runs), starts(np.concatenate([np.diff(own) for own in bounds])))
        return EncodedDocuments(windows, starts([len(own) - 1 for own in bounds]))


def _matching(segment: Segment, where: Where) -> NDArray[np.bool_]:
    return np.array([where.matches(metadata) for metadata in segment.metadata], dtype=np.bool_)


def _best_rows(scores: NDArray[np.float32], passed_over: NDArray[np.bool_], k: int) -> list[int]:
    """The rows of the k best scores, less those passed over, and of all that tie with the last of them."""
    rows = np.flatnonzero(~passed_over)
    if k < len(rows):
        living = scores[rows]
        # What ties with the k-th best must come along: the order of indexing decides between them.
        rows = rows[living >= np.partition(living, -k)[-k]]
    return [int(row) for row in rows]


def _better(candidate: tuple[float, Place]) -> tuple[float, Place]:
    score, place = candidate
    return -score, place
