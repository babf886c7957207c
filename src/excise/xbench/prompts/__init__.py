"""The prompts, one file each, in our own words. A file's version is part of what a run records.

A file is two lines of facts (``version``, and the ``keys`` of the JSON object that is asked for, each a text unless it
says which of ``_SCHEMAS`` it is), a ``[system]`` part and a ``[user]`` part with ``$names`` to fill in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

NAMES = (
    "t1",
    "rewrite",
    "task_explicit",
    "task_implicit",
    "task_mixed",
    "task_disjunctive",
    "repair",
    "judge_query",
    "judge_document",
    "grade",
    "again",
)

_EITHER_STYLES = (
    "a polite request to a librarian",
    "an impatient note to an assistant",
    "a student who has an essay to hand in",
    "a professional who needs material for a report",
    "somebody chatting on a phone, in a casual tone, with names and terms spelt in full",
    "a journalist who checks facts under time pressure",
    "a teacher who prepares a lesson",
    "somebody who decides what to do next and weighs the options",
)
STYLES = {
    "short": (
        *_EITHER_STYLES,
        "a terse keyword search with hardly any grammar",
        "one plain question",
        "a reader who puts what they have no use for before the subject",
    ),
    "long": (
        *_EITHER_STYLES,
        "a curious amateur who explains what set them off",
        "a newcomer to the field who describes the situation first",
        "a colleague who writes an e-mail and asks for a favour",
    ),
}
"""How the person who asks is described to the writer, by length: one is drawn for each query, so that phrasing varies.

A style that asks for one sentence, or for an exclusion at the beginning, is for short queries alone.
"""

CUES = (
    "not",
    "without",
    "except",
    "other than",
    "but not",
    "excluding",
    "apart from",
    "rather than",
    "no",
    "aside from",
)
"""Words of exclusion that are suggested to the writer of explicit queries, one drawn for each."""


def _lists_of(values: list[Any]) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "array", "items": {"enum": values}}}


_SCHEMAS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "truth": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "readings": _lists_of(["openly", "implied", "no", "unsure"]),
    "presences": _lists_of([True, False, "unsure"]),
    "grades": {"type": "array", "items": {"enum": [0, 1, 2, "unsure"]}},
    "queries": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "z": {"type": "array", "items": {"type": "string"}}},
            "required": ["query", "z"],
            "additionalProperties": False,
        },
    },
}


@dataclass(frozen=True)
class Prompt:
    """One prompt: what the model is told, and which keys its answer must have."""

    name: str
    version: int
    kinds: Mapping[str, str]
    system: str
    user: str

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    def schema(self) -> dict[str, Any]:
        """The answer as a JSON schema."""
        properties = {key: _SCHEMAS[kind] for key, kind in self.kinds.items()}
        return {"type": "object", "properties": properties, "required": list(self.kinds), "additionalProperties": False}

    def filled_in(self, **values: str) -> str:
        """The user's part, with every name filled in."""
        return Template(self.user).substitute(values)

    def messages(self, **values: str) -> list[dict[str, str]]:
        """The chat messages, with every name filled in."""
        user = {"role": "user", "content": self.filled_in(**values)}
        return [{"role": "system", "content": self.system}, user] if self.system else [user]


@cache
def prompt(name: str) -> Prompt:
    """Read a prompt.

    Examples
    --------
    >>> prompt("judge_query").keys
    ('verdicts',)
    """
    text = (files(__name__) / f"{name}.md").read_text(encoding="utf-8")
    facts, _, rest = text.partition("[system]")
    system, _, user = rest.partition("[user]")
    found = dict(line.split(":", 1) for line in facts.split("\n") if ":" in line)
    keys = [key.strip().partition(":") for key in found["keys"].split(",") if key.strip()]
    kinds = {key: kind or "text" for key, _, kind in keys}
    return Prompt(name, int(found["version"]), kinds, " ".join(system.split()), user.strip())


def versions() -> dict[str, int]:
    """Which version of each prompt this excise has."""
    return {name: prompt(name).version for name in NAMES}
