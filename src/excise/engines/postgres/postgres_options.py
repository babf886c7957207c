"""What the PostgreSQL engine can be told."""

from __future__ import annotations

from dataclasses import dataclass

from excise.engines.shared.options import StoreOptions
from excise.errors import InvalidInput


@dataclass(frozen=True)
class PostgresOptions(StoreOptions):
    """Where the tables are, and how they are searched.

    Parameters
    ----------
    url
        "postgresql://user:password@host:5432/database"; what libpq knows may follow a "?", as in "?sslmode=require".
    candidates
        how many windows "pooled" ranks: their vectors travel to this process.
    """

    candidates: int = 400

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.url.startswith(("postgresql://", "postgres://")):
            raise InvalidInput(
                f"PostgreSQL is reached by postgresql://..., got {self.url.partition('@')[2] or self.url!r}."
            )
