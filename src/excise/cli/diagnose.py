"""``excise diagnose``: the diagnosis on the command line, as a table, a JSON file and two plots."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from excise.cli.bar import bar
from excise.errors import InvalidInput

if TYPE_CHECKING:
    from excise.evaluation.experiments.diagnosis import Diagnosis

out = Console()
_BLUE, _GREY = "#2f6fb3", "#777777"


def diagnose(
    suite: Annotated[str, typer.Argument(help="A suite's folder, or 'own' for the built-in one.")],
    split: Annotated[str, typer.Option(help="Which split of it.")],
    out_: Annotated[Path, typer.Option("--out", help="The folder that is written to.")],
    index: Annotated[Path | None, typer.Option("--index", "-i", help="An index of the suite's corpus.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many queries.")] = None,
    backbone: Annotated[str | None, typer.Option(help="By default that of the index, or the embedded one.")] = None,
    seed: Annotated[int, typer.Option(help="Of the folds and of the intervals.")] = 0,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure how excluded documents outscore wanted ones, and whether frozen vectors tell them apart."""
    from excise.encoders.backbone import DEFAULT, load_backbone
    from excise.engines.local.engine import LocalEngine
    from excise.evaluation.experiments.diagnosis import diagnose as run
    from excise.evaluation.experiments.probe import need
    from excise.suites.suites import load_suite

    need("sklearn", "matplotlib")
    _make_folder(out_)
    loaded = load_suite(suite, split, limit)
    engine = LocalEngine.open(index) if index is not None else None
    encoder = load_backbone(backbone or (engine.info.backbone if engine is not None else DEFAULT))
    with bar() as progress:
        found = run(loaded, encoder, engine, seed=seed, progress=progress)
    config = {"limit": limit, "seed": seed, "index": None if index is None else str(index)}
    record = {**asdict(found), "config": config}
    text = json.dumps(record, ensure_ascii=False, indent=1)
    (out_ / "diagnosis.json").write_text(text + "\n", encoding="utf-8")
    plots = draw(found, out_)
    if json_:
        typer.echo(json.dumps(record, ensure_ascii=False))
        return
    out.print(tables(found))
    names = ", ".join(str(path) for path in (out_ / "diagnosis.json", *plots))
    out.print(f"wrote {names}", style="dim", highlight=False, soft_wrap=True)


def tables(found: Diagnosis) -> RenderableType:
    """The diagnosis for a terminal."""
    gaps = found.gaps
    headline = Text.assemble(
        (f"\n{found.suite} {found.split}", "bold"),
        f", {found.backbone}: the excluded document outscores the gold on ",
        (f"{gaps.inverted:.3f}", "bold"),
        f" of {gaps.queries:,} queries.\n",
    )
    table = Table(title="gap S(q, n) - S(q, g) by number of excluded tokens", title_justify="left", box=None)
    for name in ("excluded tokens", "queries", "inverted", "mean gap", "95% interval"):
        table.add_column(name, justify="left" if name == "excluded tokens" else "right")
    for one in (*found.buckets, gaps):
        interval = f"{one.low:+.3f} to {one.high:+.3f}"
        table.add_row(one.name, f"{one.queries:,}", f"{one.inverted:.3f}", f"{one.mean:+.3f}", interval)
    return Group(headline, table, _terms(found), _probe(found))


def _terms(found: Diagnosis) -> RenderableType:
    terms = found.terms
    if terms is None:
        return Text("\nNo query names its excluded topics word for word: Proposition 1 is not split.\n", style="dim")
    return Text.assemble(
        f"\nProposition 1, on the {terms.queries:,} queries that name their topics: mean gap ",
        (f"{terms.epsilon + terms.excluded:+.3f}", "bold"),
        f" = epsilon {terms.epsilon:+.3f} + |q_Z| delta {terms.excluded:+.3f}\n",
        f"(delta {terms.delta:+.3f} a token over {terms.tokens:.1f} tokens; delta > 0 on {terms.delta_positive:.3f}, "
        f"epsilon > 0 on {terms.epsilon_positive:.3f} of them).\n",
    )


def _probe(found: Diagnosis) -> RenderableType:
    if found.probe is None:
        return Text("Too few documents that no pair joins for the probe's folds.\n", style="dim")
    probe = found.probe
    title = (
        f"linear probe, gold against excluded, {probe.pairs:,} pairs of {probe.documents:,} documents (chance 0.500)"
    )
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("layer")
    for one in probe.layers:
        table.add_column(one.layer, justify="right")
    table.add_row("accuracy", *(f"{one.accuracy:.3f}" for one in probe.layers))
    table.add_row("sd of folds", *(f"{one.deviation:.3f}" for one in probe.layers), style="dim")
    return table


def draw(found: Diagnosis, folder: Path) -> list[Path]:
    """The plots: gap by excluded tokens, and probe accuracy by layer. One without data is not drawn."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    paths = []
    if found.buckets:
        figure, axes = pyplot.subplots(figsize=(6, 3.8), layout="constrained")
        _draw_gaps(axes, found)
        paths.append(folder / "gap.png")
        figure.savefig(paths[-1], dpi=150)
        pyplot.close(figure)
    if found.probe is not None:
        figure, axes = pyplot.subplots(figsize=(6, 3.8), layout="constrained")
        _draw_probe(axes, found)
        paths.append(folder / "probe.png")
        figure.savefig(paths[-1], dpi=150)
        pyplot.close(figure)
    return paths


def _draw_gaps(axes: Any, found: Diagnosis) -> None:
    places = range(len(found.buckets))
    means = [one.mean for one in found.buckets]
    spread = [[one.mean - one.low for one in found.buckets], [one.high - one.mean for one in found.buckets]]
    axes.bar(places, means, width=0.6, color=_BLUE, yerr=spread, capsize=4, ecolor=_GREY)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(places, [f"{one.name}\nn = {one.queries}" for one in found.buckets])
    axes.set_xlabel("excluded tokens")
    axes.set_ylabel("mean gap, S(q, n) - S(q, g)")
    title = f"{found.suite} {found.split}: the excluded document wins on {found.gaps.inverted:.1%}"
    _finish(axes, title)


def _draw_probe(axes: Any, found: Diagnosis) -> None:
    layers = found.probe.layers if found.probe is not None else ()
    places = range(len(layers))
    accuracy, deviation = [one.accuracy for one in layers], [one.deviation for one in layers]
    axes.errorbar(places, accuracy, yerr=deviation, color=_BLUE, marker="o", capsize=4, ecolor=_GREY)
    axes.axhline(0.5, color=_GREY, linestyle="--", linewidth=1)
    axes.text(1.01, 0.5, "chance", transform=axes.get_yaxis_transform(), color=_GREY, va="center")
    axes.set_xticks(places, [one.layer for one in layers])
    axes.set_ylim(min(0.35, *accuracy) - 0.05, min(1.02, max(0.75, *accuracy) + 0.1))
    axes.set_xlabel("layer")
    axes.set_ylabel("accuracy on unseen documents")
    _finish(axes, f"{found.suite} {found.split}: linear probe, gold against excluded")


def _finish(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be made: {error.strerror or error}.") from None
