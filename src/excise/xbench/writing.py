"""Queries written by a language model: Stage A from a pair, Stage B from Stage A, then verify and repair.

:func:`plan_writing` is a pure function of the answers so far: it goes as far as they reach and leaves what is missing
on the desk. Called again with more answers it gets further, so an endpoint, a batch service and an interrupted run are
one case.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from excise.documents import Document
from excise.topics.locate import occurrences
from excise.xbench.answers import Desk, Malformed, Missing, json_object, text_of, truth_of
from excise.xbench.cues import STRICT_CUES, Tier, cue_problem, explicit_cues
from excise.xbench.prompts import CUES, STYLES, prompt
from excise.xbench.records import LENGTHS, Form, Length, MinedPair, Record
from excise.xbench.requests import Model, Request, ask_for
from excise.xbench.storage import XBenchError
from excise.xbench.texts import mentions, normalised, shortened

SHORT_WORDS, LONG_WORDS, LONG_LEAST = 30, 110, 30
_SLACK = 1.5  # how much longer than asked for an answer may be
_TOPIC_WORDS, _WANTED_WORDS = 12, 20
_LENGTH_RULES: dict[Length, str] = {
    "short": f"One sentence or less, at most {SHORT_WORDS} words.",
    "long": (
        f"Two to four sentences, {LONG_LEAST} to {LONG_WORDS} words, with a believable setting; what is ruled out "
        "stands in the middle, and more text follows it."
    ),
}


@dataclass(frozen=True)
class WritingSettings:
    """How queries are written.

    Parameters
    ----------
    writer
        the model that writes and repairs.
    verifier
        the model that re-reads each query before it is repaired; by default the writer. It admits nothing: the
        judge, another model, does that.
    lengths
        which lengths are written.
    tiers
        which tiers are written. T1 is always asked for: the others are made from it.
    disjunctive
        the share of compound queries that rule both topics out openly; the rest mix open and implicit.
    document_words
        how much of a document the model is shown.
    """

    writer: Model
    verifier: Model | None = None
    lengths: tuple[Length, ...] = LENGTHS
    tiers: tuple[Tier, ...] = ("T1", "T2", "T3")
    disjunctive: float = 0.5
    document_words: int = 300
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.lengths or not self.tiers:
            raise XBenchError("at least one length and one tier must be written.")
        if not 0.0 <= self.disjunctive <= 1.0:
            raise XBenchError(f"the share of disjunctive queries must be from 0 to 1, got {self.disjunctive:g}.")
        if not 20 <= self.document_words <= 5_000:
            raise XBenchError(f"a model is shown 20 to 5,000 words of a document, got {self.document_words}.")


@dataclass
class Written:
    """What the answers so far give: finished records, and how many were dropped, by (reason, tier)."""

    records: list[Record] = field(default_factory=list)
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)
    waiting: int = 0

    def dropped_by_reason(self) -> dict[str, dict[str, int]]:
        """How many were dropped: by reason, by tier."""
        nested: dict[str, dict[str, int]] = {}
        for (reason, tier), number in sorted(self.dropped.items()):
            nested.setdefault(reason, {})[tier] = number
        return nested


class Seed(NamedTuple):
    """What Stage A found in a pair."""

    wanted: str
    topic: str
    query: str


class Rewrite(NamedTuple):
    """A query and what it calls its topics."""

    query: str
    wordings: tuple[str, ...]


def plan_writing(
    pairs: Sequence[MinedPair], documents: Mapping[str, Document], desk: Desk, settings: WritingSettings
) -> Written:
    """Take every pair as far as the answers reach."""
    written = Written()
    for pair in pairs:
        _Author(pair, documents, desk, settings, written).write()
    return written


class _Author:
    """Writes all that one pair gives."""

    def __init__(
        self,
        pair: MinedPair,
        documents: Mapping[str, Document],
        desk: Desk,
        settings: WritingSettings,
        written: Written,
    ) -> None:
        self._pair, self._desk, self._settings, self._written = pair, desk, settings, written
        self._gold = documents[pair.gold].full_text
        self._negatives = [documents[id].full_text for id in pair.negatives]

    def write(self) -> None:
        base = self._ask_stage_a()
        second = self._ask_second_topic()
        if isinstance(base, Missing):
            self._lost(base, "malformed", "T1")
            return
        if mentions(self._gold, base.topic):
            # The gate for "Z not in the gold" would drop everything written from it: spare the requests.
            self._lost(Missing.UNUSABLE, "z_in_gold", "T1")
            return
        for draft in self._drafts(base, second):
            self._finish(draft)

    def _ask_stage_a(self) -> Seed | Missing:
        values = self._documents_shown(0) | self._variety("T1-short") | {"words": str(SHORT_WORDS)}
        return self._desk.ask(ask_for("t1", self._settings.writer, **values), read_seed)

    def _ask_second_topic(self) -> str | Missing | None:
        if len(self._negatives) < 2 or "T3" not in self._settings.tiers:
            return None
        return self._desk.ask(ask_for("topic", self._settings.writer, **self._documents_shown(1)), read_topic)

    def _drafts(self, base: Seed, second: str | Missing | None) -> Iterator[Record]:
        if "T1" in self._settings.tiers:
            yield from self._explicit(base)
        if "T2" in self._settings.tiers:
            for length in self._settings.lengths:
                values = {"cues": ", ".join(STRICT_CUES), "length_rule": _LENGTH_RULES[length]}
                yield from self._rewritten(base, "T2", "implicit", length, "t2", (base.topic,), values)
        if second is None:
            return
        if isinstance(second, Missing):
            self._lost(second, "malformed", "T3")
        elif mentions(self._gold, second):
            self._lost(Missing.UNUSABLE, "z_in_gold", "T3")
        elif normalised(second) == normalised(base.topic):
            self._lost(Missing.UNUSABLE, "same_topic_twice", "T3")
        else:
            for length in self._settings.lengths:
                form: Form = "disjunctive" if self._random(length).random() < self._settings.disjunctive else "mixed"
                values = {"second": second, "length_rule": _LENGTH_RULES[length]}
                yield from self._rewritten(base, "T3", form, length, f"t3_{form}", (base.topic, second), values)

    def _explicit(self, base: Seed) -> Iterator[Record]:
        topics = (base.topic,)
        if "short" in self._settings.lengths:
            yield self._record(base, "T1", "explicit", "short", Rewrite(base.query, topics), topics)
        if "long" in self._settings.lengths:
            values = {"least": str(LONG_LEAST), "words": str(LONG_WORDS)}
            yield from self._rewritten(base, "T1", "explicit", "long", "t1_long", topics, values)

    def _rewritten(
        self,
        base: Seed,
        tier: Tier,
        form: Form,
        length: Length,
        name: str,
        topics: tuple[str, ...],
        values: dict[str, str],
    ) -> Iterator[Record]:
        filled = {"query": base.query, "wanted": base.wanted, "topic": base.topic, **values}
        request = ask_for(name, self._settings.writer, **filled, **self._variety(f"{tier}-{length}"))
        answer = self._desk.ask(request, lambda content: read_rewrite(content, name, length, topics))
        if isinstance(answer, Missing):
            self._lost(answer, "malformed", tier)
        else:
            yield self._record(base, tier, form, length, answer, topics)

    def _record(
        self, base: Seed, tier: Tier, form: Form, length: Length, text: Rewrite, topics: tuple[str, ...]
    ) -> Record:
        return Record(
            id=f"{self._pair.id}-{tier}-{length}",
            pair=self._pair.id,
            tier=tier,
            form=form,
            length=length,
            query=text.query,
            wanted=base.wanted,
            topics=topics,
            wordings=text.wordings,
            gold=self._pair.gold,
            negatives=self._pair.negatives[: len(topics)],
        )

    def _finish(self, draft: Record) -> None:
        """Verify, and repair what can be repaired: an implicit query cannot, a cue would change its tier."""
        if draft.tier == "T2":
            reason = "cue_in_implicit" if cue_problem("T2", draft.query) else None
            reason = reason or (None if names_topic(draft.query, draft.wordings[0]) else "topic_not_named")
            if reason:
                self._lost(Missing.UNUSABLE, reason, "T2")
                return
        verified = [self._verify(draft, place) for place in range(len(draft.topics))]
        if any(answer is Missing.PENDING for answer in verified):
            self._written.waiting += 1
            return
        lost = [topic for topic, answer in zip(draft.topics, verified, strict=True) if answer is not True]
        if not lost and not cue_problem(draft.tier, draft.query):
            self._written.records.append(draft)
        elif draft.tier == "T2":
            self._lost(Missing.UNUSABLE, "exclusion_lost", "T2")
        else:
            self._repair(draft, lost or [draft.topics[0]])

    def _verify(self, draft: Record, place: int) -> bool | Missing:
        """Whether a query still rules a topic out, read by itself."""
        wording = draft.wordings[place]
        if not names_topic(draft.query, wording):
            return False
        model = self._settings.verifier or replace(self._settings.writer, temperature=0.0)
        return self._desk.ask(query_question(model, draft.query, wording), read_excludes)

    def _repair(self, draft: Record, lost: Sequence[str]) -> None:
        request = ask_for(
            "repair",
            self._settings.writer,
            query=draft.query,
            wanted=draft.wanted,
            topics="; ".join(draft.topics),
            missing="; ".join(lost),
        )
        answer = self._desk.ask(request, read_query)
        if isinstance(answer, Missing):
            self._lost(answer, "malformed", draft.tier)
            return
        wordings = tuple(
            topic if topic in lost else wording for topic, wording in zip(draft.topics, draft.wordings, strict=True)
        )
        if explicit_cues(answer) and all(names_topic(answer, wording) for wording in wordings):
            self._written.records.append(replace(draft, query=answer, wordings=wordings, repaired=True))
        else:
            self._lost(Missing.UNUSABLE, "repair_failed", draft.tier)

    def _lost(self, why: Missing, reason: str, tier: str) -> None:
        if why is Missing.PENDING:
            self._written.waiting += 1
        else:
            self._written.dropped[reason, tier] += 1

    def _documents_shown(self, place: int) -> dict[str, str]:
        words = self._settings.document_words
        return {"gold": shortened(self._gold, words), "negative": shortened(self._negatives[place], words)}

    def _random(self, what: str) -> random.Random:
        """Random choices that depend on the documents, so that mining anew does not change what was asked."""
        return random.Random(f"{self._settings.seed}|{self._pair.gold}|{'|'.join(self._pair.negatives)}|{what}")

    def _variety(self, what: str) -> dict[str, str]:
        chance = self._random(what)
        return {"style": chance.choice(STYLES), "cue": chance.choice(CUES)}


def names_topic(query: str, wording: str) -> bool:
    """Whether a query has a topic's words in it, as whole words, letter for letter but for case.

    Examples
    --------
    >>> names_topic("cars, not the Model Y", "model y"), names_topic("cars, not the Model 3", "model y")
    (True, False)
    """
    return bool(occurrences(query, wording))


def query_question(model: Model, query: str, topic: str) -> Request:
    """The query-side judge's question."""
    return ask_for("judge_query", model, query=query, topic=topic)


