"""What is asked of a language model: a chat, the model that is to answer, and a hash that both are known by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from excise.xbench.prompts import prompt
from excise.xbench.storage import XBenchError

MAX_TOKENS = 8_192
JSON_MODES = ("object", "schema", "none")


@dataclass(frozen=True)
class Model:
    """Which model answers, and how.

    Parameters
    ----------
    name
        as the endpoint knows it.
    temperature
        0 for a judge; a writer needs some, for variety.
    max_tokens
        how long an answer may be.
    json_mode
        what the endpoint is told about the form of an answer (``response_format``): "object" (any JSON object),
        "schema" (exactly the keys that are asked for) or "none", for servers that know no such thing.
    """

    name: str
    temperature: float = 0.0
    max_tokens: int = 400
    json_mode: str = "object"

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise XBenchError("a model needs a name: --model NAME.")
        if not 0.0 <= self.temperature <= 2.0:
            raise XBenchError(f"the temperature must be from 0 to 2, got {self.temperature:g}.")
        if self.json_mode not in JSON_MODES:
            raise XBenchError(f"the JSON mode is one of {', '.join(JSON_MODES)}, got {self.json_mode!r}.")
        if not 1 <= self.max_tokens <= MAX_TOKENS:
            raise XBenchError(f"max_tokens must be from 1 to {MAX_TOKENS:,}, got {self.max_tokens:,}.")


@dataclass(frozen=True, eq=False)
class Request:
    """One question to a model. ``stage`` names the prompt; answers are stored by stage and ``key``."""

    stage: str
    model: Model
    messages: list[dict[str, str]]

    @cached_property
    def body(self) -> dict[str, Any]:
        """The request in the protocol of chat completions."""
        body: dict[str, Any] = {
            "model": self.model.name,
            "messages": self.messages,
            "temperature": self.model.temperature,
            "max_tokens": self.model.max_tokens,
        }
        if self.model.json_mode == "object":
            body["response_format"] = {"type": "json_object"}
        elif self.model.json_mode == "schema":
            schema = {"name": self.stage, "strict": True, "schema": prompt(self.stage).schema()}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    @cached_property
    def key(self) -> str:
        """A hash of everything that the answer depends on."""
        content = json.dumps([self.stage, self.body], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()[:24]

    @property
    def custom_id(self) -> str:
        """What the request is called in batch files."""
        return f"{self.stage}-{self.key}"

    def estimated_tokens(self, answer: str) -> tuple[int, int]:
        """About how many tokens the request and an answer have: one for every four characters."""
        return sum(len(message["content"]) for message in self.messages) // 4, len(answer) // 4

    def again(self, answer: str, problem: str) -> Request:
        """The same request with an answer that could not be used, and what was wrong with it."""
        turn = [{"role": "assistant", "content": answer[:2_000] or "(nothing)"}]
        return Request(self.stage, self.model, [*self.messages, *turn, *prompt("again").messages(problem=problem)])


def ask_for(name: str, model: Model, **values: str) -> Request:
    """The request that a prompt makes once its names are filled in."""
    return Request(name, model, prompt(name).messages(**values))
