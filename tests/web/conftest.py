"""The page in a real browser, over services started as a user starts them. Skipped where Chromium is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from served_page import KEY, Demo, service

if TYPE_CHECKING:
    from page_reader import Reader
    from playwright.sync_api import Browser

# Without these packages there is nothing to collect; `make test-web` installs them.
NEEDED = ("playwright", "axe_playwright_python", "fastapi", "uvicorn", "prometheus_client", "httpx")
collect_ignore = ["conftest.py"]  # it has no doctests, and shares its name with those of other folders
collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["*.py"]
pytest.register_assert_rewrite("page_reader")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# Nothing but the page: no updates, no accounts; and no sandbox, which containers do not allow.
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is missing: the page was not tested. On Debian: apt-get install chromium.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def demo_service(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:  # noqa: ARG001
    """The bundled corpus, with feedback. It depends on the browser so that nothing starts where there is none."""
    labels = tmp_path_factory.mktemp("feedback") / "labels.jsonl"
    with service("--demo", "--feedback-file", labels) as url:
        yield Demo(url, labels)


@pytest.fixture(scope="session")
def private_service(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:  # noqa: ARG001
    """An index that begins empty, and asks everybody for a key."""
    folder = tmp_path_factory.mktemp("private")
    (folder / "keys").write_text(f"{KEY}\n")
    options = ("--index", folder / "index", "--create", "--private", "--api-key-file", folder / "keys")
    with service(*options) as url:
        yield url


@pytest.fixture
def reader(browser: Browser, demo_service: Demo) -> Iterator[Reader]:
    """Somebody who opens the demo in a browser of their own; at the end, nothing may have gone wrong unseen."""
    from page_reader import reading

    with reading(browser, demo_service.url) as someone:
        yield someone
