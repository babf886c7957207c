"""Services over a slice of the bundled corpus. Without the packages of the extra ``serve`` there is nothing to test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from excise.encoders.backbone import Backbone
from excise.search.operator import load
from excise.settings import Settings

if TYPE_CHECKING:
    import httpx
    from served import Serve

    from excise.service.web_app import ServicePlan

collect_ignore_glob = [] if all(map(find_spec, ("fastapi", "uvicorn", "prometheus_client", "httpx"))) else ["*.py"]
pytest.register_assert_rewrite("served")


@pytest.fixture
def serve(minilm: Backbone, demo_index: Path, tmp_path: Path) -> Iterator[Serve]:
    """Starts services: each over a copy of the small index, or over a folder that is named."""
    from served import KEYED, serving

    from excise.service.web_app import build_service

    with ExitStack() as stack:
        count = iter(range(100))

        def start(plan: ServicePlan = KEYED, index: Path | None = None, settings: Settings | str | None = None) -> str:
            if index is None:
                index = tmp_path / f"served-{next(count)}"
                shutil.copytree(demo_index, index)
            operator = load(index, backbone=minilm, settings=settings)
            return stack.enter_context(serving(build_service(operator, plan)))

        yield start


@pytest.fixture
def keyed(serve: Serve) -> Iterator[httpx.Client]:
    """A caller of a service that takes writes, with its key."""
    import httpx
    from served import KEY

    with httpx.Client(base_url=serve(), headers={"Authorization": f"Bearer {KEY}"}, timeout=60) as http:
        yield http


@pytest.fixture(scope="session")
def reader_url(minilm: Backbone, demo_index: Path) -> Iterator[str]:
    """A service that nobody writes to, for all tests that only ask."""
    from served import serving

    from excise.service.web_app import build_service

    with serving(build_service(load(demo_index, backbone=minilm))) as url:
        yield url


@pytest.fixture
def http(reader_url: str) -> Iterator[httpx.Client]:
    import httpx

    with httpx.Client(base_url=reader_url, timeout=60) as client:
        yield client
