"""The judge: another model than the writer says whether the labels hold, on the documents and on the query alone.

The documents of a pair are judged in one request, for every name that its queries give to a topic. Queries are read
several in a request (:mod:`excise.xbench.readings`). Of the explicit queries whose cue stands right before their
topic a sample is read; where the judge does not agree with the cue test on it, all of them are.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from excise.documents import Document
from excise.suites.jsonlines import read_objects
from excise.xbench.answers import Desk, Missing, json_object, lists_of
from excise.xbench.checking import checked_record
from excise.xbench.prompts import prompt
from excise.xbench.readings import Asked, Reading, ask_readings, passes_cue_test
from excise.xbench.records import Record
from excise.xbench.requests import Model, ask_for
from excise.xbench.shown import numbered_documents
from excise.xbench.storage import XBenchError
from excise.xbench.texts import normalised
from excise.xbench.writing import check_request_size

DISAGREEMENT = 0.1  # of the sample: from there on every explicit query is read
_ANSWERS = (True, False, "unsure")
Presence = Literal["yes", "no", "unsure", "unusable"]


@dataclass(frozen=True)
class TopicVerdict:
    """What the judge says of one excluded topic; None where it was unsure, or its answers could not be used.

    Attributes
    ----------
    in_negative, in_gold
        whether the documents deal with the topic as the documents call it.
    wording_in_negative, wording_in_gold
        the same for what the query calls it.
    excludes
        whether the query, read alone, rules it out.
    in_other
        whether the negative of the other topic deals with it too; None where there is no other, or it is not known.
    reading
        how the query rules it out: "openly", "implied", "no" or "unsure"; empty where that is not known.
    by
        who read the query: the "judge", or the "cues" test.
    unsure
        the questions above to which the judge answered that it is not sure.
    """

    topic: str
    wording: str
    in_negative: bool | None
    in_gold: bool | None
    wording_in_negative: bool | None
    wording_in_gold: bool | None
    excludes: bool | None
    in_other: bool | None = None
    reading: str = ""
    by: str = "judge"
    unsure: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordVerdict:
    """The verdicts on every topic of a record, in its order."""

    id: str
    judge: str
    topics: tuple[TopicVerdict, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, "judge": self.judge, "topics": [asdict(topic) for topic in self.topics]}


def check_judge(judge: str, writer: str | None, allow_writer: bool) -> None:
    """Refuse a judge that wrote the queries itself.

    Examples
    --------
    >>> check_judge("gpt-4.1", "GPT-4.1", allow_writer=False)
    Traceback (most recent call last):
        ...
    excise.xbench.storage.XBenchError: 'gpt-4.1' wrote the queries, and who writes them must not admit them: name \
