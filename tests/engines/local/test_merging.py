"""Which segments are merged: few remain, none is copied often, the order of indexing stays."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from excise.engines.local.merging import SegmentSize, merges_due

FULL = 65_536


def whole(*documents: int) -> list[SegmentSize]:
    return [SegmentSize(number, number) for number in documents]


def merged(sizes: list[SegmentSize]) -> tuple[list[SegmentSize], int]:
    """What is left when all that is due has been done, and how many documents were copied for it."""
    copied = 0
    while due := merges_due(sizes):
        run = due[0]
        live = sum(size.live for size in sizes[run.start : run.stop])
        copied += live
        sizes = [*sizes[: run.start], *([SegmentSize(live, live)] if live else []), *sizes[run.stop :]]
    return sizes, copied


def test_small_neighbours_of_one_tier_become_one() -> None:
    assert merged(whole(*[1] * 8))[0] == whole(8)
    assert merged(whole(*[1] * 64))[0] == whole(64)
    assert merged(whole(1024, *[5] * 9))[0] == whole(1024, 45)


def test_the_order_of_indexing_is_never_broken() -> None:
    for run in merges_due(whole(*[1] * 20, 500, *[1] * 20)):
        assert run.step == 1


def test_what_lies_between_larger_ones_goes_with_them() -> None:
    """Neighbours of changing sizes never fill a tier by themselves, and must not pile up."""
    left, _ = merged(whole(*[1, 100] * 50))
    assert len(left) < 16


def test_full_segments_are_left_alone() -> None:
    assert merges_due(whole(*[FULL] * 50)) == []
    left, _ = merged(whole(*[4096] * 40))
    assert left == whole(FULL, FULL, 32_768)
    assert max(size.live for size in merged(whole(*[1024] * 977))[0]) <= FULL


def test_mostly_deleted_segments_are_due_alone() -> None:
    assert merges_due([SegmentSize(10, 5), SegmentSize(10, 4), SegmentSize(10, 0)]) == [range(1, 2), range(2, 3)]


def test_adding_a_million_documents_copies_each_a_few_times_and_leaves_few_segments() -> None:
    rng = random.Random(0)
    sizes: list[SegmentSize] = []
    copied = added = 0
    while added < 1_000_000:
        number = rng.choice([1, 10, 100, 1024, 1024, 1024])
        added += number
        sizes, more = merged([*sizes, SegmentSize(number, number)])
        copied += more
        assert len(sizes) < 42 + 2 * added // (FULL // 2)
    assert copied < 6 * added


@given(st.lists(st.tuples(st.integers(1, 70_000), st.integers(0, 70_000)).map(lambda p: SegmentSize(max(p), min(p)))))
def test_merging_ends_keeps_every_document_and_makes_no_giants(sizes: list[SegmentSize]) -> None:
    due = merges_due(sizes)
    assert all(before.stop <= after.start for before, after in pairwise(due))
    left, _ = merged(sizes)
    assert sum(size.live for size in left) == sum(size.live for size in sizes)
    assert all(size.live <= max(FULL, *(one.live for one in sizes)) for size in left)
    assert all(size.live * 2 >= size.documents for size in left)
