"""``excise copy``: an index from one engine to another, without encoding anything again."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from excise.cli.bar import bar
from excise.cli.places import CollectionOption, EngineOption, KeyOption, OptionOption, UrlOption, place_of
from excise.errors import InvalidInput


def copy_command(
    index: Annotated[Path | None, typer.Option("--index", "-i", help="The folder to copy from.")] = None,
    to_index: Annotated[Path | None, typer.Option("--to-index", help="The folder to copy to.")] = None,
    engine: EngineOption = "local",
    url: UrlOption = None,
    collection: CollectionOption = None,
    api_key: KeyOption = None,
    option: OptionOption = None,
    to_engine: Annotated[str, typer.Option("--to-engine", help="The engine to copy to.")] = "local",
    to_url: Annotated[str | None, typer.Option("--to-url", help="Its address, in place of --to-index.")] = None,
    to_collection: Annotated[str | None, typer.Option("--to-collection", help="The copy's name there.")] = None,
    to_api_key: Annotated[
        str | None, typer.Option("--to-api-key", help="The key of the server to copy to; better in EXCISE_API_KEY.")
    ] = None,
    to_option: Annotated[
        list[str] | None,
        typer.Option("--to-option", metavar="NAME=VALUE", help="A setting of the engine to copy to; repeat it."),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(help="How a new local copy stores vectors: int8, or f16, twice as large."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Copy an index to another engine or folder. Calling it again goes on where an interrupted run stopped."""
    source = place_of(engine, index, url, collection, api_key, option)
    if to_index is None and to_url is None:
        raise InvalidInput("name where the copy goes: --to-index FOLDER, or --to-engine NAME --to-url URL.")
    target = place_of(to_engine, to_index, to_url, to_collection, to_api_key, to_option)
    if source.arguments == target.arguments:
        raise InvalidInput(f"{source.name} is both what is copied and where the copy goes.")
    from excise.engines.copying import copy_index

    opened = source.address().open()
    made = replace(target.address(), vectors=vectors).create(opened.reader().encoder)
    with bar() as progress:
        report = copy_index(opened, made, partial(progress, "copying"))
    if json_:
        typer.echo(json.dumps({"from": source.name, "to": target.name, **asdict(report)}))
        return
    from excise.cli.render import copied, show

    show(copied(report, target.name))
