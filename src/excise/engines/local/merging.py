"""Which segments to merge: neighbours of about one size, so that their number grows with the logarithm of the index.

Every segment keeps two files open (its vectors and its texts are mapped), and systems allow a process about a thousand.
As in other log-structured stores, segments belong to tiers by size, each tier eight times as large as the one below.
Eight neighbours in a tier become one of the next, so a document is copied once a tier, and the order of indexing stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_FACTOR = 8
FULL_DOCUMENTS = 65_536  # the most that merging puts into one segment


class SegmentSize(NamedTuple):
    """How many documents a segment holds, and how many of them are not deleted."""

    documents: int
    live: int


def merges_due(sizes: Sequence[SegmentSize]) -> list[range]:
    """Runs of neighbouring segments that should be written anew as one, disjoint and in order.

    Segments that are mostly deleted stand alone in a run where no merge takes them along.

    Examples
    --------
    >>> merges_due([SegmentSize(1, 1)] * 7)
    []
    >>> merges_due([SegmentSize(100, 100)] + [SegmentSize(1, 1)] * 8)
    [range(1, 9)]
    >>> merges_due([SegmentSize(100, 100), SegmentSize(100, 49)])
    [range(1, 2)]
    """
    live = [size.live for size in sizes]
    due = [run for stretch in _stretches(live) for run in _crowded(live, stretch)]
    taken = {number for run in due for number in run}
    due += [
        range(number, number + 1)
        for number, size in enumerate(sizes)
        if number not in taken and size.live * 2 < size.documents
    ]
    return sorted(due, key=lambda run: run.start)


def _tier(live: int) -> int:
    tier = 0
    while live >= _FACTOR:
        live //= _FACTOR
        tier += 1
    return tier


def _stretches(live: Sequence[int]) -> list[range]:
    """Runs of segments between those that are full, that is: that would not fit with another of their size."""
    full = [number for number, documents in enumerate(live) if documents * 2 > FULL_DOCUMENTS]
    edges = [-1, *full, len(live)]
    return [range(before + 1, after) for before, after in pairwise(edges) if after - before > 1]


def _crowded(live: Sequence[int], stretch: range) -> list[range]:
    """Where a tier has eight segments or more, from the largest tier down; smaller ones in between go with them."""
    runs: list[range] = []
    start = stretch.start
    while start < stretch.stop:
        tiers = [_tier(live[number]) for number in range(start, stretch.stop)]
        end = start + max(place for place, tier in enumerate(tiers) if tier == max(tiers)) + 1
        if end - start >= _FACTOR:
            runs += [run for run in _packed(live, range(start, end)) if len(run) > 1]
        start = end
    return runs


def _packed(live: Sequence[int], run: range) -> list[range]:
    """A run cut into runs of no more documents than a full segment holds."""
    packed: list[range] = []
    size = 0
    for number in run:
        if packed and size + live[number] <= FULL_DOCUMENTS:
            packed[-1] = range(packed[-1].start, number + 1)
            size += live[number]
        else:
            packed.append(range(number, number + 1))
            size = live[number]
    return packed
