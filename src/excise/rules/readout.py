"""The coverage readout: how a candidate matches a topic, read as the probability that it covers the topic.

A logistic regression over a handful of features (:mod:`excise.search.match_features` describes them), fitted on graded
candidates by ``excise train coverage``. Its scale is absolute: where the corpus has nothing on a topic, nothing reaches
a high probability, however the candidates compare with each other.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from excise.errors import InvalidInput
from excise.rules.decision import Floats

READOUTS = "coverage.json"


@dataclass(frozen=True)
class CoverageReadout:
    """A fitted logistic regression.

    Parameters
    ----------
    features
        what it reads, by name.
    means, scales
        what each feature is centred by and divided by.
    coefficients, intercept
        the regression.
    backbone, weights
        the backbone whose vectors it was fitted on, and the fingerprint of its weights; None serves any backbone.
    levels
        where that backbone's similarities lie (:mod:`excise.search.similarity_scale`); None where they are on the scale
        of the embedded encoder as they are, or where it serves any backbone.

    Examples
    --------
    >>> readout = CoverageReadout(("named",), (0.5,), (0.5,), (2.0,), -1.0)
    >>> readout.probabilities(np.array([[[1.0], [0.0]]]), ["named"]).round(2).tolist()
    [[0.73, 0.05]]
    """

    features: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercept: float
    backbone: str | None = None
    weights: str | None = None
    levels: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        sizes = {len(getattr(self, name)) for name in ("features", "means", "scales", "coefficients")}
        if len(sizes) != 1 or not self.features:
            raise InvalidInput("a coverage readout needs one mean, scale and coefficient for each of its features.")
        numbers = (*self.means, *self.scales, *self.coefficients, self.intercept)
        if not np.isfinite(numbers).all() or min(self.scales) <= 0:
            raise InvalidInput("a coverage readout's numbers must be finite, and its scales positive.")
        if self.levels is not None and len(self.levels) != 4:
            raise InvalidInput("a coverage readout's levels are four: of tokens and of passages, floor and top.")

    def probabilities(self, features: Floats, names: Sequence[str]) -> Floats:
        """How likely each candidate covers each topic; the last axis of ``features`` has the given names."""
        chosen = features[..., [list(names).index(name) for name in self.features]]
        logits = (chosen - np.array(self.means)) / np.array(self.scales) @ np.array(self.coefficients) + self.intercept
        return np.asarray(np.exp(-np.logaddexp(0.0, -logits)), dtype=np.float64)  # no logit is too large for it

    @property
    def fingerprint(self) -> str:
        """A digest of all its numbers."""
        return sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return asdict(self)


def read_readouts(path: Path) -> list[CoverageReadout]:
    """The readouts of a file that :func:`write_readouts` wrote."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["readouts"]
        return [_readout(row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{path} does not hold coverage readouts: {str(error).rstrip('.')}.") from error


def _readout(row: dict[str, Any]) -> CoverageReadout:
    lists: dict[str, Any] = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    return CoverageReadout(**{**row, **lists})


def write_readouts(path: Path, readouts: Sequence[CoverageReadout]) -> None:
    """Write readouts as JSON."""
    rows = [readout.to_dict() for readout in readouts]
    path.write_text(json.dumps({"readouts": rows}, indent=1) + "\n", encoding="utf-8")


def readout_of(readouts: Sequence[CoverageReadout], weights: str) -> CoverageReadout | None:
    """The readout that was fitted on a backbone, by the fingerprint of its weights; None where there is none."""
    return next((readout for readout in readouts if readout.weights == weights), None)


def readout_for_any(readouts: Sequence[CoverageReadout], reading: Collection[str]) -> CoverageReadout:
    """The readout for a backbone that has none of its own, of those that read only some features: the one of most."""
    fitting = [one for one in readouts if one.weights is None and set(one.features) <= set(reading)]
    if not fitting:
        raise InvalidInput("there is no coverage readout for any backbone.")
    return max(fitting, key=lambda one: len(one.features))
