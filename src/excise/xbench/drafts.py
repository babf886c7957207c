"""What is to be written from a pair, and what can be said against a written query without asking a model."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from excise.xbench.answers import Malformed, json_object, text_of
from excise.xbench.cues import FORBIDDEN_IN_IMPLICIT, Tier, cue_problem
from excise.xbench.prompts import CUES, STYLES, prompt
from excise.xbench.readings import Reading, names_topic
from excise.xbench.records import Form, Length, MinedPair

SHORT_WORDS, LONG_WORDS, LONG_LEAST = 30, 110, 30
SLACK = 1.5  # how much longer than asked for an answer may be
TOPIC_WORDS, WANTED_WORDS = 12, 20
_LENGTH_RULES: dict[Length, str] = {
    "short": f"One sentence or less, at most {SHORT_WORDS} words.",
    "long": (
        f"Two to four sentences, {LONG_LEAST} to {LONG_WORDS} words, with a believable reason or setting; what is "
        "ruled out stands in the middle, and more text follows it."
    ),
}


class Seed(NamedTuple):
    """What Stage A found in a pair; ``second`` is the topic of its second negative, empty where there is none."""

    wanted: str
    topic: str
    query: str
    second: str = ""


class Hopeless(NamedTuple):
    """Stage A's answer to a pair that gives no query."""

    why: str


class Problem(NamedTuple):
    """What is wrong with a query: a reason code, and a sentence for whoever repairs it."""

    reason: str
    sentence: str


@dataclass(frozen=True)
class QueryTask:
    """One query that is to be written: its place in the benchmark, its topics, and the words of the task."""

    tier: Tier
    form: Form
    length: Length
    topics: tuple[str, ...]
    words: str

    @property
    def kind(self) -> str:
        return f"{self.tier}-{self.length}"


class Rewrite(NamedTuple):
    """A query and what it calls its topics."""

    query: str
    wordings: tuple[str, ...]


def variety(seed: int, pair: MinedPair, tier: Tier, length: Length) -> dict[str, str]:
    """Who asks, and with which cue: drawn for each query, so that phrasing varies.

    It depends on the documents alone, so that mining anew does not change what was asked.
    """
    chance = drawn(seed, pair, f"{tier}-{length}")
    return {"style": chance.choice(STYLES[length]), "cue": chance.choice(CUES)}


def drawn(seed: int, pair: MinedPair, what: str) -> random.Random:
    """Random choices for one thing that is written from a pair."""
    return random.Random(f"{seed}|{pair.gold}|{'|'.join(pair.negatives)}|{what}")


def tasks_of(
    pair: MinedPair,
    found: Seed,
    tiers: Sequence[Tier],
    lengths: Sequence[Length],
    disjunctive: float,
    seed: int,
) -> Iterator[QueryTask]:
    """What Stage B writes from a pair: all but the short T1, which Stage A wrote."""
    for tier in tiers:
        for length in lengths:
            if (tier, length) == ("T1", "short") or (tier == "T3" and not found.second):
                continue
            form: Form = {"T1": "explicit", "T2": "implicit"}.get(tier, "mixed")  # type: ignore[assignment]
            if tier == "T3" and drawn(seed, pair, length).random() < disjunctive:
                form = "disjunctive"
            topics = (found.topic, found.second) if tier == "T3" else (found.topic,)
            words = _words_of(form, length, found, variety(seed, pair, tier, length))
            yield QueryTask(tier, form, length, topics, words)


def first_task(pair: MinedPair, found: Seed, seed: int) -> QueryTask:
    """The task that Stage A's own query fulfils, for whoever has to repair it."""
    words = _words_of("explicit", "short", found, variety(seed, pair, "T1", "short"))
    return QueryTask("T1", "explicit", "short", (found.topic,), words)


def _words_of(form: Form, length: Length, found: Seed, who: dict[str, str]) -> str:
    cues = ", ".join(FORBIDDEN_IN_IMPLICIT)
    values = {"first": found.topic, "second": found.second, "cues": cues, "length_rule": _LENGTH_RULES[length]}
    return prompt(f"task_{form}").filled_in(**values, **who)


def problem_of(task: QueryTask, text: Rewrite) -> Problem | None:
    """What can be said against a query without reading it.

    Examples
    --------
    >>> task = QueryTask("T2", "implicit", "short", ("rye",), "")
    >>> problem_of(task, Rewrite("bread for somebody who never liked rye", ("rye",)))
    Problem(reason='cue_in_implicit', sentence='an implicit query must have no cue, and has: never')
    >>> problem_of(task, Rewrite("bread, now that I have baked rye for years", ("rye",)))
    """
    for wording in text.wordings:
        if not names_topic(text.query, wording):
            return Problem("topic_not_named", f"the words {wording!r} do not stand in it")
    words, (least, most) = len(text.query.split()), _bounds(task.length)
    if not least <= words <= most:
        return Problem("wrong_length", f"it has {words} words, and {least} to {most} are taken")
    against = cue_problem(task.tier, text.query)
    return Problem("cue_in_implicit" if task.tier == "T2" else "exclusion_lost", against) if against else None


