"""What a study found, read back from the folders of its cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from excise.errors import InvalidInput
from excise.evaluation.experiments.run_folder import LINES, METRICS
from excise.evaluation.experiments.shortlists import read_shortlists
from excise.evaluation.experiments.study_config import (
    FROZEN,
    LabelsTask,
    PairsTask,
    StudyBackbone,
    StudyCell,
    StudyConfig,
    SuiteTask,
    Task,
)
from excise.evaluation.experiments.study_run import StudyFolder
from excise.evaluation.measures.estimates import Estimate, proportion
from excise.evaluation.measures.significance import Comparison, compare
from excise.evaluation.report.runs import EvaluatedRun

SUCCESS, NDCG, ACCURACY = "success@10", "ndcg@10", "accuracy"
Outcomes = Mapping[str, Mapping[str, float | None]]
"""By query id and metric, what came out."""


@dataclass(frozen=True)
class CellResult:
    """A finished cell: its means and intervals, tiers, configuration, and what it cost."""

    cell: StudyCell
    folder: Path
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    tiers: Mapping[str, Mapping[str, float]]
    config: Mapping[str, Any]
    cost: Mapping[str, float | None]

    @cached_property
    def outcomes(self) -> Outcomes:
        """What came out, query by query."""
        found = {}
        with (self.folder / LINES).open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                found[str(record["id"])] = record["metrics"]
        return found


class StudyResults:
    """The finished cells of a study, by task, backbone and system."""

    def __init__(self, config: StudyConfig, folder: StudyFolder) -> None:
        self.config, self.folder = config, folder
        self.missing: list[str] = []
        self._cells: dict[tuple[str, str, str], CellResult] = {}
        for cell in config.cells:
            if folder.done(cell):
                self._cells[cell.task.name, cell.backbone.name, cell.system] = _result(cell, folder)
            else:
                self.missing.append(cell.label)

    def get(self, task: Task, backbone: StudyBackbone, system: str) -> CellResult | None:
        """A cell; None where it is not done."""
        return self._cells.get((task.name, backbone.name, system))

    def all(self) -> Iterable[CellResult]:
        """Every finished cell."""
        return self._cells.values()

    def mean(self, task: Task, backbone: StudyBackbone, system: str, metric: str) -> float | None:
        """A system's mean; None where there is none."""
        found = self.get(task, backbone, system)
        return None if found is None else found.means.get(metric)

    def exclusion(self, tasks: Iterable[Task]) -> list[SuiteTask]:
        """The suites among tasks whose queries rule documents out."""
        return [task for task in tasks if isinstance(task, SuiteTask) and self._leaks(task)]

    def ordinary(self, tasks: Iterable[Task]) -> list[SuiteTask]:
        """The suites among tasks whose queries rule nothing out."""
        return [task for task in tasks if isinstance(task, SuiteTask) and not self._leaks(task)]

    def _leaks(self, task: Task) -> bool:
        return any("leak@10" in one.means for one in self._cells.values() if one.cell.task.name == task.name)

    def pooled(
        self, tasks: Sequence[Task], backbone: StudyBackbone, system: str, metric: str = SUCCESS
    ) -> dict[str, float]:
        """A metric's outcomes over the queries of several tasks; empty unless the system ran on all of them."""
        found: dict[str, float] = {}
        for task in tasks:
            one = self.get(task, backbone, system)
            if one is None:
                return {}
            found |= {
                f"{task.name}/{id}": float(value)
                for id, own in one.outcomes.items()
                if (value := own.get(metric)) is not None
            }
        return found

    def systems(self, backbone: StudyBackbone) -> list[str]:
        """Every system that ran on a backbone, in the order of the tables."""
        return list(dict.fromkeys(cell.system for cell in self.config.cells if cell.backbone == backbone))

    def search_ms(self, task: Task, backbone: StudyBackbone) -> float | None:
        """Milliseconds that a frozen search took, query encoding included."""
        stored = read_shortlists(self.folder.shortlists(StudyCell(task, backbone, FROZEN)))
        return None if stored is None else 1000 * stored.seconds

    def runs(self, backbone: StudyBackbone) -> list[EvaluatedRun]:
        """The suites and pairs of a backbone as the report on single runs has them."""
        found = []
        for task in self.config.tasks:
            if isinstance(task, LabelsTask):
                continue
            own = {name: one for name in self.systems(backbone) if (one := self.get(task, backbone, name)) is not None}
            if own:
                means = {name: one.means for name, one in own.items()}
                config = {"baseline": FROZEN}
                found.append(EvaluatedRun(self.folder.folder, task.name, means, {}, {}, {}, config))
        return found


def against(system: Mapping[str, float], reference: Mapping[str, float]) -> Comparison | None:
    """How two systems differ over the same queries; None where they were not measured on the same ones."""
    if not system or system.keys() != reference.keys():
        return None
    return compare(system, reference)


def share(values: Mapping[str, float]) -> Estimate | None:
    """The mean of true and false outcomes with its interval; None where there are none."""
    return proportion(round(sum(values.values())), len(values)) if values else None


def is_pairs(task: Task) -> bool:
    """Whether a task is a file of pairs."""
    return isinstance(task, PairsTask)


def _result(cell: StudyCell, folder: StudyFolder) -> CellResult:
    place = folder.cell(cell)
    try:
        content = json.loads((place / METRICS).read_text(encoding="utf-8"))
        return CellResult(
            cell,
            place,
            content["systems"][cell.system],
            {name: (low, high) for name, (low, high) in content["intervals"][cell.system].items()},
            {tier: own[cell.system] for tier, own in content.get("tiers", {}).items()},
            content["config"],
            folder.cost(cell),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{place / METRICS} is not as a study writes it ({error!r}): remove that folder.") from None
