"""The judge: another model than the writer says whether the labels hold, on the documents and on the query alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from excise.documents import Document
from excise.suites.jsonlines import read_objects
from excise.xbench.answers import Desk, Missing, json_object, truth_of
from excise.xbench.checking import checked_record
from excise.xbench.prompts import prompt
from excise.xbench.records import Record
from excise.xbench.requests import Model, ask_for
from excise.xbench.storage import XBenchError
from excise.xbench.texts import normalised, shortened
from excise.xbench.writing import query_question, read_excludes


@dataclass(frozen=True)
class TopicVerdict:
    """What the judge says of one excluded topic; None where its answers could not be used.

    Attributes
    ----------
    in_negative, in_gold
        whether the documents deal with the topic as the documents call it.
    wording_in_negative, wording_in_gold
        the same for what the query calls it.
    excludes
        whether the query, read alone, rules it out.
    """

    topic: str
    wording: str
    in_negative: bool | None
    in_gold: bool | None
    wording_in_negative: bool | None
    wording_in_gold: bool | None
    excludes: bool | None


@dataclass(frozen=True)
class RecordVerdict:
    """The verdicts on every topic of a record, in its order."""

    id: str
    judge: str
    topics: tuple[TopicVerdict, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, "judge": self.judge, "topics": [asdict(topic) for topic in self.topics]}


class Presence(NamedTuple):
    """Whether a topic is in the negative, and in the gold."""

    in_negative: bool | None
    in_gold: bool | None


_UNKNOWN = Presence(None, None)


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


def plan_judging(
    records: Sequence[Record], documents: Mapping[str, Document], desk: Desk, judge: Model, document_words: int = 300
) -> list[RecordVerdict]:
    """The verdicts on every record whose questions are all answered; the other questions stay on the desk."""
    verdicts = []
    for record in records:
        topics = [
            _verdict(record, place, documents, desk, judge, document_words) for place in range(len(record.topics))
        ]
        finished = tuple(verdict for verdict in topics if not isinstance(verdict, Missing))
        if len(finished) == len(topics):
            verdicts.append(RecordVerdict(record.id, judge.name, finished))
    return verdicts


def _verdict(
    record: Record, place: int, documents: Mapping[str, Document], desk: Desk, judge: Model, document_words: int
) -> TopicVerdict | Missing:
    topic, wording = record.topics[place], record.wordings[place]
    gold, negative = documents[record.gold], documents[record.negatives[place]]

    def present(name: str) -> Presence | Missing:
        request = ask_for(
            "judge_document",
            judge,
            topic=name,
            gold=shortened(gold.full_text, document_words),
            negative=shortened(negative.full_text, document_words),
        )
        answer = desk.ask(request, read_presence)
        return _UNKNOWN if answer is Missing.UNUSABLE else answer

    by_topic = present(topic)
    by_wording = by_topic if normalised(wording) == normalised(topic) else present(wording)
    excludes = desk.ask(query_question(judge, record.query, wording), read_excludes)
    if isinstance(by_topic, Missing) or isinstance(by_wording, Missing) or excludes is Missing.PENDING:
        return Missing.PENDING
    ruled_out = None if isinstance(excludes, Missing) else excludes
    return TopicVerdict(topic, wording, *by_topic, *by_wording, ruled_out)


def read_presence(content: str) -> Presence:
    found = json_object(content, prompt("judge_document").keys)
    return Presence(truth_of(found, "in_first"), truth_of(found, "in_second"))


def read_verdicts(path: Path) -> dict[str, RecordVerdict]:
    """Verdicts by record id, from what ``excise xbench judge`` wrote."""
    lines = read_objects(path, XBenchError)
    found = (checked_record(RecordVerdict, content, line.where, "verdict") for line, content in lines)
    return {verdict.id: verdict for verdict in found}
