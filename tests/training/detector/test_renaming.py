"""Other names in the same sentences: the marks move along, and a partner speaks of the same."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from excise.training.detector.examples import Example, located, written_examples
from excise.training.detector.renaming import LONGEST, names_of, renamed
from excise.training.detector.tagging import DetectorArguments, _pairs, _renamed

WRITTEN = list(written_examples())
NAMES = names_of(WRITTEN)
UNITS = [[WRITTEN[i] for i in unit] for unit in _pairs(WRITTEN) if len(unit) == 2]


@given(st.sampled_from(UNITS), st.integers(0, 10**6))
def test_what_is_marked_is_a_name_and_all_else_stays(unit: list[Example], seed: int) -> None:
    fire, partner = renamed(unit, NAMES, random.Random(seed))
    assert len(fire.spans) == len(unit[0].spans)
    assert all(fire.text[start:end] in NAMES for start, end in fire.spans)
    assert _outside(fire) == _outside(unit[0])
    assert partner.spans == ()
    assert (partner.pair, partner.source) == (unit[1].pair, unit[1].source)


def _outside(example: Example) -> str:
    text, read = "", 0
    for start, end in example.spans:
        text, read = text + example.text[read:start] + "|", end
    return text + example.text[read:]


def test_both_topics_of_a_query_get_names_and_each_place_the_same_one() -> None:
    text = "hikes, no snow, no dogs, and I mean no Snow"
    fire = Example(text, located(text, ["snow", "dogs"]) or (), "", "explicit", pair="1")
    partner = Example("hikes with dogs in snow", (), "", "partner", pair="1")
    changed, other = renamed([fire, partner], ["one", "two"], random.Random(3))
    first, second, third = (changed.text[start:end] for start, end in changed.spans)
    assert first == third
    assert other.text == f"hikes with {second} in {first}"


def test_descriptions_are_no_names() -> None:
    text = "films without what she did before the war"
    assert names_of([Example(text, ((14, len(text)),), "", "explicit")]) == []
    assert max(len(name.split()) for name in NAMES) == LONGEST


def test_each_epoch_has_its_own_names_and_the_same_ones_again() -> None:
    rows = [row for unit in UNITS[:40] for row in unit]
    arguments, pairs = DetectorArguments(rename_rate=0.5), _pairs(rows)
    first, second = (_renamed(rows, pairs, arguments, epoch) for epoch in (0, 1))
    assert first == _renamed(rows, pairs, arguments, 0) != second
    changed = [old != new for old, new in zip(rows[::2], first[::2], strict=True)]
    assert 8 < sum(changed) < 32
    assert _renamed(rows, pairs, DetectorArguments(rename_rate=0.0), 0) == rows
