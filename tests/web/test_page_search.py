"""What a reader does with a search: read it, change its topics, put back, compare, share."""

from __future__ import annotations

import json
import re

import pytest
from page_reader import Reader, reading
from playwright.sync_api import Browser, expect
from served_page import Demo

TESLA = "electric cars, but not Tesla"
SHANGHAI = "Inside Gigafactory Shanghai"
NORWAY = "Why nearly every new car in Norway is electric"


def asked(reader: Reader, **fields: object) -> dict:
    """The same search, as a program asks it."""
    body = {"query": TESLA, "caution": 0.4, "compare": True, "explain": True} | fields
    answer = reader.page.request.post(f"{reader.url}/v1/search", data=body)
    assert answer.ok
    return answer.json()


def test_excluded_words_are_struck_through_while_typing(reader: Reader) -> None:
    reader.open()
    reader.box.press_sequentially(TESLA)
    expect(reader.struck()).to_have_text(["Tesla"])
    assert reader.chips() == ["Tesla"]
    expect(reader.page.locator("#heard")).to_have_text("Leaves out Tesla")
    expect(reader.page.locator("#results")).to_be_hidden()
    reader.box.fill("electric cars")
    expect(reader.struck()).to_have_count(0)


def test_offsets_hold_after_characters_of_two_units(reader: Reader) -> None:
    reader.open()
    reader.box.fill("  🚗🚗 electric cars, but not Tesla 🚗")
    expect(reader.struck()).to_have_text(["Tesla"])


def test_a_search_shows_both_rankings_as_the_service_gives_them(reader: Reader) -> None:
    reader.open()
    reader.search(TESLA)
    answer = asked(reader)
    assert reader.titles("hits") == [hit["title"] for hit in answer["hits"]]
    removed = sorted(answer["removed"], key=lambda row: row["frozen_rank"])
    assert reader.titles("removed") == [row["title"] for row in removed]
    before = [row["title"] for row in answer["frozen"]]
    assert reader.page.locator(".was .title").all_inner_texts() == before
    expect(reader.summary).to_have_text(f"{len(removed)} removed, 10 results left.")
    expect(reader.page.locator(".was.removed .title").first).to_have_text(SHANGHAI)


def test_every_row_has_its_probability_and_what_was_removed_its_passage(reader: Reader) -> None:
    reader.open(("q", TESLA))
    row = reader.rows("removed").filter(has_text=SHANGHAI)
    expect(row.locator(".chance")).to_have_text("Probability of covering Tesla: 64 %")
    expect(row.locator(".passage")).to_contain_text("Tesla broke ground in Shanghai")
    expect(reader.rows("removed").filter(has_text="Long-term test").locator(".passage")).to_have_text(
        "Its title says so."
    )
    expect(reader.rows("hits").locator(".chance")).to_have_count(10)


def test_lines_join_the_same_document(reader: Reader) -> None:
    reader.open(("q", TESLA))
    paths = reader.page.locator("path.line")
    expect(paths).to_have_count(10)  # every document of the ranking before is somewhere on the board
    shanghai = reader.rows("removed").filter(has_text=SHANGHAI)
    shanghai.hover()
    expect(reader.page.locator(".was.lit .title")).to_have_text(SHANGHAI)
    line = reader.page.locator("path.lit").bounding_box()
    start = reader.page.locator(".was.lit").bounding_box()
    end = shanghai.locator(".rank").bounding_box()
    assert line is not None
    assert start is not None
    assert end is not None
    assert start["y"] < line["y"] < start["y"] + start["height"]
    assert end["y"] < line["y"] + line["height"] < end["y"] + end["height"]
    reader.page.get_by_label("Compare").uncheck()
    expect(reader.page.locator(".was")).to_have_count(0)
    expect(reader.rows("hits").first.locator(".opening")).to_contain_text("Parliament in Oslo")
    assert "compare=no" in reader.page.url


