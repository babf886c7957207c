"""What the coverage rule reads of each candidate before it decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from excise.rules.decision import Floats


@dataclass(frozen=True, eq=False)
class Signals:
    """What is known of each candidate of a shortlist.

    Attributes
    ----------
    probabilities, evidence, opening
        how likely each candidate covers each topic, how well it matches it anywhere, and in its title and first words:
        a row for each topic.
    relevance
        the residual relevance: how well it matches the query less its topics.
    named
        whether it names a topic, word for word.
    title_match
        whether the query names its title outside of the topics.
    excluded
        how likely each topic is excluded at all, as the detector reads the query: 1 where the user named it.
    """

    probabilities: Floats
    evidence: Floats
    opening: Floats
    relevance: Floats
    named: NDArray[np.bool_]
    title_match: NDArray[np.bool_]
    excluded: Floats

    @property
    def probability(self) -> Floats:
        """How likely each candidate covers the topic that it covers most."""
        return np.asarray(self.probabilities.max(axis=0), dtype=np.float64)

    @property
    def unwanted(self) -> Floats:
        """How likely each candidate covers a topic that is excluded: both must hold for it to be unwanted."""
        return np.asarray((self.probabilities * self.excluded[:, None]).max(axis=0), dtype=np.float64)

    @property
    def strongest(self) -> Floats:
        """Each candidate's evidence for the topic that it matches best."""
        return np.asarray(self.evidence.max(axis=0), dtype=np.float64)

    @property
    def openings(self) -> Floats:
        """How each candidate's opening matches the topic that it covers most."""
        nearest = self.probabilities.argmax(axis=0)
        return np.asarray(self.opening[nearest, np.arange(len(nearest))], dtype=np.float64)
