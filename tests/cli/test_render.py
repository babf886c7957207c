"""What a terminal is given: nothing that it would obey, and nothing taken for markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from excise.cli.render import explanation, indexed, printable, results, say, side_by_side, struck
from excise.results import Explanation, Hit, IndexReport, Judged, Removed, SearchResult, Topic

HOSTILE = "[red]a\x1b]0;owned\x07b\u202ec\x9b2J\ud800[/]"


def shown(what: object) -> str:
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        console.print(what)
    return capture.get()


@pytest.fixture
def hostile() -> SearchResult:
    judged = Judged(HOSTILE, HOSTILE, 1, 1.0, 0.5, 0.1, "penalised")
    return SearchResult(
        query=HOSTILE,
        fired=True,
        score=1.0,
        topics=(Topic(HOSTILE, None, None, 1.0),),
        hits=(Hit(1, HOSTILE, HOSTILE, HOSTILE, 1.0, 1, 0.5, "penalised"),),
        removed=(Removed(HOSTILE, HOSTILE, 0.5, 1, 1.0),),
        timing_ms={"total": 1.0},
        explanation=Explanation("coverage", 0.4, 0.3, (judged,)),
    )


def test_texts_of_strangers_command_nothing(hostile: SearchResult) -> None:
    for screen in (results(hostile), explanation(hostile), side_by_side(hostile, hostile)):
        text = shown(screen)
        assert text.encode()
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
        assert "[red]a" in text


def test_an_explanation_ends_with_where_the_time_went(hostile: SearchResult) -> None:
    spent = {"detect": 11.04, "rule": 2.0, "total": 13.1}
    for result in (replace(hostile, timing_ms=spent), replace(hostile, timing_ms=spent, explanation=None)):
        assert shown(explanation(result)).endswith("milliseconds: detect 11.0, rule 2.0.\n")


def test_what_is_printable_keeps_its_place() -> None:
    assert len(printable(HOSTILE)) == len(HOSTILE)
    query = "tea\x1b, not coffee\n"
    line = struck(query, [Topic("coffee", 10, 16, 1.0)])
    assert [line.plain[span.start : span.end] for span in line.spans] == ["coffee"]


def test_sentences_are_said_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    say("one [bold] two\x1b[2J\nthree", "red")
    assert capsys.readouterr().out == "one [bold] two\N{REPLACEMENT CHARACTER}[2J\nthree\n"


def test_what_indexing_did() -> None:
    said = shown(indexed(IndexReport(added=1, unchanged=2, skipped=3, documents=4_000), Path("an[y]where")))
    assert said == "4,000 documents in an[y]where\n  added 1, unchanged 2, passed over 3\n"
