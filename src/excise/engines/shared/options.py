"""What every engine in a database can be told; each adds its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Literal

from excise.errors import InvalidInput

SearchMode = Literal["pooled", "exact", "hnsw"]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


@dataclass(frozen=True)
class StoreOptions:
    """Where an index in a database is, and how it is searched.

    Parameters
    ----------
    url
        the database.
    collection
        the name of the index in it: letters, digits, "_" and "-".
    mode
        "pooled" looks for candidates by one vector a window and ranks them by exact MaxSim; "exact" ranks everything.
    candidates
        how many windows "pooled" ranks.
    timeout
        seconds that one request may take.
    patience
        seconds that a write waits while another process writes.
    keep_seconds
        how long what was deleted or replaced is kept for readers that still see it.
    """

    url: str
    collection: str = "excise"
    mode: SearchMode = "pooled"
    candidates: int = 1_000
    timeout: int = 30
    patience: int = 60
    keep_seconds: int = 600

    def __post_init__(self) -> None:
        if not isinstance(self.url, str) or not self.url.strip():
            raise InvalidInput("the engine needs a url.")
        if not isinstance(self.collection, str) or not _NAME.fullmatch(self.collection):
            raise InvalidInput(
                f"{self.collection!r} is no name for a collection: at most 40 letters, digits, '_' and '-', "
                "a letter first."
            )
        self._choose("mode", self.modes())
        for one in fields(self):
            value = getattr(self, one.name)
            if one.type == "int" and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise InvalidInput(f"{one.name} must be a whole number, got {value!r}.")
        if self.timeout < 1 or not 1 <= self.candidates <= 10_000:
            raise InvalidInput("timeout must be at least 1, and candidates from 1 to 10,000.")

    @classmethod
    def modes(cls) -> tuple[str, ...]:
        """The ways to search that the engine has."""
        return ("pooled", "exact")

    def _choose(self, name: str, choices: tuple[str, ...]) -> None:
        if getattr(self, name) not in choices:
            raise InvalidInput(f"unknown {name} {getattr(self, name)!r}; choose one of {', '.join(choices)}.")
