"""``excise xbench``: mine, write, judge, gate, grade, funnel, audit, build. Heavy imports wait until a command runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol

import typer

from excise.cli.bar import bar

if TYPE_CHECKING:
    from excise.xbench.conversation import Channel

xbench = typer.Typer(no_args_is_help=True, help="Build an exclusion benchmark from any corpus.")

RunFolder = Annotated[Path, typer.Argument(help="The run folder that 'mine' made.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Split = Annotated[str, typer.Option(help="The split of the suite.")]
ModelName = Annotated[str | None, typer.Option("--model", help="The model; by default the one of the call before.")]
Url = Annotated[str | None, typer.Option("--endpoint", help="Base address of an OpenAI-compatible endpoint.")]
BatchOut = Annotated[Path | None, typer.Option("--batch-out", help="Write the requests that can be asked now.")]
BatchIn = Annotated[list[Path] | None, typer.Option("--batch-in", help="Read answers to such requests; repeat it.")]
KeyVariable = Annotated[str, typer.Option("--key-env", help="The environment variable that holds the key.")]
PerMinute = Annotated[float, typer.Option(help="Requests a minute at most; 0 sets no limit.")]
Concurrency = Annotated[int, typer.Option(help="Requests at a time.")]
Timeout = Annotated[float, typer.Option(help="Seconds that an answer may take.")]
Retries = Annotated[int, typer.Option(help="Tries after 429, a server's error or a time-out.")]
PriceIn = Annotated[float, typer.Option(help="Price of a million tokens read.")]
PriceOut = Annotated[float, typer.Option(help="Price of a million tokens written.")]
MaxCost = Annotated[float, typer.Option(help="Stop when so much was spent; 0 sets no limit.")]
Temperature = Annotated[float | None, typer.Option(help="Temperature of the answers.")]
MaxTokens = Annotated[int | None, typer.Option(help="Length of an answer at most.")]
JsonMode = Annotated[str | None, typer.Option(help="What the endpoint is told of the form: object, schema or none.")]
DocumentWords = Annotated[int | None, typer.Option(help="How much of a document the model is shown.")]
Together = Annotated[int | None, typer.Option(help="How many queries are read in one request.")]
AllowWriter = Annotated[bool, typer.Option("--allow-writer", help="Let the writer judge itself.")]
Edges = tuple[float, float]


@xbench.command("mine")
def mine_command(
    corpus: Annotated[Path, typer.Argument(help="JSON lines, CSV, TSV, a BEIR folder, or a folder of texts.")],
    run: Annotated[Path, typer.Option("--out", help="The run folder.")],
    index: Annotated[
        Path | None, typer.Option("--index", "-i", help="An index of the corpus; else one is built.")
    ] = None,
    backbone: Annotated[str | None, typer.Option(help="The encoder of an index that is built.")] = None,
    band: Annotated[Edges | None, typer.Option(help="Cosine similarities between which a negative lies.")] = None,
    quantiles: Annotated[
        Edges | None, typer.Option(help="The band as quantiles of the corpus's similarities [default: 0.99 0.9999].")
    ] = None,
    loosen: Annotated[float, typer.Option(help="Lower the band's floor by so much, for mixed corpora.")] = 0.0,
    anchors: Annotated[int | None, typer.Option(help="How many anchors; by default every document.")] = None,
    negatives: Annotated[int, typer.Option(help="Negatives an anchor, 1 or 2.")] = 2,
    min_words: Annotated[int, typer.Option(help="Shorter documents are passed over.")] = 20,
    alike: Annotated[
        float, typer.Option(help="Jaccard similarity from which the second of two documents is passed over.")
    ] = 0.5,
    seed: Seed = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Mine again; answers are kept.")] = False,
    json_: Json = False,
) -> None:
    """Mine confusable documents: for each anchor up to two negatives in a band of similarity."""
    from excise.errors import InvalidInput
    from excise.xbench.mining import Band, MiningSettings
    from excise.xbench.steps import mine_run

    if band and quantiles:
        raise InvalidInput("--band and --quantiles contradict each other.")
    low, high = band or quantiles or (Band.low, Band.high)
    width = Band(low, high, absolute=band is not None, loosen=loosen)
    settings = MiningSettings(corpus, index, backbone, width, anchors, negatives, min_words, seed, alike)
    with bar() as progress:
        result = mine_run(run, settings, overwrite, progress)
    if _printed(result, json_):
        return
    from excise.cli.render import say

    mined = result.mined
    low, high = mined.edges
    say(f"{mined.pairs:,} anchors, {mined.two:,} of them with two negatives, in {mined.documents:,} documents")
    for reason, number in mined.passed_over.items():
        say(f"  passed over, {reason}: {number:,} documents", "dim")
    say(f"  band of similarity {low:.3f} to {high:.3f}; next: excise xbench write {run}", "dim")


class Asked(NamedTuple):
    """What a command that asks a model was told about it: settings by name, and where answers come from."""

    given: dict[str, Any]
    channel: Channel


def _asked(
    model: ModelName = None,
    endpoint: Url = None,
    batch_out: BatchOut = None,
    batch_in: BatchIn = None,
    document_words: DocumentWords = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    json_mode: JsonMode = None,
    key_env: KeyVariable = "OPENAI_API_KEY",
    per_minute: PerMinute = 0.0,
    concurrency: Concurrency = 4,
    timeout: Timeout = 120.0,
    retries: Retries = 5,
    price_in: PriceIn = 0.0,
    price_out: PriceOut = 0.0,
    max_cost: MaxCost = 0.0,
) -> Asked:
    from excise.xbench.conversation import Channel
    from excise.xbench.endpoint import Endpoint

    pace = (key_env, per_minute, concurrency, timeout, retries, 1.0, price_in, price_out, max_cost)
    channel = Channel(None if endpoint is None else Endpoint(endpoint, *pace), tuple(batch_in or ()), batch_out)
    answers = {"temperature": temperature, "max_tokens": max_tokens, "json_mode": json_mode}
    return Asked({"model": model, "document_words": document_words, **answers}, channel)


def _asks_a_model(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :func:`_asked` beside its own; it gets them as ``asked``."""
    shared = signature(_asked, eval_str=True).parameters
    own = [option for name, option in signature(command, eval_str=True).parameters.items() if name != "asked"]

    @wraps(command)
    def run(**values: Any) -> None:
        asked = _asked(**{name: values.pop(name) for name in shared})
        command(asked=asked, **values)

    options = sorted([*own, *shared.values()], key=lambda option: option.default is not Parameter.empty)
    run.__annotations__ = {option.name: option.annotation for option in options}
    run.__dict__.update(__signature__=Signature([o.replace(kind=Parameter.KEYWORD_ONLY) for o in options]))
    return run


