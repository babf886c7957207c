"""``excise report``: the page on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from excise.errors import InvalidInput

out = Console()


def report(
    folders: Annotated[list[Path], typer.Argument(help="Folders that 'excise eval' or 'excise eval-pairs' wrote.")],
    out_: Annotated[Path, typer.Option("--out", help="The page that is written.")] = Path("report.html"),
) -> None:
    """Make one HTML page of any number of runs: tables, the trade-off plot, and every query side by side."""
    from excise.evaluation.report import render_report

    page = render_report(folders)
    try:
        out_.parent.mkdir(parents=True, exist_ok=True)
        out_.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{out_} cannot be written: {error.strerror or error}.") from None
    size = len(page.encode()) / 1e6
    out.print(f"wrote {out_} ({size:.1f} MB)", highlight=False, soft_wrap=True)
