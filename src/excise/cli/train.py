"""``excise train``: the commands that rebuild what ships in ``models/``. Heavy imports wait until a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from excise.cli.bar import bar
from excise.errors import InvalidInput

Out = Annotated[Path, typer.Option("--out", help="The folder that is written to.")]
Backbone = Annotated[str, typer.Option(help="Preset name, hub id, or folder of the encoder.")]
Triples = Annotated[
    list[str] | None, typer.Option("--triples", help="A suite's folder (its train split) or a file; repeat it.")
]
Data = Annotated[Path | None, typer.Option(help="Folder of evaluation suites: nothing of theirs is learned from.")]
Epochs = Annotated[int, typer.Option(help="Passes over the triples.")]
Rate = Annotated[float, typer.Option(help="0 chooses one from the grid on held-out triples.")]
PerQuery = Annotated[int, typer.Option(help="Triples of one query, at most.")]
Searched = Annotated[int, typer.Option(help="Triples that the search for a rate trains on.")]
Batch = Annotated[int, typer.Option(help="Triples in a batch.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Limit = Annotated[int | None, typer.Option(help="Use only so many triples, to try it out.")]
Threads = Annotated[int, typer.Option(help="Threads that torch may use.")]

train = typer.Typer(no_args_is_help=True, help="Rebuild the weights that ship with excise.")


@train.command("detector")
def train_detector_command(
    out: Annotated[Path, typer.Option("--out", help="The folder that the detector is written to.")],
    data: Annotated[Path | None, typer.Option(help="Folder of public query sets, for learning.")] = None,
    start: Annotated[
        Path | None, typer.Option(help="The folder of a detector to train further; its encoder and rank stay.")
    ] = None,
    rehearse: Annotated[float, typer.Option(help="With --start: share of the older rows that it sees again.")] = 0.33,
    keep: Annotated[float, typer.Option(help="With --start: share of its weights of before in what is written.")] = 0,
    backbone: Annotated[str, typer.Option(help="The encoder to adapt.")] = "minilm",
    rank: Annotated[int, typer.Option(help="Rank of the low-rank terms; 0 trains whole layers.")] = 32,
    last_layers: Annotated[int, typer.Option(help="Layers that are adapted, the last ones.")] = 6,
    epochs: Annotated[int, typer.Option(help="Passes over the data.")] = 4,
    stop_after: Annotated[int, typer.Option(help="End after so many of them, for a teacher; 0 takes all.")] = 0,
    learning_rate: Annotated[float, typer.Option(help="0 chooses one from the grid on held-out queries.")] = 1e-3,
    batch_tokens: Annotated[int, typer.Option(help="Tokens of a batch, about.")] = 512,
    generated: Annotated[int, typer.Option(help="Generated minimal pairs.")] = 1_200,
    most_plain: Annotated[int, typer.Option(help="Ordinary queries to train on, at most.")] = 8_000,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Use only so many examples, to try it out.")] = None,
    probes: Annotated[
        bool, typer.Option(help="Retrain with the probe files too; else what was measured is what is written.")
    ] = True,
    later: Annotated[bool, typer.Option(help="Learn from the rows that were written later too.")] = True,
    requests: Annotated[
        bool, typer.Option(help="Learn from the professional requests too, and the names beside them.")
    ] = False,
    leave_out: Annotated[
        list[str] | None, typer.Option(help="A file of written rows not to learn from; repeat it.")
    ] = None,
    teacher: Annotated[
        list[Path] | None,
        typer.Option(help="The folder of a larger detector, whose judgement is learned beside the labels; repeat it."),
    ] = None,
    recombined: Annotated[int, typer.Option(help="Exclusions to learn from with the topics of others, too.")] = 0,
    text: Annotated[
        Path | None,
        typer.Option(help="A corpus: its sentences are learned from as the teachers read them; its titles recombined."),
    ] = None,
    sentences: Annotated[int, typer.Option(help="With --text: how many sentences.")] = 12_000,
    keep_lessons: Annotated[
        Path | None, typer.Option(help="A folder that keeps what the teachers say, for other students.")
    ] = None,
    threads: Annotated[int, typer.Option(help="Threads that torch may use.")] = 2,
) -> None:
    """Train the detector (about an hour on two cores). An interrupted run goes on at its last epoch."""
    import torch

    from excise.topics.detector import DetectorConfig, read_config
    from excise.training.detector.detector_recipe import DetectorRecipe, make_detector
    from excise.training.detector.further import Start
    from excise.training.detector.tagging import LEARNING_RATES, DetectorArguments

    torch.set_num_threads(threads)
    config, further = DetectorConfig(encoder=backbone, rank=rank, last_layers=last_layers), None
    if start is not None:
        if not learning_rate:
            raise InvalidInput("a detector is trained further at a rate that you name: --learning-rate.")
        if not later:
            raise InvalidInput(
                "a detector is trained further on the rows that were written later: not with --no-later."
            )
        config, further = read_config(start), Start(start, rehearse, keep)
    arguments = DetectorArguments(
        learning_rate=learning_rate or LEARNING_RATES[-1],
        epochs=epochs,
        batch_tokens=batch_tokens,
        head_rate=1.0 if config.rank else 10.0,  # low-rank terms start from nothing, as the heads do
        stop_after=stop_after,
        seed=seed,
    )
    recipe = DetectorRecipe(
        *(data, generated, most_plain, limit, probes, config, arguments, further, later),
        left_out=tuple(leave_out or ()),
        teachers=tuple(teacher or ()),
        recombined=recombined,
        text=text,
        sentences=sentences,
        kept_lessons=keep_lessons,
        requests=requests,
    )
    with bar() as progress:
        reports = make_detector(recipe, out, not learning_rate, progress)
    from excise.cli.render import show
    from excise.cli.render_training import held_out_table

    show(held_out_table(reports), stderr=True)


@train.command("pair")
def train_pair_command(
    first: Annotated[Path, typer.Argument(help="A detector's folder.")],
    companion: Annotated[Path, typer.Argument(help="The folder of the one that reads along.")],
    out: Annotated[Path, typer.Option("--out", help="The folder that both are written to.")],
    data: Annotated[Path, typer.Option(help="Folder of public query sets, for the threshold.")],
    seed: Annotated[int, typer.Option(help="The seed that both were trained with.")] = 0,
    threads: Annotated[int, typer.Option(help="Threads that torch may use.")] = 2,
) -> None:
    """Let two detectors read along, and choose the threshold of both (minutes)."""
    import torch

    from excise.cli.render import show
    from excise.cli.render_training import held_out_table
    from excise.training.detector.pairing import pair_detectors

    torch.set_num_threads(threads)
    show(held_out_table(pair_detectors(first, companion, data, out, seed)), stderr=True)


@train.command("base")
def train_base_command(
    graph: Annotated[Path, typer.Argument(help="The ONNX file of a BERT, with its tokenizer.json beside it.")],
    out: Annotated[Path, typer.Option("--out", help="The folder that the encoder is written to.")],
    layers: Annotated[int | None, typer.Option(help="Keep only so many layers, the first ones.")] = None,
    heads: Annotated[int, typer.Option(help="Attention heads of a layer.")] = 12,
) -> None:
    """Read an encoder back from an ONNX file, as a base for ``excise train detector --backbone DIR --rank 0``."""
    from excise.training.detector.onnx_base import write_base

    shape = write_base(graph, out, layers, heads)
    typer.echo(f"wrote {out}: {shape.num_hidden_layers} layers of width {shape.hidden_size}")


@train.command("lengths")
def train_lengths_command(
    out: Annotated[Path, typer.Option("--out", help="The folder that lengths.json is written to.")],
    data: Annotated[Path | None, typer.Option(help="Folder of public query sets, for learning.")] = None,
    sample: Annotated[int, typer.Option(help="Queries that each of the three detectors is trained on.")] = 3_000,
    epochs: Annotated[int, typer.Option(help="Passes over them.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Use only so many examples, to try it out.")] = None,
    threads: Annotated[int, typer.Option(help="Threads that torch may use.")] = 2,
) -> None:
    """What long queries teach the detector: three trained alike, on short ones, with long no-fires, with both."""
    import torch

    from excise.topics.detector import DetectorConfig
    from excise.training.detector.detector_recipe import DetectorRecipe
    from excise.training.detector.lengths import compare_lengths
    from excise.training.detector.tagging import DetectorArguments

    torch.set_num_threads(threads)
    arguments = DetectorArguments(epochs=epochs, seed=seed)
    recipe = DetectorRecipe(data, 1_200, 3_000, limit, False, DetectorConfig(), arguments)
    with bar() as progress:
        rates = compare_lengths(recipe, sample, out, progress)
    from excise.cli.render import show
    from excise.cli.render_training import lengths_table

    show(lengths_table(rates), stderr=True)


@train.command("projection")
def train_projection_command(
    out: Annotated[Path, typer.Option("--out", help="The folder that the weights are written to.")],
    dimensions: Annotated[int | None, typer.Option(help="Dimensions that are stored per token.")] = None,
    backbone: Annotated[
        Path | None, typer.Option(help="The folder of an encoder that is published without its projection.")
    ] = None,
    corpus: Annotated[
        list[Path] | None, typer.Option(help="With --backbone: documents whose titles look for them; repeat it.")
    ] = None,
    pairs: Annotated[int, typer.Option(help="With --backbone: titles to learn from, at most.")] = 3_200,
    markers: Annotated[
        str, typer.Option(help="With --backbone: tokens before queries and documents, with a comma between.")
    ] = "[unused0],[unused1]",
    seed: Seed = 0,
    threads: Threads = 2,
) -> None:
    """Fit the embedded backbone's projection on the bundled corpus (seconds), or one for another encoder (minutes)."""
    if backbone is None:
        from excise.training.projection import DIMENSIONS, train_projection

        typer.echo(f"wrote {train_projection(out, dimensions or DIMENSIONS)}")
        return
    import torch

    from excise.training.late_projection import ProjectionArguments, train_late_projection

    query, comma, document = markers.partition(",")
    if not corpus or not comma:
        raise InvalidInput("--backbone needs a --corpus of documents with titles, and --markers a comma.")
    torch.set_num_threads(threads)
    arguments = ProjectionArguments(dimensions or 96, pairs, (query.strip(), document.strip()), seed=seed)
    with bar() as progress:
        fitted = train_late_projection(backbone, corpus, out, arguments, progress)
    typer.echo(f"wrote {out}: held-out titles that find their text {fitted.before:.3f} before, {fitted.after:.3f} now")


