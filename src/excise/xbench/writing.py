"""Queries written by a language model: Stage A from a pair, Stage B from Stage A, then a reading, and one repair.

:func:`plan_writing` is a pure function of the answers so far: it goes as far as they reach and leaves what is missing
on the desk. Called again with more answers it gets further, so an endpoint, a batch service and an interrupted run are
one case. Queries are read several at a time, so readings wait until everything that is read is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from excise.documents import Document
from excise.xbench.answers import Desk, Missing
from excise.xbench.cues import Tier
from excise.xbench.drafts import (
    SHORT_WORDS,
    Hopeless,
    Problem,
    QueryTask,
    Rewrite,
    Seed,
    first_task,
    problem_of,
    problem_with_reading,
    read_repair,
    read_rewrites,
    read_seed,
    tasks_of,
    truthful_form,
    variety,
)
from excise.xbench.readings import Asked, Reading, ask_readings, passes_cue_test
from excise.xbench.records import LENGTHS, Length, MinedPair, Record
from excise.xbench.requests import Model, ask_for
from excise.xbench.shown import shown_text
from excise.xbench.storage import XBenchError
from excise.xbench.texts import mentions, normalised

MAX_TOGETHER = 50
_NO_SECOND = "leave it empty."
_SECOND = (
    "the same for the second unwanted document: in at most six words and in its own words, something that it deals "
    "with and that neither the wanted document nor the first unwanted one touches. It differs from z, z does not cover "
    "it, and it is narrower than x. Where there is no such thing, leave it empty."
)


@dataclass(frozen=True)
class WritingSettings:
    """How queries are written.

    Parameters
    ----------
    writer
        the model that writes and repairs.
    verifier
        the model that reads each query before it is repaired; by default the writer. It admits nothing: the
        judge, another model, does that.
    lengths
        which lengths are written.
    tiers
        which tiers are written. T1 is always asked for: the others are made from it.
    disjunctive
        the share of compound queries that rule both topics out openly; the rest mix open and implicit.
    document_words
        a document of so many words is shown whole, and of a longer one so many.
    together
        how many queries are read in one request.
    """

    writer: Model
    verifier: Model | None = None
    lengths: tuple[Length, ...] = LENGTHS
    tiers: tuple[Tier, ...] = ("T1", "T2", "T3")
    disjunctive: float = 0.5
    document_words: int = 1_500
    seed: int = 0
    together: int = 8

    def __post_init__(self) -> None:
        if not self.lengths or not self.tiers:
            raise XBenchError("at least one length and one tier must be written.")
        if not 0.0 <= self.disjunctive <= 1.0:
            raise XBenchError(f"the share of disjunctive queries must be from 0 to 1, got {self.disjunctive:g}.")
        check_request_size(self.document_words, self.together)

    @property
    def reader(self) -> Model:
        return self.verifier or replace(self.writer, temperature=0.0)


def check_request_size(document_words: int, together: int) -> None:
    """Refuse requests of a size that no model takes."""
    if not 20 <= document_words <= 20_000:
        raise XBenchError(f"a model is shown 20 to 20,000 words of a document, got {document_words}.")
    if not 1 <= together <= MAX_TOGETHER:
        raise XBenchError(f"1 to {MAX_TOGETHER} queries are read in one request, got {together}.")


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


class Screened(NamedTuple):
    """Why a gate would drop whatever is written from a pair, and from its second negative; None: it would not."""

    pair: str | None = None
    second: str | None = None


Screen = Callable[[MinedPair, Seed], Screened]
"""What needs no model is looked at before anything more is asked: see :mod:`excise.xbench.screening`."""


def _let_through(_pair: MinedPair, _seed: Seed) -> Screened:
    return Screened()


@dataclass(frozen=True)
class _Draft:
    """A query as it was written, with what is known against it."""

    pair: MinedPair
    seed: Seed
    task: QueryTask
    text: Rewrite
    repaired: bool = False

    @property
    def id(self) -> str:
        return f"{self.pair.id}-{self.task.kind}"

    @property
    def by_cues(self) -> tuple[Reading, ...] | None:
        """An explicit query whose cue stands right before its topic needs no reader."""
        return ("openly",) if self.task.tier == "T1" and passes_cue_test(self.text.query, self.seed.topic) else None

    def record(self, readings: Sequence[Reading]) -> Record:
        return Record(
            id=self.id,
            pair=self.pair.id,
            tier=self.task.tier,
            form=truthful_form(self.task.form, readings),
            length=self.task.length,
            query=self.text.query,
            wanted=self.seed.wanted,
            topics=self.task.topics,
            wordings=self.text.wordings,
            gold=self.pair.gold,
            negatives=self.pair.negatives[: len(self.task.topics)],
            repaired=self.repaired,
        )


def plan_writing(
    pairs: Sequence[MinedPair],
    documents: Mapping[str, Document],
    desk: Desk,
    settings: WritingSettings,
    screen: Screen = _let_through,
) -> Written:
    """Take every pair as far as the answers reach.

    Parameters
    ----------
    screen
        says which pairs would come to nothing: nothing is rewritten from these.
    """
    return _Author(documents, desk, settings, screen).write(pairs)


class _Author:
    """Writes all that the pairs give, stage by stage."""

    def __init__(
        self, documents: Mapping[str, Document], desk: Desk, settings: WritingSettings, screen: Screen
    ) -> None:
        self._documents, self._desk, self._settings, self._screen = documents, desk, settings, screen
        self._written = Written()

    def write(self, pairs: Sequence[MinedPair]) -> Written:
        seeds = [(pair, seed) for pair in pairs if (seed := self._seed(pair)) is not None]
        drafts = [draft for pair, seed in seeds for draft in self._drafts(pair, seed)]
        order = {draft.id: place for place, draft in enumerate(drafts)}
        if self._desk.pending:  # what is read together must all be there
            self._written.waiting += len(drafts)
            return self._written
        failed = list(self._settled(drafts))
        repaired = [draft for one, problem in failed if (draft := self._repair(one, problem)) is not None]
        if self._desk.pending:
            self._written.waiting += len(repaired)
        else:
            for one, problem in self._settled(repaired):
                self._written.dropped[problem.reason, one.task.tier] += 1
        self._written.records.sort(key=lambda record: order[record.id])
        return self._written

    def _seed(self, pair: MinedPair) -> Seed | None:
        """Stage A; None where it has no answer yet, or one that gives nothing."""
        answer = self._desk.ask(ask_for("t1", self._settings.writer, **self._shown(pair)), read_seed)
        if isinstance(answer, Missing):
            self._lost(answer, "malformed", "T1")
            return None
        reason = "hopeless" if isinstance(answer, Hopeless) else self._against_first(pair, answer)
        if isinstance(answer, Hopeless) or reason is not None:
            self._written.dropped[str(reason), "T1"] += 1
            return None
        return self._with_second(pair, answer)

    def _against_first(self, pair: MinedPair, seed: Seed) -> str | None:
        """The gates would drop everything written from such a pair: spare the requests."""
        if mentions(self._documents[pair.gold].full_text, seed.topic):
            return "z_in_gold"
        return self._screen(pair, seed).pair

    def _with_second(self, pair: MinedPair, seed: Seed) -> Seed:
        """The seed, without its second topic where nothing could come of it."""
        if "T3" not in self._settings.tiers or len(pair.negatives) < 2:
            return seed._replace(second="")
        reason = self._screen(pair, seed).second if seed.second else "no_second_topic"
        reason = reason or self._against_second(pair, seed)
        if reason is None:
            return seed
        self._written.dropped[reason, "T3"] += 1
        return seed._replace(second="")

    def _against_second(self, pair: MinedPair, seed: Seed) -> str | None:
        gold, first, other = (self._documents[id].full_text for id in (pair.gold, *pair.negatives[:2]))
        if mentions(gold, seed.second):
            return "z_in_gold"
        if normalised(seed.second) == normalised(seed.topic):
            return "same_topic_twice"
        return "topics_pooled" if mentions(first, seed.second) or mentions(other, seed.topic) else None

    def _drafts(self, pair: MinedPair, seed: Seed) -> Iterator[_Draft]:
        """Stage A's own query, and all that Stage B makes of it, in one request."""
        settings = self._settings
        if "T1" in settings.tiers and "short" in settings.lengths:
            own = first_task(pair, seed, settings.seed)
            yield _Draft(pair, seed, own, Rewrite(seed.query, own.topics))
        tasks = list(tasks_of(pair, seed, settings.tiers, settings.lengths, settings.disjunctive, settings.seed))
        if not tasks:
            return
        request = ask_for(
            "rewrite",
            settings.writer,
            query=seed.query,
            wanted=seed.wanted,
            topics=_listed_topics(seed),
            number=str(len(tasks)),
            tasks="\n\n".join(f"Task {number}. {task.words}" for number, task in enumerate(tasks, 1)),
        )
        answer = self._desk.ask(request, partial(read_rewrites, tasks=tasks))
        if isinstance(answer, Missing):
            for task in tasks:
                self._lost(answer, "malformed", task.tier)
            return
        for task, text in zip(tasks, answer, strict=True):
            yield _Draft(pair, seed, task, text)

    def _settled(self, drafts: Iterable[_Draft]) -> Iterator[tuple[_Draft, Problem]]:
        """Keep the drafts that nothing can be said against; gives the others, with what it is."""
        to_read: dict[str, Asked] = {}
        listed = list(drafts)
        for draft in listed:
            if problem_of(draft.task, draft.text) is None and draft.by_cues is None:
                kind = "repaired" if draft.repaired else draft.task.kind
                to_read[draft.id] = Asked(kind, draft.text.query, draft.text.wordings)
        found = ask_readings(self._desk, self._settings.reader, to_read, self._settings.together)
        for draft in listed:
            problem = problem_of(draft.task, draft.text)
            readings = draft.by_cues or found.get(draft.id, ())
            if isinstance(readings, Missing):
                self._lost(readings, "malformed", draft.task.tier)
                continue
            problem = problem or problem_with_reading(draft.task.tier, draft.text.wordings, readings)
            if problem is None:
                self._written.records.append(draft.record(readings))
            else:
                yield draft, problem

    def _repair(self, draft: _Draft, problem: Problem) -> _Draft | None:
        """Have a query written once more, for the same task: an implicit one stays implicit."""
        request = ask_for(
            "repair",
            self._settings.writer,
            query=draft.text.query,
            wanted=draft.seed.wanted,
            topics=_listed_topics(draft.seed, len(draft.task.topics)),
            task=draft.task.words,
            problem=problem.sentence,
        )
        answer = self._desk.ask(request, partial(read_repair, task=draft.task))
        if isinstance(answer, Missing):
            self._lost(answer, "malformed", draft.task.tier)
            return None
        return replace(draft, text=answer, repaired=True)

    def _shown(self, pair: MinedPair) -> dict[str, str]:
        settings = self._settings
        two = "T3" in settings.tiers and len(pair.negatives) > 1
        documents = [self._documents[id] for id in (pair.gold, *pair.negatives[: 1 + two])]
        # Of a long document the passages matter that the others touch too: they are what is confused.
        shown = [
            shown_text(
                one, settings.document_words, [other.full_text[:2_000] for other in documents if other is not one]
            )
            for one in documents
        ]
        further = f"\n<second_unwanted_document>\n{shown[2]}\n</second_unwanted_document>\n" if two else ""
        return {
            "gold": shown[0],
            "negative": shown[1],
            "further": further,
            "second_rule": _SECOND if two else _NO_SECOND,
            "words": str(SHORT_WORDS),
            **variety(settings.seed, pair, "T1", "short"),
        }

    def _lost(self, why: Missing, reason: str, tier: str) -> None:
        if why is Missing.PENDING:
            self._written.waiting += 1
        else:
            self._written.dropped[reason, tier] += 1


def _listed_topics(seed: Seed, number: int = 2) -> str:
    listed = [f"First topic: {seed.topic}"]
    if seed.second and number > 1:
        listed.append(f"Second topic: {seed.second}")
    return "\n".join(listed)
