"""A study's report, as Markdown and as one HTML page that needs nothing but itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from excise import __version__
from excise.durable import replace_file
from excise.evaluation.experiments.study_config import StudyConfig
from excise.evaluation.experiments.study_run import StudyFolder
from excise.evaluation.report.plot import tradeoff
from excise.evaluation.report.study_results import StudyResults
from excise.evaluation.report.study_sheets import Sheet, headline, sheets
from excise.evaluation.report.templates import part, render, trusted

MARKDOWN, PAGE = "report.md", "report.html"


def write_report(config: StudyConfig, folder: StudyFolder) -> tuple[Path, Path]:
    """Write ``report.md`` and ``report.html`` from what is finished of a study; returns both paths."""
    results = StudyResults(config, folder)
    said, tables, notes = headline(results), sheets(results), _notes(results)
    markdown, page = folder.folder / MARKDOWN, folder.folder / PAGE
    replace_file(markdown, _markdown(config, said, tables, notes).encode())
    plots = [(one.name, tradeoff(runs)) for one in config.backbones if (runs := results.runs(one))]
    text = render(
        "study.html.j2",
        title=config.title,
        headline=said,
        sheets=tables,
        plots=plots,
        notes=notes,
        config=config.text,
        version=__version__,
        style=trusted(part("page.css")),
    )
    replace_file(page, text.encode())
    return markdown, page


def _notes(results: StudyResults) -> list[str]:
    """What was not run, and how the rest was."""
    failures = results.folder.failures()
    said = [f"Not run: {label} ({failures.get(label, 'not yet')})." for label in results.missing]
    for key, what in (("code", "code that decides rankings"), ("versions", "versions")):
        values = {json.dumps(one.config.get(key), sort_keys=True) for one in results.all()}
        said += [f"The {what}: {json.loads(value)}." for value in sorted(values)]
    prints: Mapping[str, Any] = {
        f"{one.cell.task.name}, {name}": value
        for one in results.all()
        for name, value in one.config.get("fingerprints", {}).items()
        if name in ("corpus", "queries", "pairs", "labels")
    }
    weights = {f"{one.cell.backbone.name}": one.config["fingerprints"]["backbone"] for one in results.all()}
    rivals = {
        name.removeprefix("model of "): value
        for one in results.all()
        for name, value in one.config.get("fingerprints", {}).items()
        if name.startswith("model of ")
    }
    said += [f"Fingerprint of {name}: {value}." for name, value in {**prints, **weights, **rivals}.items()]
    return said


def _markdown(config: StudyConfig, said: Sequence[str], tables: Sequence[Sheet], notes: Sequence[str]) -> str:
    lines = [f"# {config.title}", "", f"Written by `excise study` ({__version__}).", ""]
    lines += [f"- {sentence}" for sentence in said]
    for sheet in tables:
        lines += ["", f"## {sheet.title}", ""]
        lines += [sheet.note, ""] if sheet.note else []
        lines += [_row(sheet.header), _row(["---"] * len(sheet.header))]
        lines += [_row([f"`{row[0]}`", *row[1:]]) for row in sheet.rows]
    lines += ["", "## How it was run", "", *(f"- {note}" for note in notes)]
    lines += ["", "```toml", config.text.strip(), "```", ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
