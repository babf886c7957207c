"""Where a search's milliseconds go: its steps, timed apart."""

from __future__ import annotations

import time
from collections.abc import Sequence

from excise.results import STEPS
from excise.search.stages import SearchVectors


class SearchClock:
    """Milliseconds spent in each step of a search since the clock was made.

    Examples
    --------
    >>> clock = SearchClock()
    >>> clock.lap("detect")
    >>> list(clock.laps())
    ['detect', 'encode', 'topics', 'candidates', 'evidence', 'rule', 'search', 'judge', 'total']
    """

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._laps = dict.fromkeys(STEPS, 0.0)

    def lap(self, step: str) -> None:
        """The step that ends now."""
        self._laps[step] += self._since()

    def lap_encoding(self, searches: Sequence[SearchVectors]) -> None:
        """Queries and topics were encoded in one pass: each side is told its share of the pass's tokens."""
        spent = self._since()
        share = searches[0].topics_share if searches else 0.0
        self._laps["encode"] += spent * (1 - share)
        self._laps["topics"] += spent * share

    def laps(self) -> dict[str, float]:
        """Every step, those that were not needed at 0; then, as before steps were told apart, sums of some and all."""
        laps = {
            **self._laps,
            "search": self._laps["candidates"],
            "judge": self._laps["evidence"] + self._laps["rule"],
            "total": (time.perf_counter() - self._start) * 1000,
        }
        return {step: round(spent, 3) for step, spent in laps.items()}

    def _since(self) -> float:
        now = time.perf_counter()
        spent, self._last = (now - self._last) * 1000, now
        return spent
