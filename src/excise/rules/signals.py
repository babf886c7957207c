"""What is known of each candidate before a rule decides."""

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
    evidence, opening
        how well it matches a topic anywhere, and in its title and first words. A row for each topic; with one topic the
        row alone will do.
    relevance
        the residual relevance: how well it matches the query less its topics.
    title_match
        whether the query names its title outside of the topics.
    """

    evidence: Floats
    opening: Floats
    relevance: Floats
    title_match: NDArray[np.bool_] | None = None

    @property
    def strongest(self) -> Floats:
        """Each candidate's evidence for the topic that it matches best."""
        return np.asarray(np.atleast_2d(self.evidence).max(axis=0), dtype=np.float64)

    def openings(self, cuts: Floats) -> Floats:
        """How each candidate's opening matches the topic that it covers best, measured by the topics' cuts."""
        nearest = (np.atleast_2d(self.evidence) / np.maximum(cuts, 1e-9)[:, None]).argmax(axis=0)
        return np.asarray(np.atleast_2d(self.opening)[nearest, np.arange(len(nearest))], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Chances:
    """What the cautious rule reads of each candidate of a shortlist.

    Attributes
    ----------
    probabilities, evidence
        how likely each candidate covers each topic, and how well it matches it: a row for each topic.
    relevance
        the residual relevance: how well it matches the query less its topics.
    named
        whether it names a topic, word for word.
    title_match
        whether the query names its title outside of the topics.
    """

    probabilities: Floats
    evidence: Floats
    relevance: Floats
    named: NDArray[np.bool_]
    title_match: NDArray[np.bool_]

    @property
    def probability(self) -> Floats:
        """How likely each candidate covers the topic that it covers most."""
        return np.asarray(self.probabilities.max(axis=0), dtype=np.float64)

    @property
    def strongest(self) -> Floats:
        """Each candidate's evidence for the topic that it matches best."""
        return np.asarray(self.evidence.max(axis=0), dtype=np.float64)
