"""Answers of language models: kept for good, so that nothing is asked twice, and read strictly.

A request is answered, pending, or unusable: an answer that does not fit is asked for once more, and after that the
request counts as unusable.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from excise.xbench.requests import Request
from excise.xbench.storage import XBenchError, json_line

ANSWER_LIMIT = 20_000  # characters of an answer that are kept
_STAGE = re.compile(r"[a-z0-9_]{1,40}")  # what a stage is called: it becomes the name of a file
_T = TypeVar("_T")


class Answer(NamedTuple):
    """What came back: the text, why it ended, and what it cost in tokens (0 where nobody said)."""

    content: str
    finish: str = "stop"
    tokens_in: int = 0
    tokens_out: int = 0


class Missing(Enum):
    """Why there is no value: not asked yet, or asked twice in vain."""

    PENDING = "pending"
    UNUSABLE = "unusable"


class Malformed(Exception):
    """An answer that does not fit; the message goes back to the model, once."""


class Answers:
    """The folder of stored answers, one file a stage, one line an answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stages: dict[str, dict[str, Answer]] = {}
        self._lock = threading.Lock()

    def get(self, request: Request) -> Answer | None:
        return self._stage(request.stage).get(request.key)

    def add(self, request: Request, answer: Answer) -> None:
        """Keep an answer; it is in the file when this returns."""
        kept = answer._replace(content=answer.content[:ANSWER_LIMIT])
        fields = {"key": request.key, "model": request.model.name, **kept._asdict()}
        if not answer.tokens_in and not answer.tokens_out and answer.finish != "refused":
            fields["estimated"] = list(request.estimated_tokens(kept.content))
        line = json_line(fields)
        path = self.folder / f"{request.stage}.jsonl"
        with self._lock:
            self._stage(request.stage)[request.key] = kept
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                with path.open("a", encoding="utf-8") as out:
                    out.write(line)
            except OSError as error:
                raise XBenchError(f"could not write {path}: {error.strerror or error}.") from error

    def holds(self, custom_id: str) -> bool:
        """Whether the request that a batch file calls so was answered."""
        stage, _, key = custom_id.rpartition("-")
        return bool(_STAGE.fullmatch(stage)) and key in self._stage(stage)

    def tokens(self) -> tuple[int, int]:
        """Tokens read and written by all stored answers, as far as whoever answered has counted them."""
        every = [answer for stage in self._all_stages().values() for answer in stage.values()]
        return sum(answer.tokens_in for answer in every), sum(answer.tokens_out for answer in every)

    def counts(self) -> dict[str, int]:
        """How many answers are stored, by stage: what was asked for in all."""
        return {stage: len(found) for stage, found in sorted(self._all_stages().items()) if found}

    def _all_stages(self) -> dict[str, dict[str, Answer]]:
        for path in self.folder.glob("*.jsonl"):
            self._stage(path.stem)
        return self._stages

    def estimated_tokens(self) -> tuple[int, int, int]:
        """Answers that came without a count of tokens (files answered by hand), and an estimate of both counts."""
        found = [line["estimated"] for path in sorted(self.folder.glob("*.jsonl")) for line in _estimates(path)]
        return len(found), sum(int(one[0]) for one in found), sum(int(one[1]) for one in found)

    def _stage(self, stage: str) -> dict[str, Answer]:
        if stage not in self._stages:
            self._stages[stage] = dict(_read(self.folder / f"{stage}.jsonl"))
        return self._stages[stage]


def _read(path: Path) -> Iterator[tuple[str, Answer]]:
    """Stored answers. A line that an interruption cut off is passed over: its request is asked again."""
    if not path.exists():
        return
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("ab") as out:
            out.write(b"\n")
    for line in content.splitlines():
        try:
            stored = json.loads(line)
            yield (
                str(stored["key"]),
                Answer(
                    str(stored["content"]), str(stored["finish"]), int(stored["tokens_in"]), int(stored["tokens_out"])
                ),
            )
        except (ValueError, KeyError, TypeError):
            continue


