"""Who may do what, how much, and what no answer ever tells."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from served import KEY, KEYED, Serve

from excise.service.api_keys import ApiKeys
from excise.service.front_door import CONTENT_POLICY, Admission
from excise.service.service_limits import ServiceLimits
from excise.service.web_app import ServicePlan

BREAD = {"query": "home bread, but not rye"}
ZEPPELIN = {"documents": [{"id": "z", "text": "zeppelins"}]}
PRIVATE = ServicePlan(Admission(ApiKeys([KEY, "another-key-0123456789"]), private=True))


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def is_problem(answer: httpx.Response, status: int) -> bool:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    content = answer.json()
    assert content["status"] == status
    assert content["detail"].endswith(".")
    assert "Traceback" not in answer.text
    assert "/" not in content["detail"].replace("application/json", "")
    return True


def test_nobody_writes_without_a_key(serve: Serve, http: httpx.Client) -> None:
    assert is_problem(http.post("/v1/documents", json=ZEPPELIN), 403)  # a service without keys
    with httpx.Client(base_url=serve(KEYED)) as keyed:
        for headers in ({}, bearer("wrong"), bearer(KEY[:-1]), {"Authorization": KEY}, {"X-API-Key": "no"}):
            for method, path in (("POST", "/v1/documents"), ("PUT", "/v1/documents/z"), ("DELETE", "/v1/documents/z")):
                assert is_problem(keyed.request(method, path, json=ZEPPELIN, headers=headers), 401)
        assert keyed.post("/v1/search", json=BREAD).status_code == 200  # reading is free on this machine
        assert keyed.post("/v1/documents", json=ZEPPELIN, headers={"X-API-Key": KEY}).json()["added"] == 1
        assert is_problem(keyed.post("/v1/search", json=BREAD, headers=bearer("wrong")), 401)


def test_a_private_service_shows_nothing_without_a_key(serve: Serve) -> None:
    with httpx.Client(base_url=serve(PRIVATE)) as private:
        for method, path in (
            ("POST", "/v1/search"),
            ("POST", "/v1/detect"),
            ("POST", "/v1/rerank"),
            ("POST", "/v1/feedback"),
            ("GET", "/v1/about"),
            ("GET", "/v1/documents/home-bread-01"),
            ("GET", "/v1"),
            ("GET", "/metrics"),
            ("GET", "/openapi.json"),
            ("HEAD", "/v1/about"),
        ):
            answer = private.request(method, path, json=BREAD if method == "POST" else None)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
        assert private.get("/health").status_code == private.get("/ready").status_code == 200
        for key in (KEY, "another-key-0123456789"):
            assert private.post("/v1/search", json=BREAD, headers=bearer(key)).status_code == 200


def test_every_answer_has_its_headers(http: httpx.Client) -> None:
    answers = [http.get("/health"), http.get("/nothing"), http.post("/v1/search", json=BREAD), http.get("/metrics")]
    answers += [http.post("/v1/search", content=b"{"), http.request("BREW", "/v1/search")]
    for answer in answers:
        assert answer.headers["content-security-policy"] == CONTENT_POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers
    assert "unsafe" not in CONTENT_POLICY
    assert answers[2].headers["cache-control"] == "no-store"


def test_other_pages_are_let_in_only_by_name(serve: Serve) -> None:
    plan = replace(KEYED, origins=("https://search.example",))
    with httpx.Client(base_url=serve(plan)) as http:
        ours = http.post("/v1/search", json=BREAD, headers={"Origin": "https://search.example"})
        assert ours.headers["access-control-allow-origin"] == "https://search.example"
        theirs = http.post("/v1/search", json=BREAD, headers={"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in theirs.headers
        asking = {"Origin": "https://search.example", "Access-Control-Request-Method": "POST"}
        assert http.options("/v1/search", headers=asking).status_code == 200
        assert http.options("/v1/search", headers=asking | {"Origin": "https://evil.example"}).status_code == 400


def test_a_service_on_loopback_answers_to_its_own_names_only(serve: Serve) -> None:
    plan = ServicePlan(Admission(hosts=frozenset({"localhost", "127.0.0.1", "[::1]"})))
    with httpx.Client(base_url=serve(plan)) as http:
        for name in ("127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:80", "[::1]"):
            assert http.get("/health", headers={"Host": name}).status_code == 200
        for name in ("evil.example", "localhost.evil.example", "evil:localhost", "[::2]:80", ""):
            assert http.get("/health", headers={"Host": name}).status_code == 400


def test_only_json_is_read(http: httpx.Client) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        assert is_problem(http.post("/v1/search", content=b'{"query": "x"}', headers={"Content-Type": kind}), 415)
    for body in (b"{", b"\xff\xfe", b"[" * 100_000, b'{"query": ' + b"9" * 5_000 + b"}", b'"\\ud8', b"nul"):
        answer = http.post("/v1/search", content=body, headers={"Content-Type": "application/json; charset=utf-8"})
        assert is_problem(answer, 422 if b"999" in body and answer.status_code == 422 else 400)


def test_a_body_may_be_so_long(serve: Serve) -> None:
    plan = ServicePlan(limits=ServiceLimits(body_bytes=1_000))
    with httpx.Client(base_url=serve(plan)) as http:
        long = {"query": "x" * 1_000}
        assert is_problem(http.post("/v1/search", json=long), 413)

        def chunks() -> Iterator[bytes]:
            yield from [b" " * 400] * 5

        assert is_problem(http.post("/v1/search", content=chunks(), headers={"Content-Type": "application/json"}), 413)
        assert http.post("/v1/search", json={"query": "x" * 900}).status_code == 200


def test_a_client_that_dawdles_is_let_go(serve: Serve) -> None:
    url = urlsplit(serve(ServicePlan(limits=ServiceLimits(body_seconds=0.2))))
    with socket.create_connection((str(url.hostname), int(url.port or 0)), timeout=30) as line:
        line.sendall(
            b"POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        assert line.recv(4_096).startswith(b"HTTP/1.1 408 ")


def test_a_search_that_takes_too_long_is_given_up(serve: Serve) -> None:
    with httpx.Client(base_url=serve(ServicePlan(limits=ServiceLimits(answer_seconds=0.0001)))) as http:
        assert is_problem(http.post("/v1/search", json=BREAD), 504)


def test_a_full_queue_says_when_to_come_back(serve: Serve) -> None:
    url = serve(ServicePlan(limits=ServiceLimits(waiting=1)))
    queries = {"queries": [f"bread number {number}, but not rye" for number in range(8)]}
    with httpx.Client(base_url=url, timeout=60) as http, ThreadPoolExecutor(12) as callers:
        answers = list(callers.map(lambda _: http.post("/v1/search", json=queries), range(36)))
        assert {answer.status_code for answer in answers} == {200, 503}
        for answer in answers:
            if answer.status_code == 503:
                assert is_problem(answer, 503)
                assert answer.headers["retry-after"] == "1"
        assert http.post("/v1/search", json=BREAD).status_code == 200


def test_each_key_may_call_so_often(serve: Serve) -> None:
    plan = replace(PRIVATE, limits=ServiceLimits(requests_per_minute=3))
    with httpx.Client(base_url=serve(plan)) as http:
        statuses = [http.get("/v1/about", headers=bearer(KEY)).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        assert http.get("/v1/about", headers=bearer("another-key-0123456789")).status_code == 200
        last = http.get("/v1/about", headers=bearer(KEY))
        assert is_problem(last, 429)
        assert 1 <= int(last.headers["retry-after"]) <= 20
        assert http.get("/health").status_code == 200


def test_a_damaged_index_is_told_without_its_folder(serve: Serve, demo_index: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "damaged"
    shutil.copytree(demo_index, folder)
    with httpx.Client(base_url=serve(KEYED, index=folder)) as http:
        (folder / "excise-index.json").write_text("{")
        for answer in (http.get("/ready"), http.post("/v1/search", json=BREAD)):
            assert is_problem(answer, 503)
            assert str(tmp_path) not in answer.text
        assert http.get("/health").status_code == 200


def test_what_goes_wrong_inside_is_not_told(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    from excise.service.desk import SearchDesk

    def fails(*_: Any) -> None:
        raise RuntimeError("/home/secret/path")

    with httpx.Client(base_url=serve(KEYED)) as http:
        monkeypatch.setattr(SearchDesk, "checked_kind", fails)
        answer = http.post("/v1/search", json=BREAD)
        assert is_problem(answer, 500)
        assert "secret" not in answer.text
        assert answer.headers["content-security-policy"] == CONTENT_POLICY


@pytest.mark.parametrize(
    "path",
    [b"/../web_app.py", b"/%2e%2e/web_app.py", b"/..%2fweb_app.py", b"/x/../../routes.py", b"//etc/passwd", b"/%00"],
)
def test_no_address_leads_out_of_the_page(reader_url: str, path: bytes) -> None:
    url = urlsplit(reader_url)
    with socket.create_connection((str(url.hostname), int(url.port or 0)), timeout=30) as line:
        line.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path)
        assert line.recv(4_096).startswith(b"HTTP/1.1 404 ")


def test_open_requests_are_bounded(serve: Serve) -> None:
    url = urlsplit(serve(ServicePlan(limits=ServiceLimits(open_requests=2, body_seconds=20))))
    lines = [socket.create_connection((str(url.hostname), int(url.port or 0)), timeout=30) for _ in range(2)]
    try:
        for line in lines:
            line.sendall(b"POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        while "excise_open_requests 3.0" not in httpx.get(f"{url.geturl()}/metrics").text:
            if httpx.get(f"{url.geturl()}/v1/about").status_code == 503:
                break
            time.sleep(0.01)
        answer = httpx.get(f"{url.geturl()}/v1/about")
        assert is_problem(answer, 503)
        assert httpx.get(f"{url.geturl()}/health").status_code == 200
    finally:
        for line in lines:
            line.close()
