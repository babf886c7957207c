"""Documents, queries and links from people who mean harm, on a private service."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from page_reader import Reader, reading
from playwright.sync_api import Browser, expect
from served_page import KEY

HOSTILE = (
    '<script>window.taken = 1</script><img src=x onerror="window.taken = 2">',
    "\u202egnirts esrever\u202c <b>bold</b> {{7*7}} ${7*7}",
    "javascript:window.taken=3 <svg/onload=window.taken=4> bread",
    "</li></ol></main><h1>Your session has ended</h1>",
)


@pytest.fixture
def stranger(browser: Browser, private_service: str) -> Iterator[Reader]:
    documents = [
        {"id": f"evil/{number} <i>", "title": f"bread {text}", "text": f"Rye bread, rye flour. {text} More on rye."}
        for number, text in enumerate(HOSTILE)
    ]
    documents += [
        {"id": f"plain-{number}", "title": f"Loaf {number}", "text": f"White bread number {number}, with wheat."}
        | {"metadata": {"number": number}}
        for number in range(12)
    ]
    documents.append({"id": "__proto__", "title": "", "text": "Rye is what this loaf of rye bread is made of."})
    headers = {"Authorization": f"Bearer {KEY}"}
    answer = httpx.post(f"{private_service}/v1/documents", json={"documents": documents}, headers=headers, timeout=60)
    answer.raise_for_status()
    with reading(browser, private_service) as someone:
        yield someone
        assert someone.page.evaluate("window.taken") is None
        assert someone.page.locator("h1").count() == 1
        # Answers without a key are 401, and browsers say so in the console; nothing else may be there.
        someone.troubles[:] = [said for said in someone.troubles if "401" not in said]


def let_in(reader: Reader) -> None:
    expect(reader.page.get_by_label("This service is private")).to_be_focused()
    reader.page.keyboard.type(KEY)
    reader.page.keyboard.press("Enter")
    expect(reader.page.get_by_label("This service is private")).to_be_hidden()


def test_a_private_service_asks_for_its_key(stranger: Reader) -> None:
    stranger.open()
    expect(stranger.page.get_by_label("This service is private")).to_be_focused()
    stranger.page.keyboard.type("a-wrong-key-of-some-length")
    stranger.page.keyboard.press("Enter")
    expect(stranger.page.get_by_label("This service is private")).to_be_visible()
    stranger.page.get_by_label("This service is private").fill("")
    let_in(stranger)
    expect(stranger.page.locator("#corpus")).to_have_text("17 documents")
    expect(stranger.page.locator("#gallery")).to_be_hidden()
    stranger.search("bread")
    stranger.page.reload()
    stranger.settle()


def test_hostile_documents_are_shown_as_text(stranger: Reader) -> None:
    stranger.page.goto(f"{stranger.url}/#q=bread&k=20")
    let_in(stranger)
    stranger.settle()
    shown = stranger.titles("hits")
    assert {f"bread {text}" for text in HOSTILE} <= set(shown)
    assert "__proto__" in shown
    for text in HOSTILE:
        row = stranger.rows("hits").filter(has_text=text)
        row.get_by_role("button").first.click()
        expect(row.locator(".text")).to_contain_text(text)
        assert row.locator("script, img, svg, b, h1").count() == 0


def test_hostile_passages_topics_and_queries_are_shown_as_text(stranger: Reader) -> None:
    stranger.page.goto(f"{stranger.url}/")
    let_in(stranger)
    query = f"bread {HOSTILE[0]}, but not rye"
    stranger.open(("q", query), ("leave-out", HOSTILE[0]), ("caution", 0))
    assert stranger.box.input_value() == query
    assert HOSTILE[0] in stranger.chips()
    assert stranger.rows("removed").count() > 0
    row = stranger.rows("removed").first
    row.get_by_role("button", name="Put back").click()
    stranger.rows("hits").first.get_by_role("button").first.click()
    assert stranger.page.locator("main :is(script, iframe, img)").count() == 0


def test_names_of_the_language_are_ordinary_ids(stranger: Reader) -> None:
    stranger.page.goto(f"{stranger.url}/#q=loaf+of+bread,+but+not+rye&caution=0")
    let_in(stranger)
    stranger.settle()
    everything = stranger.button(re.compile("^Show all"))
    if everything.is_visible():
        everything.click()
    stranger.button("Put back: __proto__").click()
    expect(stranger.rows("hits").filter(has_text="__proto__").locator(".tag")).to_have_text("put back")
    stranger.page.reload()
    expect(stranger.rows("hits").filter(has_text="__proto__").locator(".tag")).to_have_text("put back")


def test_a_filter_leaves_what_it_says_and_a_hostile_one_is_refused(stranger: Reader) -> None:
    stranger.page.goto(f"{stranger.url}/")
    let_in(stranger)
    stranger.open(("q", "bread"), ("where", "number: 7"))
    assert stranger.titles("hits") == ["Loaf 7"]
    stranger.page.get_by_role("textbox", name="Filter").fill(HOSTILE[0])
    stranger.page.keyboard.press("Enter")
    expect(stranger.page.get_by_role("alert")).to_contain_text("<script>window.taken")
    assert stranger.page.locator("main :is(script, iframe, img)").count() == 0
    stranger.troubles[:] = [said for said in stranger.troubles if "422" not in said]
