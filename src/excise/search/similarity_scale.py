"""Where a backbone's similarities lie, and what they are on the scale that coverage is judged on.

Cosines of one encoder say nothing about another's: token vectors of an abstract that has nothing to do with a topic
match it at 0.25 in the embedded encoder, and at 0.65 in one whose vectors all point one way. Two levels tell most of
it: how well documents match a topic that they share no word with, and how well those that name it do. Both are measured
once for a backbone, on the bundled corpus, and its similarities are mapped so that they fall where the embedded
encoder's do: one readout and one set of constants then serve every backbone.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from excise.errors import InvalidInput


@dataclass(frozen=True)
class SimilarityScale:
    """The levels of a backbone's similarities, those of single tokens and those of whole passages.

    Parameters
    ----------
    token_floor, token_top
        the mean evidence of documents that share no word with a topic, and of documents that name it.
    passage_floor, passage_top
        the same of the nearest passage's mean vector.

    Examples
    --------
    >>> narrow = SimilarityScale(0.6, 0.9, 0.5, 0.8)
    >>> narrow.tokens(np.array([0.6, 0.9])).tolist() == [REFERENCE.token_floor, REFERENCE.token_top]
    True
    >>> SimilarityScale(0.6, 0.6, 0.5, 0.8)
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: what names a topic must match it better than what has no word of it.
    """

    token_floor: float
    token_top: float
    passage_floor: float
    passage_top: float

    def __post_init__(self) -> None:
        if not np.isfinite(astuple(self)).all():
            raise InvalidInput("the levels of a similarity scale must be finite.")
        if self.token_top <= self.token_floor or self.passage_top <= self.passage_floor:
            raise InvalidInput("what names a topic must match it better than what has no word of it.")

    def tokens(self, similarity: NDArray[np.float32]) -> NDArray[np.float32]:
        """Similarities of tokens, as the reference would have them."""
        return _mapped(similarity, (self.token_floor, self.token_top), (REFERENCE.token_floor, REFERENCE.token_top))

    def passages(self, similarity: NDArray[np.float32]) -> NDArray[np.float32]:
        """Similarities of passages, as the reference would have them."""
        return _mapped(
            similarity, (self.passage_floor, self.passage_top), (REFERENCE.passage_floor, REFERENCE.passage_top)
        )

    def to_text(self) -> str:
        """One line that :meth:`from_text` reads."""
        return json.dumps(astuple(self))

    @classmethod
    def from_text(cls, text: str) -> SimilarityScale:
        """The scale that :meth:`to_text` wrote."""
        return cls(*json.loads(text))


def _mapped(values: NDArray[np.float32], own: tuple[float, float], wanted: tuple[float, float]) -> NDArray[np.float32]:
    if own == wanted:  # not a bit changes
        return values
    stretch = (wanted[1] - wanted[0]) / (own[1] - own[0])
    return np.asarray(wanted[0] + (values - own[0]) * stretch, dtype=values.dtype)


REFERENCE = SimilarityScale(0.2552, 0.8672, 0.0534, 0.3928)  # the embedded encoder's, by its 128 judging dimensions
