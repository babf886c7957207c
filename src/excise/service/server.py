"""Running the service: an address, an operator, and a shut-down that finishes what was begun."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable

import uvicorn

from excise.errors import InvalidInput
from excise.service.front_door import FrontDoor

_GRACE_SECONDS = 60  # how long requests that were taken may still run when the service is told to end
_BACKLOG = 512


def listen(host: str, port: int) -> socket.socket:
    """Take an address; a port of 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:  # a name that is not known has a number that is no system error
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise InvalidInput(f"cannot listen on {host}, port {port}: {reason}.") from None


def web_address(listening: socket.socket) -> str:
    """Where a browser finds what listens there."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def run(service: FrontDoor, listening: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until the process is told to end (SIGTERM, Ctrl-C).

    Parameters
    ----------
    service
        from :func:`excise.service.web_app.build_service`.
    listening
        from :func:`listen`.
    ready
        called when requests are taken.
    """
    config = uvicorn.Config(
        service,
        log_level="warning",
        access_log=False,  # it would write down what people look at
        server_header=False,
        date_header=True,
        lifespan="on",
        backlog=_BACKLOG,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        limit_concurrency=4 * service.limits.open_requests,  # the front door answers before this, with a sentence
        ws="none",
    )
    before = {one: signal.signal(one, signal.SIG_IGN) for one in (signal.SIGINT, signal.SIGTERM)}
    try:  # uvicorn ends on either signal, and sends it once more when it has ended: by then there is nothing to do
        _Server(config, ready).run([listening])
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
