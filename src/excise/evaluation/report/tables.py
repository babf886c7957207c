"""The tables of the report: systems by collection, every metric of a collection, tiers, and the ladder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean

from excise.evaluation.measures.outcomes import METRICS
from excise.evaluation.report.runs import Difference, Run

LOWER_IS_BETTER = frozenset({"leak@10", "leaked_documents@10"})
UNRANKED = frozenset({"fire_rate"})
TIER_METRICS = ("success@10", "hit@10", "leak@10", "ndcg@10", "xndcg@10")
NAMES = {
    "ndcg@10": "nDCG@10",
    "xndcg@10": "xnDCG@10",
    "leaked_documents@10": "leaked docs@10",
    "fire_rate": "fire rate",
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


@dataclass(frozen=True)
class Column:
    """A column: its title, the metric that decides which way is better, and a number per row."""

    title: str
    metric: str
    cells: Sequence[Cell]
    group: str = ""


def systems_of(runs: Iterable[Run]) -> list[str]:
    """Every system of some runs, in the order in which they first appear, the baselines first."""
    runs = list(runs)
    names = dict.fromkeys(name for run in runs for name in run.systems)
    first = [name for name in names if any(name == run.baseline for run in runs)]
    return [*first, *(name for name in names if name not in first)]


def overview(runs: Sequence[Run]) -> str:
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
    return table(names, columns, _baselines(runs))


def collection(run: Run) -> str:
    """Every metric of one run, with its interval."""
    names = systems_of([run])
    known = [metric for metric in (*METRICS, "accuracy") if any(metric in own for own in run.systems.values())]
    columns = [Column(titled(metric), metric, [_cell(run, name, metric, True) for name in names]) for metric in known]
    return table(names, columns, _baselines([run]))


def tiers(run: Run) -> str:
    """One metric by tier, a table per metric; the page shows one at a time."""
    names = systems_of([run])
    parts = []
    for metric in TIER_METRICS:
        columns = [
            Column(tier, metric, [Cell(own.get(name, {}).get(metric)) for name in names])
            for tier, own in run.tiers.items()
        ]
        columns = [column for column in columns if any(cell.value is not None for cell in column.cells)]
        if columns:
            columns.append(Column("all", metric, [_cell(run, name, metric) for name in names]))
            parts.append(f'<div data-metric="{escape(metric)}">{table(names, columns, _baselines([run]))}</div>')
    return "".join(parts)


def ladders(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The rungs that were run, from the frozen index to the whole operator: (whose topics, table) for each source.

    A rung is known by the part of its name before the colon; what follows it tells where the topics came from.
    """
    names = systems_of(runs)
    sources = dict.fromkeys(name.partition(":")[2] for name in names if name.partition(":")[0] in LADDER)
    found = []
    for source in sources:
        rungs = [rung for rung in _rungs(source) if rung in names]
        if sum(rung.partition(":")[0] != "frozen" for rung in rungs) >= 2:
            found.append((source, _ladder(rungs, runs)))
    return found


def _rungs(source: str) -> list[str]:
    return [rung if rung == "frozen" or not source else f"{rung}:{source}" for rung in LADDER]


def _ladder(rungs: Sequence[str], runs: Sequence[Run]) -> str:
    columns = []
    for run in runs:
        values = [run.systems.get(rung, {}).get(run.headline) for rung in rungs]
        if sum(value is not None for value in values) < 2:
            continue
        cells, last = [], None
        for value in values:
            cells.append(Cell(value, note="" if value is None or last is None else f"{value - last:+.3f}"))
            last = value if value is not None else last
        columns.append(Column(run.label, run.headline, cells, titled(run.headline)))
    return table(rungs, columns, {"frozen"}, lambda rung: LADDER[rung.partition(":")[0]])


