"""Content words, and trimming a span to what names the topic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.topics.words import is_content, trim


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the Tesla, ", "Tesla"),
        ("any information about Hank Gathers", "Hank Gathers"),
        ('"The Lovely Bones"', "Lovely Bones"),
        ("The Who", "Who"),
        ("C++", "C++"),
        ("Annie (1982 film)", "Annie (1982 film)"),
        ("-tesla", "tesla"),
        ("... ,", ""),
        ("and of the", "the"),
        (".NET", ".NET"),
    ],
)
def test_trimming(text: str, expected: str) -> None:
    start, end = trim(text, 0, len(text))
    assert text[start:end] == expected


@given(st.text(max_size=40), st.data())
def test_a_trimmed_span_lies_inside(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    a, b = trim(text, start, end)
    assert start <= a <= b <= end


def test_content() -> None:
    assert [is_content(word) for word in ("Tesla", "7", "the", "-", "")] == [True, True, False, False, False]
