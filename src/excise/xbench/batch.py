"""Batch files: requests out in the format of OpenAI's Batch service, answers back in from it, or written by hand.

A line out: ``{"custom_id", "method": "POST", "url": "/v1/chat/completions", "body"}``. A line in: what the service
returns, ``{"custom_id", "response": {"status_code", "body"}, "error"}``, or ``{"custom_id", "content"}`` from others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from excise.suites.jsonlines import decoded, parsed_object
from excise.xbench.answers import Answer, Answers
from excise.xbench.requests import Request
from excise.xbench.storage import XBenchError, write_lines

URL = "/v1/chat/completions"
FILE_REQUESTS = 50_000  # what a batch service takes in one file


@dataclass
class BatchFile:
    """The answers in files, by the name of their request; what failed at the provider; lines that say nothing."""

    answers: dict[str, Answer] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    unreadable: int = 0
    taken: int = 0

    def give(self, pending: Mapping[str, Request], answers: Answers) -> int:
        """Store the answers to pending requests; returns how many there were."""
        found = [request for request in pending.values() if request.custom_id in self.answers]
        for request in found:
            answers.add(request, self.answers[request.custom_id])
        self.taken += len(found)
        return len(found)

    def unknown(self, answers: Answers) -> int:
        """How many answers belong to no request of the run."""
        return sum(not answers.holds(custom_id) for custom_id in self.answers)


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


def read_answers(paths: Sequence[Path]) -> BatchFile:
    """Read files of answers. A line that cannot be read is counted and passed over: a download may be cut off."""
    file = BatchFile()
    for path in paths:
        if not path.is_file():
            raise XBenchError(f"{path}: no such file.")
        with path.open("rb") as lines:
            for line in filter(bytes.strip, lines):
                try:
                    content = parsed_object(decoded(line, str(path), XBenchError), str(path), XBenchError)
                    custom_id = content["custom_id"]
                except (XBenchError, KeyError):
                    file.unreadable += 1
                    continue
                answer = _answer(content)
                if answer is None or not isinstance(custom_id, str):
                    file.failed.add(str(custom_id))
                else:
                    file.answers[custom_id] = answer
    return file


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
