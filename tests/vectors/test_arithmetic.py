"""torch and numpy compute the same with large arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.vectors import arithmetic
from excise.vectors.arithmetic import largest, much_faster, of_length_one, scaled, widened

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.sampled_from([np.int8, np.float16, np.float32]))
def test_torch_and_numpy_agree(seed: int, kind: type) -> None:
    rng = np.random.default_rng(seed)
    rows, scales = rng.normal(0, 20, (5, 7)).astype(kind), rng.random(5).astype(np.float16)
    for found, expected in (
        (widened(rows, "torch"), widened(rows, "numpy")),
        (scaled(rows, scales, "torch"), scaled(rows, scales, "numpy")),
        (of_length_one(rows, "torch"), of_length_one(rows, "numpy")),
    ):
        assert found.dtype == expected.dtype == np.float32
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_what_may_not_be_written_is_left_as_it_was() -> None:
    rows = np.arange(6, dtype=np.int8).reshape(2, 3)
    rows.flags.writeable = False
    assert scaled(rows, np.array([1.0, 2.0])).tolist() == [[0, 1, 2], [6, 8, 10]]
    assert of_length_one(rows).shape == (2, 3)
    assert rows.tolist() == [[0, 1, 2], [3, 4, 5]]


@given(seeds, st.integers(1, 30))
def test_both_find_the_same_largest_numbers(seed: int, count: int) -> None:
    rows = np.random.default_rng(seed).random((3, 30), dtype=np.float32)
    (places, values), (others, expected) = largest(rows, count, "torch"), largest(rows, count, "numpy")
    assert (places.tolist(), values.tolist()) == (others.tolist(), expected.tolist())
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize(("quick", "usual"), [(1.0, 10.0), (10.0, 1.0), (9.0, 10.0)])
def test_the_quicker_way_must_be_much_faster(quick: float, usual: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(arithmetic, "perf_counter", lambda: clock[0])

    def takes(seconds: float) -> None:
        clock[0] += seconds

    assert much_faster(lambda: takes(quick), lambda: takes(usual)) is (quick < 0.7 * usual)
