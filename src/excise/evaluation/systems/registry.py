"""Systems by name: what can be asked for in ``excise eval --systems``.

========================  =============================================================================================
frozen, bm25              the frozen index as it is; BM25 as a first stage of its own
excise                    the shipped operator
paper                     the paper's rule on the frozen vectors: its constants, mean pooling, the whole query scored
demote, soft, cut, full   the paper's ladder: a soft penalty over an absolute cut on frozen vectors; the same after
                          re-embedding; over the relative cut; and with removals and guard, all re-embedded
-soft, -hard, -guard      the paper's operator without its soft penalty, its removals, its guard
-demotion, -switch        without all demotion, and without the detector's switch (which, on a query with no topic, can
                          only re-embed)
max, top-m, per-topic     other poolings of the evidence
mask-z                    relevance scored without the topic's words
cap1, fixed1, fixed2      at most one removal; exactly one; exactly two
topic-cap                 at most three removals for each topic
phi= kappa= lambda= tau=  the constants of the paper's rule
cap= k=                   the most removals; how many candidates the operator gets (and returns)
-lead, -opening           the coverage rule without its leads, without its openings
lead= opening= match=     the constants of the coverage rule
passing= many= asked=     when a mention needs a smaller lead (many=1: never); the bonus of what is asked for by title
one-reading               rank by the backbone's reading of the query alone, without the adapter's
reembed, first=           re-embed with the adapter; only so many candidates (``full+first=25``)
second-look               judge the union with a search for the query less its topics
query-only=FOLDER         the frozen index searched with the query vectors of an adapter, nothing ruled out
reindexed=FOLDER          the same documents indexed anew by a fine-tuned encoder, nothing ruled out
bm25-z ... z-conditional  the nine interventions of :mod:`excise.evaluation.systems.interventions`, with the plain rule
========================  =============================================================================================

Names compose with ``+``: ``paper+max+phi=0.8``; the first may be a base or an intervention, the others change it. Where
the base is left out it is ``excise`` for a change that the coverage rule knows, and ``paper`` for the others.
``:oracle`` takes the topics from the suite's record; ``:detector``, or nothing, from the detector. Where there is no
topic every system returns the frozen ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from excise.encoders.adapter import load_adapter
from excise.errors import InvalidInput
from excise.evaluation.systems.cases import DEPTH, Case, Collection
from excise.evaluation.systems.controls import CONTROLS
from excise.evaluation.systems.interventions import INTERVENTIONS, PLAIN
from excise.evaluation.systems.rankings import Rank, Ranked, Ranking, frozen_ranking, judged_ranking
from excise.evaluation.systems.topic_sources import TopicSource
from excise.results import Topic
from excise.search.judging import Judge, with_second_look
from excise.search.operator import Excise
from excise.search.shortlist import Shortlist, judge
from excise.settings import PAPER_RULE, Settings
from excise.vectors.maxsim import POOLINGS, Pooling


@dataclass(frozen=True)
class System:
    """A system: where its topics come from (None: it takes none), and how it ranks a case."""

    name: str
    source: TopicSource | None
    rank: Rank


_PLAIN = replace(PAPER_RULE, constants=PLAIN)
_CUT = replace(PAPER_RULE, constants=replace(PAPER_RULE.constants, removal=False))
_BASES = {
    "paper": PAPER_RULE,
    "demote": _PLAIN,
    "soft": replace(_PLAIN, reembed=True),
    "cut": replace(_CUT, reembed=True),
    "full": replace(PAPER_RULE, reembed=True),
}


def _paper(**constants: Any) -> Callable[[Settings], Settings]:
    """A change of the paper's constants."""
    return lambda settings: replace(settings, constants=replace(settings.constants, **constants))


def _coverage(**constants: Any) -> Callable[[Settings], Settings]:
    """A change of the coverage rule's constants."""
    return lambda settings: replace(settings, coverage=replace(settings.coverage, **constants))


