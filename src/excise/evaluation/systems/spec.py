"""Systems by name: what can be asked for in ``excise eval --systems``, and what a name stands for.

========================  =============================================================================================
frozen, bm25              the frozen index as it is; BM25 as a first stage of its own
excise                    the shipped operator
cautious                  the same, removing only what is all but certain to cover the topic
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
-lead, -asked             the coverage rule where a lead, or a title that the query names, saves no candidate
caution= doubt= certain=  the probabilities of the coverage rule: to remove; what the likeliest must have for any to be
                          demoted; to remove one of the ten best answers, or what leads
asked= lead=              to remove in spite of a named title; the lead that saves
odds= match=              how far behind the likeliest, and the best match, a candidate may be demoted
whole=, words=, means=    the share of the whole query in the ranking; of the words of the rest of it; of mean vectors
one-reading               rank by the backbone's reading of the query alone, without the adapter's
reembed, first=           re-embed with the adapter; only so many candidates (``full+first=25``)
second-look               judge the union with a search for the query less its topics
query-only=FOLDER         the frozen index searched with the query vectors of an adapter, nothing ruled out
reindexed=FOLDER          the same documents indexed anew by a fine-tuned encoder, nothing ruled out
bm25-z ... z-conditional  the nine interventions of :mod:`excise.evaluation.systems.interventions`, with the plain rule
bm25-not, dense= ...      systems of others: :mod:`excise.evaluation.systems.external_spec`
========================  =============================================================================================

Names compose with ``+``: ``paper+max+phi=0.8``; the first may be a base or an intervention, the others change it. Where
the base is left out it is ``excise`` for a change that the coverage rule knows, and ``paper`` for the others.
``:oracle`` at the end takes the topics from the suite's record; ``:detector``, or nothing, from the detector. Where
there is no topic every system that takes topics returns the frozen ranking (``bm25-not`` that of BM25).

A line of names has commas between. A folder with a comma in its name stands in double quotes there, and so does one
that ends in ``:oracle``: ``frozen,query-only="/runs/a,b:c"``. A list of names is taken as it is, and never split.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from excise.errors import InvalidInput
from excise.evaluation.systems.external_spec import (
    BEST_SCORE,
    FEEDBACK_NAMES,
    MODEL_KINDS,
    WEIGHT,
    FeedbackWay,
    ForeignModel,
    parse_feedback,
    parse_model,
)
from excise.rules.paper import Constants
from excise.settings import PAPER_RULE, PRESETS, Rule, Settings
from excise.vectors.maxsim import POOLINGS, Pooling

DEPTH = 100  # how many candidates of the frozen index every system sees
PLAIN = Constants(relative_cut=False, removal=False)

TopicSource = Literal["oracle", "detector"]
FirstStageName = Literal["frozen", "bm25"]
ControlName = Literal["query-only", "reindexed"]
InterventionName = Literal[
    "bm25-z",
    "positional-a",
    "positional-b",
    "contrastive",
    "subspace",
    "centroid",
    "drop",
    "gate",
    "z-conditional",
]


@dataclass(frozen=True)
class FirstStage:
    """A first stage alone."""

    name: FirstStageName


@dataclass(frozen=True)
class Operating:
    """The product's own operator, with settings."""

    settings: Settings


@dataclass(frozen=True)
class Intervening:
    """The plain rule over what an intervention reads."""

    intervention: InterventionName
    constants: Constants


@dataclass(frozen=True)
class Trained:
    """A fine-tuned control, and the folder that it was saved to."""

    control: ControlName
    folder: Path


@dataclass(frozen=True)
class SystemSpec:
    """A system as it was asked for.

    Attributes
    ----------
    name
        the name as it was given: what outcomes are filed under.
    source
        where its topics come from; None where it takes none.
    way
        how it ranks.
    """

    name: str
    source: TopicSource | None
    way: FirstStage | Operating | Intervening | Trained | FeedbackWay | ForeignModel


Change = Callable[[Settings], Settings]
Number = tuple[str, type[int] | type[float]]


def _paper(**constants: Any) -> Change:
    """A change of the paper's constants."""
    return lambda settings: replace(settings, constants=replace(settings.constants, **constants))