def problem_with_reading(tier: Tier, wordings: Sequence[str], readings: Sequence[Reading]) -> Problem | None:
    """What a reader has against a query.

    Examples
    --------
    >>> problem_with_reading("T2", ["rye"], ["openly"]).reason
    'cue_in_implicit'
    >>> problem_with_reading("T3", ["rye", "oats"], ["openly", "no"]).sentence
    "a reader does not see 'oats' ruled out"
    >>> problem_with_reading("T3", ["rye", "oats"], ["openly", "implied"])
    """
    for wording, reading in zip(wordings, readings, strict=True):
        if reading == "no":
            return Problem("exclusion_lost", f"a reader does not see {wording!r} ruled out")
        if reading == "unsure":
            return Problem("unsure", f"a reader is not sure whether {wording!r} is ruled out")
    if tier == "T2" and "openly" in readings:
        return Problem("cue_in_implicit", "it rules the topic out openly, and must only imply it")
    if tier != "T2" and "openly" not in readings:
        return Problem("exclusion_lost", "nothing is ruled out openly")
    return None


def truthful_form(form: Form, readings: Sequence[Reading]) -> Form:
    """The form of a compound query as it is read, whatever it was meant to be.

    Examples
    --------
    >>> truthful_form("mixed", ["openly", "openly"]), truthful_form("explicit", ["openly"])
    ('disjunctive', 'explicit')
    """
    if len(readings) < 2:
        return form
    return "disjunctive" if set(readings) == {"openly"} else "mixed"


def read_seed(content: str) -> Seed | Hopeless:
    """Stage A's answer: the topic must stand in the query letter for letter, and a cue with it.

    Examples
    --------
    >>> read_seed('{"x": "electric cars", "z": "Tesla", "query": "electric cars, not Tesla"}').topic
    'Tesla'
    >>> read_seed('{"hopeless": "the texts are the same"}')
    Hopeless(why='the texts are the same')
    """
    keys = prompt("t1").keys
    given_up = '"hopeless"' in content
    found = json_object(content, keys, keys[:4] if given_up else ("second", "hopeless"))
    if str(found.get("hopeless") or "").strip():
        return Hopeless(" ".join(str(found["hopeless"]).split())[:200])
    found = json_object(content, keys, ("second", "hopeless"))
    query = _bounded(text_of(found, "query", 1_000))
    topic, second = text_of(found, "z", TOPIC_WORDS), str(found.get("second") or "").strip()
    if second:
        second = text_of(found, "second", TOPIC_WORDS)
    if not names_topic(query, topic):
        raise Malformed("z does not stand in the query letter for letter")
    against = cue_problem("T1", query)
    if against:
        raise Malformed(against)
    return Seed(text_of(found, "x", WANTED_WORDS), topic, query, second)


def read_rewrites(content: str, tasks: Sequence[QueryTask]) -> list[Rewrite]:
    """Stage B's answer: one query a task, with the words in it that name each topic."""
    found = json_object(content, prompt("rewrite").keys)["queries"]
    if not isinstance(found, list) or len(found) != len(tasks):
        raise Malformed(f"queries is not a list of {len(tasks)}")
    for item in found:
        if not isinstance(item, dict) or set(item) != {"query", "z"}:
            raise Malformed("a query is not an object with query and z")
    return [_rewrite(item, task) for item, task in zip(found, tasks, strict=True)]


def read_repair(content: str, task: QueryTask) -> Rewrite:
    """A repaired query."""
    return _rewrite(json_object(content, prompt("repair").keys), task)


def _rewrite(found: dict[str, object], task: QueryTask) -> Rewrite:
    names = found["z"]
    if not isinstance(names, list) or len(names) != len(task.topics):
        raise Malformed(f"z is not a list of {len(task.topics)} texts")
    wordings = tuple(text_of({"z": item}, "z", TOPIC_WORDS) for item in names)
    # An explicit query has the topic letter for letter: whatever it says of itself, that is what is looked for.
    return Rewrite(text_of(found, "query", 1_000), task.topics if task.tier == "T1" else wordings)


def _bounded(query: str) -> str:
    words, (least, most) = len(query.split()), _bounds("short")
    if not least <= words <= most:
        raise Malformed(f"query has {words} words, and {least} to {most} are taken")
    return query


def _bounds(length: Length) -> tuple[int, int]:
    if length == "short":
        return 2, int(SLACK * SHORT_WORDS)
    return int(LONG_LEAST / SLACK), int(SLACK * LONG_WORDS)
