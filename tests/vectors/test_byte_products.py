"""Products of bytes: about those of floats, and used only where they are faster."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from excise.vectors import byte_products
from excise.vectors.arithmetic import of_length_one
from excise.vectors.byte_products import about_maxsim, about_products, bytes_pay
from excise.vectors.eight_bit import EightBitVectors
from excise.vectors.maxsim import maxsim
from excise.vectors.ragged import Ragged


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 9), st.integers(2, 70), st.integers(0, 99))
def test_they_are_near_the_exact_ones(lengths: list[int], tokens: int, dimensions: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = of_length_one(rng.standard_normal((sum(lengths), dimensions)))
    query = of_length_one(rng.standard_normal((tokens, dimensions)))
    stored = EightBitVectors.of(rows)
    assert np.abs(about_products(query, stored) - query @ stored[:].T).max() < 0.02
    documents = Ragged(stored, np.concatenate([[0], np.cumsum(lengths)]))
    assert np.abs(about_maxsim(query, documents) - maxsim(query, documents)).max() < 0.02 * tokens


def test_a_vector_of_zeros_and_a_very_large_one_have_products_too() -> None:
    stored = EightBitVectors.of(np.array([[0.0, 0.0], [3e4, -3e4]]))
    found = about_products(np.array([[0.0, 0.0], [1.0, -1.0]], dtype=np.float32), stored)
    assert found == pytest.approx(np.array([[0.0, 0.0], [0.0, 6e4]]), rel=0.01)


@pytest.mark.parametrize("fault", [AttributeError, RuntimeError])
def test_where_torch_has_no_such_products_floats_serve(fault: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: torch.Tensor) -> torch.Tensor:
        raise fault("no such products")

    monkeypatch.setattr(byte_products, "_of_bytes", refuse)
    assert bytes_pay.__wrapped__() is False


def test_it_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = bytes_pay()
    monkeypatch.setattr(byte_products, "_of_bytes", SimpleNamespace())  # would fail if it were called
    assert bytes_pay() is first