def _coverage(**constants: Any) -> Change:
    """A change of the coverage rule's constants."""
    return lambda settings: replace(settings, coverage=replace(settings.coverage, **constants))


_PLAIN_RULE = replace(PAPER_RULE, constants=PLAIN)
_CUT = replace(PAPER_RULE, constants=replace(PAPER_RULE.constants, removal=False))
_BASES = {
    "cautious": PRESETS["cautious"],
    "paper": PAPER_RULE,
    "demote": _PLAIN_RULE,
    "soft": replace(_PLAIN_RULE, reembed=True),
    "cut": replace(_CUT, reembed=True),
    "full": replace(PAPER_RULE, reembed=True),
}
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
    "-lead": _coverage(margin=float("inf")),
    "-asked": _coverage(asked=0.0),
}
_CHANGES: dict[str, Change] = {
    "mask-z": lambda settings: replace(settings, scoring="masked"),
    "reembed": lambda settings: replace(settings, reembed=True),
    "one-reading": lambda settings: replace(settings, adapter_fusion=False),
    "second-look": lambda settings: replace(settings, second_look=True),
}
_PAPER_NUMBERS: dict[str, Number] = {
    "phi": ("removal_fraction", float),
    "kappa": ("anomaly_width", float),
    "lambda": ("penalty_scale", float),
    "tau": ("evidence_floor", float),
    "cap": ("removal_cap", int),
    "k": ("shortlist", int),
}
_COVERAGE_NUMBERS: dict[str, Number] = {
    "caution": ("caution", float),
    "doubt": ("doubt", float),
    "certain": ("certain", float),
    "asked": ("asked", float),
    "lead": ("margin", float),
    "odds": ("odds_fraction", float),
    "match": ("match_share", float),
    "k": ("shortlist", int),
}
_OF_RULE: dict[Rule, tuple[dict[str, Change], dict[str, Number], Callable[..., Change]]] = {
    "paper": (_PAPER_CHANGES, _PAPER_NUMBERS, _paper),
    "coverage": (_COVERAGE_CHANGES, _COVERAGE_NUMBERS, _coverage),
}
_FIRST = "first"
_SHARES = {"whole": "whole_query", "words": "word_share", "means": "mean_share"}  # of what the coverage rule ranks by
_POOLINGS = tuple(pooling for pooling in POOLINGS if pooling != "mean")
FIRST_STAGES: tuple[FirstStageName, ...] = get_args(FirstStageName)
CONTROL_NAMES: tuple[ControlName, ...] = get_args(ControlName)
INTERVENTION_NAMES: tuple[InterventionName, ...] = get_args(InterventionName)
KNOWN = (
    *FIRST_STAGES,
    *(f"{control}=" for control in CONTROL_NAMES),
    "excise",
    *_BASES,
    *_PAPER_CHANGES,
    *_COVERAGE_CHANGES,
    *_CHANGES,
    *_POOLINGS,
    *(f"{name}=" for name in {**_PAPER_NUMBERS, **_COVERAGE_NUMBERS, **_SHARES, _FIRST: None}),
    *FEEDBACK_NAMES,
    BEST_SCORE,
    f"{WEIGHT}=",
    *(f"{kind}=" for kind in MODEL_KINDS),
    *INTERVENTION_NAMES,
)


