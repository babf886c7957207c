"""A person at the page: what they see, by what it is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Locator, Page, expect

STEP = 0.05  # of the slider


class Answer:
    """What the service says to a search, in the order in which the page shows it."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.topics = [topic["text"] for topic in said["topics"]]
        self.frozen, self.hits = said["frozen"], said["hits"]
        self.removed = sorted(said["removed"], key=lambda row: row["frozen_rank"])
        self.candidates = said["explanation"]["candidates"] if said["explanation"] else []
        shown = {row["id"] for row in (*self.hits, *self.removed)}
        lower = [row for row in self.candidates if row["id"] not in shown and row["frozen_rank"] <= len(self.frozen)]
        self.lower = sorted(lower, key=lambda row: -row["score"])

    def titles(self, kind: str) -> list[str]:
        return [row["title"] or row["id"] for row in getattr(self, kind)]

    @property
    def summary(self) -> str:
        return self.counted(len(self.removed))

    def counted(self, removed: int) -> str:
        """The sentence above the results, with so many removed."""
        doubtful = sum(row["status"] == "doubtful" for row in self.lower)
        moved = f", {doubtful} doubtful moved down" if doubtful else ""
        return f"{removed or 'nothing'} removed{moved}, {len(self.hits)} result{'s' * (len(self.hits) != 1)} left."

    @property
    def told(self) -> dict[str, Any]:
        """The first document that was removed for a passage of its text, not for its title."""
        return next(row for row in self.removed if not (row["passage"] or row["title"]).startswith(row["title"]))

    @property
    def likeliest(self) -> dict[str, Any]:
        return max(self.removed, key=lambda row: row["probability"])

    def halfway(self) -> float:
        """A caution, as the slider has it, at which the likeliest document goes, and one that the page showed stays."""
        least = min(row["probability"] for row in self.removed if row["frozen_rank"] <= len(self.frozen))
        value = round(STEP * (int(least / STEP) + 1), 2)
        assert least < value <= self.likeliest["probability"]
        return value


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

    def asked(self, query: str, **fields: object) -> Answer:
        """The same search, as a program asks it."""
        body = {"query": query, "compare": True, "explain": True, **fields}
        answer = self.page.request.post(f"{self.url}/v1/search", data=body)
        assert answer.ok, answer.text()
        return Answer(answer.json())

    def sees(self, answer: Answer) -> None:
        """Wait until the page shows this answer, in every list."""
        expect(self.summary).to_have_text(answer.summary, ignore_case=True)
        expect(self.rows("hits").locator("h4")).to_have_text(answer.titles("hits"))
        expect(self.rows("lower").locator("h4")).to_have_text(answer.titles("lower"))
        expect(self.rows("removed").locator("h4")).to_have_text(answer.titles("removed")[:10])

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