def mean_over(runs: Sequence[Run], system: str) -> float | None:
    """The mean of the runs' headline metrics; None unless the system was measured on all of them."""
    values = [run.systems.get(system, {}).get(run.headline) for run in runs]
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def table(
    rows: Sequence[str],
    columns: Sequence[Column],
    baselines: set[str],
    describe: Callable[[str], str] | None = None,
) -> str:
    """A table of numbers, the best of each column in bold.

    Examples
    --------
    >>> page = table(["<a>", "b"], [Column("leak", "leak@10", [Cell(0.5), Cell(0.25)])], {"<a>"})
    >>> "&lt;a&gt;" in page, "<a>" in page, page.count("best")
    (True, False, 1)
    """
    best = [_best(column) for column in columns]
    head = _head(columns, describe is not None)
    body = []
    for row, name in enumerate(rows):
        marked = ' class="baseline"' if name in baselines else ""
        about = "" if describe is None else f'<td class="about">{escape(describe(name))}</td>'
        cells = [_shown(column, column.cells[row], best[place]) for place, column in enumerate(columns)]
        body.append(f'<tr{marked}><th scope="row">{escape(name)}</th>{about}{"".join(cells)}</tr>')
    return f'<div class="scroll"><table>{head}<tbody>{"".join(body)}</tbody></table></div>'


def _head(columns: Sequence[Column], described: bool) -> str:
    blank = '<th class="corner"></th>' * (2 if described else 1)
    groups: list[list[str | int]] = []
    for column in columns:
        if groups and groups[-1][0] == column.group:
            groups[-1][1] = int(groups[-1][1]) + 1
        else:
            groups.append([column.group, 1])
    spans = "".join(f'<th class="group" colspan="{width}">{escape(str(title))}</th>' for title, width in groups)
    upper = f"<tr>{blank}{spans}</tr>" if any(column.group for column in columns) else ""
    titles = "".join(f'<th scope="col">{escape(column.title)}{_arrow(column.metric)}</th>' for column in columns)
    left = '<th scope="col">system</th>' + ('<th scope="col" class="about">stage</th>' if described else "")
    return f"<thead>{upper}<tr>{left}{titles}</tr></thead>"


def _shown(column: Column, cell: Cell, best: float | None) -> str:
    if cell.value is None:
        return '<td class="none">–</td>'  # noqa: RUF001 (a dash, as in print)
    value = f"{cell.value:.3f}"
    bold = best is not None and round(cell.value, 3) == best
    parts = [f"<b class='best'>{value}</b>" if bold else value, _mark(column.metric, cell.against)]
    if cell.interval is not None:
        parts.append(f"<small>{cell.interval[0]:.3f} to {cell.interval[1]:.3f}</small>")
    if cell.note:
        parts.append(f"<small>{escape(cell.note)}</small>")
    return f"<td>{''.join(parts)}</td>"


def _mark(metric: str, against: Difference | None) -> str:
    """▲ better, ▼ worse than the baseline, beyond chance; the room is kept where there is no mark."""
    if against is None or against.p_value >= _P or metric in UNRANKED or against.difference == 0:
        return '<i class="mark"></i>'
    better = (against.difference < 0) == (metric in LOWER_IS_BETTER)
    title = (
        f"{against.difference:+.3f} against the baseline, 95% interval {against.low:+.3f} to {against.high:+.3f}, "
        f"p = {against.p_value:.4f}"
    )
    return f'<i class="mark {"better" if better else "worse"}" title="{title}">{"▲" if better else "▼"}</i>'


def _best(column: Column) -> float | None:
    """The best value as printed; None where there is nothing to choose."""
    values = [round(cell.value, 3) for cell in column.cells if cell.value is not None]
    if len(values) < 2 or column.metric in UNRANKED:
        return None
    return min(values) if column.metric in LOWER_IS_BETTER else max(values)


def _cell(run: Run, system: str, metric: str, with_interval: bool = False) -> Cell:
    interval = run.intervals.get(system, {}).get(metric) if with_interval else None
    return Cell(run.systems.get(system, {}).get(metric), interval, run.significance.get(system, {}).get(metric))


def _baselines(runs: Iterable[Run]) -> set[str]:
    return {run.baseline for run in runs}


def titled(metric: str) -> str:
    """A metric's name as the report prints it."""
    return NAMES.get(metric, metric)


def _arrow(metric: str) -> str:
    return ' <span class="way" title="lower is better">↓</span>' if metric in LOWER_IS_BETTER else ""