def test_a_topic_is_dropped_and_taken_up_again(reader: Reader) -> None:
    reader.open(("q", TESLA))
    reader.button("Stop leaving out Tesla").click()
    expect(reader.summary).to_contain_text("nothing left out")
    assert reader.chips() == []
    expect(reader.struck()).to_have_count(0)
    assert reader.titles("hits") == [row["title"] for row in asked(reader, exclude=[])["frozen"]]
    expect(reader.button("Leave out Tesla again")).to_be_focused()
    reader.page.keyboard.press("Enter")
    expect(reader.summary).to_contain_text("7 removed")
    assert reader.chips() == ["Tesla"]


def test_a_topic_is_added_by_hand(reader: Reader) -> None:
    reader.open(("q", TESLA))
    reader.page.get_by_label("Another topic").fill("Norway")
    reader.page.keyboard.press("Enter")
    expect(reader.rows("removed").filter(has_text=NORWAY)).to_be_visible()
    assert reader.chips() == ["Tesla", "Norway"]
    answer = asked(reader, exclude=["Tesla", "Norway"])
    assert reader.titles("hits") == [hit["title"] for hit in answer["hits"]]
    expect(reader.rows("hits").first.locator(".chance")).to_contain_text("one of the topics")
    reader.button("Stop leaving out Norway").click()
    expect(reader.rows("hits").filter(has_text=NORWAY)).to_be_visible()


def test_put_back_lasts_for_the_session_and_becomes_a_label(
    reader: Reader, browser: Browser, demo_service: Demo
) -> None:
    reader.open(("q", TESLA))
    reader.button(f"Put back: {SHANGHAI}").click()
    row = reader.rows("hits").filter(has_text=SHANGHAI)
    expect(row.locator(".tag")).to_have_text("put back")
    expect(row.get_by_role("button", name=SHANGHAI, exact=True)).to_be_focused()
    expect(reader.summary).to_contain_text("6 removed")
    scores = [row["score"] for row in asked(reader)["explanation"]["candidates"] if row["status"] != "removed"]
    score = next(row["score"] for row in asked(reader)["removed"] if row["title"] == SHANGHAI)
    assert row.locator(".rank").inner_text() == str(1 + sum(other > score for other in scores))
    reader.page.reload()
    expect(row.locator(".tag")).to_have_text("put back")
    labels = [json.loads(line) for line in demo_service.feedback.read_text().splitlines()]
    assert any(label["document"] == "electric-cars-07" and label["topic"] == "Tesla" for label in labels)
    with reading(browser, reader.url) as other:
        other.open(("q", TESLA))
        expect(other.rows("removed").filter(has_text=SHANGHAI)).to_be_visible()
    reader.button(f"Remove again: {SHANGHAI}").click()
    expect(reader.rows("removed").filter(has_text=SHANGHAI)).to_be_visible()


def test_more_can_be_removed_by_hand(reader: Reader) -> None:
    reader.open(("q", TESLA))
    reader.button(NORWAY).click()
    expect(reader.rows("hits").first.locator(".text")).to_contain_text("Norw")
    reader.button(f"Remove this too: {NORWAY}").click()
    expect(reader.rows("removed").filter(has_text=NORWAY).locator(".tag")).to_have_text("by hand")
    expect(reader.rows("hits")).to_have_count(10)  # the next one moves up
    reader.button(f"Put back: {NORWAY}").click()
    expect(reader.rows("hits").first).to_contain_text(NORWAY)


def test_a_removed_document_can_be_read(reader: Reader) -> None:
    reader.open(("q", TESLA))
    row = reader.rows("removed").filter(has_text=SHANGHAI)
    row.get_by_role("button", name=SHANGHAI, exact=True).click()
    expect(row.locator("mark")).to_contain_text("Tesla broke ground in Shanghai")
    row.get_by_role("button", name=SHANGHAI, exact=True).click()
    expect(row.locator(".text")).to_be_hidden()