@train.command("adapter")
def train_adapter_command(
    out: Out,
    backbone: Backbone = "minilm",
    triples: Triples = None,
    data: Data = None,
    epochs: Epochs = 3,
    learning_rate: Rate = 0.0,
    per_query: PerQuery = 2,
    searched: Searched = 240,
    batch: Batch = 12,
    seed: Seed = 0,
    limit: Limit = None,
    threads: Threads = 2,
) -> None:
    """Train the exclusion adapter on the bundled triples and others. An interrupted run goes on at its last epoch."""
    import torch

    from excise.training.adapter.exclusion_adapter import make_adapter
    from excise.training.contrastive.loop import ADAPTER_RATES, LearnerArguments
    from excise.training.contrastive.protocol import LearnerRecipe

    torch.set_num_threads(threads)
    arguments = LearnerArguments(learning_rate or ADAPTER_RATES[0], epochs, batch, seed)
    sources, choose = tuple(triples or ()), not learning_rate
    recipe = LearnerRecipe(backbone, sources, data, per_query, searched, arguments, choose, 0, limit)
    with bar() as progress:
        make_adapter(recipe, out, progress)
    typer.echo(f"wrote {out}")


@train.command("control")
def train_control_command(
    kind: Annotated[str, typer.Option(help="lora, full or query.")],
    out: Out,
    backbone: Backbone = "minilm",
    triples: Triples = None,
    data: Data = None,
    replay: Annotated[bool, typer.Option("--replay", help="Mix ordinary retrieval pairs in.")] = False,
    epochs: Epochs = 3,
    learning_rate: Rate = 0.0,
    per_query: PerQuery = 2,
    searched: Searched = 240,
    batch: Batch = 12,
    seed: Seed = 0,
    limit: Limit = None,
    threads: Threads = 2,
) -> None:
    """Fine-tune a control on the adapter's triples: a checkpoint for --backbone, or a query-side adapter."""
    import torch

    from excise.training.contrastive.loop import ADAPTER_RATES, LearnerArguments
    from excise.training.contrastive.protocol import LearnerRecipe
    from excise.training.controls.finetune import REPLAYED, make_control

    torch.set_num_threads(threads)
    arguments = LearnerArguments(learning_rate or ADAPTER_RATES[0], epochs, batch, seed)
    sources, choose, pairs = tuple(triples or ()), not learning_rate, REPLAYED if replay else 0
    recipe = LearnerRecipe(backbone, sources, data, per_query, searched, arguments, choose, pairs, limit)
    with bar() as progress:
        make_control(recipe, kind, out, progress)
    typer.echo(f"wrote {out}")


