"""What people put back or remove by hand, kept as coverage labels: the format that ``excise eval-coverage`` reads.

Off unless a file is named. A second opinion on the same document and search replaces the first, since
:mod:`excise.suites.coverage_labels` takes one grade for each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from excise.documents import Document
from excise.durable import replace_file
from excise.errors import InvalidInput
from excise.search.inputs import named_topics
from excise.search.match_features import topic_pattern
from excise.suites.jsonlines import read_objects
from excise.topics.locate import outside, places

Opinion = Literal["put_back", "remove", "forget"]
MOST_LABELS = 20_000
_KEY = ("query", "topic", "document")


@dataclass(frozen=True)
class Feedback:
    """What somebody thinks of one document in one search.

    Attributes
    ----------
    query, topic
        the search, and what it ruled out.
    opinion
        "put_back": it was removed, and should not have been; "remove": it stayed, and covers the topic; "forget": what
        was said before does not hold any more.
    """

    query: str
    topic: str
    opinion: Opinion

    def label(self, document: Document, corpus: str) -> dict[str, Any]:
        """The label of a document: 2 where it covers the topic, else 1 where it names it and 0 where it does not.

        Examples
        --------
        >>> car = Document("leaf", "Unlike a Tesla, it is small.", "Nissan Leaf")
        >>> label = Feedback("small cars, not Tesla", "Tesla", "put_back").label(car, "cars")
        >>> label["wanted"], label["grade"]
        ('small cars, not', 1)
        """
        topics = named_topics(self.query, [self.topic])
        wanted = " ".join(" ".join(outside(self.query, places(self.query, topics))).split())
        named = topic_pattern(self.topic).phrase.search(document.full_text) is not None
        row = {
            "corpus": corpus,
            "query": self.query,
            "wanted": wanted or self.query,
            "topic": self.topic,
            "kind": "present",
            "document": document.id,
            "grade": 2 if self.opinion == "remove" else int(named),
        }
        return {"id": f"feedback-{_digest(row)}", **row}


class FeedbackFile:
    """A file of labels, always whole: it is replaced in one step.

    Parameters
    ----------
    path
        the file; made with the first label. What is in it stays.
    corpus
        what the labels call the corpus.
    """

    def __init__(self, path: Path, corpus: str) -> None:
        self.path, self.corpus = path, corpus
        self._changing = Lock()
        self._rows: dict[tuple[str, ...], dict[str, Any]] = {}
        if not path.parent.is_dir():
            raise InvalidInput(f"{path}: there is no folder for the file of feedback.")
        for line, row in read_objects(path, InvalidInput) if path.exists() else ():
            if not all(isinstance(row.get(name), str) for name in _KEY):
                raise InvalidInput(f"{line.where}: this is no coverage label; name another file for feedback.")
            self._rows[_key(row)] = row

    def __len__(self) -> int:
        return len(self._rows)

    def record(self, feedback: Feedback, document: Document) -> int:
        """Keep an opinion; when this returns, it is on the disk. Returns how many labels there are."""
        row = feedback.label(document, self.corpus)
        with self._changing:
            rows = dict(self._rows)
            if feedback.opinion == "forget":
                rows.pop(_key(row), None)
            else:
                rows[_key(row)] = row
            if len(rows) > MOST_LABELS:
                raise InvalidInput(f"the file of feedback holds {MOST_LABELS:,} labels, and takes no more.")
            if rows != self._rows:
                lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in rows.values())
                replace_file(self.path, "".join(lines).encode())
                self._rows = rows
            return len(rows)


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in _KEY)


def _digest(row: Mapping[str, Any]) -> str:
    return sha256(json.dumps(_key(row)).encode()).hexdigest()[:16]
