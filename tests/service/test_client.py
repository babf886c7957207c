"""The client: the library's results from a real service, patience where it helps, sentences where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from served import KEY, KEYED, Serve

import excise
from excise.documents import Document
from excise.errors import InvalidInput, ServiceError
from excise.results import Hit, Judged, SearchResult, Topic
from excise.search.operator import Excise
from excise.service.client import Client
from excise.topics.detector import load_detector

QUERY = "home bread baking, but not rye"


def untimed(result: SearchResult) -> SearchResult:
    """Without what differs from run to run, and without the passages that the JSON of a search leaves out."""

    def near(hit: Any) -> Any:
        numbers = ("score", "evidence", "probability", "penalty", "opening", "lead")
        there = {name: getattr(hit, name) for name in numbers if isinstance(getattr(hit, name, None), float)}
        shown = {"passage": None} if not isinstance(hit, Topic | Judged) and hit.probability is None else {}
        return replace(hit, **shown, **{name: round(value, 4) for name, value in there.items()})

    explanation = result.explanation
    if explanation is not None:
        cut = None if explanation.cut is None else round(explanation.cut, 4)
        explanation = replace(explanation, cut=cut, candidates=tuple(map(near, explanation.candidates)))
    return replace(
        result,
        score=round(result.score, 4),
        topics=tuple(map(near, result.topics)),
        hits=tuple(map(near, result.hits)),
        removed=tuple(map(near, result.removed)),
        timing_ms={},
        explanation=explanation,
    )


@pytest.fixture
def client(reader_url: str) -> Iterator[Client]:
    with Client(reader_url, timeout=60, retries=0) as made:
        yield made


def test_results_are_the_librarys_own(client: Client, demo: Excise) -> None:
    assert excise.Client is Client
    assert untimed(client.search(QUERY, explain=True)) == untimed(demo.search(QUERY))
    assert client.search(QUERY).explanation is None
    named = client.search("home bread baking", k=2, exclude="rye", explain=True)
    assert untimed(named) == untimed(demo.search("home bread baking", k=2, exclude="rye"))
    assert all(isinstance(hit, Hit) for hit in named.hits)
    frozen = client.search(QUERY, exclude=())
    assert untimed(frozen) == untimed(demo.search(QUERY, exclude=()))
    assert client.search(QUERY, caution=1.0).removed == ()
    assert client.ready()


def test_any_number_of_queries(client: Client) -> None:
    queries = [f"bread number {number}, but not rye" for number in range(70)]
    assert [result.query for result in client.search_many(queries, k=1)] == queries
    found, own = client.detect(queries), load_detector().detect(queries)
    assert [(one.query, one.fired, [topic.text for topic in one.topics]) for one in found] == [
        (one.query, one.fired, [topic.text for topic in one.topics]) for one in own
    ]
    assert client.search_many([]) == client.detect([]) == []


def test_reranking(client: Client, demo: Excise) -> None:
    documents = [{"id": "3", "text": "Tesla's sedan", "score": 2.0}, {"id": "leaf", "text": "An electric car"}]
    query = "electric cars, not Tesla"
    assert untimed(client.rerank(query, documents, explain=True)) == untimed(demo.rerank(query, documents))


def test_documents_come_and_go(serve: Serve) -> None:
    with Client(serve(), api_key=KEY, timeout=60) as client:
        documents = [Document(f"zeppelin \ud800{n}/..", f"zeppelin number {n}") for n in range(300)]
        report = client.add([*documents, {"id": "plain", "text": "a mapping"}])
        assert (report.added, report.unchanged) == (301, 0)
        ids = [document.id for document in documents]
        assert client.documents([*ids, "absent"]) == documents
        assert client.delete([*ids, "absent", "zeppelin \ud8001/.."]) == 300
        assert client.documents(ids[:1]) == []
        assert client.add([Document(f"long {n}", "airship " * 9_000) for n in range(3)]).added == 3


def test_what_the_service_refuses_is_refused_here(client: Client, serve: Serve) -> None:
    with pytest.raises(InvalidInput, match=r"^the query is empty\.$"):
        client.search(" ")
    with pytest.raises(InvalidInput, match="less than or equal to 200"):
        client.search("bread", k=1_000)
    with pytest.raises(InvalidInput, match="cannot be sent as JSON"):
        client.search("bread", caution=float("nan"))
    with pytest.raises(ServiceError, match="takes no writes"):
        client.add([Document("z", "zeppelin")])
    with (
        Client(serve(KEYED), api_key="not-the-right-key", retries=0) as stranger,
        pytest.raises(ServiceError, match="show an API key"),
    ):
        stranger.search("bread")
    for url in ("localhost:8000", "ftp://x", "http://[::1"):
        with pytest.raises(InvalidInput):
            Client(url)
    with pytest.raises(InvalidInput, match="retries"):
        Client(retries=-1)


class _Moody(BaseHTTPRequestHandler):
    """Answers with what its server was told to, one after the other; the last one for good."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        moods: list[tuple[int, dict[str, str], bytes]] = self.server.moods  # type: ignore[attr-defined]
        status, headers, body = moods.pop(0) if len(moods) > 1 else moods[0]
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def moody() -> Iterator[tuple[str, list[tuple[int, dict[str, str], bytes]]]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Moody) as server:
        server.moods = []  # type: ignore[attr-defined]
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", server.moods  # type: ignore[attr-defined]
        server.shutdown()


def test_a_busy_service_is_asked_again(moody: Any) -> None:
    url, moods = moody
    moods += [(503, {"Retry-After": "7"}, b"{}"), (429, {}, b"{}"), (502, {"Retry-After": "soon"}, b"<html>")]
    moods += [(200, {}, b'{"results": []}')]
    pauses: list[float] = []
    with Client(url, retries=3, pause=pauses.append) as client:
        assert client.detect(["bread"]) == []
    assert pauses[0] == 7
    assert 0.2 <= pauses[1] <= 0.6
    assert 0.4 <= pauses[2] <= 1.2


def test_patience_ends(moody: Any) -> None:
    url, moods = moody
    moods += [(503, {"Retry-After": "1"}, b'{"detail": "too much to do."}')]
    pauses: list[float] = []
    with Client(url, retries=2, pause=pauses.append) as client, pytest.raises(ServiceError, match="too much to do"):
        client.search("bread")
    assert pauses == [1, 1]


def test_what_is_not_excise_is_named(moody: Any) -> None:
    url, moods = moody
    moods += [(200, {}, b"<html>hello</html>")]
    with Client(url) as client, pytest.raises(ServiceError, match="is it excise"):
        client.search("bread")


def test_nobody_there() -> None:
    pauses: list[float] = []
    with Client("http://127.0.0.1:9", retries=2, pause=pauses.append) as client:
        assert not client.ready()
        with pytest.raises(ServiceError, match=r"^http://127.0.0.1:9 could not be asked: "):
            client.search("bread")
    assert len(pauses) == 2
