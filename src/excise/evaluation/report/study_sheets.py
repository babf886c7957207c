"""The tables of a study's report: plain rows of text, for Markdown and HTML alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from excise.evaluation.experiments.stopwatch import COLD_FIRINGS
from excise.evaluation.experiments.study_config import (
    FROZEN,
    REFERENCE,
    LabelsTask,
    PairsTask,
    StudyBackbone,
    StudyTable,
    Task,
)
from excise.evaluation.measures.outcomes import METRICS
from excise.evaluation.report.study_results import ACCURACY, NDCG, SUCCESS, StudyResults, against, share

NONE = "\N{EN DASH}"
RATES = (0.01, 0.05, 0.1, 0.25, 1.0)
_REMOVALS = (
    "precision",
    "precision_1+",
    "recall",
    "removed_grade_1",
    "removed_grade_0",
    "foreign_removals",
    "present_removals",
    "average_precision",
)


@dataclass(frozen=True)
class Sheet:
    """A table: what it shows, a note under its title, and rows of text."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def headline(results: StudyResults) -> list[str]:
    """What the study says of excise, what speaks against it first."""
    said = []
    for table, backbone in _each(results):
        suites = results.exclusion(results.config.tasks_of(table))
        reference = results.pooled(suites, backbone, REFERENCE)
        if not reference or not suites:
            continue
        rivals = [name for name in table.systems if name != REFERENCE and not name.endswith(":oracle")]
        found = {name: against(results.pooled(suites, backbone, name), reference) for name in rivals}
        measured = {name: one for name, one in found.items() if one is not None}
        if not measured:
            continue
        level = [
            f"{name} ({one.difference:+.3f}, p = {one.p_value:.3f})"
            for name, one in measured.items()
            if one.difference >= 0 or one.p_value >= 0.05
        ]
        where = f"{table.title}, {backbone.name}, pooled success@10 over {len(reference):,} queries"
        if level:
            said.append(f"{where}: excise is not shown to be ahead of {', '.join(level)}.")
        if len(level) < len(measured):
            said.append(
                f"{where}: excise is ahead of {len(measured) - len(level)} of {len(measured)} systems (p < 0.05)."
            )
    return sorted(said, key=lambda sentence: "not shown" not in sentence)


def sheets(results: StudyResults) -> list[Sheet]:
    """Every table of the report that has something to show."""
    found: list[Sheet] = []
    for table, backbone in _each(results):
        found += [main_sheet(results, table, backbone), *_label_sheets(results, table, backbone)]
    for backbone in results.config.backbones:
        found += [
            no_harm_sheet(results, backbone),
            pairs_sheet(results, backbone),
            first_stage_sheet(results, backbone),
            cost_sheet(results, backbone),
            overhead_sheet(results, backbone),
        ]
        for task in results.exclusion(results.config.tasks):
            found += [metrics_sheet(results, task, backbone), tier_sheet(results, task, backbone)]
    return [sheet for sheet in found if sheet.rows and len(sheet.header) > 1]


def main_sheet(results: StudyResults, table: StudyTable, backbone: StudyBackbone) -> Sheet:
    """Systems by suites: exclusion with its pool, the difference from excise, ordinary retrieval, pairs."""
    tasks = results.config.tasks_of(table)
    exclusion, ordinary = results.exclusion(tasks), results.ordinary(tasks)
    pairs = [task for task in tasks if isinstance(task, PairsTask)]
    header = ["system", *(f"{task.name} {SUCCESS}" for task in exclusion)]
    if exclusion:
        header += [f"pooled {SUCCESS}", "less excise (95%, p)", "removal precision"]
    header += [f"{task.name} nDCG@10" for task in ordinary] + [f"{task.name} {ACCURACY}" for task in pairs]
    reference = results.pooled(exclusion, backbone, REFERENCE)
    rows = []
    for name in table.systems:
        row = [_number(results.mean(task, backbone, name, SUCCESS)) for task in exclusion]
        if exclusion:
            own = results.pooled(exclusion, backbone, name)
            row += [_interval(own), "" if name == REFERENCE else _difference(own, reference)]
            row += [_mean(results.pooled(exclusion, backbone, name, "removal_precision"))]
        row += [_number(results.mean(task, backbone, name, NDCG)) for task in ordinary]
        row += [_number(results.mean(task, backbone, name, ACCURACY)) for task in pairs]
        if any(cell not in (NONE, "") for cell in row):
            rows.append((name, *row))
    note = table.note or "Paired bootstrap over queries, 10,000 resamples; the pool is all queries of the suites."
    return Sheet(f"{table.title}: {backbone.name}", note, tuple(header), tuple(rows))


