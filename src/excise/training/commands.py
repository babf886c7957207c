"""``excise train``: the commands that rebuild what ships in ``models/``. Heavy imports wait until a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

train = typer.Typer(no_args_is_help=True, help="Rebuild the weights that ship with excise.")


@train.command()
def detector(
    out: Annotated[Path, typer.Option("--out", help="The folder that the detector is written to.")],
    data: Annotated[Path | None, typer.Option(help="Folder of public query sets, for learning.")] = None,
    backbone: Annotated[str, typer.Option(help="The encoder to adapt.")] = "minilm",
    epochs: Annotated[int, typer.Option(help="Passes over the data.")] = 4,
    learning_rate: Annotated[float, typer.Option(help="0 chooses one from the grid on held-out queries.")] = 1e-3,
    generated: Annotated[int, typer.Option(help="Generated minimal pairs.")] = 1_200,
    most_plain: Annotated[int, typer.Option(help="Ordinary queries to train on, at most.")] = 3_000,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Use only so many examples, to try it out.")] = None,
    probes: Annotated[
        bool, typer.Option(help="Retrain with the probe files too; else what was measured is what is written.")
    ] = True,
    threads: Annotated[int, typer.Option(help="Threads that torch may use.")] = 2,
) -> None:
    """Train the detector (about half an hour on two cores). An interrupted run goes on at its last epoch."""
    import torch

    from excise.detector import DetectorConfig
    from excise.training.detector import LEARNING_RATES, TrainingArguments
    from excise.training.recipe import Recipe, make_detector

    torch.set_num_threads(threads)
    arguments = TrainingArguments(learning_rate=learning_rate or LEARNING_RATES[-1], epochs=epochs, seed=seed)
    recipe = Recipe(data, generated, most_plain, limit, probes, DetectorConfig(encoder=backbone), arguments)
    make_detector(recipe, out, choose_rate=not learning_rate)


@train.command()
def projection(
    out: Annotated[Path, typer.Option("--out", help="The folder that the weights are written to.")],
    dimensions: Annotated[int, typer.Option(help="Dimensions that are stored per token.")] = 128,
) -> None:
    """Fit the embedded backbone's projection on the bundled corpus (seconds)."""
    from excise.training.projection import train_projection

    typer.echo(f"wrote {train_projection(out, dimensions)}")