@train.command("rival")
def train_rival_command(
    kind: Annotated[str, typer.Option(help="dense (a bi-encoder) or cross (a cross-encoder).")],
    base: Annotated[str, typer.Option(help="Folder or hub id of a model of sentence-transformers.")],
    out: Out,
    triples: Triples = None,
    data: Data = None,
    epochs: Epochs = 3,
    learning_rate: Annotated[float, typer.Option(help="Learning rate.")] = 2e-5,
    per_query: PerQuery = 2,
    batch: Batch = 12,
    seed: Seed = 0,
    limit: Limit = None,
    threads: Threads = 2,
) -> None:
    """Fine-tune a model of others on the adapter's triples, for dense=DIR or cross-encoder=DIR."""
    import torch

    from excise.training.contrastive.loop import LearnerArguments
    from excise.training.contrastive.protocol import LearnerRecipe
    from excise.training.rivals.foreign_finetune import make_rival

    torch.set_num_threads(threads)
    arguments = LearnerArguments(learning_rate, epochs, batch, seed)
    recipe = LearnerRecipe(base, tuple(triples or ()), data, per_query, 0, arguments, False, 0, limit)
    with bar() as progress:
        trained = make_rival(recipe, kind, out, progress)
    shares = f"{trained.before:.3f} before, {trained.after:.3f} now"
    typer.echo(f"wrote {out}: held-out triples with the gold above the negative {shares}")


