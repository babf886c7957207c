"""``excise eval``, ``eval-pairs``, ``eval-coverage``, ``report``, ``diagnose`` and ``calibrate``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from excise.cli.bar import bar
from excise.errors import InvalidInput
from excise.extras import need

if TYPE_CHECKING:
    from excise.evaluation.experiments.pair_run import PairReport
    from excise.evaluation.experiments.suite_report import SuiteReport

SuiteFolder = Annotated[str, typer.Argument(help="A suite's folder, or 'own' for the built-in one.")]
Split = Annotated[str, typer.Option(help="Which split of it.")]
Systems = Annotated[str, typer.Option("--systems", help="Names with commas between; an unknown one lists them all.")]
Out = Annotated[Path, typer.Option("--out", help="The folder that is written to.")]
Limit = Annotated[int | None, typer.Option(help="Only the first so many.")]
Baseline = Annotated[str, typer.Option(help="The system that the others are compared with.")]
Backbone = Annotated[
    str | None, typer.Option(help="Preset name, hub id, or folder of the encoder; by default the embedded one.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Discard another run in the folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def eval_command(
    suite: SuiteFolder,
    split: Split,
    systems: Systems,
    out_: Out,
    limit: Limit = None,
    baseline: Baseline = "frozen",
    index: Annotated[
        Path | None, typer.Option("--index", "-i", help="The index of the suite's corpus; by default in the cache.")
    ] = None,
    backbone: Backbone = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Measure systems on a suite. Calling it again goes on where an interrupted run stopped."""
    need("the evaluation", "eval", "bm25s", "ir_measures", "sklearn")
    from excise.evaluation.experiments.suite_run import evaluate

    with bar() as progress:
        report = evaluate(
            suite,
            split,
            systems,
            out_,
            limit=limit,
            baseline=baseline,
            index=index,
            backbone=backbone,
            overwrite=overwrite,
            progress=progress,
        )
    _show(report, f"{report.suite} {split}, {report.queries:,} queries", "success@10", out_, json_)