@xbench.command("write")
@_asks_a_model
def write_command(
    run: RunFolder,
    asked: Asked,
    verify_model: Annotated[str | None, typer.Option(help="Who re-reads each query; by default the writer.")] = None,
    lengths: Annotated[str | None, typer.Option(help="short,long or one of them.")] = None,
    tiers: Annotated[str | None, typer.Option(help="T1,T2,T3 or some of them.")] = None,
    disjunctive: Annotated[float | None, typer.Option(help="Share of T3 that denies both topics openly.")] = None,
    together: Together = None,
    bm25_share: Annotated[float | None, typer.Option(help="As in gate; what would fail it is not rewritten.")] = None,
    maxsim_share: Annotated[float | None, typer.Option(help="As in gate; what would fail it is not rewritten.")] = None,
    json_: Json = False,
) -> None:
    """Have a model write the queries: Stage A, Stage B, a reading, one repair. Goes on where it stopped."""
    from excise.xbench.steps import write_run

    kinds = {"lengths": _listed(lengths), "tiers": _listed(tiers), "disjunctive": disjunctive, "together": together}
    shares = {"bm25_share": bm25_share, "maxsim_share": maxsim_share}
    given = {**asked.given, "verify_model": verify_model, **kinds, **shares}
    with bar() as progress:
        result = write_run(run, given, asked.channel, progress)
    if _printed(result, json_):
        return
    from excise.cli.render_xbench import say_written

    say_written(result)


@xbench.command("judge")
@_asks_a_model
def judge_command(
    run: RunFolder,
    asked: Asked,
    name: Annotated[str | None, typer.Option(help="Keep the verdicts of a further judge apart, for the audit.")] = None,
    allow_writer: AllowWriter = False,
    together: Together = None,
    t1_sample: Annotated[
        float | None, typer.Option(help="Share of the plainly worded T1 that is read; 1 reads every one.")
    ] = None,
    json_: Json = False,
) -> None:
    """Have another model judge the labels: on the documents, and on the query alone."""
    from excise.xbench.steps import judge_run

    with bar() as progress:
        given = {**asked.given, "together": together, "t1_sample": t1_sample}
        result = judge_run(run, given, asked.channel, name, allow_writer, progress)
    if _printed(result, json_):
        return
    from excise.cli.render_xbench import say_judged

    say_judged(result)


