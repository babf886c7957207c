"""Systems by name: what can be asked for in ``excise eval --systems``.

========================  =============================================================================================
frozen, bm25              the frozen index as it is; BM25 as a first stage of its own
excise                    the shipped operator
paper                     the paper's operator: its constants, mean pooling, the whole query scored
demote, soft, cut         the paper's ladder: a soft penalty over an absolute cut, the same after re-embedding (there is
                          no adapter yet, so that it equals ``demote``), and over the relative cut
-soft, -hard, -guard      the shipped operator without its soft penalty, its removals, its guard
-demotion, -switch        without all demotion (re-embedding only, which is nothing yet), and re-embedding every query
                          (which, without an adapter, changes nothing)
max, top-m, per-topic     other poolings of the evidence
mask-z                    relevance scored without the topic's tokens, where the query names it word for word
cap1, fixed1, fixed2      at most one removal; exactly one; exactly two
phi= kappa= lambda= tau=  the rule's constants
cap= k=                   the most removals; how many candidates the operator gets (and returns)
bm25-z ... z-conditional  the nine interventions of :mod:`excise.evaluation.interventions`, with the plain rule
========================  =============================================================================================

Names compose with ``+``: ``paper+max+phi=0.8``; the first may be a base (``excise`` where it is left out) or an
intervention, the others change it. ``:oracle`` takes the topics from the suite's record; ``:detector``, or nothing,
from the detector. Where there is no topic every system returns the frozen ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from excise.errors import InvalidInput
from excise.evaluation.cases import DEPTH, Case, Collection, taken
from excise.evaluation.interventions import INTERVENTIONS, PLAIN
from excise.evaluation.rankings import Ranked, Ranking, frozen_ranking, judged_ranking
from excise.evaluation.topics import TopicSource
from excise.maxsim import POOLINGS, Pooling
from excise.operator import Excise, Scoring
from excise.results import Topic
from excise.rule import Constants
from excise.shortlist import Shortlist, judge

Rank = Callable[[Case, Sequence[Topic]], Ranking]


@dataclass(frozen=True)
class Settings:
    """What can be changed about the operator."""

    constants: Constants
    pooling: Pooling = "mean"
    scoring: Scoring = "full"

    def __post_init__(self) -> None:
        if self.constants.shortlist > DEPTH:
            raise InvalidInput(f"k must be at most {DEPTH}, the depth of the frozen shortlist.")

    def but(self, **constants: Any) -> Settings:
        """The same with other constants."""
        return replace(self, constants=replace(self.constants, **constants))


@dataclass(frozen=True)
class System:
    """A system: where its topics come from (None: it takes none), and how it ranks a case."""

    name: str
    source: TopicSource | None
    rank: Rank


_PAPER = Settings(Constants())
_BASES = {
    "paper": _PAPER,
    "demote": Settings(PLAIN),
    "soft": Settings(PLAIN),
    "cut": _PAPER.but(removal=False),
}
_CHANGES: dict[str, Callable[[Settings], Settings]] = {
    "-soft": lambda settings: settings.but(soft_penalty=False),
    "-switch": lambda settings: settings,
    "-demotion": lambda settings: settings.but(soft_penalty=False, removal=False),
    "-hard": lambda settings: settings.but(removal=False),
    "-guard": lambda settings: settings.but(guard=False),
    "mask-z": lambda settings: replace(settings, scoring="masked"),
    "cap1": lambda settings: settings.but(removal_cap=1),
    "fixed1": lambda settings: settings.but(removal_cap=1, drop="fixed"),
    "fixed2": lambda settings: settings.but(removal_cap=2, drop="fixed"),
}
_NUMBERS: dict[str, tuple[str, type[int] | type[float]]] = {
    "phi": ("removal_fraction", float),
    "kappa": ("anomaly_width", float),
    "lambda": ("penalty_scale", float),
    "tau": ("evidence_floor", float),
    "cap": ("removal_cap", int),
    "k": ("shortlist", int),
}
_POOLINGS = tuple(pooling for pooling in POOLINGS if pooling != "mean")
KNOWN = (
    "frozen",
    "bm25",
    "excise",
    *_BASES,
    *_CHANGES,
    *_POOLINGS,
    *(f"{name}=" for name in _NUMBERS),
    *INTERVENTIONS,
)


def find_system(name: str, collection: Collection) -> System:
    """The system behind a name.

    Examples
    --------
    >>> import excise
    >>> collection = Collection(excise.load(), lambda: [])
    >>> find_system("max+phi=0.8:oracle", collection).source
    'oracle'
    >>> find_system("phi=high", collection)
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: 'phi=high' is not a number.
    """
    spec, colon, suffix = name.partition(":")
    if colon and suffix not in ("oracle", "detector"):
        raise InvalidInput(f"{name!r}: topics come from ':oracle' or ':detector', not from {':' + suffix!r}.")
    if spec in ("frozen", "bm25"):
        return System(name, None, _frozen if spec == "frozen" else _bm25)
    first, *changes = spec.split("+")
    rank: Rank
    if first in INTERVENTIONS:
        rank = _intervening(name, first, _changed(name, _BASES["demote"], changes))
    else:
        rank = _operating(collection, _changed(name, *_based(collection.operator, first, changes)))
    return System(name, "oracle" if suffix == "oracle" else "detector", rank)


def find_systems(names: str | Sequence[str], collection: Collection) -> list[System]:
    """The systems behind names, or behind one line of them with commas between; a name that comes twice counts once."""
    given = names.split(",") if isinstance(names, str) else names
    unique = list(dict.fromkeys(name.strip() for name in given if name.strip()))
    if not unique:
        raise InvalidInput(f"name at least one system; there are {', '.join(KNOWN)}.")
    return [find_system(name, collection) for name in unique]


def _based(shipped: Excise, first: str, changes: list[str]) -> tuple[Settings, list[str]]:
    """The settings to start from, and the changes that are left to make."""
    if first in _BASES:
        return _BASES[first], changes
    settings = Settings(shipped.constants, shipped.pooling, shipped.scoring)
    return settings, changes if first == "excise" else [first, *changes]


def _changed(name: str, settings: Settings, changes: Sequence[str]) -> Settings:
    for change in changes:
        key, equals, value = change.partition("=")
        if change in _CHANGES:
            settings = _CHANGES[change](settings)
        elif change in _POOLINGS:
            settings = replace(settings, pooling=cast(Pooling, change))
        elif equals and key in _NUMBERS:
            settings = settings.but(**{_NUMBERS[key][0]: _number(change, value, _NUMBERS[key][1])})
        else:
            raise InvalidInput(f"there is no system {name!r}: {change!r} is not one of {', '.join(KNOWN)}.")
    return settings


def _number(change: str, value: str, kind: type[int] | type[float]) -> float:
    try:
        return kind(value)
    except ValueError:
        raise InvalidInput(f"{change!r} is not a {'whole ' if kind is int else ''}number.") from None


def _operating(collection: Collection, settings: Settings) -> Rank:
    """The product's own operator, with settings."""
    operator = Excise(collection.backbone, None, settings.constants, settings.pooling, settings.scoring)

    def rank(case: Case, topics: Sequence[Topic]) -> Ranking:
        if not topics:
            return frozen_ranking(case)
        shortlist = _first(case.shortlist, settings.constants.shortlist)
        return judged_ranking(operator.judge(case.encoded, topics, shortlist, case.named(topics)), topics)

    return rank


