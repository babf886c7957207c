"""``excise serve``."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from excise.cli.places import CollectionOption, EngineOption, KeyOption, OptionOption, UrlOption, place_of
from excise.errors import BadIndex, InvalidInput

if TYPE_CHECKING:
    from excise.cli.places import IndexPlace
    from excise.search.operator import Excise
    from excise.service.front_door import Admission
    from excise.settings import Settings

DEMO = "own"  # the name of the bundled suite


def serve_command(
    index: Annotated[Path | None, typer.Option("--index", "-i", help="The index folder.")] = None,
    engine: EngineOption = "local",
    url: UrlOption = None,
    collection: CollectionOption = None,
    engine_api_key: KeyOption = None,
    option: OptionOption = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve the bundled corpus: nothing else is needed.")] = False,
    create: Annotated[bool, typer.Option("--create", help="Begin with an empty index where there is none.")] = False,
    host: Annotated[str, typer.Option(help="The address to listen on; any but loopback takes API keys.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    api_key_file: Annotated[
        Path | None, typer.Option(help="Keys, one a line: for writes, and off loopback for everything.")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Ask for a key for reading, too.")] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A further name under which the service is called; repeat it.")
    ] = None,
    cors_origin: Annotated[
        list[str] | None, typer.Option(help="A web page's origin that may call the service; repeat it.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="default, cautious, paper, or frozen-paper.")] = None,
    caution: Annotated[float | None, typer.Option(help="How sure to be, from 0 to 1, before a removal.")] = None,
    backbone: Annotated[str | None, typer.Option(help="By default the one that the index was built with.")] = None,
    rate_limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Requests a minute by each key, or by each address.")
    ] = None,
    feedback_file: Annotated[
        Path | None, typer.Option(help="Keep what people put back or remove as labels for eval-coverage.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds until a request is given up.")] = 30.0,
    queue: Annotated[int, typer.Option(min=1, help="Queries that may wait; the next one gets 503.")] = 256,
) -> None:
    """Serve an index over HTTP, with a page at / to search it; on this machine only, unless told otherwise."""
    from excise.extras import need

    need("excise serve", "serve", "fastapi", "uvicorn", "prometheus_client")
    if demo == (index is not None or url is not None):
        raise InvalidInput("name an index (--index, or --engine and --url), or try --demo: one of the two.")
    place = None if demo else place_of(engine, index, url, collection, engine_api_key, option)
    from excise.service.feedback import FeedbackFile
    from excise.service.server import listen, run, web_address
    from excise.service.service_limits import ServiceLimits
    from excise.service.web_app import ServicePlan, build_service
    from excise.settings import resolve

    limits = ServiceLimits(answer_seconds=timeout, waiting=queue, requests_per_minute=rate_limit)
    admission = _admission(host, api_key_file, private, allow_host or [])
    settings = resolve(preset, caution)
    feedback = None if feedback_file is None else FeedbackFile(feedback_file, _corpus_name(index, collection, demo))
    with ExitStack() as stack, listen(host, port) as listening:
        operator = _demo(stack, settings) if place is None else _opened(place, create, backbone, settings)
        service = build_service(operator, ServicePlan(admission, limits, tuple(cors_origin or ()), feedback, demo))

        def ready() -> None:
            where, count = web_address(listening), 0 if operator.engine is None else len(operator.engine.reader())
            typer.echo(f"excise serves {count:,} documents at {where} (Ctrl-C ends it)", err=True)

        run(service, listening, ready)


def _admission(host: str, key_file: Path | None, private: bool, names: list[str]) -> Admission:
    from excise.service.api_keys import ApiKeys, read_keys
    from excise.service.front_door import Admission, is_loopback

    keys = ApiKeys() if key_file is None else read_keys(key_file)
    here = is_loopback(host)
    if not keys and (private or not here):
        what = "--private" if private else f"listening on {host}, where others reach it,"
        raise InvalidInput(f"{what} needs keys: write one a line into a file and name it with --api-key-file.")
    known = {name.lower() for name in names}
    if here:
        known |= {"localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host.lower()}
    return Admission(keys, private or not here, frozenset(known) if known else None)


def _demo(stack: ExitStack, settings: Settings) -> Excise:
    """The bundled corpus in a folder of its own; it is encoded once, and copied from the cache from then on."""
    from excise.cli.bar import bar
    from excise.evaluation.experiments.indexes import build_index, index_place, load_operator
    from excise.search.operator import load
    from excise.suites.suites import load_suite

    suite = load_suite(DEMO, "dev")
    operator = load_operator(suite)
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="excise-demo-")))
    place = folder / "copied"
    with bar() as progress:
        try:
            build_index(suite, operator, None, progress)
            shutil.copytree(index_place(suite, operator.backbone), place)
        except (BadIndex, OSError):  # a cache that cannot be written: it takes a little longer, every time
            operator, place = load(backbone=operator.backbone), folder / "built"
            build_index(suite, operator, place, progress)
    return load(place, backbone=operator.backbone, settings=settings)


def _corpus_name(index: Path | None, collection: str | None, demo: bool) -> str:
    """What labels call the corpus."""
    return DEMO if demo else collection or (index.name if index is not None else "excise")


def _opened(place: IndexPlace, create: bool, backbone: str | None, settings: Settings) -> Excise:
    from excise.search.operator import load

    address = place.address()
    if create and not address.exists():
        from excise.encoders.backbone import DEFAULT, load_backbone

        encoder = load_backbone(backbone or DEFAULT)
        return load(engine=address.create(encoder.info), backbone=encoder, settings=settings)
    return load(engine=address.open(), backbone=backbone, settings=settings)