def _label_sheets(results: StudyResults, table: StudyTable, backbone: StudyBackbone) -> Iterator[Sheet]:
    for task in results.config.tasks_of(table):
        if isinstance(task, LabelsTask):
            rows = [
                (name, *(_with_interval(results, task, backbone, name, metric) for metric in _REMOVALS))
                for name in table.systems
                if results.get(task, backbone, name) is not None
            ]
            note = "Graded candidates, the topic named: precision and recall of removals at grade 2 (covers the topic)."
            yield Sheet(
                f"Are the removals right? {task.name}: {backbone.name}", note, ("system", *_REMOVALS), tuple(rows)
            )


def no_harm_sheet(results: StudyResults, backbone: StudyBackbone) -> Sheet:
    """Ordinary retrieval: nDCG@10, its difference from the frozen index, and how often the detector fires."""
    ordinary = results.ordinary(results.config.tasks)
    header = ["system"]
    for task in ordinary:
        header += [f"{task.name} nDCG@10", "less frozen (95%, p)", "fires"]
    rows = []
    for name in results.systems(backbone):
        row = []
        for task in ordinary:
            own, frozen = (results.pooled([task], backbone, one, NDCG) for one in (name, FROZEN))
            row += [_number(results.mean(task, backbone, name, NDCG), 4), _difference(own, frozen, 4)]
            row += [_number(results.mean(task, backbone, name, "fire_rate"), 4)]
        if any(cell != NONE for cell in row):
            rows.append((name, *row))
    return Sheet(f"No harm: {backbone.name}", "Queries that exclude nothing.", tuple(header), tuple(rows))


def pairs_sheet(results: StudyResults, backbone: StudyBackbone) -> Sheet:
    """Pairs: accuracy, and its difference from excise."""
    pairs = [task for task in results.config.tasks if isinstance(task, PairsTask)]
    header = ["system"]
    for task in pairs:
        header += [f"{task.name} {ACCURACY}", "less excise (95%, p)"]
    rows = []
    for name in results.systems(backbone):
        row = []
        for task in pairs:
            own, reference = (results.pooled([task], backbone, one, ACCURACY) for one in (name, REFERENCE))
            row += [_interval(own), "" if name == REFERENCE else _difference(own, reference)]
        if any(cell not in (NONE, "") for cell in row):
            rows.append((name, *row))
    return Sheet(
        f"Pairs: {backbone.name}", "Of two passages, the right one above the other.", tuple(header), tuple(rows)
    )


def first_stage_sheet(results: StudyResults, backbone: StudyBackbone) -> Sheet:
    """What the frozen index finds at all: the ceiling of whatever ranks its shortlist."""
    columns = ("hit@10", "recall@100", "leak@10")
    rows = [
        (task.name, *(_number(results.mean(task, backbone, FROZEN, metric)) for metric in columns))
        for task in (*results.exclusion(results.config.tasks), *results.ordinary(results.config.tasks))
        if results.get(task, backbone, FROZEN) is not None
    ]
    return Sheet(f"First-stage recall: {backbone.name}", "The frozen index alone.", ("suite", *columns), tuple(rows))