@train.command("coverage")
def train_coverage_command(
    out: Out,
    corpus: Annotated[list[str], typer.Option("--corpus", help="name=FILE: a corpus that the labels name; repeat it.")],
    labels: Annotated[
        list[Path] | None, typer.Option("--labels", help="Graded candidates; by default those that ship. Repeat it.")
    ] = None,
    backbone: Annotated[
        list[str] | None, typer.Option("--backbone", help="An encoder to fit one for; by default minilm. Repeat it.")
    ] = None,
    threads: Threads = 2,
) -> None:
    """Fit coverage readouts: how likely a candidate covers an excluded topic."""
    import torch

    from excise.cli.evaluate import paths_by_name
    from excise.training.coverage.readout_recipe import bundled_labels, make_readouts

    torch.set_num_threads(threads)
    with bar() as progress:
        corpora, names = paths_by_name("--corpus", corpus), backbone or ["minilm"]
        fitted = make_readouts(out, labels or bundled_labels(), corpora, names, progress)
    for readout, (*_, together) in zip(fitted.own, fitted.own_measured, strict=True):
        figures = f"precision {together.precision:.3f}, recall {together.recall:.3f}"
        typer.echo(f"{readout.backbone}, domains left out in turn: {figures}")
    typer.echo(f"wrote {out}")
