"""What a reader does with a search: read it, change its topics, put back, compare, share."""

from __future__ import annotations

import json
import re

import pytest
from page_reader import STEP, Answer, Reader, reading
from playwright.sync_api import Browser, Route, expect
from served_page import Demo

TESLA = "electric cars, but not Tesla"


def test_excluded_words_are_struck_through_while_typing(reader: Reader) -> None:
    reader.open()
    reader.box.press_sequentially(TESLA)
    expect(reader.struck()).to_have_text(["Tesla"])
    assert reader.chips() == ["Tesla"]
    expect(reader.page.locator("#heard")).to_have_text("Leaves out Tesla")
    expect(reader.page.locator("#results")).to_be_hidden()
    reader.box.fill("electric cars")
    expect(reader.struck()).to_have_count(0)


def test_what_is_written_before_the_service_answers_is_kept(reader: Reader) -> None:
    held: list[Route] = []
    reader.page.route("**/v1/about", lambda route: held.append(route))
    reader.open()
    reader.box.fill(TESLA)
    expect(reader.struck()).to_have_text(["Tesla"])
    assert held
    with reader.page.expect_response("**/v1/about"):
        held[0].continue_()
    expect(reader.page.locator("#gallery")).to_be_visible()
    assert reader.box.input_value() == TESLA
    expect(reader.struck()).to_have_text(["Tesla"])


def test_offsets_hold_after_characters_of_two_units(reader: Reader) -> None:
    reader.open()
    reader.box.fill("  🚗🚗 electric cars, but not Tesla 🚗")
    expect(reader.struck()).to_have_text(["Tesla"])


def test_a_search_shows_both_rankings_as_the_service_gives_them(reader: Reader) -> None:
    reader.open()
    reader.search(TESLA)
    answer = reader.asked(TESLA)
    assert answer.removed
    reader.sees(answer)
    assert reader.page.locator(".was .title").all_inner_texts() == answer.titles("frozen")
    gone = [title for title in answer.titles("frozen") if title in answer.titles("removed")]
    assert reader.page.locator(".was.removed .title").all_inner_texts() == gone


def test_every_row_has_its_probability_and_what_was_removed_its_passage(reader: Reader) -> None:
    reader.open(("q", TESLA))
    told = reader.asked(TESLA).told
    row = reader.rows("removed").filter(has_text=told["title"])
    expect(row.locator(".chance")).to_have_text(f"Probability of covering Tesla: {told['probability'] * 100:.0f} %")
    expect(row.locator(".passage")).to_have_text(told["passage"])
    titled = reader.rows("removed").filter(has_text="Long-term test: a year with the Tesla Model Y")
    expect(titled.locator(".passage")).to_have_text("Its title says so.")
    expect(reader.rows("hits").locator(".chance")).to_have_count(10)


def test_lines_join_the_same_document(reader: Reader) -> None:
    reader.open(("q", TESLA))
    answer = reader.asked(TESLA)
    title = next(row["title"] for row in answer.removed if row["frozen_rank"] <= 10)
    paths = reader.page.locator("path.line")
    expect(paths).to_have_count(10)  # every document of the ranking before is somewhere on the board
    row = reader.rows("removed").filter(has_text=title)
    row.hover()
    expect(reader.page.locator(".was.lit .title")).to_have_text(title)
    line = reader.page.locator("path.lit").bounding_box()
    start = reader.page.locator(".was.lit").bounding_box()
    end = row.locator(".rank").bounding_box()
    assert line is not None
    assert start is not None
    assert end is not None
    assert start["y"] < line["y"] < start["y"] + start["height"]
    assert end["y"] < line["y"] + line["height"] < end["y"] + end["height"]
    reader.page.get_by_label("Compare").uncheck()
    expect(reader.page.locator(".was")).to_have_count(0)
    expect(reader.rows("hits").first.locator(".opening")).to_contain_text(answer.hits[0]["text"][:60])
    assert "compare=no" in reader.page.url


