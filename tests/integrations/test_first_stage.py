"""What all drop-ins share: the order that candidates came in, scores of any kind, candidates without text or ids."""

from __future__ import annotations

import pytest
from cars import CARS, CLEAR, EXCLUDING, PLAIN

from excise.errors import InvalidInput
from excise.integrations.first_stage import Candidate, Sifted, sift
from excise.search.operator import Excise

SCORED = [Candidate(car.text, car.title, car.score) for car in CARS]


def ids(sifted: Sifted | None) -> list[str]:
    assert sifted is not None
    return [CARS[one.position].id for one in sifted.kept]


@pytest.mark.parametrize("candidates", [SCORED, [], SCORED[:1]])
def test_nothing_is_judged_where_nothing_is_excluded(judge: Excise, candidates: list[Candidate]) -> None:
    assert sift(judge, PLAIN, candidates) is None
    assert sift(judge, EXCLUDING, candidates, exclude=[]) is None


def test_what_is_excluded_goes_and_the_rest_keeps_order_and_scores(judge: Excise) -> None:
    sifted = sift(judge, EXCLUDING, SCORED)
    assert ids(sifted) == list(CLEAR)
    assert sifted is not None
    assert [one.score for one in sifted.kept] == [car.score for car in CARS if not car.excluded]
    assert [topic.text for topic in sifted.topics] == ["Tesla"]
    assert {CARS[one.position].id for one in sifted.removed} == {"y", "three"}
    assert {one.status for one in sifted.removed} == {"removed"}


@pytest.mark.parametrize(
    "scores",
    [[None] * 6, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.9, None, 0.7, 0.6, 0.5, 0.4], [float("nan")] * 6, [10**400] * 6],
)
def test_scores_that_do_not_fall_along_the_order_are_left_alone(judge: Excise, scores: list[float | None]) -> None:
    """Distances, scores that are missing, lists that somebody else has reordered: the order given is the ranking."""
    candidates = [Candidate(car.text, car.title, score) for car, score in zip(CARS, scores, strict=True)]
    sifted = sift(judge, EXCLUDING, candidates)
    assert ids(sifted) == list(CLEAR)
    assert sifted is not None
    kept = [scores[one.position] for one in sifted.kept]
    assert [str(one.score) for one in sifted.kept] == [str(score) for score in kept]


def test_what_is_put_last_has_a_score_to_match(judge: Excise) -> None:
    """With three candidates nothing is removed: the strongest match comes last, and its score says so too."""
    sifted = sift(judge, EXCLUDING, SCORED[:3])
    assert ids(sifted) == ["leaf", "zoe", "y"]
    assert sifted is not None
    scores = [one.score for one in sifted.kept if one.score is not None]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 3


def test_candidates_without_text_stay_after_what_was_judged(judge: Excise) -> None:
    sifted = sift(judge, EXCLUDING, [Candidate(" "), *SCORED, Candidate("", "Tesla Model S")])
    assert sifted is not None
    assert [one.position for one in sifted.kept] == [2, 3, 5, 6, 0]
    assert sifted.kept[-1].as_dict() == {"status": "kept"}
    assert 7 in {one.position for one in sifted.removed}  # its title is all that it has, and is judged as its text


def test_the_same_text_twice_is_judged_twice(judge: Excise) -> None:
    sifted = sift(judge, EXCLUDING, [*SCORED, *SCORED])
    assert sifted is not None
    assert [one.position for one in sifted.kept] == [1, 2, 4, 5, 7, 8, 10, 11]


def test_at_most_k_are_kept_and_all_removals_are_told(judge: Excise) -> None:
    sifted = sift(judge, EXCLUDING, SCORED, k=2)
    assert ids(sifted) == ["leaf", "zoe"]
    assert sifted is not None
    assert len(sifted.removed) == 2


def test_input_is_bounded(judge: Excise) -> None:
    with pytest.raises(InvalidInput, match="1,001 candidates were given; at most 1,000"):
        sift(judge, PLAIN, [SCORED[0]] * 1_001)
    with pytest.raises(InvalidInput, match="k must be"):
        sift(judge, PLAIN, SCORED, k=0)
    with pytest.raises(InvalidInput, match="query is empty"):
        sift(judge, " ", SCORED)