def _estimates(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        try:
            stored = json.loads(line)
            int(stored["estimated"][0]), int(stored["estimated"][1])
        except (ValueError, KeyError, TypeError, IndexError):
            continue
        yield stored


class Desk:
    """Where a plan asks: it gets the stored answers, and what is missing is noted as ``pending``."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.pending: dict[str, Request] = {}
        self.malformed: Counter[str] = Counter()
        self.unusable: Counter[str] = Counter()
        self._counted: set[str] = set()

    def ask(self, request: Request, read: Callable[[str], _T]) -> _T | Missing:
        """The answer to a request as ``read`` understands it.

        Parameters
        ----------
        request
            asked once more, with what was wrong, where the first answer does not fit.
        read
            raises :class:`Malformed` for an answer that does not fit.
        """
        first = self.answers.get(request)
        if first is None:
            return self._pend(request)
        try:
            return read(first.content)
        except Malformed as problem:
            self._count(self.malformed, request)
            second_request = request.again(first.content, str(problem))
        second = self.answers.get(second_request)
        if second is None:
            return self._pend(second_request)
        try:
            return read(second.content)
        except Malformed:
            self._count(self.malformed, second_request)
            self._count(self.unusable, second_request)
            return Missing.UNUSABLE

    def _pend(self, request: Request) -> Missing:
        self.pending[request.key] = request
        return Missing.PENDING

    def _count(self, counter: Counter[str], request: Request) -> None:
        """Once a request, however often plans come by it."""
        mark = f"{id(counter)}-{request.key}"
        if mark not in self._counted:
            self._counted.add(mark)
            counter[request.stage] += 1


def json_object(content: str, keys: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """An answer that is one JSON object with exactly these keys; a code fence around it is taken off.

    ``optional`` are those of the keys that may be missing.

    Examples
    --------
    >>> json_object('{"excludes": true}', ("excludes",))
    {'excludes': True}
    >>> json_object('{"exclude": true}', ("excludes",))
    Traceback (most recent call last):
        ...
    excise.xbench.answers.Malformed: it has the keys exclude, and should have excludes
    """
    text = content.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text[text.index("\n") : -3].strip()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("it is not one whole JSON object") from None
    if not isinstance(found, dict):
        raise Malformed("it is not a JSON object")
    if set(found) | set(optional) != set(keys):
        raise Malformed(f"it has the keys {', '.join(sorted(found)) or 'none'}, and should have {', '.join(keys)}")
    return found


def text_of(found: dict[str, Any], key: str, most_words: int) -> str:
    """A text of an answer, bounded."""
    value = found[key]
    if not isinstance(value, str) or not value.strip():
        raise Malformed(f"{key} is not a text")
    words = value.split()
    if len(words) > most_words:
        raise Malformed(f"{key} has {len(words)} words, and at most {most_words} are taken")
    return " ".join(words)


def lists_of(found: dict[str, Any], key: str, lengths: Sequence[int], allowed: Sequence[Any]) -> list[list[Any]]:
    """A list of lists of an answer: as many, and as long, as was asked for, with nothing but what is allowed.

    Examples
    --------
    >>> lists_of({"verdicts": [[True], [False, "unsure"]]}, "verdicts", [1, 2], [True, False, "unsure"])
    [[True], [False, 'unsure']]
    """
    rows = found[key]
    if not isinstance(rows, list) or len(rows) != len(lengths):
        raise Malformed(f"{key} is not a list of {len(lengths)} lists")
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True), 1):
        if not isinstance(row, list) or len(row) != length:
            raise Malformed(f"list {number} of {key} does not have {length} answers")
        for value in row:
            if not any(value is one or (type(value) is type(one) and value == one) for one in allowed):
                raise Malformed(f"list {number} of {key} has {value!r}, which is none of the answers")
    return rows


def truth_of(found: dict[str, Any], key: str) -> bool:
    """A true or false of an answer."""
    if not isinstance(found[key], bool):
        raise Malformed(f"{key} is neither true nor false")
    return bool(found[key])
