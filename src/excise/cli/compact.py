"""``excise compact``: what keeps searching fast, done now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from excise.cli.places import CollectionOption, EngineOption, KeyOption, OptionOption, UrlOption, place_of


def compact_command(
    index: Annotated[Path | None, typer.Option("--index", "-i", help="The index folder.")] = None,
    engine: EngineOption = "local",
    url: UrlOption = None,
    collection: CollectionOption = None,
    api_key: KeyOption = None,
    option: OptionOption = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Merge what many writes have left, and give a large index of an older version what makes its searches fast.

    'excise index' does the same at its end. No answer changes but for what an approximate search finds.
    """
    place = place_of(engine, index, url, collection, api_key, option)
    opened = place.address().open()
    opened.tidy()
    reader = opened.reader()
    if json_:
        typer.echo(json.dumps({"index": place.name, "documents": len(reader), "exact": reader.exact}))
        return
    from excise.cli.render import say

    how = "every one is compared with a query" if reader.exact else "a query is compared with the likely ones"
    say(f"{place.name}: {len(reader):,} documents; {how}.")
