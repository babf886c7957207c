"""Batch files: requests out in the format of OpenAI's Batch service, answers back in from it, or written by hand.

A line out: ``{"custom_id", "method": "POST", "url": "/v1/chat/completions", "body"}``. A line in: what the service
returns, ``{"custom_id", "response": {"status_code", "body"}, "error"}``, or ``{"custom_id", "content"}`` from others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from excise.xbench.answers import Answer, Answers
from excise.xbench.requests import Request
from excise.xbench.storage import LINE_LIMIT, XBenchError, parsed_object, write_lines

URL = "/v1/chat/completions"
FILE_REQUESTS = 50_000  # what a batch service takes in one file


@dataclass
class BatchRead:
    """What a file of answers held: taken, failed at the provider, of unknown requests, and lines that say nothing."""

    taken: int = 0
    failed: int = 0
    unknown: int = 0
    unreadable: int = 0

    def __add__(self, other: BatchRead) -> BatchRead:
        return BatchRead(
            self.taken + other.taken,
            self.failed + other.failed,
            self.unknown + other.unknown,
            self.unreadable + other.unreadable,
        )


def write_requests(path: Path, requests: Sequence[Request], most: int = FILE_REQUESTS) -> list[Path]:
    """Write requests to a file, or to several ("requests-2.jsonl", ...) where one would be too long."""
    paths = []
    for number, start in enumerate(range(0, len(requests), most), 1):
        place = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        write_lines(
            place,
            (
                {"custom_id": request.custom_id, "method": "POST", "url": URL, "body": request.body}
                for request in requests[start : start + most]
            ),
        )
        paths.append(place)
    return paths


def read_answers(path: Path, pending: Mapping[str, Request], answers: Answers) -> BatchRead:
    """Store the answers in a file.

    Parameters
    ----------
    path
        a file of answers. A line that cannot be read is counted and passed over: a download may be cut off.
    pending
        the requests that may be answered, by key. Answers to others are counted as unknown.
    answers
        where they are stored.
    """
    if not path.is_file():
        raise XBenchError(f"{path}: no such file.")
    by_custom_id = {request.custom_id: request for request in pending.values()}
    read = BatchRead()
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                if len(line) > LINE_LIMIT:
                    raise XBenchError("too long")
                content = parsed_object(line, f"{path}, line {number}")
            except XBenchError:
                read.unreadable += 1
                continue
            request = by_custom_id.get(str(content.get("custom_id")))
            if request is None:
                read.unknown += 1
            elif (answer := _answer(content)) is None:
                read.failed += 1
            else:
                answers.add(request, answer)
                read.taken += 1
    return read


def _answer(line: Mapping[str, Any]) -> Answer | None:
    """The answer of a line; None where the provider had none."""
    if isinstance(line.get("content"), str):
        return Answer(line["content"])
    response = line.get("response")
    if line.get("error") or not isinstance(response, Mapping) or response.get("status_code", 200) != 200:
        return None
    return completion(response.get("body"))


def completion(body: Any) -> Answer | None:
    """The answer in the body of a chat completion; None where it has none.

    Examples
    --------
    >>> completion({"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]}).content
    '{}'
    """
    try:
        choice = body["choices"][0]
        content = choice["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return None
    usage = body.get("usage") if isinstance(body.get("usage"), Mapping) else {}
    finish = str(choice.get("finish_reason") or "stop")
    return Answer(str(content or ""), finish, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def _count(usage: Mapping[str, Any], key: str) -> int:
    value = usage.get(key)
    return value if isinstance(value, int) and value >= 0 else 0
