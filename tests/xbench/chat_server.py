"""Recorded answers, and a server that speaks the chat completions protocol and misbehaves."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
WRITER, JUDGE = "recorded-writer", "recorded-judge"


def recorded(body: dict[str, Any], stage: str | None = None) -> str:
    """The answer that was recorded for a request, found by what the request asks."""
    text = body["messages"][1]["content"]
    asked = stage or _stage(text)
    if asked == "judge_query":
        return json.dumps({"verdicts": _readings(text, "writer" if body["model"] == WRITER else "judge")})
    if asked == "judge_document":
        return json.dumps({"verdicts": _presences(text)})
    if asked == "grade":
        return json.dumps({"grades": _grades(text)})
    again = len(body["messages"]) > 2
    for answer in _lines(asked):
        wanted = answer["match"]
        if answer.get("again", False) != again or not all(part in text for part in wanted):
            continue
        places = [text.index(part) for part in wanted]  # which of the documents is wanted is told by their order
        if asked == "rewrite":
            return _for_tasks(text, answer["content"])
        if asked != "t1" or places == sorted(places):
            return str(answer["content"])
    raise AssertionError(f"no answer was recorded for {asked}: {text}")


def _for_tasks(text: str, content: str) -> str:
    """Of the queries that were recorded for a pair (long T1, then T2 and T3, short and long) those that are asked."""
    queries = json.loads(content)["queries"]
    if not queries:
        return content
    kinds = ["T1-long", "T2-short", "T2-long", "T3-short", "T3-long"]
    chosen = []
    for task in re.split(r"^Task \d+\. ", text, flags=re.MULTILINE)[1:]:
        first = task.partition(":")[0] + task.partition(".")[0]
        two = '" and "' in first or "two topics" in first
        tier = "T3" if two else "T2" if "between the lines" in first else "T1"
        chosen.append(queries[kinds.index(f"{tier}-{'short' if 'One sentence' in task else 'long'}")])
    return json.dumps({"queries": chosen})


def _lines(stage: str) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in (DATA / "answers.jsonl").read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["stage"] == stage]


def _readings(text: str, who: str) -> list[list[str]]:
    """How each listed query is read: as recorded, or else as an open exclusion."""
    rows = []
    for query, topics in re.findall(r"^\d+\. (.*)\n((?:   topic \d+: .*\n?)+)", text, re.MULTILINE):
        named = re.findall(r"topic \d+: (.*)", topics)
        rows.append([_reading(query, wording, who) for wording in named])
    return rows


def _reading(query: str, wording: str, who: str) -> str:
    for line in _lines("reading"):
        part, name = line["match"]
        if line["by"] in ("", who) and part in query and name == wording:
            return str(line["content"])
    return "openly"


def _documents(text: str) -> list[str]:
    return re.findall(r'<document number="\d+">\n(.*?)\n</document>', text, re.DOTALL)


def _titles(topic: str) -> list[str]:
    (found,) = [line["content"] for line in _lines("presence") if line["match"] == [topic]]
    return list(found)


def _presences(text: str) -> list[list[bool]]:
    topics = re.findall(r"^\d+\. (.*)$", text.rpartition("</document>")[2], re.MULTILINE)
    return [[any(title in one for title in _titles(topic)) for one in _documents(text)] for topic in topics]


def _grades(text: str) -> list[int | str]:
    """2 for what was recorded to deal with the topic, 1 for what only names it; the reader is unsure of one."""
    (topic,) = re.findall(r"ruled out this topic: (.*)", text)
    grades: list[int | str] = []
    for one in _documents(text):
        covered = any(title in one for title in _titles(topic))
        unsure = topic == "French press" and one.startswith("Bialetti")
        grades.append("unsure" if unsure else 2 if covered else 1 if topic.lower() in one.lower() else 0)
    return grades


def _stage(text: str) -> str:
    """Which prompt a request was made from; its custom id says so in a batch file, and here its words must."""
    for words, stage in (
        ("Do these things", "t1"),
        ("new queries that want the same subject", "rewrite"),
        ("What is wrong with it", "repair"),
        ("Read each query by itself", "judge_query"),
        ("For each of these topics and each document", "judge_document"),
        ("Grade each of the", "grade"),
    ):
        if words in text:
            return stage
    raise AssertionError(text)


def answer_batch(requests: Path, answers: Path) -> int:
    """Do what a batch service does: answer a file of requests; returns how many there were."""
    lines = [json.loads(line) for line in requests.read_text(encoding="utf-8").splitlines()]
    with answers.open("w", encoding="utf-8") as out:
        for line in reversed(lines):  # a service answers in any order
            content = recorded(line["body"], line["custom_id"].rpartition("-")[0])
            body = {
                "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            }
            response = {"status_code": 200, "body": body}
            out.write(json.dumps({"custom_id": line["custom_id"], "response": response, "error": None}) + "\n")
    return len(lines)


Reaction = Callable[[dict[str, Any]], tuple[int, dict[str, str], str]]
"""What a server does with a request: status, headers, and body. It may also wait, or raise to drop the connection."""


class ChatServer:
    """A real HTTP server on loopback; ``script`` is used up first, then requests get their recorded answers."""

    def __init__(self) -> None:
        self.script: list[Reaction] = []
        self.seen: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.keys: list[str] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _react(self, body: dict[str, Any], key: str) -> tuple[int, dict[str, str], str]:
        with self._lock:
            self.seen.append(body)
            self.times.append(time.monotonic())
            self.keys.append(key)
            reaction = self.script.pop(0) if self.script else answered
        return reaction(body)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, headers, text = chat._react(body, self.headers.get("Authorization", ""))
                content = text.encode()
                self.send_response(status if self.path == "/v1/chat/completions" else 404)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                with suppress(OSError):  # a client that timed out has gone
                    self.end_headers()
                    self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def completion(content: str) -> tuple[int, dict[str, str], str]:
    body = {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return 200, {}, json.dumps(body)


def answered(body: dict[str, Any]) -> tuple[int, dict[str, str], str]:
    return completion(recorded(body))
