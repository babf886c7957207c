"""``excise study``: suites by backbones by systems in one command, and one report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from excise.cli.bar import bar
from excise.errors import ExciseError
from excise.extras import need

if TYPE_CHECKING:
    from excise.evaluation.experiments.study_run import StudyProgress


class StudyError(ExciseError):
    """A study of which some cells could not be run."""


def study_command(
    config: Annotated[Path, typer.Argument(help="A TOML file; examples/study.toml is one.")],
    out_: Annotated[Path, typer.Option("--out", help="The folder that is written to.")],
    plan: Annotated[
        bool, typer.Option("--plan", help="Only say what there is to do, and about how long it takes.")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="Only write the report on what is finished.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Run cells again that other data, weights, versions or code made.")
    ] = False,
) -> None:
    """Measure systems on suites with backbones. Calling it again goes on where it was interrupted."""
    need("the study", "eval", "bm25s", "ir_measures", "jinja2", "sklearn")
    from excise.cli.render import say
    from excise.evaluation.experiments.study_config import read_study
    from excise.evaluation.experiments.study_run import StudyFolder, estimate, run_study
    from excise.evaluation.report.study_page import write_report

    asked, folder = read_study(config), StudyFolder(out_)
    cells = asked.cells
    open_cells = [cell for cell in cells if not folder.done(cell) or (overwrite and folder.differs(cell))]
    left = span(estimate(folder, open_cells))
    say(f"{len(cells):,} cells, {len(cells) - len(open_cells):,} of them finished; {left} left.", stderr=True)
    if plan:
        for cell in open_cells:
            typer.echo(cell.label)
        return
    if not report:
        with bar() as progress:
            folder = run_study(asked, out_, overwrite=overwrite, told=_told, progress=progress)
    markdown, page = write_report(asked, folder)
    say(f"wrote {markdown} and {page}")
    failures = {} if report else folder.failures()
    if failures:
        label, reason = next(iter(failures.items()))
        raise StudyError(f"{len(failures)} of {len(cells)} cells could not be run, first {label}: {reason}")


def span(seconds: float | None) -> str:
    """A time that is left, in words.

    Examples
    --------
    >>> span(None), span(20.0), span(600.0), span(9000.0)
    ('an unknown time', 'less than a minute', 'about 10 min', 'about 2 h 30 min')
    """
    if seconds is None:
        return "an unknown time"
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes} min" if minutes < 60 else f"about {minutes // 60} h {minutes % 60} min"


def _told(done: StudyProgress) -> None:
    from excise.cli.render import say

    what = f"failed: {done.failure}" if done.failure else f"{done.seconds:.0f} s"
    say(f"[{done.done}/{done.total}] {done.cell.label}: {what}; {span(done.left)} left", "dim", stderr=True)
