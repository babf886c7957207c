"""Batches: every text once, like lengths together, never more padded tokens than allowed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from excise.encoders.batching import batches, padded

lengths_of_texts = st.lists(st.integers(1, 300), max_size=60)


@given(lengths_of_texts, st.integers(1, 2_000))
def test_every_text_once_and_no_batch_too_large(lengths: list[int], most: int) -> None:
    found = list(batches(lengths, most))
    assert sorted(i for batch in found for i in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= most
    in_order = [lengths[i] for batch in found for i in batch]
    assert in_order == sorted(lengths, reverse=True)


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=8), min_size=1, max_size=6))
def test_padding_is_told_from_tokens(rows: list[list[int]]) -> None:
    ids, mask = padded(rows)
    assert [row[real].tolist() for row, real in zip(ids, mask, strict=True)] == rows
    assert int(ids[~mask].sum()) == 0
