"""The front door of the app: whose requests are taken, how long and how large they may be, what every answer says.

It stands outside of everything else, so that no answer leaves without its headers, the answer to a failure included.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from excise.service.api_keys import ApiKeys, CallRate
from excise.service.gauges import Gauges
from excise.service.problems import busy, problem
from excise.service.service_limits import ServiceLimits

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_ASKING = ("/v1/search", "/v1/detect", "/v1/rerank", "/v1/feedback")  # they are sent with POST and change no document
_CLOSED = ("/v1/", "/metrics", "/openapi.json")  # what a private service shows to nobody without a key
_LOOKING = ("GET", "HEAD", "OPTIONS")
_HELD_BYTES = 64 * 1024 * 1024  # bodies of all requests together


@dataclass(frozen=True)
class Admission:
    """Who may do what.

    Parameters
    ----------
    keys
        what callers show; without any, nobody writes.
    private
        reading takes a key, too.
    hosts
        the names under which the service is called; None for any. On loopback this keeps web pages from reaching the
        service under a name of their own.
    """

    keys: ApiKeys = field(default_factory=ApiKeys)
    private: bool = False
    hosts: Collection[str] | None = None


def is_loopback(host: str) -> bool:
    """Whether an address is one that only this machine reaches.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class FrontDoor:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, admission: Admission, limits: ServiceLimits, gauges: Gauges) -> None:
        self.app, self.admission, self.limits, self.gauges = app, admission, limits, gauges
        self._rate = None if limits.requests_per_minute is None else CallRate(limits.requests_per_minute)
        self._open = self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, _Answering(scope, send, self.gauges))

    async def _request(self, scope: Scope, receive: Receive, answering: _Answering) -> None:
        self._open += 1
        self.gauges.open_requests.set(self._open)
        held = _Held(self)
        try:
            refusal = self._refusal(scope) or await held.read(scope, receive)
            if refusal is not None:
                await refusal(scope, receive, answering)
            elif not held.gone:
                await self._answer(scope, held.replayed(receive), answering)
        finally:
            held.release()
            self._open -= 1
            self.gauges.open_requests.set(self._open)
            answering.count()

    async def _answer(self, scope: Scope, receive: Receive, answering: _Answering) -> None:
        writes = _writes(scope)
        seconds = self.limits.write_seconds if writes else self.limits.answer_seconds
        try:
            async with asyncio.timeout(seconds):  # what has not begun by then is taken out of its queue
                await self.app(scope, receive, answering)
        except TimeoutError:
            if not answering.started:
                late = problem(504, f"it took longer than {seconds:g} s{'; it may still happen' if writes else ''}.")
                await late(scope, receive, answering)

    def _refusal(self, scope: Scope) -> Response | None:
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        if self._open > self.limits.open_requests and path != "/health":
            return busy(f"{self.limits.open_requests} requests are being answered already.")
        if self.admission.hosts is not None and _host(headers) not in self.admission.hosts:
            return problem(400, "the service is not called by this name; use localhost, or start it with --allow-host.")
        key = shown_key(headers)
        known = key is not None and self.admission.keys.known(key)
        writes = _writes(scope)
        if writes and not self.admission.keys:
            return problem(403, "this service takes no writes: it was started without --api-key-file.")
        closed = writes or (self.admission.private and method != "OPTIONS" and path.startswith((*_CLOSED, "/v1")))
        if (closed and not known) or (key is not None and self.admission.keys and not known):
            return problem(
                401, "show an API key: 'Authorization: Bearer KEY'.", {"WWW-Authenticate": 'Bearer realm="excise"'}
            )
        if self._rate is None or not path.startswith("/v1"):
            return None
        seconds = self._rate.wait(f"key {key}" if known else f"address {(scope.get('client') or ('',))[0]}")
        if seconds > 0:
            return problem(429, "too many requests; wait a little.", {"Retry-After": str(math.ceil(seconds))})
        return None


class _Held:
    """The body of one request, read whole before anybody works on it, within limits of size and time."""

    def __init__(self, door: FrontDoor) -> None:
        self._door = door
        self._chunks: list[bytes] = []
        self._size = 0
        self.gone = False

    async def read(self, scope: Scope, receive: Receive) -> Response | None:
        """Read it; what comes back is why it is refused."""
        headers, limits = Headers(scope=scope), self._door.limits
        told = headers.get("content-length", "0")
        if told.isdecimal() and int(told[:18]) > limits.body_bytes:
            return self._too_long()
        try:
            async with asyncio.timeout(limits.body_seconds):
                refusal = await self._read_all(receive)
        except TimeoutError:
            return problem(408, f"the body did not arrive within {limits.body_seconds:g} s.")
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        if refusal is None and self._size and media != "application/json":
            return problem(415, "send JSON, with 'Content-Type: application/json'.")
        return refusal

    async def _read_all(self, receive: Receive) -> Response | None:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone = True
                return None
            chunk = message.get("body", b"")
            self._chunks.append(chunk)
            self._size += len(chunk)
            self._door._held += len(chunk)
            if self._size > self._door.limits.body_bytes:
                return self._too_long()
            if self._door._held > _HELD_BYTES:
                return busy("too much is being sent at once.")
            more = message.get("more_body", False)
        return None

    def _too_long(self) -> Response:
        return problem(413, f"the body is longer than {self._door.limits.body_bytes:,} bytes.", {"Connection": "close"})

    def replayed(self, receive: Receive) -> Receive:
        """Hands the body to the app in one piece, and then whatever else the client does."""
        body: list[Message] = [{"type": "http.request", "body": b"".join(self._chunks), "more_body": False}]

        async def replay() -> Message:
            return body.pop() if body else await receive()

        return replay

    def release(self) -> None:
        self._door._held -= self._size


class _Answering:
    """Sends an answer with the headers that every answer has, and remembers how it went."""

    def __init__(self, scope: Scope, send: Send, gauges: Gauges) -> None:
        self._scope, self._send, self._gauges = scope, send, gauges
        self._began = time.perf_counter()
        self._status = 0

    @property
    def started(self) -> bool:
        """Whether a part of the answer is sent already."""
        return self._status > 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _headers_for(self._scope).items():
                headers.setdefault(name, value)
        await self._send(message)

    def count(self) -> None:
        """Count the request under its route: addresses are endless, routes are not."""
        route = getattr(self._scope.get("route"), "path", "none")
        method = self._scope["method"] if self._scope["method"] in (*_LOOKING, "POST", "PUT", "DELETE") else "other"
        self._gauges.requests.labels(route, method, str(self._status or "none")).inc()
        self._gauges.seconds.labels(route).observe(time.perf_counter() - self._began)


def _writes(scope: Scope) -> bool:
    """Whether a request may change documents: all do that are not known to do nothing of the kind."""
    return scope["method"] not in _LOOKING and scope["path"] not in _ASKING


def _headers_for(scope: Scope) -> Mapping[str, str]:
    kept = {} if not scope["path"].startswith("/v1") else {"Cache-Control": "no-store"}
    return {**SECURITY_HEADERS, **kept}


def shown_key(headers: Headers) -> str | None:
    """The key that a request shows, if any: as a bearer token, or in X-API-Key."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get("x-api-key")


def _host(headers: Headers) -> str:
    host = headers.get("host", "").lower()
    name, _, port = host.rpartition(":")
    return name if name and port.isdecimal() and (not name.startswith("[") or name.endswith("]")) else host
