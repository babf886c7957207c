"""A person at the page: what they see, by what it is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Locator, Page, expect


@dataclass
class Reader:
    page: Page
    url: str
    troubles: list[str] = field(default_factory=list)

    def open(self, *fields: tuple[str, object]) -> None:
        """The page, or what a link with these fields leads to."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/" + (f"#{urlencode(fields)}" if fields else ""))
        if fields:
            self.settle()

    def search(self, query: str) -> None:
        self.box.fill(query)
        self.page.keyboard.press("Enter")
        expect(self.page).to_have_title(f"{query} · excise")
        self.settle()

    def settle(self) -> None:
        """Wait for the answer that is under way."""
        expect(self.page.locator("#results")).to_be_visible(timeout=30_000)
        expect(self.page.locator("#results")).not_to_have_attribute("aria-busy", "true", timeout=30_000)

    @property
    def box(self) -> Locator:
        return self.page.get_by_label("What are you looking for")

    @property
    def caution(self) -> Locator:
        return self.page.get_by_role("slider", name="Caution")

    @property
    def summary(self) -> Locator:
        return self.page.locator("#summary")

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("button", name=name)

    def rows(self, kind: str) -> Locator:
        """The rows of 'hits', 'lower' or 'removed'."""
        return self.page.locator(f"ol.{kind} > .row")

    def titles(self, kind: str) -> list[str]:
        return self.rows(kind).locator("h4").all_inner_texts()

    def chips(self) -> list[str]:
        return self.page.locator(".chip:not(.dropped) bdi").all_inner_texts()

    def struck(self) -> Locator:
        return self.page.locator("#reading s")


@contextmanager
def reading(browser: Browser, url: str, **context: Any) -> Iterator[Reader]:
    """Open a browser of one's own. Errors in the console and requests to elsewhere fail the test at its end."""
    context = {"viewport": {"width": 1280, "height": 900}, **context}
    session = browser.new_context(**context)
    page = session.new_page()
    page.set_default_timeout(15_000)
    someone = Reader(page, url)
    page.on("pageerror", lambda error: someone.troubles.append(f"error: {error}"))
    page.on("console", lambda said: someone.troubles.append(said.text) if said.type in ("error", "warning") else None)
    page.on("request", lambda asked: None if asked.url.startswith(url) else someone.troubles.append(asked.url))
    page.on("dialog", lambda dialog: (someone.troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    try:
        yield someone
        assert someone.troubles == []
    finally:
        session.close()
