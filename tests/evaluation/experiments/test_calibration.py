"""The noise test: a constant that moves success is active, one that moves nothing is unexercised."""

from __future__ import annotations

from pathlib import Path

import pytest

from excise.engines.base import Reader
from excise.errors import InvalidInput
from excise.evaluation.experiments.calibration import GRIDS, Decided, calibrate, decide_with, sweep
from excise.evaluation.report.calibration_plot import draw_calibration
from excise.results import Detection
from excise.search.operator import Excise
from excise.search.pipeline import Pipeline, named, shortlisted
from excise.settings import PAPER_RULE, Settings, resolve
from excise.suites.suites import Suite, load_suite


@pytest.fixture(scope="module")
def suite(small_suite: Path) -> Suite:
    return load_suite(small_suite, "dev", limit=18)


@pytest.fixture(scope="module")
def reader(operator: Excise) -> Reader:
    assert operator.engine is not None
    return operator.engine.reader()


def top_of(
    detection: Detection, id: str, suite: Suite, operator: Excise, reader: Reader, settings: Settings
) -> Decided:
    pipeline = Pipeline(operator.pipeline.models, settings)
    search = pipeline.encode([detection])[0]
    weighed = pipeline.weigh(search, shortlisted(pipeline.find(reader, [search], 10)[0]))
    return decide_with(weighed, id, suite)(settings)


@pytest.mark.parametrize("preset", ["default", "one reading", "frozen-paper", "second look"])
def test_at_the_values_in_use_it_ranks_as_the_product_does(
    preset: str, suite: Suite, operator: Excise, reader: Reader
) -> None:
    changed = {"one reading": resolve(adapter_fusion=False), "second look": resolve(second_look=True)}
    settings = changed.get(preset) or resolve(preset)
    product = Excise(operator.pipeline.models, operator.engine, settings)
    untouched = 0
    for query in suite.queries:
        # What the record excludes, and something that no document covers: there nothing is to change.
        strange = "baroque counterpoint"
        asked = ((query.text, query.excluded), (f"{query.text} Not {strange}.", (strange,)))
        for text, topics in (one for one in asked if one[1]):
            result = product.search(text, exclude=topics)
            decided = top_of(named(text, topics), query.id, suite, operator, reader, settings)
            assert decided.top == tuple(hit.id for hit in result.hits)
            assert result.explanation is not None
            untouched += result.explanation.branch in ("floor", "clear")
    assert untouched >= len(suite.queries) // 2


def test_success_is_a_gold_and_no_excluded_document(suite: Suite, operator: Excise, reader: Reader) -> None:
    outcomes = set()
    for query in suite.queries:
        if query.excluded:
            for settings in (Settings(), resolve("frozen-paper")):
                decided = top_of(named(query.text, query.excluded), query.id, suite, operator, reader, settings)
                golds = {id for id, score in suite.qrels[query.id].items() if score > 0}
                leaked = suite.negatives.get(query.id, frozenset()) & set(decided.top)
                assert decided.success == (bool(golds & set(decided.top)) and not leaked)
                outcomes.add(decided.success)
    assert outcomes == {True, False}


def test_verdicts(tmp_path: Path) -> None:
    def by_margin(settings: Settings) -> Decided:
        return Decided(settings.coverage.margin >= 2, (f"{settings.coverage.margin}",))

    def by_floor(settings: Settings) -> Decided:
        return Decided(True, (f"{settings.coverage.doubt}",))

    found = {one.constant: one for one in sweep("made <up> $", iter([by_margin, by_floor] * 20), Settings())}
    assert found["margin"].verdict == "active"
    assert found["margin"].spread == pytest.approx(0.5)
    assert found["doubt"].verdict == "inert"
    assert found["match_share"].verdict == "unexercised"
    assert list(found) == list(GRIDS["coverage"])
    for name in ("once.svg", "twice.svg"):
        draw_calibration(list(found.values()), tmp_path / name)
    drawn = (tmp_path / "once.svg").read_text()
    assert drawn == (tmp_path / "twice.svg").read_text()
    assert drawn.count('<g id="axes_') == len(found)
    assert "<up>" not in drawn


def test_the_papers_constants_are_swept_too() -> None:
    found = sweep("made up", [lambda settings: Decided(settings.constants.removal_cap > 2, ())], PAPER_RULE)
    assert {one.constant for one in found} == set(GRIDS["paper"])
    assert next(one for one in found if one.constant == "removal_cap").success[1] == 0


def test_a_suite_is_swept(small_suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXCISE_CACHE", str(tmp_path / "cache"))
    reported: list[tuple[str, int, int]] = []
    found = calibrate(small_suite, "dev", Settings(), "oracle", limit=6, progress=lambda *now: reported.append(now))
    assert {one.constant for one in found} == set(GRIDS["coverage"])
    assert len({one.success[one.default] for one in found}) == 1  # they all hold the values in use
    assert reported[-1][1] == reported[-1][2] > 0
    ordinary = tmp_path / "ordinary"
    ordinary.mkdir()
    for part in ("corpus.jsonl", "queries.jsonl", "qrels"):
        (ordinary / part).symlink_to(small_suite / part)
    with pytest.raises(InvalidInput, match="no query of the split 'dev' excludes anything"):
        calibrate(ordinary, "dev", Settings(), "oracle", limit=2)
