"""Connections to PostgreSQL: kept while they work, every wait bounded, what goes wrong told as one sentence."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

from excise.errors import BadIndex
from excise.extras import need

if TYPE_CHECKING:
    import psycopg

_IDLE = 8
_PAUSE = 0.1
_NOT_YET = ("starting up", "not yet accepting", "recovery mode", "shutting down")


class PostgresDoor:
    """Connections for any number of threads, each used by one at a time."""

    def __init__(self, url: str, name: str, timeout: int) -> None:
        need("the engine 'postgres'", "postgres", "psycopg")
        self._url, self._name, self._timeout = url, name, timeout
        self._idle: list[psycopg.Connection[Any]] = []
        self._lock = Lock()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection that answers; one that fails is not used again."""
        with told_of_postgres(self._name, self._timeout):
            taken = self._taken()
            try:
                yield taken
            except BaseException:
                with suppress(Exception):
                    taken.raw.close()
                raise
            self._give_back(taken.raw)

    def _taken(self) -> Connection:
        while True:
            with self._lock:
                raw = self._idle.pop() if self._idle else None
            if raw is None:
                return Connection(self._connected(), self._timeout)
            kept = Connection(raw, self._timeout)
            try:  # a server that went away and came back has forgotten its old connections
                kept.run("SELECT 1")
            except Exception:
                self._forget(raw)
            else:
                return kept

    def _forget(self, failed: psycopg.Connection[Any]) -> None:
        """One has failed: the others are no better, and trying each would take as long again."""
        with self._lock:
            gone, self._idle = [failed, *self._idle], []
        for raw in gone:
            with suppress(Exception):
                raw.close()

    def _connected(self) -> psycopg.Connection[Any]:
        import psycopg

        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return psycopg.connect(
                    self._url,
                    autocommit=True,
                    connect_timeout=max(2, min(10, self._timeout)),
                    options=f"-c TimeZone=UTC -c statement_timeout={self._timeout * 1000}",
                )
            except psycopg.OperationalError as error:
                soon = any(said in str(error) for said in _NOT_YET)
                if not soon or time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)

    def _give_back(self, raw: psycopg.Connection[Any]) -> None:
        with self._lock:
            if len(self._idle) < _IDLE and not raw.closed:
                self._idle.append(raw)
                return
        raw.close()


class Connection:
    """A connection whose every statement is cut off when the server does not answer in time."""

    def __init__(self, raw: psycopg.Connection[Any], timeout: int) -> None:
        self.raw = raw
        self._timeout = timeout

    def run(self, statement: Any, values: Any = None) -> psycopg.Cursor[Any]:
        """Run one statement."""
        with self._in_time():
            return self.raw.execute(statement, values, binary=True)

    def run_many(self, statement: Any, rows: list[Any]) -> None:
        """Run one statement for each row."""
        with self._in_time(), self.raw.cursor() as cursor:
            cursor.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What happens inside is committed whole, or not at all."""
        self.run("BEGIN")
        try:
            yield
        except BaseException:
            with suppress(Exception):
                self.run("ROLLBACK")
            raise
        self.run("COMMIT")

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        # The server has a limit of its own; this one is for a server that is not there to keep it.
        cut = Timer(self._timeout + 2, self._hang_up)
        cut.daemon = True
        cut.start()
        try:
            yield
        finally:
            cut.cancel()

    def _hang_up(self) -> None:
        with suppress(Exception):
            end = socket.socket(fileno=socket.dup(self.raw.fileno()))
            end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextmanager
def told_of_postgres(name: str, timeout: int) -> Iterator[None]:
    """What PostgreSQL or the way to it refuses, as one sentence."""
    import psycopg
    from psycopg import errors

    try:
        yield
    except errors.LockNotAvailable as error:
        raise BadIndex(f"{name} is being written by another process; try again later.") from error
    except (errors.QueryCanceled, psycopg.errors.ConnectionTimeout) as error:
        raise BadIndex(f"{name} did not answer within {timeout} seconds.") from error
    except psycopg.OperationalError as error:
        raise BadIndex(f"{name} could not be reached: {_first_line(error)}.") from error
    except psycopg.Error as error:
        raise BadIndex(f"{name} could not be used: {_first_line(error)}.") from error


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300].rstrip(".") if lines else type(error).__name__
