"""Requests that nobody should have to answer, in any number: no traceback, no hang, and the next caller is served.

The short form runs with the other tests. ``EXCISE_SOAK=1`` runs the long one, of twenty thousand requests.
"""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from served import KEY, Serve

from excise.service.routes import api, public
from nasty_texts import nasty_text

SOAK = os.environ.get("EXCISE_SOAK") == "1"
COUNT = 20_000 if SOAK else 400
PATIENCE = 60  # a request that takes longer hangs
pytestmark = pytest.mark.soak

_VALID: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/v1/search", {"query": "home bread, but not rye", "k": 3, "exclude": ["rye"], "explain": True}),
    ("POST", "/v1/search", {"queries": ["bread", "bees, not wasps"], "compare": True, "caution": 0.5}),
    ("POST", "/v1/detect", {"query": "bread without rye"}),
    ("POST", "/v1/rerank", {"query": "cars, not Tesla", "candidates": [{"id": "a", "text": "a car", "score": 1}]}),
    ("POST", "/v1/documents", {"documents": [{"id": "a", "title": "", "text": "an airship"}]}),
    ("PUT", "/v1/documents/a", {"title": "airships", "text": "an airship"}),
    ("POST", "/v1/feedback", {"query": "x", "topic": "y", "document": "a", "opinion": "remove"}),
)
_ODD: tuple[Any, ...] = (
    None, True, 0, -1, 2**63, 10**400, 1e308, float("nan"), float("inf"), "", " ", "\0", [], {}, [[]], {"": None},
    [None], "9" * 300, "\ud800", {"$ref": "#"}, {"__proto__": {}}, ["x"] * 300, "x" * 5_000,
)  # fmt: skip
_METHODS = (
    "GET",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "BREW",
    "get",
    "P\x00ST",
    "",
)


def _odd(chance: random.Random) -> Any:
    return nasty_text(chance) if chance.random() < 0.5 else chance.choice(_ODD)


def _mutated(chance: random.Random, value: Any) -> Any:
    """A message with something odd in some place of it."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        name = chance.choice(list(value))
        fate = chance.random()
        if fate < 0.15:
            return {key: kept for key, kept in value.items() if key != name}
        if fate < 0.3:
            return {**value, nasty_text(chance)[:50]: _odd(chance)}
        return {**value, name: _mutated(chance, value[name])}
    if isinstance(value, list) and value and chance.random() < 0.7:
        return [*value[1:], _mutated(chance, value[0])]
    return _odd(chance)


def _torn(chance: random.Random, body: bytes) -> bytes:
    """Bytes cut out, put in or turned over."""
    torn = bytearray(body)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(torn) + 1)
        torn[at : at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
    return bytes(torn)


def _with_body(chance: random.Random) -> bytes:
    method, path, message = chance.choice(_VALID)
    body = json.dumps(_mutated(chance, message)).encode()
    if chance.random() < 0.3:
        body = chance.choice((_torn(chance, body), b"[" * 3_000, b"", b'{"query":' * 999, chance.randbytes(50)))
    kind = chance.choice((b"application/json",) * 8 + (b"text/plain", b"application/xml", b"\xff", b""))
    told = b"%d" % len(body) if chance.random() < 0.95 else chance.choice((b"-1", b"x", b"99999999999", b"0", b"1e3"))
    key = KEY.encode() if chance.random() < 0.8 else chance.choice((b"", b"\xff\xfe", b"wrong", b"x" * 5_000))
    return _written(method.encode(), path.encode(), kind, key, told, body)


def _with_odd_line(chance: random.Random) -> bytes:
    method = chance.choice(_METHODS).encode()
    paths = [route.path for router in (api, public) for route in router.routes if hasattr(route, "path")]
    path = chance.choice((*paths, "/", "*", "//", "http://x/", "/v1/documents?id=", "/v1/documents?id=%00&id=%ff"))
    odd = nasty_text(chance)[: chance.choice((10, 100, 3_000))].encode(errors="surrogatepass")
    target = path.encode() + chance.choice((b"", b"?", b"/", b"%2f..%2f")) + odd.replace(b" ", b"%20")
    return _written(method, target, b"application/json", KEY.encode(), b"2", b"{}")


def _no_http(chance: random.Random) -> bytes:
    whole = _with_body(chance)
    return chance.choice((chance.randbytes(chance.randint(1, 300)) + b"\r\n\r\n", _torn(chance, whole), b"\r\n" * 50))


def _written(method: bytes, path: bytes, kind: bytes, key: bytes, told: bytes, body: bytes) -> bytes:
    lines = [method + b" " + path + b" HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close", b"Content-Type: " + kind]
    lines += [b"Content-Length: " + told, b"Authorization: Bearer " + key, b"", body]
    return b"\r\n".join(lines)


_KINDS: tuple[Callable[[random.Random], bytes], ...] = (_with_body, _with_body, _with_body, _with_odd_line, _no_http)


def malformed(count: int, seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    for _ in range(count):
        yield chance.choice(_KINDS)(chance)


def sent(address: tuple[str, int], request: bytes) -> bytes:
    """What comes back until the service hangs up; we say that nothing more will come."""
    with socket.create_connection(address, timeout=PATIENCE) as line:
        try:
            line.sendall(request)
            line.shutdown(socket.SHUT_WR)
        except OSError:  # it has hung up already, and may have said why
            pass
        answer = b""
        try:
            while piece := line.recv(65_536):
                answer += piece
        except ConnectionResetError:
            pass
        return answer


def check(answer: bytes) -> None:
    if not answer:  # hung up on what is no request, or on one that was not finished
        return
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    assert status < 500 or status == 503, answer[:1_000]
    for secret in (b"Traceback", b"site-packages", b".py", b"excise-index.json"):
        assert secret not in body, body[:1_000]
    if status >= 400 and b"application/problem+json" in head and body:
        assert json.loads(body)["status"] == status


@pytest.mark.parametrize("portion", range(20 if SOAK else 1))
def test_malformed_requests_get_an_answer_or_nothing(serve: Serve, portion: int) -> None:
    url = serve()
    where = urlsplit(url)
    address = (str(where.hostname), int(where.port or 0))
    seed = 1_000 + portion
    with ThreadPoolExecutor(4) as callers:
        requests = malformed(COUNT // (20 if SOAK else 1), seed)
        for number, answer in enumerate(callers.map(lambda request: sent(address, request), requests)):
            check(answer)
            if number % 50 == 49:
                assert httpx.get(f"{url}/health", timeout=PATIENCE).status_code == 200
    assert httpx.get(f"{url}/ready", timeout=PATIENCE).status_code == 200