def test_a_topic_is_dropped_and_taken_up_again(reader: Reader) -> None:
    reader.open(("q", TESLA))
    reader.button("Stop leaving out Tesla").click()
    expect(reader.summary).to_contain_text("nothing left out")
    assert reader.chips() == []
    expect(reader.struck()).to_have_count(0)
    assert reader.titles("hits") == reader.asked(TESLA).titles("frozen")
    expect(reader.button("Leave out Tesla again")).to_be_focused()
    reader.page.keyboard.press("Enter")
    reader.sees(reader.asked(TESLA))
    assert reader.chips() == ["Tesla"]


def test_a_topic_is_added_by_hand(reader: Reader) -> None:
    reader.open(("q", TESLA))
    reader.page.get_by_label("Another topic").fill("Norway")
    reader.page.keyboard.press("Enter")
    one, both = reader.asked(TESLA), reader.asked(TESLA, exclude=["Tesla", "Norway"])
    assert set(both.titles("removed")) > set(one.titles("removed"))
    reader.sees(both)
    assert reader.chips() == ["Tesla", "Norway"]
    expect(reader.rows("hits").first.locator(".chance")).to_contain_text("one of the topics")
    reader.button("Stop leaving out Norway").click()
    reader.sees(one)


def test_put_back_lasts_for_the_session_and_becomes_a_label(
    reader: Reader, browser: Browser, demo_service: Demo
) -> None:
    reader.open(("q", TESLA))
    answer = reader.asked(TESLA)
    document, title = answer.told, answer.told["title"]
    reader.button(f"Put back: {title}").click()
    row = reader.rows("hits").filter(has_text=title)
    expect(row.locator(".tag")).to_have_text("put back")
    expect(row.get_by_role("button", name=title, exact=True)).to_be_focused()
    expect(reader.summary).to_contain_text(f"{len(answer.removed) - 1} removed")
    scores = [other["score"] for other in answer.candidates if other["status"] != "removed"]
    assert row.locator(".rank").inner_text() == str(1 + sum(score > document["score"] for score in scores))
    reader.page.reload()
    expect(row.locator(".tag")).to_have_text("put back")
    labels = [json.loads(line) for line in demo_service.feedback.read_text().splitlines()]
    assert any(label["document"] == document["id"] and label["topic"] == "Tesla" for label in labels)
    with reading(browser, reader.url) as other:
        other.open(("q", TESLA))
        other.sees(answer)
    reader.button(f"Remove again: {title}").click()
    reader.sees(answer)


def test_more_can_be_removed_by_hand(reader: Reader) -> None:
    reader.open(("q", TESLA))
    answer = reader.asked(TESLA)
    first, title = answer.hits[0], answer.hits[0]["title"]
    reader.button(title).click()
    expect(reader.rows("hits").first.locator(".text")).to_have_text(first["text"])
    reader.button(f"Remove this too: {title}").click()
    expect(reader.rows("removed").filter(has_text=title).locator(".tag")).to_have_text("by hand")
    expect(reader.rows("hits")).to_have_count(10)  # the next one moves up
    reader.button(f"Put back: {title}").click()
    reader.sees(answer)


def test_a_removed_document_can_be_read(reader: Reader) -> None:
    reader.open(("q", TESLA))
    told = reader.asked(TESLA).told
    row = reader.rows("removed").filter(has_text=told["title"])
    row.get_by_role("button", name=told["title"], exact=True).click()
    expect(row.locator("mark")).to_have_text(told["passage"])
    row.get_by_role("button", name=told["title"], exact=True).click()
    expect(row.locator(".text")).to_be_hidden()


def test_caution_ranks_again_at_once(reader: Reader) -> None:
    reader.open(("q", TESLA))
    before = reader.asked(TESLA)
    answer = reader.asked(TESLA, caution=before.halfway())
    assert 0 < len(answer.removed) < len(before.removed)
    assert "doubtful" in {row["status"] for row in answer.lower}
    reader.caution.fill(str(before.halfway()))
    reader.sees(answer)
    doubtful = [row["title"] for row in answer.lower if row["status"] == "doubtful"]
    tagged = reader.rows("lower").filter(has=reader.page.locator(".tag", has_text="doubtful"))
    assert tagged.locator("h4").all_inner_texts() == doubtful
    reader.caution.press("End")
    expect(reader.summary).to_contain_text("Nothing removed", ignore_case=True)
    expect(reader.page.locator("#caution-says")).to_have_text("Nothing is removed.")
    reader.caution.press("Home")
    most = reader.asked(TESLA, caution=0)
    assert len(most.removed) > len(before.removed)
    reader.sees(most)
    reader.button(f"Show all {len(most.removed)}").click()
    expect(reader.rows("removed")).to_have_count(len(most.removed))