another model, or allow it with --allow-writer.
    """
    if writer is not None and judge.casefold() == writer.casefold() and not allow_writer:
        raise XBenchError(
            f"{judge!r} wrote the queries, and who writes them must not admit them: name another model, or allow it "
            "with --allow-writer."
        )


@dataclass(frozen=True)
class JudgingSettings:
    """How records are judged.

    Parameters
    ----------
    judge
        the model.
    document_words
        a document of so many words is shown whole, and of a longer one the passages on the topics.
    together
        how many queries are read in one request.
    t1_sample
        the share of the explicit queries that pass the cue test which is read all the same; 1 has every one read.
    """

    judge: Model
    document_words: int = 1_500
    together: int = 8
    t1_sample: float = 0.2

    def __post_init__(self) -> None:
        check_request_size(self.document_words, self.together)
        if not 0.0 <= self.t1_sample <= 1.0:
            raise XBenchError(
                f"the share of explicit queries that is read must be from 0 to 1, got {self.t1_sample:g}."
            )


def plan_judging(
    records: Sequence[Record], documents: Mapping[str, Document], desk: Desk, settings: JudgingSettings
) -> list[RecordVerdict]:
    """The verdicts on every record whose questions are all answered; the other questions stay on the desk."""
    readings = _readings(records, desk, settings)
    pairs: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        pairs.setdefault((record.pair, record.gold), []).append(record)
    found: dict[str, RecordVerdict] = {}
    for own in pairs.values():
        present = _presences(own, documents, desk, settings)
        for record in own:
            reading = readings[record.id]
            if not isinstance(present, Missing) and reading.said is not Missing.PENDING:
                topics = tuple(_verdict(record, place, present, reading) for place in range(len(record.topics)))
                found[record.id] = RecordVerdict(record.id, settings.judge.name, topics)
    return [found[record.id] for record in records if record.id in found]


class _Read(NamedTuple):
    """How a query was read, and by whom."""

    said: tuple[Reading, ...] | Missing
    by: str


def _readings(records: Sequence[Record], desk: Desk, settings: JudgingSettings) -> dict[str, _Read]:
    asked = {record.id: Asked(f"{record.tier}-{record.length}", record.query, record.wordings) for record in records}
    plain = {record.id for record in records if record.tier == "T1" and _openly(record)}
    sample = _sample(sorted(plain), settings.t1_sample)
    spared = plain - sample
    first = {id: one for id, one in asked.items() if id not in spared}
    said = ask_readings(desk, settings.judge, first, settings.together)
    checked = [answer for id, answer in said.items() if id in sample and not isinstance(answer, Missing)]
    disagreed = sum(answer != ("openly",) for answer in checked)
    if checked and disagreed > DISAGREEMENT * len(checked):
        rest = {id: asked[id] for id in asked if id in spared}
        said |= ask_readings(desk, settings.judge, rest, settings.together)
        spared = set()
    found = {id: _Read(answer, "judge") for id, answer in said.items()}
    return found | {id: _Read(("openly",), "cues") for id in spared}


def _openly(record: Record) -> bool:
    return all(passes_cue_test(record.query, wording) for wording in record.wordings)


def _sample(ids: Sequence[str], share: float) -> set[str]:
    """A seeded sample, of one at least where anything is to be read at all."""
    if not ids or not share:
        return set()
    return set(random.Random("|".join(ids)).sample(list(ids), max(1, round(share * len(ids)))))


_Presences = Mapping[tuple[str, str], Presence]
"""By normalised topic and document id, whether the document deals with it."""


def _presences(
    records: Sequence[Record], documents: Mapping[str, Document], desk: Desk, settings: JudgingSettings
) -> _Presences | Missing:
    """What the judge says of the documents of a pair, for every name of a topic in its records, in one request."""
    names: dict[str, str] = {}
    for record in records:
        for name in (*record.topics, *record.wordings):
            names.setdefault(normalised(name), name)
    ids = list(dict.fromkeys(id for record in records for id in (record.gold, *record.negatives)))
    ids.sort(key=lambda id: random.Random(f"{records[0].pair}|{id}").random())  # the place says nothing of the role
    shown = numbered_documents((documents[id] for id in ids), settings.document_words, list(names.values()))
    listed = "\n".join(f"{number}. {name}" for number, name in enumerate(names.values(), 1))
    request = ask_for("judge_document", settings.judge, documents=shown, topics=listed)

    def read(content: str) -> list[list[Any]]:
        found = json_object(content, prompt("judge_document").keys)
        return lists_of(found, "verdicts", [len(ids)] * len(names), _ANSWERS)

    answer = desk.ask(request, read)
    if answer is Missing.PENDING:
        return answer
    rows = [["unusable"] * len(ids)] * len(names) if isinstance(answer, Missing) else answer
    words: dict[Any, Presence] = {True: "yes", False: "no", "unsure": "unsure", "unusable": "unusable"}
    return {
        (name, id): words[said]
        for name, row in zip(names, rows, strict=True)
        for id, said in zip(ids, row, strict=True)
    }


def _verdict(record: Record, place: int, present: _Presences, reading: _Read) -> TopicVerdict:
    topic, wording = record.topics[place], record.wordings[place]
    negative = record.negatives[place]
    other = next((id for number, id in enumerate(record.negatives) if number != place), None)
    asked = {
        "in_negative": present[normalised(topic), negative],
        "in_gold": present[normalised(topic), record.gold],
        "wording_in_negative": present[normalised(wording), negative],
        "wording_in_gold": present[normalised(wording), record.gold],
        "in_other": present[normalised(topic), other] if other is not None else "unusable",
    }
    said = "" if isinstance(reading.said, Missing) else reading.said[place]
    read: Presence = "unusable" if not said else "unsure" if said == "unsure" else "no" if said == "no" else "yes"
    answers = {**asked, "excludes": read}
    truths: dict[Presence, bool] = {"yes": True, "no": False}
    return TopicVerdict(
        topic=topic,
        wording=wording,
        reading=said,
        by=reading.by,
        unsure=tuple(name for name, answer in answers.items() if answer == "unsure"),
        **{name: truths.get(answer) for name, answer in answers.items()},
    )


def read_verdicts(path: Path) -> dict[str, RecordVerdict]:
    """Verdicts by record id, from what ``excise xbench judge`` wrote."""
    lines = read_objects(path, XBenchError)
    found = (checked_record(RecordVerdict, content, line.where, "verdict") for line, content in lines)
    return {verdict.id: verdict for verdict in found}
