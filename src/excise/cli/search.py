"""``excise index``, ``search``, ``detect`` and ``demo``."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from excise.cli.bar import bar
from excise.cli.places import CollectionOption, EngineOption, KeyOption, OptionOption, UrlOption, place_of
from excise.errors import BackboneError, InvalidInput

if TYPE_CHECKING:
    from excise.results import IndexReport
    from excise.search.operator import Excise
    from excise.search.workers import Workers

DEMO_QUERY = "home bread baking, but not rye"
DEMO_INDEX = Path(".excise-demo")
_LINES = 256  # queries read from stdin and answered at a time


def index_command(
    corpus: Annotated[list[Path], typer.Argument(help="JSON lines, CSV, TSV, a BEIR folder, or a folder of texts.")],
    index: Annotated[
        Path | None, typer.Option("--index", "-i", help="The index folder; made where it does not exist.")
    ] = None,
    backbone: Annotated[str | None, typer.Option(help="Preset name, hub id, or folder of an encoder.")] = None,
    engine: EngineOption = "local",
    url: UrlOption = None,
    collection: CollectionOption = None,
    api_key: KeyOption = None,
    option: OptionOption = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Pass over lines that cannot be used.")] = False,
    workers: Annotated[int, typer.Option(metavar="N", help="How many processes encode.")] = 1,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Encode on a Ray cluster; 'local' starts one here.")
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(help="How a new local index stores vectors: int8, or f16, twice as large."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Index documents. Calling it again goes on where an interrupted run stopped, and adds what is new."""
    place = place_of(engine, index, url, collection, api_key, option)
    if vectors is not None:
        replace(place.address(), vectors=vectors)  # refused here where the engine has no such choice
    for path in corpus:
        if not path.exists():
            raise InvalidInput(f"{path}: no such file or folder.")
    from excise.search.operator import load
    from excise.search.workers import Workers

    if place.folder is not None:
        from excise.engines import MANIFEST

        operator = load(place.folder if (place.folder / MANIFEST).exists() else None, backbone=backbone)
    else:
        operator = load(backbone=backbone, **place.arguments)
    report = _index_with_bar(operator, corpus, place.folder, skip_bad, Workers(workers, ray), vectors)
    if json_:
        typer.echo(json.dumps({"index": place.name, **asdict(report)}))
        return
    from excise.cli.render import indexed, show

    show(indexed(report, place.name))


def search_command(
    query: Annotated[str, typer.Argument(help="What you look for.")],
    index: Annotated[Path | None, typer.Option("--index", "-i", help="The index folder.")] = None,
    k: Annotated[int, typer.Option("-k", help="How many hits.")] = 10,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", "-x", help="Name a topic yourself, in place of the detector; repeat it."),
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="JSON", help='Only documents with such metadata: {"year": {"gte": 2020}}.')
    ] = None,
    engine: EngineOption = "local",
    url: UrlOption = None,
    collection: CollectionOption = None,
    api_key: KeyOption = None,
    option: OptionOption = None,
    no_excise: Annotated[bool, typer.Option("--no-excise", help="Rule nothing out: the engine's ranking.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Compare with every document of a large index.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Draw how each candidate was judged.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    backbone: Annotated[str | None, typer.Option(help="By default the one that the index was built with.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="default, cautious, paper (with its adapter), or frozen-paper (on the index's vectors)."),
    ] = None,
    reembed_first: Annotated[
        int | None,
        typer.Option("--reembed", min=1, metavar="N", help="Re-embed the first N candidates with the adapter."),
    ] = None,
    second_look: Annotated[
        bool, typer.Option("--second-look", help="Also search with the query less its topics, and judge the union.")
    ] = False,
    caution: Annotated[
        float | None,
        typer.Option(help="How sure to be, from 0 to 1, before a document is removed (0.45 by default)."),
    ] = None,
) -> None:
    """Search an index. What the query excludes is ruled out; --exclude names it, --no-excise turns that off."""
    if no_excise and exclude:
        raise InvalidInput("--exclude and --no-excise contradict each other.")
    place = place_of(engine, index, url, collection, api_key, option)
    filtered = _read_filter(where)
    from excise.search.operator import load
    from excise.settings import resolve

    reembed = True if reembed_first else None
    settings = resolve(preset, caution, reembed=reembed, reembed_first=reembed_first, second_look=second_look)
    operator = load(backbone=backbone, settings=settings, exact=exact, **place.arguments)
    result = operator.search(query, k=k, exclude=() if no_excise else exclude or None, where=filtered)
    if json_:
        typer.echo(json.dumps(result.to_dict(explain), ensure_ascii=False))
        return
    from excise.cli.render import explanation, results, show

    show(results(result))
    if explain:
        show(explanation(result))


