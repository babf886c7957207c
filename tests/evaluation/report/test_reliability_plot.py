"""The reliability plot, and the lines that it is made from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from excise.errors import InvalidInput
from excise.evaluation.experiments.coverage_report import CoverageReport, SearchLine, removals_of
from excise.evaluation.experiments.run_config import RunConfig
from excise.evaluation.report.reliability_plot import draw_reliability
from excise.evaluation.report.runs import read_runs
from excise.evaluation.systems.rankings import Ranked, Ranking
from excise.settings import Settings
from excise.suites.coverage_labels import LabelledSearch

SEARCH = LabelledSearch("l1", "cars", "cars, not Tesla", "cars", "Tesla", "present", {"y": 2, "leaf": 0, "far": 1})


def line(system: str, chance: float | None) -> SearchLine:
    leaf = Ranked("leaf", "Leaf", 7.0, 2, evidence=0.3, probability=None if chance is None else 1 - chance)
    model_y = Ranked("y", "Model Y", 8.0, 1, evidence=0.8, status="removed", probability=chance)
    stranger = Ranked("x", "Model X", 6.0, None, evidence=0.7, status="removed", probability=chance)
    return SearchLine.of(system, SEARCH, Ranking((leaf,), (model_y, stranger)), {"y": 1, "leaf": 2, "x": 11})


def report(*lines: SearchLine) -> CoverageReport:
    config = RunConfig({}, tuple(one.system for one in lines), None, "minilm", {}, Settings())
    removals = {one.system: [removals_of(one.to_dict())] for one in lines}
    return CoverageReport.of(("labels.jsonl",), [SEARCH], removals, config)


def test_a_score_is_the_probability_where_there_is_one() -> None:
    record = line("sure", 0.9).to_dict()
    assert record["metrics"] == {"removals": 2.0, "removals@10": 1.0}
    assert [(one["id"], one["grade"], one["frozen_rank"], one["score"]) for one in record["removed"]] == [
        ("y", 2, 1, 0.9),
        ("x", None, 11, 0.9),
    ]
    seen = [(one["document"], one["status"], one["score"], one["probability"]) for one in record["labelled"]]
    assert seen == [
        ("y", "removed", 0.9, 0.9),
        ("leaf", "kept", pytest.approx(0.1), pytest.approx(0.1)),
        ("far", "not_shortlisted", None, None),
    ]
    without = line("unsure", None).to_dict()
    assert [(one["score"], one["probability"]) for one in without["labelled"]] == [
        (0.8, None),
        (0.3, None),
        (None, None),
    ]
    assert removals_of(record).candidates == line("sure", 0.9).candidates


def test_systems_with_probabilities_are_drawn_and_the_others_are_not(tmp_path: Path) -> None:
    found = report(line("a <b> $", 0.9), line("evidence", None), line("c", 0.6), line("d", 0.5), line("e", 0.4))
    assert list(found.reliability) == ["a <b> $", "c", "d", "e"]
    assert found.systems["c"]["brier"].mean == pytest.approx(0.4**2)
    assert "brier" not in found.systems["evidence"]
    plain = found.to_dict()
    assert [one["count"] for one in plain["reliability"]["c"]] == [0, 0, 0, 0, 1, 0, 1, 0, 0, 0]
    for name in ("once.svg", "twice.svg"):
        draw_reliability(found, tmp_path / name)
    drawn = (tmp_path / "once.svg").read_text()
    assert drawn == (tmp_path / "twice.svg").read_text()
    assert drawn.count('<g id="axes_') == 4
    assert "<b>" not in drawn


def test_the_page_of_runs_refuses_removals(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text(json.dumps(report(line("c", 0.6)).to_dict()))
    with pytest.raises(InvalidInput, match="written by 'excise eval-coverage', whose measures have no place"):
        read_runs([tmp_path])
