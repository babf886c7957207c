"""``excise eval`` and ``excise eval-pairs``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from excise.cli.bar import bar

out = Console()
_SIGNIFICANT = 0.05

Systems = Annotated[str, typer.Option("--systems", help="Names with commas between; an unknown one lists them all.")]
Out = Annotated[Path, typer.Option("--out", help="The folder that is written to.")]
Limit = Annotated[int | None, typer.Option(help="Only the first so many.")]
Baseline = Annotated[str, typer.Option(help="The system that the others are compared with.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Discard another run in the folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def evaluate(
    suite: Annotated[str, typer.Argument(help="A suite's folder, or 'own' for the built-in one.")],
    split: Annotated[str, typer.Option(help="Which split of it.")],
    systems: Systems,
    out_: Out,
    limit: Limit = None,
    baseline: Baseline = "frozen",
    index: Annotated[
        Path | None, typer.Option("--index", "-i", help="The index of the suite's corpus; by default in the cache.")
    ] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Measure systems on a suite. Calling it again goes on where an interrupted run stopped."""
    from excise.evaluation.experiments import suite_run as runner

    with bar() as progress:
        metrics = runner.evaluate(
            suite,
            split,
            systems,
            out_,
            limit=limit,
            baseline=baseline,
            index=index,
            overwrite=overwrite,
            progress=progress,
        )
    _show(metrics, f"{metrics['suite']} {split}, {metrics['queries']:,} queries", "success@10", out_, json_)


def evaluate_pairs(
    file: Annotated[Path, typer.Argument(help="Lines with a query and two passages, Boolean or NevIR.")],
    systems: Systems,
    out_: Out,
    limit: Limit = None,
    baseline: Baseline = "frozen",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Measure how often systems prefer the right passage of two."""
    from excise.evaluation.experiments import pair_run as pairs

    with bar() as progress:
        metrics = pairs.evaluate_pairs(
            file, systems, out_, limit=limit, baseline=baseline, overwrite=overwrite, progress=progress
        )
    _show(metrics, f"{metrics['file']}, {metrics['pairs']:,} pairs", "accuracy", out_, json_)


def _show(metrics: Mapping[str, Any], title: str, tested: str, folder: Path, json_: bool) -> None:
    if json_:
        typer.echo(json.dumps(metrics, ensure_ascii=False))
        return
    out.print(_table(metrics, title, tested))
    out.print(f"wrote {folder}", style="dim", highlight=False, soft_wrap=True)


def _table(metrics: Mapping[str, Any], title: str, tested: str) -> Table:
    """A row per system; a star where it differs from the baseline by more than chance."""
    systems: Mapping[str, Mapping[str, float]] = metrics["systems"]
    columns = list(dict.fromkeys(metric for values in systems.values() for metric in values))
    baseline = metrics["config"]["baseline"]
    table = Table(title=Text(f"\n{title}", style="bold"), title_justify="left", box=None)
    table.caption = f"* differs from {baseline} in {tested}, p < {_SIGNIFICANT:g}, paired bootstrap"
    table.caption_justify = "left"
    table.add_column("system", overflow="fold")
    for column in columns:
        short = column.replace("leaked_documents", "leaked")
        table.add_column(short.replace("@", "\n@").replace("_", "\n"), justify="right", no_wrap=True)
    for name, values in systems.items():
        p_value = metrics["significance"].get(name, {}).get(tested, {}).get("p_value", 1.0)
        cells = [f"{values[column]:.3f}" if column in values else "" for column in columns]
        table.add_row(Text(name + ("*" if p_value < _SIGNIFICANT else "")), *cells)
    return table