def detect_command(
    queries: Annotated[
        list[str] | None, typer.Argument(help="Queries; without any, lines are read from stdin.")
    ] = None,
    detector: Annotated[Path | None, typer.Option(help="The folder of a detector; by default the shipped one.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Nothing but the objects, on a terminal too.")] = False,
) -> None:
    """Read exclusions from queries: one JSON object a line, and on a terminal the query with the topic struck out."""
    from excise.topics.detector import Detector, load_detector

    reader = Detector.from_pretrained(detector) if detector else load_detector()
    lines = iter(queries) if queries else (line.rstrip("\r\n") for line in sys.stdin)
    asked = (line for line in lines if queries or line.strip())
    drawn = sys.stdout.isatty() and not json_
    while batch := list(islice(asked, _LINES)):
        for detection in reader.detect(batch):
            if drawn:
                from excise.cli.render import show, struck

                show(struck(detection.query, detection.topics), stderr=True)
            typer.echo(json.dumps(detection.to_dict(), ensure_ascii=False))


def demo_command(
    query: Annotated[str, typer.Argument(help="What to look for in the bundled corpus.")] = DEMO_QUERY,
    exclude: Annotated[list[str] | None, typer.Option("--exclude", "-x", help="Name the topic yourself.")] = None,
    index: Annotated[Path, typer.Option("--index", "-i", help="Where the demo index is kept.")] = DEMO_INDEX,
    svg: Annotated[Path | None, typer.Option(help="Also write the picture to a file.")] = None,
) -> None:
    """Index the bundled corpus and search it as the frozen index would and with excise, side by side."""
    from rich.console import Console

    from excise.cli.render import explanation, side_by_side
    from excise.search.operator import load
    from excise.suites import bundled

    operator = load()
    with bundled.corpus() as corpus:
        try:
            _index_with_bar(operator, [corpus], index, skip_bad=False)
        except BackboneError:
            if index != DEMO_INDEX:  # what is kept elsewhere may be more than the demo's
                raise
            typer.echo("The demo index is of another version of excise: building it again.", err=True)
            shutil.rmtree(index)
            _index_with_bar(operator, [corpus], index, skip_bad=False)
    frozen, excised = operator.search(query, exclude=()), operator.search(query, exclude=exclude or None)
    screen = Console(record=True, width=110) if svg else Console()
    screen.print(side_by_side(frozen, excised))
    screen.print(explanation(excised))
    if svg:
        picture = screen.export_svg(title="excise demo")
        svg.write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL))  # its fonts are on the network


def _read_filter(where: str | None) -> Mapping[str, Any] | None:
    if where is None:
        return None
    try:
        read = json.loads(where)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"--where is not valid JSON ({error}).") from None
    if not isinstance(read, dict):
        raise InvalidInput('--where takes a JSON object like {"year": {"gte": 2020}}.')
    return read


def _index_with_bar(
    operator: Excise,
    corpus: list[Path],
    index: Path | None,
    skip_bad: bool,
    workers: Workers | int = 1,
    vectors: str | None = None,
) -> IndexReport:
    with bar() as progress:
        shown = partial(progress, "indexing")
        return operator.index(corpus, index, skip_bad=skip_bad, workers=workers, vectors=vectors, progress=shown)
