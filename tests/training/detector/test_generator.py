"""Generated minimal pairs: labelled right, contrastive, repeatable."""

from __future__ import annotations

from excise.training.detector.generator import minimal_pairs

PAIRS = list(minimal_pairs(1_000, seed=3))


def test_topics_stand_in_the_query_they_are_excluded_from() -> None:
    for pair in PAIRS:
        assert pair.topics
        assert all(topic in pair.fire for topic in pair.topics), pair


def test_partners_share_the_topic_and_differ() -> None:
    for pair in PAIRS:
        assert pair.fire != pair.nofire
        assert all(topic.lower() in pair.nofire.lower() for topic in pair.topics), pair


def test_every_form_is_there_and_runs_repeat() -> None:
    assert {pair.form for pair in PAIRS} == {"explicit", "operator", "implicit", "disjunctive", "mixed"}
    assert list(minimal_pairs(50, seed=3)) == PAIRS[:50]
    assert list(minimal_pairs(50, seed=4)) != PAIRS[:50]
