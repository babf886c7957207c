"""The page for everyone: by keyboard, on a phone, in the dark, with a screen reader, and when something fails."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from page_reader import Reader, reading
from playwright.sync_api import Browser, expect
from served_page import Demo

TESLA = "electric cars, but not Tesla"
SCREENS = {"wide": (1280, 900), "tablet": (768, 1024), "phone": (390, 844), "narrow": (320, 640)}


def screen(name: str) -> dict[str, object]:
    width, height = SCREENS[name]
    return {"viewport": {"width": width, "height": height}}


def tab_to(reader: Reader, name: str) -> None:
    """Press Tab until the focus is on what is called so; the way a reader without a mouse gets there."""
    for _ in range(60):
        reader.page.keyboard.press("Tab")
        focused = reader.page.evaluate(
            "document.activeElement.ariaLabel ?? document.activeElement.labels?.[0]?.textContent"
            " ?? document.activeElement.textContent"
        )
        if focused.strip().startswith(name):
            return
    raise AssertionError(f"Tab does not lead to {name!r}.")


def test_everything_works_by_keyboard(reader: Reader) -> None:
    reader.open()
    keys = reader.page.keyboard
    tab_to(reader, "What are you looking for")
    keys.type(TESLA)
    keys.press("Enter")
    reader.settle()
    tab_to(reader, "Another topic")
    keys.type("Norway")
    keys.press("Enter")
    answer = reader.asked(TESLA, exclude=["Tesla", "Norway"])
    reader.sees(answer)
    tab_to(reader, "Caution")
    keys.press("End")
    expect(reader.summary).to_contain_text("nothing removed", ignore_case=True)
    while float(reader.caution.input_value()) > answer.likeliest["probability"]:
        keys.press("ArrowLeft")
    expect(reader.rows("removed").first).to_be_visible()
    tab_to(reader, "Put back: ")
    keys.press("Enter")
    expect(reader.page.locator(".tag", has_text="put back")).to_be_visible()
    keys.press("/")
    expect(reader.box).to_be_focused()


def test_a_new_ranking_leaves_the_focus_where_it_is(reader: Reader) -> None:
    reader.open(("q", TESLA))
    answer = reader.asked(TESLA)
    put_back = reader.button(f"Put back: {answer.likeliest['title']}")
    put_back.focus()
    reader.page.evaluate(
        f"document.getElementById('caution').value = {answer.halfway()};"
        "document.getElementById('caution').dispatchEvent(new Event('input'))"
    )
    reader.sees(reader.asked(TESLA, caution=answer.halfway()))
    expect(put_back).to_be_focused()


def test_the_skip_link_leads_to_the_results(reader: Reader) -> None:
    reader.open(("q", TESLA))
    address = reader.page.url
    reader.page.keyboard.press("Tab")
    expect(reader.page.get_by_role("link", name="Skip to the results")).to_be_focused()
    reader.page.keyboard.press("Enter")
    expect(reader.page.locator("#results")).to_be_focused()
    assert reader.page.url == address


@pytest.mark.parametrize("name", SCREENS)
def test_nothing_sticks_out_at_any_width(browser: Browser, demo_service: Demo, name: str) -> None:
    with reading(browser, demo_service.url, **screen(name)) as reader:
        for query in (TESLA, "a" * 300, "mechanical keyboards that are not clicky"):
            reader.open(("q", query), ("leave-out", "b" * 200))
            wide, seen = reader.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert wide <= seen, query
        reader.open(("q", TESLA))
        expect(reader.page.locator("path.line")).to_have_count(10)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["wide", "phone"])
def test_axe_finds_no_violation(browser: Browser, demo_service: Demo, name: str, theme: str) -> None:
    with reading(browser, demo_service.url, color_scheme=theme, reduced_motion="reduce", **screen(name)) as reader:
        reader.open()
        expect(reader.page.locator("#gallery")).to_be_visible()
        assert violations(reader) == []
        reader.open(("q", TESLA), ("leave-out", "Norway"), ("caution", reader.asked(TESLA).halfway()))
        reader.button("Stop leaving out Norway").click()
        reader.settle()
        reader.rows("removed").first.get_by_role("button").first.click()
        reader.rows("hits").first.get_by_role("button").first.click()
        reader.rows("removed").last.get_by_role("button", name="Put back").click()
        expect(reader.rows("lower").first).to_be_visible()
        assert violations(reader) == []
        reader.open(("q", "not only Tesla: electric cars"))
        assert violations(reader) == []


def violations(reader: Reader) -> list[str]:
    found = Axe().run(reader.page).response["violations"]
    return [f"{item['id']}: {node['html'][:150]}" for item in found for node in item["nodes"]]


def test_the_theme_can_be_chosen_and_stays(reader: Reader) -> None:
    def paper() -> str:
        return reader.page.evaluate("getComputedStyle(document.body).backgroundColor")

    reader.open()
    light = paper()
    reader.button("Dark colours").click()
    dark = paper()
    assert dark != light
    reader.page.reload()
    assert paper() == dark
    reader.button("Light colours").click()
    assert paper() == light


def test_results_are_announced_and_landmarks_named(reader: Reader) -> None:
    reader.open(("q", TESLA))
    answer = reader.asked(TESLA)
    expect(reader.page.get_by_role("status")).to_have_text(answer.summary)
    expect(reader.page.get_by_role("search", name="Documents")).to_be_visible()
    expect(reader.page.get_by_role("region", name="Results")).to_be_visible()
    expect(reader.page.get_by_role("list", name=f"Removed ({len(answer.removed)})")).to_be_visible()


def test_a_service_that_is_gone_gets_a_sentence_and_another_try(reader: Reader) -> None:
    reader.open(("q", TESLA))
    caution = reader.asked(TESLA).halfway()
    reader.page.context.set_offline(True)
    reader.caution.fill(str(caution))
    alert = reader.page.get_by_role("alert")
    expect(alert).to_contain_text("The service cannot be reached")
    reader.page.context.set_offline(False)
    reader.button("Try again").click()
    expect(alert).to_be_hidden()
    reader.sees(reader.asked(TESLA, caution=caution))
    reader.troubles[:] = [said for said in reader.troubles if "ERR_INTERNET_DISCONNECTED" not in said]


def test_a_long_query_can_be_read_to_its_end(reader: Reader) -> None:
    reader.open(("q", "many words " * 300 + "on cars, but not Tesla"))
    reader.struck().scroll_into_view_if_needed()
    box = reader.page.locator(".query").bounding_box()
    word = reader.struck().bounding_box()
    assert box is not None
    assert word is not None
    assert box["y"] < word["y"] < box["y"] + box["height"]
    assert box["height"] < 900 / 2


def test_an_empty_query_asks_for_one(reader: Reader) -> None:
    reader.open()
    reader.button("Search").click()
    expect(reader.box).to_be_focused()
    expect(reader.page.locator("#results")).to_be_hidden()


def test_what_the_service_refuses_is_said(reader: Reader) -> None:
    reader.open(("q", TESLA), *(("leave-out", f"topic {number}") for number in range(19)))
    reader.page.get_by_label("Another topic").fill("one too many")
    reader.page.keyboard.press("Enter")
    expect(reader.page.get_by_role("alert")).to_contain_text("at most 20")
    reader.troubles[:] = [said for said in reader.troubles if "422" not in said]


def test_links_that_make_no_sense_are_read_as_far_as_they_do(reader: Reader) -> None:
    reader.open(("q", TESLA), ("caution", "much"), ("k", "-3"), ("nonsense", "1"))
    own = reader.page.request.get(f"{reader.url}/v1/about").json()["caution"]
    assert reader.caution.input_value() == str(own)
    expect(reader.rows("hits")).to_have_count(10)


def test_filters_hide_where_no_document_has_fields_and_are_read_both_ways(reader: Reader) -> None:
    reader.open()
    expect(reader.page.locator("#filter")).to_be_hidden()
    read = "async (text) => (await import('/state.js')).readFilter(text)"
    assert reader.page.evaluate(read, "year: 2024, language = en") == {"year": 2024, "language": "en"}
    assert reader.page.evaluate(read, '{"year": {"gt": 2020}}') == {"year": {"gt": 2020}}
    assert reader.page.evaluate(read, "  ") is None
    wrong = "async (text) => import('/state.js').then((it) => it.readFilter(text)).catch((error) => error.message)"
    assert reader.page.evaluate(wrong, "2024") == "Write the filter as field: value, field: value."
    assert reader.page.evaluate(wrong, "{year") == "The filter is no valid JSON object."