def _intervening(name: str, intervention: str, settings: Settings) -> Rank:
    """The plain rule over what an intervention reads."""
    if (settings.pooling, settings.scoring) != ("mean", "full") or settings.constants.shortlist != DEPTH:
        raise InvalidInput(f"{name!r}: an intervention has its own evidence and scores; only constants can be changed.")
    read = INTERVENTIONS[intervention]

    def rank(case: Case, topics: Sequence[Topic]) -> Ranking:
        if not topics:
            return frozen_ranking(case)
        readout = read(case, topics)
        shortlist = replace(case.shortlist, scores=readout.scores)
        return judged_ranking(judge(shortlist, readout.evidence, settings.constants), topics)

    return rank


def _first(shortlist: Shortlist, k: int) -> Shortlist:
    if k >= len(shortlist.documents):
        return shortlist
    return Shortlist(shortlist.documents[:k], taken(shortlist.vectors, range(k)), shortlist.scores[:k])


def _frozen(case: Case, _: Sequence[Topic]) -> Ranking:
    return frozen_ranking(case)


def _bm25(case: Case, _: Sequence[Topic]) -> Ranking:
    found = case.collection.lexical.search(case.query.text, case.collection.depth)
    ranks = case.frozen_ranks
    return Ranking(tuple(Ranked(d.id, d.title, score, ranks.get(d.id)) for d, score in found))
