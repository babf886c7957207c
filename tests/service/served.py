"""A real service on a free port, in a thread of this process."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import uvicorn

from excise.service.api_keys import ApiKeys
from excise.service.front_door import Admission, FrontDoor
from excise.service.web_app import ServicePlan

KEY = "a-key-for-the-tests-0123456789"
KEYED = ServicePlan(Admission(ApiKeys([KEY])))
Serve = Callable[..., str]


@contextmanager
def serving(service: FrontDoor) -> Iterator[str]:
    """The address of a service, which ends with the block."""
    config = uvicorn.Config(service, log_level="critical", lifespan="on", server_header=False, ws="none")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        ended = Event()

        def run() -> None:
            server.run([listening])
            ended.set()

        thread = Thread(target=run, daemon=True)
        thread.start()
        while not server.started:
            assert not ended.wait(0.01), "the service did not start"
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
