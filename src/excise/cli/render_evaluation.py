"""How measurements look in a terminal: outcomes and removals by system, sweeps of constants, the diagnosis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from excise.evaluation.experiments.calibration import Sweep
    from excise.evaluation.experiments.coverage_report import CoverageReport
    from excise.evaluation.experiments.diagnosis import Diagnosis
    from excise.evaluation.experiments.pair_run import PairReport
    from excise.evaluation.experiments.suite_report import Estimates, SuiteReport

_SIGNIFICANT = 0.05
_HEADINGS = {
    "success@10": "succ.@10",
    "leaked_documents@10": "leaked@10",
    "removal_precision": "rem._prec.",
    "unlabelled_removed": "unlab._rem.",
}
_REMOVALS = {  # measure, and how its column is headed
    "precision": "prec.",
    "precision_1+": "prec.\n1+",
    "recall": "recall",
    "removed_grade_1": "gr. 1\ngone",
    "removed_grade_0": "gr. 0\ngone",
    "average_precision": "AP",
    "brier": "Brier",
    "foreign_removals": "foreign\ngone",
    "foreign_removals@10": "\n@10",
    "present_removals": "present\ngone",
    "present_removals@10": "\n@10",
}


def outcome_table(report: SuiteReport | PairReport, title: str, tested: str) -> Table:
    """A row per system; a star where it differs from the baseline by more than chance."""
    columns = list(dict.fromkeys(metric for own in report.systems.values() for metric in own))
    table = Table(title=Text(f"\n{title}", style="bold"), title_justify="left", box=None, padding=(0, 1, 0, 0))
    table.caption = f"* differs from {report.baseline} in {tested}, p < {_SIGNIFICANT:g}, paired bootstrap"
    table.caption_justify = "left"
    table.add_column("system", overflow="fold")
    for column in columns:  # as narrow as their figures allow: a terminal of eighty columns holds all of them
        heading = _HEADINGS.get(column, column).replace("@", "\n@").replace("_", "\n")
        table.add_column(heading, justify="right", no_wrap=True, min_width=max(map(len, heading.split("\n"))))
    for name, own in report.systems.items():
        against = report.significance.get(name, {}).get(tested)
        star = "*" if against is not None and against.p_value < _SIGNIFICANT else ""
        table.add_row(Text(name + star), *(f"{own[column].mean:.3f}" if column in own else "" for column in columns))
    return table


def coverage_tables(report: CoverageReport) -> RenderableType:
    """What each system removes: a table over all searches, and one for each corpus where there are several."""
    counts = f"{report.searches:,} searches, {report.candidates:,} labelled candidates"
    tables = [_removal_table(f"{', '.join(report.labels)}: {counts}", report.systems)]
    if len(report.corpora) > 1:
        tables += [_removal_table(corpus, systems) for corpus, systems in report.corpora.items()]
    tables[-1].caption = (
        "prec., recall: of what covers the topic (1+: or mentions it); gr. 1, gr. 0: the share removed of what "
        "mentions it, of what does not; foreign, present: documents removed a search, and out of the frozen top "
        "ten, where the corpus does not have the topic, and where it does"
    )
    tables[-1].caption_justify = "left"
    return Group(*tables)


def _removal_table(title: str, systems: Mapping[str, Estimates]) -> Table:
    table = Table(title=Text(f"\n{title}", style="bold"), title_justify="left", box=None, padding=(0, 1, 0, 0))
    table.add_column("system", overflow="fold")
    columns = [name for name in _REMOVALS if any(name in own for own in systems.values())]
    for name in columns:
        table.add_column(_REMOVALS[name], justify="right", no_wrap=True)
    for system, own in systems.items():
        figures = (f"{own[name].mean:.{2 if 'removals' in name else 3}f}" if name in own else "" for name in columns)
        table.add_row(Text(system), *figures)
    return table


def sweep_table(sweeps: Sequence[Sweep]) -> Table:
    """What each constant does to success, source by source."""
    table = Table("source", "constant", "value", "success@10 over the grid", "spread", "2 x SE", "verdict", box=None)
    for one in sweeps:
        curve = "  ".join(f"{value:g}: {rate:.3f}" for value, rate in one.success.items())
        figures = (f"{one.default:g}", curve, f"{one.spread:.3f}", f"{one.noise:.3f}")
        table.add_row(Text(one.source), one.constant, *figures, one.verdict)
    return table


def diagnosis_tables(found: Diagnosis) -> RenderableType:
    """The diagnosis for a terminal."""
    gaps = found.gaps
    headline = Text.assemble(
        (f"\n{found.suite} {found.split}", "bold"),
        f", {found.backbone}: the excluded document outscores the gold on ",
        (f"{gaps.inverted:.3f}", "bold"),
        f" of {gaps.queries:,} queries.\n",
    )
    table = Table(title="gap S(q, n) - S(q, g) by number of excluded tokens", title_justify="left", box=None)
    for name in ("excluded tokens", "queries", "inverted", "mean gap", "95% interval"):
        table.add_column(name, justify="left" if name == "excluded tokens" else "right")
    for one in (*found.buckets, gaps):
        interval = f"{one.low:+.3f} to {one.high:+.3f}"
        table.add_row(Text(one.name), f"{one.queries:,}", f"{one.inverted:.3f}", f"{one.mean:+.3f}", interval)
    return Group(headline, table, _terms(found), _probe(found))


def _terms(found: Diagnosis) -> RenderableType:
    terms = found.terms
    if terms is None:
        return Text("\nNo query names its excluded topics word for word: Proposition 1 is not split.\n", style="dim")
    return Text.assemble(
        f"\nProposition 1, on the {terms.queries:,} queries that name their topics: mean gap ",
        (f"{terms.epsilon + terms.excluded:+.3f}", "bold"),
        f" = epsilon {terms.epsilon:+.3f} + |q_Z| delta {terms.excluded:+.3f}\n",
        f"(delta {terms.delta:+.3f} a token over {terms.tokens:.1f} tokens; delta > 0 on {terms.delta_positive:.3f}, "
        f"epsilon > 0 on {terms.epsilon_positive:.3f} of them).\n",
    )


def _probe(found: Diagnosis) -> RenderableType:
    if found.probe is None:
        return Text("Too few documents that no pair joins for the probe's folds.\n", style="dim")
    probe = found.probe
    title = (
        f"linear probe, gold against excluded, {probe.pairs:,} pairs of {probe.documents:,} documents (chance 0.500)"
    )
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("layer")
    for one in probe.layers:
        table.add_column(one.layer, justify="right")
    table.add_row("accuracy", *(f"{one.accuracy:.3f}" for one in probe.layers))
    table.add_row("sd of folds", *(f"{one.deviation:.3f}" for one in probe.layers), style="dim")
    return table