_PAPER_CHANGES = {
    "-soft": _paper(soft_penalty=False),
    "-switch": _paper(),
    "-demotion": _paper(soft_penalty=False, removal=False),
    "-hard": _paper(removal=False),
    "-guard": _paper(guard=False),
    "cap1": _paper(removal_cap=1),
    "topic-cap": _paper(cap_per_topic=True),
    "fixed1": _paper(removal_cap=1, drop="fixed"),
    "fixed2": _paper(removal_cap=2, drop="fixed"),
}
_COVERAGE_CHANGES = {
    "-lead": _coverage(lead=float("inf")),
    "-opening": _coverage(opening_fraction=1.0, opening_floor=1.0),
    "-guard": _coverage(guard=False),
}
_CHANGES: dict[str, Callable[[Settings], Settings]] = {
    "mask-z": lambda settings: replace(settings, scoring="masked"),
    "reembed": lambda settings: replace(settings, reembed=True),
    "one-reading": lambda settings: replace(settings, two_readings=False),
    "second-look": lambda settings: replace(settings, second_look=True),
}
_PAPER_NUMBERS: dict[str, tuple[str, type[int] | type[float]]] = {
    "phi": ("removal_fraction", float),
    "kappa": ("anomaly_width", float),
    "lambda": ("penalty_scale", float),
    "tau": ("evidence_floor", float),
    "cap": ("removal_cap", int),
    "k": ("shortlist", int),
}
_COVERAGE_NUMBERS: dict[str, tuple[str, type[int] | type[float]]] = {
    "lead": ("lead", float),
    "opening": ("opening_fraction", float),
    "match": ("match_fraction", float),
    "passing": ("passing_fraction", float),
    "many": ("many", int),
    "asked": ("asked_bonus", float),
    "tau": ("evidence_floor", float),
    "k": ("shortlist", int),
}
_FIRST = "first"
_POOLINGS = tuple(pooling for pooling in POOLINGS if pooling != "mean")
KNOWN = (
    "frozen",
    "bm25",
    *(f"{control}=" for control in CONTROLS),
    "excise",
    *_BASES,
    *_PAPER_CHANGES,
    "-lead",
    "-opening",
    *_CHANGES,
    *_POOLINGS,
    *(f"{name}=" for name in {**_PAPER_NUMBERS, **_COVERAGE_NUMBERS, _FIRST: None}),
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
    if (control := spec.partition("="))[0] in CONTROLS:
        return System(name, None, CONTROLS[control[0]](collection, Path(control[2])))
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
    if first == "excise":
        return shipped.settings, changes
    coverage_only = (
        first in ("-lead", "-opening") or first.partition("=")[0] in _COVERAGE_NUMBERS.keys() - _PAPER_NUMBERS
    )
    shared = first in ("reembed", "one-reading", "second-look")
    return shipped.settings if coverage_only or shared else PAPER_RULE, [first, *changes]


def _changed(name: str, settings: Settings, changes: Sequence[str]) -> Settings:
    paper = settings.rule == "paper"
    named = {**_CHANGES, **(_PAPER_CHANGES if paper else _COVERAGE_CHANGES)}
    numbers = _PAPER_NUMBERS if paper else _COVERAGE_NUMBERS
    for change in changes:
        key, equals, value = change.partition("=")
        if change in named:
            settings = named[change](settings)
        elif change in _POOLINGS:
            settings = replace(settings, pooling=cast(Pooling, change))
        elif equals and key == _FIRST:
            settings = replace(settings, reembed_first=int(_number(change, value, int)))
        elif equals and key in numbers:
            field, kind = numbers[key]
            number = _number(change, value, kind)
            settings = (_paper if paper else _coverage)(**{field: number})(settings)
        elif change in KNOWN or f"{key}=" in KNOWN:
            raise InvalidInput(f"{name!r}: {change!r} does not belong to the {settings.rule} rule.")
        else:
            raise InvalidInput(f"there is no system {name!r}: {change!r} is not one of {', '.join(KNOWN)}.")
    if settings.shortlist > DEPTH:
        raise InvalidInput(f"k must be at most {DEPTH}, the depth of the frozen shortlist.")
    return settings


def _number(change: str, value: str, kind: type[int] | type[float]) -> float:
    try:
        return kind(value)
    except ValueError:
        raise InvalidInput(f"{change!r} is not a {'whole ' if kind is int else ''}number.") from None


def _operating(collection: Collection, settings: Settings) -> Rank:
    """The product's own operator, with settings."""
    shipped = collection.operator
    adapter = (shipped.adapter or load_adapter(collection.backbone)) if settings.uses_adapter else None
    judge_ = Judge(collection.backbone, settings, adapter, shipped.cache)

    def rank(case: Case, topics: Sequence[Topic]) -> Ranking:
        if not topics:
            return frozen_ranking(case)
        shortlist = _first(case.shortlist, settings.shortlist)
        if settings.second_look and shipped.engine is not None:
            wanted = case.wanted(topics)
            shortlist = with_second_look(shortlist, shipped.engine, case.encoded, wanted, settings.shortlist)
        return judged_ranking(judge_(case.query.text, case.encoded, topics, shortlist, case.named(topics)), topics)

    return rank


def _intervening(name: str, intervention: str, settings: Settings) -> Rank:
    """The plain rule over what an intervention reads."""
    if replace(settings, constants=PLAIN) != _PLAIN or settings.shortlist != DEPTH:
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
    return Shortlist(shortlist.documents[:k], shortlist.vectors.taken(range(k)), shortlist.scores[:k])


def _frozen(case: Case, _: Sequence[Topic]) -> Ranking:
    return frozen_ranking(case)


def _bm25(case: Case, _: Sequence[Topic]) -> Ranking:
    found = case.collection.lexical.search(case.query.text, case.collection.depth)
    ranks = case.frozen_ranks
    return Ranking(tuple(Ranked(d.id, d.title, score, ranks.get(d.id)) for d, score in found))
