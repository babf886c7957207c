"""What else covers Z: the whole shortlist of every admitted query, graded 2 (covers), 1 (mentions) or 0 (absent).

A suite knows of one negative a topic; a search finds a hundred documents, and more of them may cover it. The grades say
which, so that success and leak can be counted over all that was graded, and they are coverage labels as
``excise eval-coverage`` reads them. The guide is that of the labels that ship with excise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from excise.documents import Document
from excise.suites.jsonlines import read_objects
from excise.xbench.answers import Desk, Malformed, Missing, json_object
from excise.xbench.checking import checked_record
from excise.xbench.gates import DEPTH
from excise.xbench.prompts import prompt
from excise.xbench.records import Record
from excise.xbench.requests import Model, ask_for
from excise.xbench.shown import numbered_documents
from excise.xbench.storage import XBenchError

_ALLOWED = (0, 1, 2, "unsure")
MAX_DOCUMENTS = 50


@dataclass(frozen=True)
class GradingSettings:
    """How a shortlist is graded.

    Parameters
    ----------
    grader
        the model.
    depth
        how many documents of each query's ranking are graded.
    documents
        how many are graded in one request.
    document_words
        a document of so many words is shown whole, and of a longer one the passages on the topic.
    """

    grader: Model
    depth: int = DEPTH
    documents: int = 10
    document_words: int = 250

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= 1_000:
            raise XBenchError(f"1 to 1,000 documents of a shortlist are graded, got {self.depth}.")
        if not 1 <= self.documents <= MAX_DOCUMENTS:
            raise XBenchError(f"1 to {MAX_DOCUMENTS} documents are graded in one request, got {self.documents}.")
        if not 20 <= self.document_words <= 20_000:
            raise XBenchError(f"a model is shown 20 to 20,000 words of a document, got {self.document_words}.")


@dataclass(frozen=True)
class GradedDocument:
    """How far a document covers the topic of a pair; ``grade`` is None where the model was unsure, or unusable."""

    pair: str
    topic: str
    document: str
    grade: int | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan_grading(
    records: Sequence[Record],
    shortlists: Mapping[str, Sequence[str]],
    documents: Mapping[str, Document],
    desk: Desk,
    settings: GradingSettings,
) -> list[GradedDocument]:
    """Grade, for every topic of every pair, what the pair's queries find; what is not answered stays on the desk.

    Parameters
    ----------
    records
        those that were admitted.
    shortlists
        by record id, what its query finds, best first.
    """
    graded: list[GradedDocument] = []
    for (pair, topic), own in _by_topic(records).items():
        found = {id for record in own for id in shortlists[record.id][: settings.depth]}
        found |= {id for record in own for id in (record.gold, *record.negatives)}
        ids = sorted(found)  # in no order that tells how well a document was found
        for start in range(0, len(ids), settings.documents):
            block = ids[start : start + settings.documents]
            grades = _grades(own[0].wanted, topic, [documents[id] for id in block], desk, settings)
            if not isinstance(grades, Missing):
                graded += [GradedDocument(pair, topic, id, one) for id, one in zip(block, grades, strict=True)]
            elif grades is Missing.UNUSABLE:
                graded += [GradedDocument(pair, topic, id, None) for id in block]
    return graded


def _by_topic(records: Sequence[Record]) -> dict[tuple[str, str], list[Record]]:
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        for topic in record.topics:
            found.setdefault((record.pair, topic), []).append(record)
    return found


def _grades(
    wanted: str, topic: str, documents: Sequence[Document], desk: Desk, settings: GradingSettings
) -> list[int | None] | Missing:
    shown = numbered_documents(documents, settings.document_words, [topic])
    values = {"wanted": wanted, "topic": topic, "documents": shown, "number": str(len(documents))}
    return desk.ask(ask_for("grade", settings.grader, **values), lambda content: read_grades(content, len(documents)))


def read_grades(content: str, number: int) -> list[int | None]:
    """The grades of so many documents; None where the model was unsure.

    Examples
    --------
    >>> read_grades('{"grades": [2, "unsure", 0]}', 3)
    [2, None, 0]
    """
    grades = json_object(content, prompt("grade").keys)["grades"]
    if not isinstance(grades, list) or len(grades) != number:
        raise Malformed(f"grades is not a list of {number}")
    for grade in grades:
        if isinstance(grade, bool) or grade not in _ALLOWED:
            raise Malformed(f"{grade!r} is no grade")
    return [grade if isinstance(grade, int) else None for grade in grades]


def read_graded(path: Path) -> list[GradedDocument]:
    """What ``excise xbench grade`` kept in a run."""
    lines = read_objects(path, XBenchError)
    return [checked_record(GradedDocument, content, line.where, "grade") for line, content in lines]


def grades_of_queries(records: Sequence[Record], graded: Sequence[GradedDocument]) -> dict[str, dict[str, int]]:
    """By record and document, the highest grade over the record's topics."""
    by_topic: dict[tuple[str, str], dict[str, int]] = {}
    for one in graded:
        if one.grade is not None:
            by_topic.setdefault((one.pair, one.topic), {})[one.document] = one.grade
    found: dict[str, dict[str, int]] = {}
    for record in records:
        for topic in record.topics:
            for document, grade in by_topic.get((record.pair, topic), {}).items():
                own = found.setdefault(record.id, {})
                own[document] = max(grade, own.get(document, 0))
    return found


def coverage_labels(
    records: Sequence[Record], graded: Sequence[GradedDocument], corpus: str
) -> Iterator[dict[str, Any]]:
    """The grades as lines of coverage labels: one search a topic of a pair, with the first query that rules it out.

    Parameters
    ----------
    corpus
        the name that the labels give to the corpus.
    """
    first: dict[tuple[str, str], tuple[Record, str]] = {}
    for record in records:
        for topic, wording in zip(record.topics, record.wordings, strict=True):
            first.setdefault((record.pair, topic), (record, wording))
    number = 0
    for one in graded:
        if one.grade is None or (one.pair, one.topic) not in first:
            continue
        record, wording = first[one.pair, one.topic]
        yield {
            "id": f"{corpus}-{number:06d}",
            "corpus": corpus,
            "query": record.query,
            "wanted": record.wanted,
            "topic": wording,
            "kind": "present",
            "document": one.document,
            "grade": one.grade,
        }
        number += 1
