"""Engines by name: ``local`` in a folder, the others in a database, each with the extra of its name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from excise.engines.base import Engine
from excise.engines.local.engine import LocalEngine
from excise.engines.local.manifest import MANIFEST
from excise.engines.local.vector_files import COMPACT
from excise.engines.shared.options import StoreOptions
from excise.engines.shared.store import Store
from excise.errors import InvalidInput
from excise.vectors.encoded import EncoderInfo

Options = TypeVar("Options", bound=StoreOptions)

ENGINES = ("local", "qdrant", "lancedb", "postgres")
_KEY_VARIABLE = "EXCISE_API_KEY"


@dataclass(frozen=True)
class EngineAddress:
    """Where an index is: an engine by name, its url (a folder for ``local``), and its options.

    ``exact`` has a query compared with every document; without it, engines that can look where it is likely to pay off.
    ``vectors`` is how a new local index stores token vectors, "int8" (the default) or "f16".

    Examples
    --------
    >>> EngineAddress("qdrant", ":memory:", {"collection": "docs", "mode": "exact"}).engine
    'qdrant'
    >>> EngineAddress("oracle", "somewhere")
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: unknown engine 'oracle'; choose one of local, qdrant, lancedb, postgres.
    """

    engine: str
    url: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    exact: bool = False
    vectors: str | None = None

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise InvalidInput(f"unknown engine {self.engine!r}; choose one of {', '.join(ENGINES)}.")
        if not isinstance(self.url, str) or not self.url.strip():
            what = "a folder (index)" if self.engine == "local" else "a url"
            raise InvalidInput(f"the engine {self.engine!r} needs {what}.")
        if self.engine == "local" and self.options:
            raise InvalidInput(f"the engine 'local' has no options, got {', '.join(self.options)}.")
        if self.engine != "local" and self.vectors is not None:
            raise InvalidInput(f"the engine {self.engine!r} stores vectors its own way: --vectors is for 'local'.")
        if self.exact and self.options.get("mode", "exact") != "exact":
            raise InvalidInput(f"an exact search and the mode {self.options['mode']!r} contradict each other.")

    @property
    def shared(self) -> bool:
        """Whether several processes can have it open at once."""
        return self.engine != "qdrant" or "://" in self.url

    def exists(self) -> bool:
        """Whether there is an index."""
        if self.engine == "local":
            return os.path.exists(os.path.join(self.url, MANIFEST))
        return self._store().head() is not None

    def open(self) -> Engine:
        """The index that is there."""
        if self.engine == "local":
            return LocalEngine.open(self.url, exact=self.exact)
        from excise.engines.shared.generations import GenerationalEngine

        return GenerationalEngine.open(self._store())

    def create(self, encoder: EncoderInfo) -> Engine:
        """The index that is there if its encoder is this one, or a new one."""
        if self.engine == "local":
            stored = self.vectors or (None if self.exists() else COMPACT)
            return LocalEngine.create(self.url, encoder, exact=self.exact, vectors=stored)
        from excise.engines.shared.generations import GenerationalEngine

        return GenerationalEngine.create(self._store(), encoder)

    def _store(self) -> Store:
        if self.engine == "qdrant":
            from excise.engines.qdrant.qdrant_options import QdrantOptions
            from excise.engines.qdrant.qdrant_store import QdrantStore

            return QdrantStore(self._read(QdrantOptions))
        if self.engine == "lancedb":
            from excise.engines.lancedb.lance_options import LanceOptions
            from excise.engines.lancedb.lance_store import LanceStore

            return LanceStore(self._read(LanceOptions))
        from excise.engines.postgres.postgres_options import PostgresOptions
        from excise.engines.postgres.postgres_store import PostgresStore

        return PostgresStore(self._read(PostgresOptions))

    def _read(self, kind: type[Options]) -> Options:
        """The options, checked; texts, as a command line has them, become what they stand for."""
        kinds = {one.name: str(one.type) for one in fields(kind)}
        values: dict[str, Any] = {"mode": "exact"} if self.exact else {}
        for name, value in self.options.items():
            if name not in kinds or name == "url":
                known = ", ".join(name for name in kinds if name != "url")
                raise InvalidInput(f"the engine {self.engine!r} has no option {name!r}; it has {known}.")
            values[name] = _read_value(name, value, kinds[name]) if isinstance(value, str) else value
        if "api_key" in kinds and values.get("api_key") is None:
            values["api_key"] = os.environ.get(_KEY_VARIABLE)
        return kind(url=self.url, **values)


def _read_value(name: str, value: str, kind: str) -> Any:
    if kind == "int":
        try:
            return int(value)
        except ValueError:
            raise InvalidInput(f"{name} must be a whole number, got {value!r}.") from None
    if kind == "bool":
        if value.lower() not in ("true", "false"):
            raise InvalidInput(f"{name} must be true or false, got {value!r}.")
        return value.lower() == "true"
    return value


def address_of(
    engine: str | None,
    index: str | os.PathLike[str] | None,
    url: str | None,
    options: Mapping[str, Any] | None,
    exact: bool = False,
) -> EngineAddress | None:
    """What callers may hand in: a folder, or an engine's name with a url; None where nothing is named."""
    if index is not None and url is not None:
        raise InvalidInput("name an index folder or a url, not both.")
    if engine is None and url is not None:
        raise InvalidInput(f"a url needs an engine: one of {', '.join(ENGINES[1:])}.")
    if engine not in (None, "local") and index is not None:
        raise InvalidInput(f"the engine {engine!r} takes a url in place of an index folder.")
    if engine is None and index is None:
        return None
    place = os.fspath(index) if index is not None else url or ""
    return EngineAddress(engine or "local", place, dict(options or {}), exact)
