"""The tables of the report: systems by collection, every metric of a collection, tiers, and the ladder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from statistics import fmean
from typing import NamedTuple

from excise.evaluation.measures.outcomes import GRADED_METRICS, METRICS
from excise.evaluation.report.runs import Difference, EvaluatedRun

LOWER_IS_BETTER = frozenset({"leak@10", "leaked_documents@10"})
UNRANKED = frozenset({"fire_rate", "unlabelled_removed"})
TIER_METRICS = ("success@10", "hit@10", "leak@10", "ndcg@10", "xndcg@10")
NAMES = {
    "ndcg@10": "nDCG@10",
    "xndcg@10": "xnDCG@10",
    "leaked_documents@10": "leaked docs@10",
    "fire_rate": "fire rate",
    "removal_precision": "removal precision",
    "unlabelled_removed": "unlabelled removed",
}
LADDER = {
    "frozen": "the index alone",
    "demote": "demotion on frozen vectors",
    "soft": "+ soft penalty",
    "cut": "+ two-stage cut",
    "paper": "+ hard demotion and guard",
    "full": "+ hard demotion and guard",
    "excise": "the operator as it ships",
}
_P = 0.05


@dataclass(frozen=True)
class Cell:
    """A number in a table: with its interval, and how it compares with the baseline."""

    value: float | None
    interval: tuple[float, float] | None = None
    against: Difference | None = None
    note: str = ""


class Mark(NamedTuple):
    """Better or worse than the baseline, beyond chance; the title has the numbers."""

    better: bool
    title: str


@dataclass(frozen=True)
class Column:
    """A column: its title, the metric that decides which way is better, and a number per row."""

    title: str
    metric: str
    cells: Sequence[Cell]
    group: str = ""

    @property
    def lower_is_better(self) -> bool:
        return self.metric in LOWER_IS_BETTER

    def is_best(self, cell: Cell) -> bool:
        """Whether a cell has the best value, as printed; none has where there is nothing to choose."""
        return cell.value is not None and round(cell.value, 3) == self._best

    def mark(self, cell: Cell) -> Mark | None:
        """How a cell compares with the baseline; None where that may be chance.

        Examples
        --------
        >>> cell = Cell(0.2, against=Difference(-0.3, -0.4, -0.2, 0.001))
        >>> Column("leak", "leak@10", [cell]).mark(cell).better, Column("hit", "hit@10", [cell]).mark(cell).better
        (True, False)
        """
        against = cell.against
        if against is None or against.p_value >= _P or self.metric in UNRANKED or against.difference == 0:
            return None
        title = (
            f"{against.difference:+.3f} against the baseline, 95% interval {against.low:+.3f} to {against.high:+.3f}, "
            f"p = {against.p_value:.4f}"
        )
        return Mark((against.difference < 0) == self.lower_is_better, title)

    @cached_property
    def _best(self) -> float | None:
        values = [round(cell.value, 3) for cell in self.cells if cell.value is not None]
        if len(values) < 2 or self.metric in UNRANKED:
            return None
        return min(values) if self.lower_is_better else max(values)


class Group(NamedTuple):
    """Neighbouring columns under one title."""

    title: str
    width: int


@dataclass(frozen=True)
class Table:
    """Systems by columns. ``stages``, where there are any, say what each row is."""

    rows: Sequence[str]
    columns: Sequence[Column]
    baselines: frozenset[str]
    stages: Sequence[str] = ()

    @property
    def groups(self) -> list[Group]:
        """The titles over the columns; none where no column has one."""
        found = [Group(title, len(list(own))) for title, own in groupby(self.columns, lambda column: column.group)]
        return found if any(group.title for group in found) else []


class TierTable(NamedTuple):
    """One metric by tier; the page shows one such table at a time."""

    metric: str
    table: Table


class Ladder(NamedTuple):
    """The rungs that were run with one source of topics."""

    source: str
    table: Table


def systems_of(runs: Iterable[EvaluatedRun]) -> list[str]:
    """Every system of some runs, in the order in which they first appear, the baselines first."""
    runs = list(runs)
    names = dict.fromkeys(name for run in runs for name in run.systems)
    first = [name for name in names if any(name == run.baseline for run in runs)]
    return [*first, *(name for name in names if name not in first)]


def overview(runs: Sequence[EvaluatedRun]) -> Table:
    """Systems by collection: exclusion success, ordinary nDCG and pairwise accuracy side by side."""
    names = systems_of(runs)
    columns: list[Column] = []
    titles = {"exclusion": "exclusion, success@10", "ordinary": "ordinary, nDCG@10", "pairs": "pairs, accuracy"}
    for kind, group in titles.items():
        own = [run for run in runs if run.kind == kind]
        for run in own:
            columns.append(Column(run.label, run.headline, [_cell(run, name, run.headline) for name in names], group))
        if len(own) > 1:
            means = [Cell(mean_over(own, name)) for name in names]
            columns.append(Column("mean", own[0].headline, means, group))
    return Table(names, columns, _baselines(runs))


def every_metric(run: EvaluatedRun) -> Table:
    """Every metric of one run, with its interval."""
    names = systems_of([run])
    every = (*METRICS, *GRADED_METRICS, "accuracy")
    known = [metric for metric in every if any(metric in own for own in run.systems.values())]
    columns = [
        Column(NAMES.get(metric, metric), metric, [_cell(run, name, metric, True) for name in names])
        for metric in known
    ]
    return Table(names, columns, _baselines([run]))


def tier_tables(run: EvaluatedRun) -> list[TierTable]:
    """One metric by tier, a table per metric."""
    names = systems_of([run])
    found = []
    for metric in TIER_METRICS:
        columns = [
            Column(tier, metric, [Cell(own.get(name, {}).get(metric)) for name in names])
            for tier, own in run.tiers.items()
        ]
        columns = [column for column in columns if any(cell.value is not None for cell in column.cells)]
        if columns:
            columns.append(Column("all", metric, [_cell(run, name, metric) for name in names]))
            found.append(TierTable(metric, Table(names, columns, _baselines([run]))))
    return found


def ladders(runs: Sequence[EvaluatedRun]) -> list[Ladder]:
    """The rungs that were run, from the frozen index to the whole operator, for each source of topics.

    A rung is known by the part of its name before the colon; what follows it tells where the topics came from.
    """
    names = systems_of(runs)
    sources = dict.fromkeys(name.partition(":")[2] for name in names if name.partition(":")[0] in LADDER)
    found = []
    for source in sources:
        rungs = [rung for rung in _rungs(source) if rung in names]
        if sum(rung.partition(":")[0] != "frozen" for rung in rungs) >= 2:
            found.append(Ladder(source, _ladder(rungs, runs)))
    return found


def _rungs(source: str) -> list[str]:
    return [rung if rung == "frozen" or not source else f"{rung}:{source}" for rung in LADDER]


def _ladder(rungs: Sequence[str], runs: Sequence[EvaluatedRun]) -> Table:
    columns = []
    for run in runs:
        values = [run.systems.get(rung, {}).get(run.headline) for rung in rungs]
        if sum(value is not None for value in values) < 2:
            continue
        cells, last = [], None
        for value in values:
            cells.append(Cell(value, note="" if value is None or last is None else f"{value - last:+.3f}"))
            last = value if value is not None else last
        columns.append(Column(run.label, run.headline, cells, NAMES.get(run.headline, run.headline)))
    return Table(rungs, columns, frozenset({"frozen"}), [LADDER[rung.partition(":")[0]] for rung in rungs])


def mean_over(runs: Sequence[EvaluatedRun], system: str) -> float | None:
    """The mean of the runs' headline metrics; None unless the system was measured on all of them."""
    values = [run.systems.get(system, {}).get(run.headline) for run in runs]
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _cell(run: EvaluatedRun, system: str, metric: str, with_interval: bool = False) -> Cell:
    interval = run.intervals.get(system, {}).get(metric) if with_interval else None
    return Cell(run.systems.get(system, {}).get(metric), interval, run.significance.get(system, {}).get(metric))


def _baselines(runs: Iterable[EvaluatedRun]) -> frozenset[str]:
    return frozenset(run.baseline for run in runs)