def parse_system(name: str, shipped: Settings | None = None) -> SystemSpec:
    """What a name stands for. Nothing is loaded.

    Parameters
    ----------
    name
        one name, as the module describes them.
    shipped
        the settings that ``excise`` stands for; the default ones where none are given.

    Examples
    --------
    >>> spec = parse_system("max+phi=0.8:oracle")
    >>> spec.source, spec.way.settings.pooling, spec.way.settings.constants.removal_fraction
    ('oracle', 'max', 0.8)
    >>> parse_system("query-only=/runs/a:b,c/dir").way.folder.as_posix()
    '/runs/a:b,c/dir'
    >>> parse_system("phi=high")
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: 'phi=high' is not a number.
    """
    stem, source = _without_source(name)
    control, equals, folder = stem.partition("=")
    if equals and control in CONTROL_NAMES:
        return SystemSpec(name, None, Trained(control, _folder(name, folder)))
    foreign = parse_model(name, stem)
    if foreign is not None:
        return SystemSpec(name, None, foreign)
    if ":" in stem:
        suffix = stem[stem.index(":") :]
        raise InvalidInput(f"{name!r}: topics come from ':oracle' or ':detector', not from {suffix!r}.")
    if stem in FIRST_STAGES:
        return SystemSpec(name, None, FirstStage(stem))
    first, *changes = stem.split("+")
    feedback = parse_feedback(name, first, changes)
    if feedback is not None:
        return SystemSpec(name, source, feedback)
    if first in INTERVENTION_NAMES:
        settings = _changed(name, _PLAIN_RULE, changes)
        if replace(settings, constants=PLAIN) != _PLAIN_RULE or settings.shortlist != DEPTH:
            raise InvalidInput(
                f"{name!r}: an intervention has its own evidence and scores; only constants can be changed."
            )
        return SystemSpec(name, source, Intervening(first, settings.constants))
    return SystemSpec(name, source, Operating(_changed(name, *_based(shipped or Settings(), first, changes))))


def parse_systems(names: str | Sequence[str], shipped: Settings | None = None) -> list[SystemSpec]:
    """What several names stand for; a name that comes twice counts once.

    Examples
    --------
    >>> [spec.name for spec in parse_systems("frozen, paper:oracle, frozen")]
    ['frozen', 'paper:oracle']
    """
    unique = list(dict.fromkeys(split_names(names)))
    if not unique:
        raise InvalidInput(f"name at least one system; there are {', '.join(KNOWN)}.")
    return [parse_system(name, shipped) for name in unique]


def split_names(names: str | Sequence[str]) -> list[str]:
    """The names of a line with commas between, save those inside of double quotes; a list is not split.

    Examples
    --------
    >>> split_names('frozen, query-only="/runs/a,b:c"')
    ['frozen', 'query-only="/runs/a,b:c"']
    >>> split_names(["frozen", "query-only=/runs/a,b:c"])
    ['frozen', 'query-only=/runs/a,b:c']
    """
    if isinstance(names, str):
        if names.count('"') % 2:
            raise InvalidInput(f"a double quote is not closed in {names!r}.")
        names = re.findall(r'(?:"[^"]*"|[^,"])+', names)
    return [name.strip() for name in names if name.strip()]


def _without_source(name: str) -> tuple[str, TopicSource]:
    for source in get_args(TopicSource):
        if name.endswith(f":{source}"):
            return name.removesuffix(f":{source}"), source
    return name, "detector"


def _folder(name: str, text: str) -> Path:
    quoted = len(text) > 1 and text.startswith('"') and text.endswith('"')
    folder = text[1:-1] if quoted else text
    if not folder:
        raise InvalidInput(f"{name!r} names no folder: it takes that of a trained control.")
    return Path(folder)


def _based(shipped: Settings, first: str, changes: list[str]) -> tuple[Settings, list[str]]:
    """The settings to start from, and the changes that are left to make."""
    if first in _BASES:
        return _BASES[first], changes
    if first == "excise":
        return shipped, changes
    number = first.partition("=")[0]
    coverage_only = first in _COVERAGE_CHANGES or number in {*_COVERAGE_NUMBERS.keys() - _PAPER_NUMBERS, *_SHARES}
    shared = first in ("reembed", "one-reading", "second-look")
    return shipped if coverage_only or shared else PAPER_RULE, [first, *changes]


def _changed(name: str, settings: Settings, changes: Sequence[str]) -> Settings:
    own, numbers, changed = _OF_RULE[settings.rule]
    named = {**_CHANGES, **own}
    for change in changes:
        key, equals, value = change.partition("=")
        if change in named:
            settings = named[change](settings)
        elif change in _POOLINGS:
            settings = replace(settings, pooling=cast(Pooling, change))
        elif equals and key == _FIRST:
            settings = replace(settings, reembed_first=int(_number(change, value, int)))
        elif equals and key in _SHARES and settings.rule == "coverage":
            share: dict[str, Any] = {_SHARES[key]: _number(change, value, float)}
            settings = replace(settings, **share)
        elif equals and key in numbers:
            field, kind = numbers[key]
            number = _number(change, value, kind)
            settings = changed(**{field: number})(settings)
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
