"""Records and settings from files: what their types refuse, and in which words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from excise.xbench.checking import checked_settings
from excise.xbench.mining import Band, MiningSettings
from excise.xbench.records import MinedPair, Record
from excise.xbench.run_settings import JudgeOptions, WriterOptions, merged
from excise.xbench.storage import XBenchError
from excise.xbench.verdicts import read_verdicts

RECORD = Record("p1", "p", "T1", "explicit", "short", "tea, not milk", "tea", ("milk",), ("milk",), "g", ("n",))


def test_what_was_written_is_read_again() -> None:
    pair = MinedPair("p1", "g", ("n", "m"), (0.5, 0.25))
    assert MinedPair.from_dict(pair.to_dict(), "here") == pair
    assert Record.from_dict(RECORD.to_dict(), "here") == RECORD
    older = RECORD.to_dict()
    del older["repaired"]
    assert Record.from_dict({**older, "later": 1}, "here") == RECORD
    settings = MiningSettings(Path("c.jsonl").resolve(), None, "minilm", Band(0.5, 0.9, absolute=True), anchors=3)
    assert checked_settings(MiningSettings, settings.to_dict(), "[mine]") == settings


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"query": 3}, "here: the field 'query' of a record cannot be 3."),
        ({"repaired": "yes"}, "here: the field 'repaired' of a record cannot be 'yes'."),
        ({"topics": "milk"}, "here: the field 'topics' of a record cannot be 'milk'."),
        ({"topics": ["milk", None]}, "here: the field 'topics' of a record cannot be None."),
        ({"tier": "T9"}, "here: the field 'tier' of a record cannot be 'T9'."),
        ({"topics": []}, "here: a record needs as many wordings and negatives as topics, and at least one."),
    ],
)
def test_bad_records_get_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(XBenchError) as caught:
        Record.from_dict({**RECORD.to_dict(), **change}, "here")
    assert str(caught.value) == sentence


def test_bad_verdicts_get_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text('{"id": "p1", "judge": "j", "topics": [{"topic": "milk"}]}')
    with pytest.raises(XBenchError, match=r"v\.jsonl, line 1: a verdict needs the field 'wording'"):
        read_verdicts(tmp_path / "v.jsonl")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"temperature": "hot"}, "temperature must be like 0.8, got 'hot'."),
        ({"max_tokens": True}, "max_tokens must be like 1600, got True."),
        ({"tiers": ["T1", "T4"]}, "'T4' is none of the tiers T1, T2, T3."),
        ({"lengths": "short"}, "lengths must be like ['short', 'long'], got 'short'."),
        ({"model": ""}, "name the model that is the writer: --model NAME."),
    ],
)
def test_bad_settings_get_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(XBenchError) as caught:
        merged(WriterOptions, {"model": "m"}, given, "writer")
    assert str(caught.value) == sentence


def test_anchors_must_be_a_number() -> None:
    with pytest.raises(XBenchError, match=r"\[mine\] anchors must be a valid integer, got '5'"):
        checked_settings(MiningSettings, {"corpus": Path("c"), "anchors": "5"}, "[mine]", "[mine] ")


def test_settings_are_those_of_the_call_before_unless_given_anew() -> None:
    first = merged(WriterOptions, {}, {"model": "m", "tiers": ["T1"]}, "writer")
    assert (first.tiers, first.settings().writer.name) == (("T1",), "m")
    again = merged(WriterOptions, first.to_dict(), {"seed": 3, "model": None}, "writer")
    assert again == replace(first, seed=3)
    with pytest.raises(XBenchError, match="temperature must be from 0 to 2"):
        merged(JudgeOptions, {}, {"model": "j", "temperature": 3.0}, "judge").judge()
