"""``excise rerank`` and ``excise mcp``: excise behind other people's first stages and assistants."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from excise.errors import InvalidInput

if TYPE_CHECKING:
    from excise.search.operator import Excise


def rerank_command(
    lines: Annotated[
        Path, typer.Argument(help="JSON lines of {query, candidates: [{id, text, score}]}; '-' reads stdin.")
    ] = Path("-"),
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", "-x", help="Name a topic yourself; repeat it. A line's own 'exclude' goes first."),
    ] = None,
    k: Annotated[int | None, typer.Option("-k", help="How many candidates stay at most; all by default.")] = None,
    backbone: Annotated[str | None, typer.Option(help="Preset name, hub id, or folder of an encoder.")] = None,
    preset: Annotated[str | None, typer.Option(help="default, cautious, paper, or frozen-paper.")] = None,
    caution: Annotated[
        float | None, typer.Option(help="How sure to be, from 0 to 1, before a candidate is removed.")
    ] = None,
) -> None:
    """Judge any first stage's candidates: the same lines come out, each candidate with rank, score and status."""
    if str(lines) != "-" and not lines.is_file():
        raise InvalidInput(f"{lines}: no such file.")
    from excise.search.operator import load
    from excise.settings import resolve

    operator = load(backbone=backbone, settings=resolve(preset, caution))
    with ExitStack() as stack:
        source = sys.stdin.buffer if str(lines) == "-" else stack.enter_context(lines.open("rb"))
        for where, request in _requests(source, "stdin" if str(lines) == "-" else str(lines)):
            try:
                answer = _judged(operator, request, exclude, k)
            except InvalidInput as error:
                raise InvalidInput(f"{where}: {error}") from None
            typer.echo(json.dumps(answer, ensure_ascii=False))


def mcp_command(
    index: Annotated[Path, typer.Option("--index", "-i", help="The index folder.")],
    backbone: Annotated[str | None, typer.Option(help="By default the one that the index was built with.")] = None,
    preset: Annotated[str | None, typer.Option(help="default, cautious, paper, or frozen-paper.")] = None,
    caution: Annotated[
        float | None, typer.Option(help="How sure to be, from 0 to 1, before a document is removed.")
    ] = None,
) -> None:
    """Serve an index to assistants over stdio, by the Model Context Protocol: tools search, detect and explain."""
    from excise.integrations.mcp import mcp_server
    from excise.search.operator import load
    from excise.settings import resolve

    mcp_server(load(index, backbone=backbone, settings=resolve(preset, caution))).run("stdio")


def _requests(source: BinaryIO, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a stream, each with its place; never more than one bounded line in memory."""
    from excise.suites.jsonlines import LINE_LIMIT, decoded, parsed_object

    number = 0
    while data := source.readline(LINE_LIMIT + 1):
        number += 1
        where = f"{name}, line {number}"
        if len(data) > LINE_LIMIT:
            raise InvalidInput(f"{where}: the line has more than {LINE_LIMIT:,} bytes.")
        text = decoded(data, where, InvalidInput)
        if text.strip():
            yield where, parsed_object(text, where, InvalidInput)


def _judged(operator: Excise, request: dict[str, Any], exclude: list[str] | None, k: int | None) -> dict[str, Any]:
    """One line's answer: what it asked, what that excludes, and its candidates, those that were removed last."""
    from excise.documents import Document

    for key in ("query", "candidates"):
        if key not in request:
            raise InvalidInput(f"there is no {key!r}: a line is an object with 'query' and 'candidates'.")
    given = request["candidates"]
    if not isinstance(given, list):
        raise InvalidInput(f"'candidates' must be a list of objects, got {type(given).__name__}.")
    own = request.get("exclude")
    result = operator.rerank(request["query"], given, (exclude or None) if own is None else own, k)
    answer = {
        **{key: value for key, value in request.items() if key != "candidates"},
        "query": result.query,
        "fired": result.fired,
        "score": result.score,
        "topics": [asdict(topic) for topic in result.topics],
    }
    if not result.topics:
        kept = [{**one, "rank": rank, "status": "kept"} for rank, one in enumerate(given[:k], 1)]
        return {**answer, "candidates": kept}
    by_id = {Document.from_record(one).id: one for one in given}
    plain = result.to_dict()
    told = ("score", "evidence", "frozen_rank", "probability", "passage")
    judged = [
        {
            **by_id[one["id"]],
            "rank": one.get("rank"),
            "status": one.get("status", "removed"),
            **{name: one[name] for name in told if one.get(name) is not None},
        }
        for one in (*plain["hits"], *plain["removed"])
    ]
    return {**answer, "candidates": judged}