def read_excludes(content: str) -> bool:
    return truth_of(json_object(content, prompt("judge_query").keys), "excludes")


def read_seed(content: str) -> Seed:
    """Stage A's answer.

    Examples
    --------
    >>> read_seed('{"x": "electric cars", "z": "Tesla", "query": "electric cars, not Tesla"}').topic
    'Tesla'
    """
    found = json_object(content, prompt("t1").keys)
    query = _bounded(text_of(found, "query", 1_000), "short")
    return Seed(text_of(found, "x", _WANTED_WORDS), text_of(found, "z", _TOPIC_WORDS), query)


def read_topic(content: str) -> str:
    return text_of(json_object(content, prompt("topic").keys), "z", _TOPIC_WORDS)


def read_query(content: str) -> str:
    return text_of(json_object(content, prompt("repair").keys), "query", int(_SLACK * LONG_WORDS))


def read_rewrite(content: str, name: str, length: Length, topics: tuple[str, ...]) -> Rewrite:
    """Stage B's answer: the query, and the words in it that name each topic."""
    found = json_object(content, prompt(name).keys)
    query = _bounded(text_of(found, "query", 1_000), length)
    if "z_surface" in found:
        return Rewrite(query, (text_of(found, "z_surface", _TOPIC_WORDS),))
    if "z" in found:
        names = found["z"]
        if not isinstance(names, list) or len(names) != len(topics):
            raise Malformed(f"z is not a list of {len(topics)} texts")
        return Rewrite(query, tuple(text_of({"z": item}, "z", _TOPIC_WORDS) for item in names))
    return Rewrite(query, topics)


def _bounded(query: str, length: Length) -> str:
    words = len(query.split())
    most = int(_SLACK * (SHORT_WORDS if length == "short" else LONG_WORDS))
    least = int(LONG_LEAST / _SLACK) if length == "long" else 2
    if not least <= words <= most:
        raise Malformed(f"query has {words} words, and {least} to {most} are taken")
    return query