def cost_sheet(results: StudyResults, backbone: StudyBackbone) -> Sheet:
    """Milliseconds a query, beyond the frozen search."""
    header = ("system", "fired", "fired again, warm", "not fired", "seconds in all")
    rows = []
    for name in results.systems(backbone):
        costs = [one.cost for one in results.all() if one.cell.backbone == backbone and one.cell.system == name]
        row = [_ms([cost.get(key) for cost in costs]) for key in ("fired_ms", "warm_ms", "quiet_ms")]
        if any(cell != NONE for cell in row):
            rows.append((name, *row, f"{sum(cost.get('seconds') or 0.0 for cost in costs):,.0f}"))
    note = (
        "Mean milliseconds that ranking takes once the frozen shortlist is there; models load in the first query. What "
        f"re-embeds was timed on the first {COLD_FIRINGS} firings of a suite: from an empty cache, and with all held."
    )
    return Sheet(f"Query-time cost: {backbone.name}", note, header, tuple(rows))


def overhead_sheet(results: StudyResults, backbone: StudyBackbone) -> Sheet:
    """What excise adds to a frozen search, by the share of queries that fire."""
    header = ("suite", "frozen search, ms", "detector, ms", "firing, ms", *(f"{rate:.0%} fire" for rate in RATES))
    rows = []
    for task in results.config.suites:
        found, search = results.get(task, backbone, REFERENCE), results.search_ms(task, backbone)
        if found is None or search is None:
            continue
        detector, firing = found.cost.get("detector_ms"), found.cost.get("fired_ms")
        shares = [NONE] * len(RATES)
        if detector is not None and firing is not None:
            shares = [f"{(detector + rate * firing) / search:+.1%}" for rate in RATES]
        rows.append((task.name, f"{search:.0f}", _ms([detector]), _ms([firing]), *shares))
    note = "Expected overhead of excise over the frozen search: (detector + rate x firing) / search."
    return Sheet(f"Overhead: {backbone.name}", note, header, tuple(rows))


def metrics_sheet(results: StudyResults, task: Task, backbone: StudyBackbone) -> Sheet:
    """Every metric of a suite with its interval."""
    rows = [
        (name, *(_with_interval(results, task, backbone, name, metric) for metric in METRICS))
        for name in results.systems(backbone)
        if results.get(task, backbone, name) is not None
    ]
    return Sheet(f"{task.name}, every metric: {backbone.name}", "", ("system", *METRICS), tuple(rows))


def tier_sheet(results: StudyResults, task: Task, backbone: StudyBackbone) -> Sheet:
    """Every metric of a suite by tier, for the systems of the first table."""
    rows = []
    for name in results.config.tables[0].systems:
        found = results.get(task, backbone, name)
        for tier, means in (found.tiers if found is not None else {}).items():
            rows.append((name, tier, *(_number(means.get(metric)) for metric in METRICS)))
    return Sheet(f"{task.name} by tier: {backbone.name}", "", ("system", "tier", *METRICS), tuple(rows))


def _each(results: StudyResults) -> Iterator[tuple[StudyTable, StudyBackbone]]:
    for table in results.config.tables:
        for backbone in results.config.backbones_of(table):
            yield table, backbone


def _with_interval(results: StudyResults, task: Task, backbone: StudyBackbone, name: str, metric: str) -> str:
    found = results.get(task, backbone, name)
    if found is None or found.means.get(metric) is None:
        return NONE
    low, high = found.intervals[metric]
    return f"{found.means[metric]:.3f} [{low:.3f}, {high:.3f}]"


def _interval(values: dict[str, float]) -> str:
    found = share(values)
    return NONE if found is None else f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _difference(own: dict[str, float], reference: dict[str, float], digits: int = 3) -> str:
    found = against(own, reference)
    if found is None:
        return NONE
    low, high = (f"{end:+.{digits}f}" for end in (found.low, found.high))
    return f"{found.difference:+.{digits}f} [{low}, {high}] p = {found.p_value:.4f}"


def _number(value: float | None, digits: int = 3) -> str:
    return NONE if value is None else f"{value:.{digits}f}"


def _mean(values: dict[str, float]) -> str:
    return _number(fmean(values.values()) if values else None)


def _ms(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{fmean(known):,.1f}" if known else NONE