def test_caution_ranks_again_at_once(reader: Reader) -> None:
    reader.open(("q", TESLA))
    reader.caution.fill("0.7")
    expect(reader.summary).to_contain_text("4 removed, 2 doubtful moved down")
    expect(reader.rows("lower").filter(has_text=SHANGHAI).locator(".tag")).to_have_text("doubtful")
    reader.caution.press("End")
    expect(reader.summary).to_contain_text("Nothing removed", ignore_case=True)
    expect(reader.page.locator("#caution-says")).to_have_text("Nothing is removed.")
    reader.caution.press("Home")
    expect(reader.summary).to_contain_text("100 removed, 0 results left.")
    reader.button("Show all 100").click()
    expect(reader.rows("removed")).to_have_count(100)


def test_mentions_are_marked(reader: Reader) -> None:
    reader.open(("q", "Roman empire without the emperors"))
    first = reader.rows("hits").first
    expect(first.locator(".tag")).to_have_text("mentions it")
    expect(first.locator(".passage")).to_contain_text("Princes elected the emperor")


def test_a_link_leads_to_the_same_page(reader: Reader, browser: Browser) -> None:
    reader.open(("q", "electric cars, but not Tesla or Norway"))
    reader.button("Stop leaving out Norway").click()
    reader.page.get_by_label("Another topic").fill("batteries")
    reader.page.keyboard.press("Enter")
    reader.caution.fill("0.6")
    reader.page.wait_for_url(re.compile("caution=0.6"))
    with reading(browser, reader.url) as other:
        other.page.goto(reader.page.url)
        other.settle()
        assert other.box.input_value() == "electric cars, but not Tesla or Norway"
        assert other.chips() == ["Tesla", "batteries"]
        assert other.caution.input_value() == "0.6"
        for kind in ("hits", "lower", "removed"):
            assert other.titles(kind) == reader.titles(kind)


def test_the_link_can_be_copied(browser: Browser, demo_service: Demo) -> None:
    with reading(browser, demo_service.url, permissions=["clipboard-read", "clipboard-write"]) as reader:
        reader.open(("q", TESLA))
        reader.button("Copy link").click()
        expect(reader.button("Copied")).to_be_visible()
        assert reader.page.evaluate("navigator.clipboard.readText()") == reader.page.url


def test_back_leads_to_the_search_before(reader: Reader) -> None:
    reader.open()
    reader.search(TESLA)
    reader.search("antibiotics other than penicillin")
    reader.page.go_back()
    expect(reader.box).to_have_value(TESLA)
    expect(reader.rows("hits").first).to_contain_text(NORWAY)
    reader.page.go_back()
    expect(reader.page.locator("#results")).to_be_hidden()


def test_ten_more(reader: Reader) -> None:
    reader.open(("q", TESLA))
    reader.button("Show ten more").click()
    expect(reader.rows("hits")).to_have_count(20)
    assert reader.titles("hits") == [hit["title"] for hit in asked(reader, k=20)["hits"]]


@pytest.mark.parametrize(
    ("start", "topics", "removed", "lower"),
    [
        ("electric cars, but not Tesla", ["Tesla"], 7, 0),
        ("jazz saxophonists", ["Coltrane"], 2, 0),
        ("family dogs", ["herding breeds", "giants"], 2, 0),
        ("espresso-free", ["espresso"], 2, 0),
        ("I freeze", ["ferrata"], 1, 1),
        ("mechanical keyboards", ["clicky"], 0, 2),
        ("antibiotics", ["penicillin"], 3, 0),
        ("not only Tesla", [], 0, 0),
    ],
)
def test_each_example_shows_what_it_says(
    reader: Reader, start: str, topics: list[str], removed: int, lower: int
) -> None:
    reader.open()
    reader.page.locator("#examples button").filter(has_text=re.compile(f"^{start}")).click()
    reader.settle()
    assert reader.chips() == topics
    assert len(reader.titles("removed")) == removed
    assert reader.rows("lower").locator(".tag").all_inner_texts().count("doubtful") == lower


def test_the_gallery_has_no_example_that_is_not_checked(reader: Reader) -> None:
    reader.open()
    expect(reader.page.locator("#examples button")).to_have_count(8)