def eval_pairs_command(
    file: Annotated[Path, typer.Argument(help="Lines with a query and two passages, Boolean or NevIR.")],
    systems: Systems,
    out_: Out,
    limit: Limit = None,
    baseline: Baseline = "frozen",
    backbone: Backbone = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Measure how often systems prefer the right passage of two."""
    need("the evaluation", "eval", "bm25s", "ir_measures", "sklearn")
    from excise.evaluation.experiments.pair_run import evaluate_pairs

    with bar() as progress:
        report = evaluate_pairs(
            file,
            systems,
            out_,
            limit=limit,
            baseline=baseline,
            backbone=backbone,
            overwrite=overwrite,
            progress=progress,
        )
    _show(report, f"{report.file}, {report.pairs:,} pairs", "accuracy", out_, json_)


def eval_coverage_command(
    labels: Annotated[list[Path], typer.Argument(help="Files of graded candidates, JSON lines.")],
    systems: Systems,
    out_: Out,
    corpus: Annotated[list[str], typer.Option("--corpus", help="name=FILE, for each corpus that the labels name.")],
    index: Annotated[
        list[str] | None,
        typer.Option("--index", "-i", help="name=DIR, the index of a corpus; by default in the cache."),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many searches.")] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Measure whether what systems remove covers the topic: precision, recall, calibration, foreign topics."""
    need("the evaluation", "eval", "bm25s", "ir_measures", "matplotlib")
    from excise.evaluation.experiments.coverage_run import evaluate_coverage
    from excise.evaluation.experiments.run_folder import RELIABILITY
    from excise.evaluation.report.reliability_plot import draw_reliability

    corpora, indexes = paths_by_name("--corpus", corpus), paths_by_name("--index", index or [])
    with bar() as progress:
        report = evaluate_coverage(
            labels, corpora, systems, out_, indexes=indexes, limit=limit, overwrite=overwrite, progress=progress
        )
    if report.reliability:
        draw_reliability(report, out_ / RELIABILITY)
    if json_:
        typer.echo(json.dumps(report.to_dict(), ensure_ascii=False))
        return
    from excise.cli.render import say, show
    from excise.cli.render_evaluation import coverage_tables

    show(coverage_tables(report))
    say(f"wrote {out_}", "dim")


def report_command(
    folders: Annotated[list[Path], typer.Argument(help="Folders that 'excise eval' or 'excise eval-pairs' wrote.")],
    out_: Annotated[Path, typer.Option("--out", help="The page that is written.")] = Path("report.html"),
) -> None:
    """Make one HTML page of any number of runs: tables, the trade-off plot, and every query side by side."""
    need("the report", "eval", "bm25s", "ir_measures", "jinja2", "matplotlib")
    from excise.cli.render import say
    from excise.evaluation.report.report_page import render_report

    page = render_report(folders)
    try:
        out_.parent.mkdir(parents=True, exist_ok=True)
        out_.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{out_} cannot be written: {error.strerror or error}.") from None
    size = len(page.encode()) / 1e6
    say(f"wrote {out_} ({size:.1f} MB)")


def diagnose_command(
    suite: SuiteFolder,
    split: Split,
    out_: Out,
    index: Annotated[Path | None, typer.Option("--index", "-i", help="An index of the suite's corpus.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many queries.")] = None,
    backbone: Annotated[str | None, typer.Option(help="By default that of the index, or the embedded one.")] = None,
    seed: Annotated[int, typer.Option(help="Of the folds and of the intervals.")] = 0,
    json_: Json = False,
) -> None:
    """Measure how excluded documents outscore wanted ones, and whether frozen vectors tell them apart."""
    need("the diagnosis", "eval", "sklearn", "matplotlib")
    from excise.evaluation.experiments.diagnosis import diagnose
    from excise.evaluation.report.diagnosis_plots import draw_diagnosis
    from excise.search.operator import load
    from excise.suites.suites import load_suite

    _make_folder(out_)
    loaded = load_suite(suite, split, limit)
    operator = load(index, backbone=backbone)
    with bar() as progress:
        found = diagnose(loaded, operator.backbone, operator.engine, seed=seed, progress=progress)
    config = {"limit": limit, "seed": seed, "index": None if index is None else str(index)}
    record = {**asdict(found), "config": config}
    text = json.dumps(record, ensure_ascii=False, indent=1)
    (out_ / "diagnosis.json").write_text(text + "\n", encoding="utf-8")
    plots = draw_diagnosis(found, out_)
    if json_:
        typer.echo(json.dumps(record, ensure_ascii=False))
        return
    from excise.cli.render import say, show
    from excise.cli.render_evaluation import diagnosis_tables

    show(diagnosis_tables(found))
    say(f"wrote {', '.join(str(path) for path in (out_ / 'diagnosis.json', *plots))}", "dim")


def calibrate_command(
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
    need("the calibration", "eval", "ir_measures", "matplotlib")
    from excise.evaluation.experiments.calibration import calibrate
    from excise.evaluation.report.calibration_plot import draw_calibration
    from excise.settings import resolve

    settings = resolve(preset, reembed=False)
    with bar() as progress:
        sweeps = [
            one
            for suite in suites or ["own"]
            for one in calibrate(suite, split, settings, "oracle" if oracle else "detector", limit, progress)
        ]
    if out_ is not None:
        _make_folder(out_)
        rows = [one.to_dict() for one in sweeps]
        (out_ / "calibration.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        draw_calibration(sweeps, out_ / "calibration.svg")
    if json_:
        for one in sweeps:
            typer.echo(json.dumps(one.to_dict()))
        return
    from excise.cli.render import show
    from excise.cli.render_evaluation import sweep_table

    show(sweep_table(sweeps))


def _show(report: SuiteReport | PairReport, title: str, tested: str, folder: Path, json_: bool) -> None:
    if json_:
        typer.echo(json.dumps(report.to_dict(), ensure_ascii=False))
        return
    from excise.cli.render import say, show
    from excise.cli.render_evaluation import outcome_table

    show(outcome_table(report, title, tested))
    say(f"wrote {folder}", "dim")


def paths_by_name(option: str, values: list[str]) -> dict[str, Path]:
    """What ``name=PATH`` stands for, given any number of times."""
    found: dict[str, Path] = {}
    for value in values:
        name, equals, path = value.partition("=")
        if not equals or not name.strip() or not path.strip():
            raise InvalidInput(f"{option} takes a corpus' name and a path, as in scifact=corpus.jsonl, got {value!r}.")
        if name in found:
            raise InvalidInput(f"{option} names {name!r} twice.")
        found[name] = Path(path)
    return found


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be made: {error.strerror or error}.") from None
