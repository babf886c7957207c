"""Each of the nine gates by itself: what passes, what fails, and the reason code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from excise.xbench import gates
from excise.xbench.gates import GATES, Rivalry
from excise.xbench.gating import Outcome, funnel
from excise.xbench.records import Record
from excise.xbench.verdicts import TopicVerdict

EXPLICIT = Record(
    id="p1-T1-short",
    pair="p1",
    tier="T1",
    form="explicit",
    length="short",
    query="home bread baking, not rye",
    wanted="home bread baking",
    topics=("rye",),
    wordings=("rye",),
    gold="g",
    negatives=("n1",),
)
COMPOUND = replace(
    EXPLICIT,
    id="p1-T3-short",
    tier="T3",
    form="disjunctive",
    topics=("rye", "spelt"),
    wordings=("rye", "spelt"),
    negatives=("n1", "n2"),
)
RIGHT = TopicVerdict("rye", "rye", True, False, True, False, True)


def test_round_trip() -> None:
    assert gates.round_trip(1) is None
    assert gates.round_trip(100) is None
    assert gates.round_trip(None, 50) == ("gold_unreachable", "the gold is not among the first 50")


def test_difficulty() -> None:
    fair = [Rivalry("BM25", 4.0, (2.0,), 0.5), Rivalry("MaxSim", 5.0, (4.0,), 0.8)]
    assert gates.difficulty(fair) is None
    failure = gates.difficulty([fair[0], Rivalry("MaxSim", 5.0, (4.5, 3.9), 0.8)])
    assert failure == ("negative_too_easy", "negative 2 has 78% of the MaxSim score of the gold on X")
    assert gates.difficulty([Rivalry("BM25", 0.0, (0.0,), 0.5)]) is None


@pytest.mark.parametrize(("said", "reason"), [(False, "the judge says no"), (None, "no usable answer")])
def test_z_in_negative(said: bool | None, reason: str) -> None:
    assert gates.z_in_negative([RIGHT]) is None
    failure = gates.z_in_negative([RIGHT, replace(RIGHT, in_negative=said)])
    assert failure is not None
    assert failure.code == "z_not_in_negative"
    assert reason in failure.detail


def test_z_not_in_gold_by_words_and_by_judge() -> None:
    assert gates.z_not_in_gold(EXPLICIT, "Bread of wheat.", [RIGHT]) is None
    by_words = gates.z_not_in_gold(EXPLICIT, "Bread of wheat and rye.", [RIGHT])
    assert by_words == ("z_in_gold", "the gold names 'rye'")
    by_judge = gates.z_not_in_gold(EXPLICIT, "Bread of wheat.", [replace(RIGHT, in_gold=True)])
    assert by_judge == ("z_in_gold", "'rye' in the gold: the judge says yes")
    unheard = gates.z_not_in_gold(EXPLICIT, "Bread of wheat.", [])
    assert unheard == ("z_in_gold", "there is no verdict")


def test_distinctness() -> None:
    text = "Warm the glass pot, tip in thirty grams of coarsely ground beans and add half a litre of water."
    assert gates.distinctness({"gold": text, "negative 1": "Fold a paper filter along its seam."}) is None
    copy = {"gold": "Something else.", "negative 1": text, "negative 2": text.upper()}
    failure = gates.distinctness(copy)
    assert failure is not None
    assert failure.code == "near_duplicates"
    assert failure.detail.startswith("negative 1 and negative 2")


def test_multi_z_coverage() -> None:
    assert gates.multi_z_coverage(EXPLICIT, ["About rye."]) is None
    assert gates.multi_z_coverage(COMPOUND, ["About rye.", "About spelt."]) is None
    assert "negative 1 names 'spelt'" in str(gates.multi_z_coverage(COMPOUND, ["Rye and spelt.", "Spelt."]))
    one_for_two = replace(COMPOUND, negatives=("n1", "n1"))
    assert "one negative stands for two" in str(gates.multi_z_coverage(one_for_two, ["Rye.", "Rye."]))
    twice = replace(COMPOUND, topics=("rye", "Rye"))
    assert "excluded twice" in str(gates.multi_z_coverage(twice, ["Rye.", "Rye."]))
    alone = replace(COMPOUND, topics=("rye",))
    assert gates.multi_z_coverage(alone, ["Rye."]) == ("topics_pooled", "T3 has 1 topics, and should have 2")


def test_a_topic_that_the_judge_finds_in_both_negatives_is_pooled() -> None:
    both = replace(RIGHT, in_other=True)
    failure = gates.multi_z_coverage(COMPOUND, ["About rye.", "About spelt."], [both, RIGHT])
    assert failure == ("topics_pooled", "'rye' in the other negative: the judge says yes")


def test_an_unsure_judge_admits_nothing() -> None:
    unsure = replace(RIGHT, excludes=None, unsure=("excludes",))
    assert gates.query_side([unsure]) == ("exclusion_not_read", "'rye' ruled out by the query: the judge is unsure")


def test_leakage() -> None:
    assert gates.leakage({}) is None
    assert gates.leakage({"gold": "train.jsonl, line 2"}) == ("leaked", "gold is in train.jsonl, line 2")


def test_paraphrase_safety_is_asked_of_implicit_and_compound_queries() -> None:
    unsafe = replace(RIGHT, wording="dark loaves", wording_in_gold=True)
    assert gates.paraphrase_safety(EXPLICIT, [unsafe]) is None
    assert gates.paraphrase_safety(COMPOUND, [RIGHT]) is None
    failure = gates.paraphrase_safety(COMPOUND, [RIGHT, unsafe])
    assert failure == ("paraphrase_unsafe", "'dark loaves' in the gold: the judge says yes")
    absent = gates.paraphrase_safety(COMPOUND, [replace(RIGHT, wording_in_negative=False)])
    assert absent == ("paraphrase_unsafe", "'rye' in the negative: the judge says no")


def test_query_side() -> None:
    assert gates.query_side([RIGHT]) is None
    assert gates.query_side([RIGHT, replace(RIGHT, excludes=False)]) == (
        "exclusion_not_read",
        "'rye' ruled out by the query: the judge says no",
    )


def test_there_are_nine_gates_with_nine_codes_and_the_funnel_only_narrows() -> None:
    assert len({gate.code for gate in GATES}) == 9
    failing = [gates.Failure(gate.code, "") for gate in GATES]
    outcomes = [Outcome(EXPLICIT, ()), Outcome(COMPOUND, (failing[1], failing[8])), Outcome(COMPOUND, (failing[8],))]
    counts = funnel(outcomes, {"malformed": {"T1": 2}})
    left = [sum(count.left.values()) for count in counts.gates]
    assert left == [3, 2, 2, 2, 2, 2, 2, 2, 1]
    assert counts.gates[8].failed == {"T1": 0, "T2": 0, "T3": 2}
    assert counts.admitted == {"T1": 1, "T2": 0, "T3": 0}
    assert counts.writing == {"malformed": {"T1": 2}}
    plain = counts.to_dict()
    assert list(plain) == ["written", "admitted", "gates", "writing"]
    assert list(plain["gates"][0]) == ["name", "code", "asks", "left", "failed"]
