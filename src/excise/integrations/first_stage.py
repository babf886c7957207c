"""What every drop-in does: judge another first stage's candidates, and say which of them stay, in which order.

A drop-in turns its library's documents into :class:`Candidate`, calls :func:`sift`, and builds its own list from what
comes back. It never hands over ids: candidates are known by their positions, so that documents without ids, or with the
same id twice, are as good as any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from excise.errors import InvalidInput
from excise.results import Hit, Removed, Status, Topic
from excise.search.inputs import MAX_K, check_k

if TYPE_CHECKING:
    from excise.search.operator import Excise

METADATA_KEY = "excise"  # where drop-ins write a verdict into the metadata of what they return


class Candidate(NamedTuple):
    """What a first stage found: its text, and perhaps a title and a score."""

    text: str
    title: str = ""
    score: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What became of the candidate at a position.

    ``score`` is the first stage's own, lowered where the candidate was put last; None where the first stage gave none.
    ``evidence`` is None where the candidate has no text to be judged by.
    """

    position: int
    status: Status
    score: float | None = None
    evidence: float | None = None
    probability: float | None = None
    passage: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain types for metadata: what there is of status, evidence, probability and passage.

        Examples
        --------
        >>> Verdict(3, "removed", score=0.5, evidence=0.91).as_dict()
        {'status': 'removed', 'evidence': 0.91}
        """
        told = {name: getattr(self, name) for name in ("status", "evidence", "probability", "passage")}
        return {name: value for name, value in told.items() if value is not None}


@dataclass(frozen=True)
class Sifted:
    """What a query excludes, which candidates stay, best first, and which were removed, the surest first."""

    topics: tuple[Topic, ...]
    kept: tuple[Verdict, ...]
    removed: tuple[Verdict, ...]


def sift(
    operator: Excise,
    query: str,
    candidates: Sequence[Candidate],
    exclude: Sequence[str] | str | None = None,
    k: int | None = None,
) -> Sifted | None:
    """Judge candidates, best first; None where nothing is excluded, and they are to stay exactly as they are.

    The order that they come in is the ranking. Their scores are taken along where every candidate has one and they
    fall along that order; else scores say nothing about the ranking, and come back unchanged. What has no text cannot
    be judged: it stays, after what was judged.

    Parameters
    ----------
    operator
        what judges; it needs no index.
    query
        what is looked for.
    candidates
        what the first stage found, best first.
    exclude
        topics to rule out; None lets the detector read them from the query.
    k
        how many are kept at most.

    Examples
    --------
    >>> import excise
    >>> cars = ["The Tesla Model 3 is an electric sedan.", "The Nissan Leaf is an electric hatchback.",
    ...         "The Renault Zoe is a small electric car.", "BYD's Dolphin is an electric hatchback."]
    >>> sifted = sift(excise.load(), "electric cars, but not Tesla", [Candidate(text) for text in cars])
    >>> [verdict.position for verdict in sifted.kept], [verdict.position for verdict in sifted.removed]
    ([1, 2, 3], [0])
    >>> sift(excise.load(), "electric cars", [Candidate(text) for text in cars]) is None
    True
    """
    if k is not None:
        check_k(k)
    if len(candidates) > MAX_K:
        raise InvalidInput(f"{len(candidates):,} candidates were given; at most {MAX_K:,} are taken.")
    legible = [place for place, one in enumerate(candidates) if one.text.strip() or one.title.strip()]
    scores = _falling_scores(candidates)
    records = [
        {
            "id": str(place),
            "text": candidates[place].text if candidates[place].text.strip() else candidates[place].title,
            "title": candidates[place].title if candidates[place].text.strip() else "",
            "score": float(-place) if scores is None else scores[place],
        }
        for place in legible
    ]
    result = operator.rerank(query, records, exclude)
    if not result.topics or not records:
        return None
    given = scores is not None

    def verdict(one: Hit | Removed, status: Status) -> Verdict:
        place = int(one.id)
        score = one.score if given else candidates[place].score
        return Verdict(place, status, score, one.evidence, one.probability, one.passage)

    kept = [verdict(hit, hit.status) for hit in result.hits]
    silent = sorted(set(range(len(candidates))) - set(legible))
    kept += [Verdict(place, "kept", candidates[place].score) for place in silent]
    return Sifted(result.topics, tuple(kept[:k]), tuple(verdict(one, "removed") for one in result.removed))


def _falling_scores(candidates: Sequence[Candidate]) -> list[float] | None:
    """The candidates' scores, where they are what the candidates are ranked by."""
    try:
        scores = [float(one.score) for one in candidates if one.score is not None and math.isfinite(one.score)]
    except OverflowError:  # a whole number that no float can hold
        return None
    if len(scores) < len(candidates) or any(later > sooner for sooner, later in pairwise(scores)):
        return None
    return scores
