"""The prompts, one file each, in our own words. A file's version is part of what a run records.

A file is two lines of facts (``version``, and the ``keys`` of the JSON object that is asked for, each a text unless it
says ``:truth`` or ``:texts``), a ``[system]`` part and a ``[user]`` part with ``$names`` to fill in.
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
    "t1_long",
    "t2",
    "t3_mixed",
    "t3_disjunctive",
    "topic",
    "repair",
    "judge_query",
    "judge_document",
    "again",
)

STYLES = (
    "a terse keyword search with hardly any grammar",
    "one plain question",
    "a polite request to a librarian",
    "an impatient note to an assistant",
    "a student who has an essay to hand in",
    "a professional who needs material for a report",
    "somebody chatting on a phone, in lower case",
    "a curious amateur who explains what set them off",
    "a journalist who checks facts under time pressure",
    "a teacher who prepares a lesson",
    "somebody who decides what to do next and weighs the options",
    "a reader who puts the exclusion before the subject",
)
"""How the person who asks is described to the writer; one is drawn for each query, so that phrasing varies."""

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


_SCHEMAS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "truth": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
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

    def messages(self, **values: str) -> list[dict[str, str]]:
        """The chat messages, with every name filled in."""
        user = {"role": "user", "content": Template(self.user).substitute(values)}
        return [{"role": "system", "content": self.system}, user] if self.system else [user]


@cache
def prompt(name: str) -> Prompt:
    """Read a prompt.

    Examples
    --------
    >>> prompt("judge_query").keys
    ('excludes',)
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
