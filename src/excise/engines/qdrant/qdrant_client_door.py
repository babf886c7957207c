"""Clients of Qdrant: one for each server, folder or memory in a process, and what goes wrong as a sentence."""

from __future__ import annotations

import atexit
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any

from excise.engines.qdrant.qdrant_options import MEMORY, QdrantOptions
from excise.errors import BadIndex
from excise.extras import need

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

_OPENING = Lock()
_INSIDE: dict[str, QdrantDoor] = {}  # a folder admits one client; whoever names it again shares that one


@dataclass(frozen=True)
class QdrantDoor:
    """A client, and the lock under which it is used where it runs inside this process (it is made for one thread)."""

    client: QdrantClient
    lock: AbstractContextManager[Any]


def open_door(options: QdrantOptions) -> QdrantDoor:
    """A client for a server, or the one that this process has of a folder or of its own memory."""
    need("the engine 'qdrant'", "qdrant", "qdrant_client")
    if options.remote:
        return QdrantDoor(_remote_client(options), nullcontext())
    place = MEMORY if options.url == MEMORY else str(Path(options.url).resolve())
    with _OPENING:
        if place not in _INSIDE:
            from qdrant_client import QdrantClient

            with told_of_qdrant(f"the Qdrant folder {options.url}", options.timeout):
                client = (
                    QdrantClient(location=MEMORY)
                    if place == MEMORY
                    else QdrantClient(path=place, force_disable_check_same_thread=True)
                )
            atexit.register(client.close)  # while what closing needs is still there
            _INSIDE[place] = QdrantDoor(client, RLock())
        return _INSIDE[place]


def _remote_client(options: QdrantOptions) -> QdrantClient:
    from qdrant_client import QdrantClient

    with told_of_qdrant(f"Qdrant at {options.url}", options.timeout), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a key goes over plain http is said in the engine's page
        return QdrantClient(
            url=options.url,
            api_key=options.api_key,
            timeout=options.timeout,
            prefer_grpc=options.grpc,
            check_compatibility=False,
        )


@contextmanager
def told_of_qdrant(name: str, timeout: int) -> Iterator[None]:
    """What Qdrant or the way to it refuses, as one sentence."""
    from grpc import RpcError
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as error:
        if error.status_code in (401, 403):
            raise BadIndex(f"{name} refuses the key (HTTP {error.status_code}); give the right api_key.") from error
        raise BadIndex(f"{name} answered HTTP {error.status_code}: {_first_line(error.content)}.") from error
    except (ApiException, OSError, RuntimeError, RpcError, ValueError) as error:
        told = _first_line(str(error))
        if "timed out" in told.lower():
            raise BadIndex(f"{name} did not answer within {timeout} seconds.") from error
        raise BadIndex(f"{name} could not be used: {told}.") from error


def _first_line(text: str | bytes) -> str:
    written = text.decode(errors="replace") if isinstance(text, bytes) else text
    return " ".join(written.split())[:300].rstrip(".")
