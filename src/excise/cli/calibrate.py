"""``excise calibrate``: the noise test of a rule's constants on training queries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from excise.cli.bar import bar

if TYPE_CHECKING:
    from excise.evaluation.experiments.calibration import Sweep
    from excise.progress import Progress

out = Console()


def calibrate(
    suites: Annotated[
        list[str] | None, typer.Argument(help="Suites' folders, or 'own'; by default the built-in one.")
    ] = None,
    split: Annotated[
        str, typer.Option(help="The split to sweep on: training queries, never those you report.")
    ] = "train",
    preset: Annotated[str, typer.Option(help="Whose rule: default or frozen-paper.")] = "default",
    out_: Annotated[
        Path | None, typer.Option("--out", help="A folder for calibration.json and calibration.svg.")
    ] = None,
    oracle: Annotated[bool, typer.Option("--oracle", help="Topics from the suite's record, not the detector.")] = False,
    limit: Annotated[int | None, typer.Option(help="Only the first so many queries of each suite.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object a constant.")] = False,
) -> None:
    """Sweep each constant of a rule, and tell which matter: inert, active or unexercised, source by source."""
    from excise.evaluation.experiments.calibration import plot

    with bar() as progress:
        sweeps = [row for suite in suites or ["own"] for row in _swept(suite, split, preset, oracle, limit, progress)]
    if out_ is not None:
        out_.mkdir(parents=True, exist_ok=True)
        rows = [one.as_dict() for one in sweeps]
        (out_ / "calibration.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        (out_ / "calibration.svg").write_text(plot(sweeps), encoding="utf-8")
    if json_:
        for one in sweeps:
            typer.echo(json.dumps(one.as_dict()))
        return
    table = Table("source", "constant", "value", "success@10 over the grid", "spread", "2 x SE", "verdict", box=None)
    for one in sweeps:
        curve = "  ".join(f"{value:g}: {rate:.3f}" for value, rate in one.success.items())
        table.add_row(
            one.source, one.constant, f"{one.default:g}", curve, f"{one.spread:.3f}", f"{one.noise:.3f}", one.verdict
        )
    out.print(table)


def _swept(suite: str, split: str, preset: str, oracle: bool, limit: int | None, progress: Progress) -> list[Sweep]:
    from excise.errors import InvalidInput
    from excise.evaluation.experiments.calibration import prepared, sweep
    from excise.evaluation.experiments.indexes import build_index
    from excise.evaluation.systems.cases import suite_cases, suite_collection
    from excise.evaluation.systems.topic_sources import detect_topics, oracle_topics
    from excise.search.operator import load
    from excise.settings import resolve
    from excise.suites.suites import load_suite

    settings, data = resolve(preset, reembed=False), load_suite(suite, split, limit)
    asked = [query for query in data.queries if data.negatives.get(query.id)]
    found = [oracle_topics(query) for query in asked] if oracle else detect_topics([query.text for query in asked])
    kept = [(query, topics) for query, topics in zip(asked, found, strict=True) if topics]
    if not kept:
        raise InvalidInput(f"{suite}: no query of the split {split!r} excludes anything.")
    operator = load()
    build_index(data, operator, None, progress)
    outcomes = []
    cases = suite_cases([query for query, _ in kept], suite_collection(operator))
    for done, (case, (query, topics)) in enumerate(zip(cases, kept, strict=True), 1):
        wanted = {document for document, score in data.qrels.get(query.id, {}).items() if score > 0}
        outcomes.append(prepared(case, topics, wanted, set(data.negatives[query.id]), settings))
        progress(f"reading {data.name}", done, len(kept))
    return sweep(data.name, outcomes, settings)
