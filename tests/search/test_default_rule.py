"""The default rule end to end: removals by a calibrated probability, doubtful ones last, passages shown."""

from __future__ import annotations

from itertools import pairwise

import pytest

import excise
from excise import Excise, InvalidInput
from excise.settings import resolve

QUERY = "electric cars, but not Tesla"


def test_what_surely_covers_the_topic_goes_with_the_passage_that_convicts_it(demo: Excise) -> None:
    result = demo.search(QUERY, exclude=["Tesla"])
    assert result.removed
    for one in result.removed:
        assert one.probability is not None
        assert one.probability >= demo.settings.coverage.caution
        assert one.passage is not None
        assert "tesla" in one.passage.casefold()


def test_a_topic_that_the_corpus_does_not_have_changes_nothing(demo: Excise) -> None:
    for topic in ("en passant capture", "Garry Kasparov", "sourdough pizza in Naples"):
        frozen = demo.search("which electric cars charge fastest", exclude=[])
        result = demo.search("which electric cars charge fastest", exclude=[topic])
        assert result.removed == ()
        assert result.explanation is not None
        if result.explanation.branch == "clear":
            assert [(hit.id, hit.score) for hit in result.hits] == [(hit.id, hit.score) for hit in frozen.hits]


def test_doubtful_candidates_rank_below_all_that_is_clear(demo: Excise) -> None:
    result = demo.search("electric cars", k=80, exclude=["Tesla", "Norway"])
    statuses = [hit.status for hit in result.hits]
    first = statuses.index("doubtful") if "doubtful" in statuses else len(statuses)
    assert set(statuses[first:]) <= {"doubtful"}


def test_more_caution_removes_no_more(demo: Excise) -> None:
    removed = []
    for caution in (0.2, 0.6, 0.95, 1.0):
        settings = resolve().with_caution(caution)
        operator = excise.load(engine=demo.engine, backbone=demo.backbone, settings=settings)
        removed.append({one.id for one in operator.search(QUERY, exclude=["Tesla"]).removed})
    assert all(later <= earlier for earlier, later in pairwise(removed))
    assert removed[0]
    assert removed[-1] == set()


def test_any_backbone_has_a_readout(plain_checkpoint: object) -> None:
    operator = excise.load(backbone=str(plain_checkpoint))
    cars = [{"id": str(i), "text": f"An electric car, number {i}, made in Oslo."} for i in range(6)]
    operator.index([*cars, {"id": "t", "title": "Tesla", "text": "Tesla builds cars. Tesla is a car maker."}])
    result = operator.search("electric cars", exclude=["Tesla"])
    assert [one.id for one in result.removed] == ["t"]


def test_candidates_weighed_for_another_rule_are_refused(demo: Excise) -> None:
    from excise.search.pipeline import Pipeline, decide, named, shortlisted

    assert demo.engine is not None
    papers = Pipeline(demo.pipeline.models, resolve("frozen-paper"))
    search = papers.encode([named(QUERY, ["Tesla"])])[0]
    found = papers.find(demo.engine.reader(), [search], 10)[0]
    with pytest.raises(InvalidInput, match="weighed for the paper's rule"):
        decide(papers.weigh(search, shortlisted(found)), resolve())
