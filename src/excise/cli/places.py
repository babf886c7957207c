"""Where an index is, as the commands take it: a folder, or an engine with a url and its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from excise.errors import InvalidInput

if TYPE_CHECKING:
    from excise.engines.catalogue import EngineAddress

EngineOption = Annotated[str, typer.Option(help="Where the index lives: local, qdrant, lancedb or postgres.")]
UrlOption = Annotated[str | None, typer.Option(help="The engine's address, in place of --index.")]
CollectionOption = Annotated[str | None, typer.Option(help="The index's name in the engine; by default 'excise'.")]
KeyOption = Annotated[str | None, typer.Option(help="The server's key; better in EXCISE_API_KEY.")]
OptionOption = Annotated[
    list[str] | None, typer.Option("--option", "-o", metavar="NAME=VALUE", help="A setting of the engine; repeat it.")
]


@dataclass(frozen=True)
class IndexPlace:
    """Where an index is: its name in messages, what ``excise.load`` takes, and its folder if it is a local one."""

    name: str
    arguments: dict[str, Any]
    folder: Path | None = None

    def address(self) -> EngineAddress:
        """The same for who opens engines themselves."""
        from excise.engines.catalogue import EngineAddress

        if self.folder is not None:
            return EngineAddress("local", str(self.folder))
        given = self.arguments
        return EngineAddress(given["engine"], given["url"], given["engine_options"])


def place_of(
    engine: str,
    index: Path | None,
    url: str | None,
    collection: str | None = None,
    api_key: str | None = None,
    option: list[str] | None = None,
) -> IndexPlace:
    """The place that a command's options name; contradictions are refused before anything is loaded."""
    options: dict[str, Any] = {}
    for one in option or []:
        name, separator, value = one.partition("=")
        if not separator or not name.strip():
            raise InvalidInput(f"--option takes NAME=VALUE, got {one!r}.")
        options[name.strip()] = value
    options |= {name: value for name, value in (("collection", collection), ("api_key", api_key)) if value is not None}
    from excise.engines.catalogue import ENGINES, address_of

    if engine not in ENGINES:
        raise InvalidInput(f"unknown engine {engine!r}; choose one of {', '.join(ENGINES)}.")
    if index is None and url is None:
        raise InvalidInput("name the index: --index FOLDER, or --engine NAME --url URL.")
    address_of(engine, index, url, options)
    if engine == "local":
        folder = index if index is not None else Path(str(url))
        return IndexPlace(str(folder), {"index": folder}, folder)
    return IndexPlace(f"{engine} {_less_password(str(url))}", {"engine": engine, "url": url, "engine_options": options})


def _less_password(url: str) -> str:
    """A url that may be shown."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        if parts.password is None:
            return url
        return url.replace(f":{parts.password}@", ":***@", 1)
    except ValueError:
        return url
