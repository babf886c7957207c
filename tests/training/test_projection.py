"""The shipped projection can be rebuilt, and keeps what it should."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from excise.errors import InvalidInput
from excise.training.projection import DIMENSIONS, FILE, fit_projection, train_projection


def test_full_rank_keeps_every_inner_product() -> None:
    vectors = np.random.default_rng(0).standard_normal((50, 6))
    rows = fit_projection(vectors, np.ones(50), 6)
    projected = vectors @ rows.T
    assert projected @ projected.T == pytest.approx(vectors @ vectors.T, abs=1e-4)


def test_the_heavier_direction_wins() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert fit_projection(vectors, np.array([1.0, 5.0]), 1).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("dimensions", [0, 7])
def test_bad_dimensions_are_refused(dimensions: int) -> None:
    with pytest.raises(InvalidInput, match="from 1 to 6"):
        fit_projection(np.ones((3, 6)), np.ones(3), dimensions)


def test_the_shipped_file_is_what_the_command_writes(tmp_path: Path) -> None:
    shipped = load_file(Path(str(files("excise") / "models" / FILE)))["linear.weight"]
    rebuilt = load_file(train_projection(tmp_path))["linear.weight"]
    # Other processors round otherwise; the space that the rows span is what counts.
    assert np.abs(rebuilt @ rebuilt.T - np.eye(DIMENSIONS)).max() < 1e-4
    assert np.linalg.norm(shipped @ rebuilt.T) ** 2 / DIMENSIONS > 0.999
