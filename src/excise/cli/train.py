"""``excise train``: the commands that rebuild what ships in ``models/``. Heavy imports wait until a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    backbone: Annotated[str, typer.Option(help="The encoder to adapt.")] = "minilm",
    epochs: Annotated[int, typer.Option(help="Passes over the data.")] = 4,
    learning_rate: Annotated[float, typer.Option(help="0 chooses one from the grid on held-out queries.")] = 1e-3,
    generated: Annotated[int, typer.Option(help="Generated minimal pairs.")] = 1_200,
    most_plain: Annotated[int, typer.Option(help="Ordinary queries to train on, at most.")] = 8_000,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Use only so many examples, to try it out.")] = None,
    probes: Annotated[
        bool, typer.Option(help="Retrain with the probe files too; else what was measured is what is written.")
    ] = True,
    threads: Annotated[int, typer.Option(help="Threads that torch may use.")] = 2,
) -> None:
    """Train the detector (about an hour on two cores). An interrupted run goes on at its last epoch."""
    import torch

    from excise.topics.detector import DetectorConfig
    from excise.training.detector.recipe import Recipe, make_detector
    from excise.training.detector.tagging import LEARNING_RATES, TrainingArguments

    torch.set_num_threads(threads)
    arguments = TrainingArguments(learning_rate=learning_rate or LEARNING_RATES[-1], epochs=epochs, seed=seed)
    recipe = Recipe(data, generated, most_plain, limit, probes, DetectorConfig(encoder=backbone), arguments)
    make_detector(recipe, out, choose_rate=not learning_rate)


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
    from excise.training.detector.lengths import length_table
    from excise.training.detector.recipe import Recipe
    from excise.training.detector.tagging import TrainingArguments

    torch.set_num_threads(threads)
    arguments = TrainingArguments(epochs=epochs, seed=seed)
    length_table(Recipe(data, 1_200, 3_000, limit, False, DetectorConfig(), arguments), sample, out)


@train.command("projection")
def train_projection_command(
    out: Annotated[Path, typer.Option("--out", help="The folder that the weights are written to.")],
    dimensions: Annotated[int, typer.Option(help="Dimensions that are stored per token.")] = 128,
) -> None:
    """Fit the embedded backbone's projection on the bundled corpus (seconds)."""
    from excise.training.projection import train_projection

    typer.echo(f"wrote {train_projection(out, dimensions)}")


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

    from excise.training.adapter.adapter import make_adapter
    from excise.training.adapter.loop import ADAPTER_RATES, Arguments
    from excise.training.adapter.protocol import Recipe

    torch.set_num_threads(threads)
    arguments = Arguments(learning_rate or ADAPTER_RATES[0], epochs, batch, seed)
    sources, choose = tuple(triples or ()), not learning_rate
    make_adapter(Recipe(backbone, sources, data, per_query, searched, arguments, choose, 0, limit), out)
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

    from excise.training.adapter.loop import ADAPTER_RATES, Arguments
    from excise.training.adapter.protocol import Recipe
    from excise.training.controls.controls import REPLAYED, make_control

    torch.set_num_threads(threads)
    arguments = Arguments(learning_rate or ADAPTER_RATES[0], epochs, batch, seed)
    sources, choose, pairs = tuple(triples or ()), not learning_rate, REPLAYED if replay else 0
    make_control(Recipe(backbone, sources, data, per_query, searched, arguments, choose, pairs, limit), kind, out)
    typer.echo(f"wrote {out}")