@xbench.command("gate")
def gate_command(
    run: RunFolder,
    suite: Annotated[Path, typer.Option("--out", help="The folder of the suite.")],
    split: Split = "test",
    reference: Annotated[
        list[Path] | None, typer.Option(help="A file that nothing may be leaked from; repeat it.")
    ] = None,
    leaked: Annotated[float, typer.Option(help="Jaccard similarity from which a text was leaked.")] = 0.9,
    depth: Annotated[int, typer.Option(help="How far down the query may find the gold.")] = 100,
    bm25_share: Annotated[float, typer.Option(help="Share of the gold's BM25 score on X a negative needs.")] = 0.5,
    maxsim_share: Annotated[float, typer.Option(help="Share of the gold's MaxSim score on X it needs.")] = 0.8,
    boolean: Annotated[list[Path] | None, typer.Option(help="Join Boolean pairs; repeat it.")] = None,
    no_harm: Annotated[list[str] | None, typer.Option(help="Join ordinary queries, FOLDER:SPLIT; repeat it.")] = None,
    json_: Json = False,
) -> None:
    """Put every record through nine gates and write the suite of those that pass, and the funnel."""
    from excise.xbench.build_config import no_harm_place
    from excise.xbench.gating import GateSettings
    from excise.xbench.steps import gate_run
    from excise.xbench.suite_writer import Controls

    settings = GateSettings(depth, bm25_share, maxsim_share, leaked=leaked, references=tuple(reference or ()))
    controls = Controls(tuple(boolean or ()), tuple(no_harm_place(text) for text in no_harm or ()))
    with bar() as progress:
        result = gate_run(run, suite, settings, split, controls, progress)
    if _printed(result, json_):
        return
    from excise.cli.render import say
    from excise.cli.render_xbench import show_funnel

    show_funnel(result.funnel, result.effort)
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in result.queries.to_dict().items())
    say(f"wrote {suite} ({kinds}); the funnel is in {run / 'report.html'}", "dim")


@xbench.command("grade")
@_asks_a_model
def grade_command(
    run: RunFolder,
    asked: Asked,
    suite: Annotated[Path, typer.Option("--out", help="The suite that 'gate' wrote; it gets the grades.")],
    split: Split = "test",
    depth: Annotated[int | None, typer.Option(help="How many documents of each ranking are graded.")] = None,
    documents: Annotated[int | None, typer.Option(help="How many documents are graded in one request.")] = None,
    allow_writer: AllowWriter = False,
    json_: Json = False,
) -> None:
    """Have a model grade what every query finds: 2 covers what is ruled out, 1 mentions it, 0 neither."""
    from excise.xbench.grading_step import grade_run

    given = {**asked.given, "depth": depth, "documents": documents}
    with bar() as progress:
        result = grade_run(run, suite, split, given, asked.channel, allow_writer, progress)
    if _printed(result, json_):
        return
    from excise.cli.render_xbench import say_graded

    say_graded(result)


@xbench.command("funnel")
def funnel_command(run: RunFolder, json_: Json = False) -> None:
    """Show what was dropped and why, from the first document to the last gate, and what was asked for it."""
    from excise.xbench.steps import funnel_of_run

    result = funnel_of_run(run)
    if _printed(result, json_):
        return
    from excise.cli.render_xbench import show_funnel

    show_funnel(result.funnel, result.effort)


@xbench.command("audit")
def audit_command(
    suite: Annotated[str, typer.Argument(help="A suite's folder, or 'own' for the built-in one.")],
    split: Split = "test",
    second_judge: Annotated[Path | None, typer.Option(help="Verdicts of another judge (judge --name).")] = None,
    train: Annotated[list[Path] | None, typer.Option(help="A training file, for overlap; repeat it.")] = None,
    annotations: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Two annotators' filled-in sheets, for Cohen's kappa.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Write audit.json, sheet.csv (for annotators) and gallery.html here.")
    ] = None,
    sheet: Annotated[int, typer.Option(help="Rows of the annotators' sheet.")] = 150,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Check a finished suite: cues, documents, a second judge, overlap with training data, annotators."""
    from excise.xbench.audit import AuditSources, audit_suite, write_audit

    sources = AuditSources(second_judge, tuple(train or ()), annotations)
    if folder is None:
        found = audit_suite(suite, split, sources)
    else:
        found = write_audit(suite, split, folder, sources, sheet, seed)
    if _printed(found, json_):
        return
    from excise.cli.render import say
    from excise.cli.render_xbench import show_audit

    show_audit(found)
    if folder is not None:
        say(f"wrote {folder}", "dim")


@xbench.command("build")
def build_command(
    corpus: Annotated[Path, typer.Argument(help="JSON lines, CSV, TSV, a BEIR folder, or a folder of texts.")],
    config: Annotated[Path, typer.Option("--config", help="A TOML file; see examples/xbench.toml.")],
    json_: Json = False,
) -> None:
    """Run everything: mine, write, judge, gate, audit. Call it again to go on where it stopped."""
    from excise.xbench.build import build
    from excise.xbench.build_config import BuildConfig

    with bar() as progress:
        result = build(corpus, BuildConfig(config), progress)
    if _printed(result, json_):
        return
    from excise.cli.render import say
    from excise.cli.render_xbench import show_funnel

    if result.gate is not None:
        show_funnel(result.gate.funnel, result.gate.effort)
    say(result.state)


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [item.strip() for item in text.split(",") if item.strip()]


class StepResult(Protocol):
    """What a step gives."""

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""


def _printed(result: StepResult, wanted: bool) -> bool:
    """Print what a step gave as JSON, where that is wanted."""
    if wanted:
        typer.echo(json.dumps(result.to_dict(), ensure_ascii=False))
    return wanted