@pytest.mark.parametrize(
    ("query", "caution"), [("hiking in the Alps without a hut", 0.6), ("Vim in one page, but not Emacs", 0)]
)
def test_what_matches_the_topic_and_stays_is_marked(reader: Reader, query: str, caution: float) -> None:
    reader.open(("q", query), ("caution", caution))
    answer = reader.asked(query, caution=caution)
    staying = [hit for hit in answer.hits if hit["status"] == "mentions"]
    assert staying
    for hit in staying:
        tag = reader.rows("hits").filter(has_text=hit["title"]).locator(".tag")
        expect(tag).to_have_text("stays" if hit["probability"] >= caution else "mentions it")


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
    reader.sees(reader.asked(TESLA))
    reader.page.go_back()
    expect(reader.page.locator("#results")).to_be_hidden()


def test_ten_more(reader: Reader) -> None:
    reader.open(("q", TESLA))
    reader.button("Show ten more").click()
    expect(reader.rows("hits")).to_have_count(20)
    assert reader.titles("hits") == reader.asked(TESLA, k=20).titles("hits")


def some_go(reader: Reader, answer: Answer) -> None:
    assert answer.topics
    assert answer.removed
    expect(reader.rows("removed").first).to_be_visible()


def others_move_up(reader: Reader, answer: Answer) -> None:
    some_go(reader, answer)
    assert any(hit["frozen_rank"] > 10 for hit in answer.hits)


def passages_name_him(reader: Reader, answer: Answer) -> None:
    some_go(reader, answer)
    assert not any("Coltrane" in title for title in answer.titles("removed"))
    for row in reader.rows("removed").all():
        expect(row.locator(".passage")).to_contain_text("Coltrane")


def two_topics(reader: Reader, answer: Answer) -> None:
    some_go(reader, answer)
    assert len(answer.topics) == 2


def the_doubtful_move_down(reader: Reader, answer: Answer) -> None:
    doubtful = [row for row in answer.lower if row["status"] == "doubtful"]
    assert doubtful
    for row in doubtful:
        expect(reader.rows("lower").filter(has_text=row["title"]).locator(".tag")).to_have_text("doubtful")
    least = min(doubtful, key=lambda row: row["probability"])
    reader.caution.fill(f"{STEP * int(least['probability'] / STEP):.2f}")
    expect(reader.rows("removed").filter(has_text=least["title"])).to_be_visible()


def cheese_moves_down(reader: Reader, answer: Answer) -> None:
    some_go(reader, answer)
    cheese = [row for row in answer.lower if "Roquefort" in row["title"]]
    assert [row["status"] for row in cheese] == ["doubtful"]
    expect(reader.rows("lower").filter(has_text="Roquefort").locator(".tag")).to_have_text("doubtful")


def nothing_goes(reader: Reader, answer: Answer) -> None:
    assert answer.topics == []
    expect(reader.rows("removed")).to_have_count(0)
    assert reader.titles("hits") == answer.titles("frozen")


EXAMPLES = {
    "electric cars, but not Tesla": others_move_up,
    "jazz saxophonists": passages_name_him,
    "family dogs": two_topics,
    "espresso-free": some_go,
    "We did": some_go,
    "mechanical keyboards": the_doubtful_move_down,
    "antibiotics": cheese_moves_down,
    "not only Tesla": nothing_goes,
}


@pytest.mark.parametrize("start", EXAMPLES)
def test_each_example_shows_what_it_says(reader: Reader, start: str) -> None:
    reader.open()
    reader.page.locator("#examples button").filter(has_text=re.compile(f"^{start}")).click()
    reader.settle()
    answer = reader.asked(reader.box.input_value())
    assert reader.chips() == answer.topics
    EXAMPLES[start](reader, answer)


def test_the_gallery_has_no_example_that_is_not_checked(reader: Reader) -> None:
    reader.open()
    expect(reader.page.locator("#examples button")).to_have_count(len(EXAMPLES))
