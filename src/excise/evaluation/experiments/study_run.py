"""Run a study: every cell in a folder of its own, one after the other, and none twice.

A cell's folder is what ``excise eval``, ``eval-pairs`` or ``eval-coverage`` write for one system; ``metrics.json`` is
put there last and in one step, so that a cell either is done or goes on at the query at which it was interrupted. Its
configuration holds the fingerprints of data and weights, the versions, and a digest of the code that decides rankings:
a cell that was made with others is refused, or run again with ``overwrite``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from statistics import fmean
from time import perf_counter

from excise.durable import make_folder, replace_file
from excise.encoders.backbone import Backbone, load_backbone, with_windowing
from excise.encoders.fingerprints import files_digest
from excise.errors import ExciseError
from excise.evaluation.experiments.code_digest import code_digest
from excise.evaluation.experiments.coverage_run import evaluate_coverage
from excise.evaluation.experiments.indexes import load_operator
from excise.evaluation.experiments.pair_run import evaluate_pairs
from excise.evaluation.experiments.run_config import loaded_by, package_versions
from excise.evaluation.experiments.run_folder import CONFIG, METRICS, RunError
from excise.evaluation.experiments.study_config import (
    LabelsTask,
    PairsTask,
    StudyBackbone,
    StudyCell,
    StudyConfig,
    SuiteTask,
)
from excise.evaluation.experiments.suite_run import SuiteBench, evaluate_on
from excise.evaluation.systems.foreign_encoders import model_fingerprint
from excise.evaluation.systems.registry import System
from excise.evaluation.systems.spec import parse_system
from excise.progress import Progress, silent
from excise.suites.suites import BUILT_IN, load_suite
from excise.vectors.windows import Windowing

CELLS, SHORTLISTS, COST, FAILED, CONFIG_COPY = "cells", "shortlists", "cost.json", "failed.json", "study.toml"
CACHE_BYTES = 2 * 1024**3  # many systems re-embed the same shortlists one after the other


@dataclass
class CellCost:
    """What a cell took: ``seconds`` in all, and milliseconds a timed ranking, of those that fired and of the others."""

    seconds: float = 0.0
    queries: int = 0
    fired: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    quiet: list[float] = field(default_factory=list)
    detector_ms: float | None = None

    def note(self, _: System, fired: bool, seconds: float, warm: float | None) -> None:
        """One timed ranking."""
        self.queries += 1
        (self.fired if fired else self.quiet).append(1000 * seconds)
        if warm is not None:
            self.warm.append(1000 * warm)

    def to_dict(self) -> dict[str, float | int | None]:
        """Means for JSON."""
        means = {name: fmean(own) if own else None for name, own in self._lists().items()}
        return {"seconds": self.seconds, "queries": self.queries, "detector_ms": self.detector_ms, **means}

    def _lists(self) -> dict[str, list[float]]:
        return {"fired_ms": self.fired, "warm_ms": self.warm, "quiet_ms": self.quiet}


@dataclass(frozen=True)
class StudyProgress:
    """A cell that was finished or failed: ``left`` is an estimate of the seconds that the others take."""

    cell: StudyCell
    done: int
    total: int
    seconds: float
    left: float | None
    failure: str = ""


Told = Callable[[StudyProgress], None]


class StudyFolder:
    """Where a study is written, and what of it is there already."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def cell(self, cell: StudyCell) -> Path:
        """The folder of a cell: readable, and different for names that differ in odd characters only."""
        parts = [_plain(part) for part in (cell.task.name, cell.backbone.name, cell.system)]
        return self.folder.joinpath(CELLS, *parts)

    def shortlists(self, cell: StudyCell) -> Path:
        """Where the frozen shortlists of a suite and backbone are kept."""
        return self.folder / SHORTLISTS / f"{_plain(cell.task.name)}-{_plain(cell.backbone.name)}.json"

    def done(self, cell: StudyCell) -> bool:
        """Whether a cell is finished."""
        return (self.cell(cell) / METRICS).is_file()

    def differs(self, cell: StudyCell) -> list[str]:
        """What a cell that is there was made with and would not be made with now; nothing where there is none."""
        try:
            before = json.loads((self.cell(cell) / CONFIG).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError):
            before = {}
        now = {**_recorded(cell), "versions": package_versions()}
        return [key for key, value in now.items() if before.get(key) != value]

    def cost(self, cell: StudyCell) -> dict[str, float | None]:
        """What a finished cell took; empty where that is not known."""
        try:
            found = json.loads((self.cell(cell) / COST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def failures(self) -> dict[str, str]:
        """By the label of a cell, why it could not be run, the last time."""
        try:
            return dict(json.loads((self.folder / FAILED).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return {}


def run_study(
    config: StudyConfig,
    out: str | Path,
    *,
    overwrite: bool = False,
    told: Told | None = None,
    progress: Progress = silent,
) -> StudyFolder:
    """Run every cell of a study that is not there yet.

    Parameters
    ----------
    config
        as :func:`excise.evaluation.experiments.study_config.read_study` reads it.
    out
        the folder that is written to. The same study started again goes on where it stopped.
    overwrite
        run cells again that were made with other data, weights, versions or code.
    told
        called after each cell.
    progress
        called as the work goes on.
    """
    folder = StudyFolder(Path(out))
    make_folder(folder.folder)
    replace_file(folder.folder / CONFIG_COPY, config.text.encode())
    cells = config.cells
    failures: dict[str, str] = {}
    finished = 0
    for _, group in groupby(cells, lambda cell: cell.backbone.name):
        runner = _Runner(folder, overwrite, progress)
        for cell in group:
            start = perf_counter()
            try:
                runner.run(cell)
            except RunError:
                raise
            except ExciseError as error:  # the others can still be measured, and this one be tried again
                failures[cell.label] = str(error)
            finished += 1
            replace_file(folder.folder / FAILED, json.dumps(failures, indent=1).encode())
            if told is not None:
                left = estimate(folder, cells[finished:])
                seconds, failure = perf_counter() - start, failures.get(cell.label, "")
                told(StudyProgress(cell, finished, len(cells), seconds, left, failure))
    return folder


def estimate(folder: StudyFolder, cells: list[StudyCell]) -> float | None:
    """About how many seconds some cells take, by what the same system took elsewhere; None where nothing is known."""
    known: dict[str, list[float]] = {}
    for path in folder.folder.glob(f"{CELLS}/*/*/*/{COST}"):
        try:
            cost = json.loads(path.read_text(encoding="utf-8"))
            known.setdefault(path.parent.name, []).append(float(cost["seconds"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    if not known:
        return None
    typical = fmean(fmean(own) for own in known.values())
    open_cells = [cell for cell in cells if not folder.done(cell)]
    return sum(fmean(known.get(folder.cell(cell).name, [typical])) for cell in open_cells)


class _Runner:
    """Runs the cells of one backbone: the encoder is loaded once, and each suite opened once."""

    def __init__(self, folder: StudyFolder, overwrite: bool, progress: Progress) -> None:
        self.folder, self.overwrite, self.progress = folder, overwrite, progress
        self._backbone: Backbone | None = None
        self._bench: tuple[str, SuiteBench] | None = None

    def run(self, cell: StudyCell) -> None:
        out, task = self.folder.cell(cell), cell.task
        recorded, other = _recorded(cell), self.folder.differs(cell)
        if other and not self.overwrite:
            raise RunError(
                f"{out} was made with another {' and '.join(other)}: name another folder for the study, or run such "
                "cells again with --overwrite."
            )
        if self.folder.done(cell) and not other:
            return
        (out / METRICS).unlink(missing_ok=True)  # a cell that is being made again is not done
        shown = self._shown(cell)
        with _costed(out) as cost:
            if isinstance(task, SuiteTask):
                bench = self._bench_of(cell, task)
                evaluate_on(
                    bench,
                    [cell.system],
                    out,
                    baseline=cell.system,
                    overwrite=bool(other),
                    recorded=recorded,
                    clock=cost.note,
                    progress=shown,
                )
                cost.detector_ms = bench.detector_ms
            elif isinstance(task, PairsTask):
                evaluate_pairs(
                    task.path,
                    [cell.system],
                    out,
                    limit=task.limit,
                    baseline=cell.system,
                    backbone=self._loaded(cell.backbone),
                    overwrite=bool(other),
                    recorded=recorded,
                    progress=shown,
                )
            else:
                evaluate_coverage(
                    task.files,
                    task.corpora,
                    [cell.system],
                    out,
                    indexes=task.indexes,
                    limit=task.limit,
                    backbone=self._loaded(cell.backbone),
                    overwrite=bool(other),
                    recorded=recorded,
                    progress=shown,
                )

    def _bench_of(self, cell: StudyCell, task: SuiteTask) -> SuiteBench:
        if self._bench is None or self._bench[0] != task.name:
            suite = load_suite(task.path, task.split, task.limit)
            index = Path(task.index[cell.backbone.name]) if cell.backbone.name in task.index else None
            operator = load_operator(suite, index, self._loaded(cell.backbone), CACHE_BYTES)
            bench = SuiteBench(suite, operator, task.limit, index, self.folder.shortlists(cell))
            self._bench = (task.name, bench)
        return self._bench[1]

    def _loaded(self, asked: StudyBackbone) -> Backbone:
        if self._backbone is None:
            self._backbone = load_backbone(asked.source)
            if asked.words or asked.budget:
                native = self._backbone.windowing
                windows = Windowing(asked.words or native.words, asked.budget or native.budget)
                self._backbone = with_windowing(self._backbone, windows)
        return self._backbone

    def _shown(self, cell: StudyCell) -> Progress:
        return lambda what, done, total: self.progress(f"{cell.label}: {what}", done, total)


@contextmanager
def _costed(out: Path) -> Iterator[CellCost]:
    """Measures what happens inside, and writes it beside the cell once that is done."""
    cost, start = CellCost(), perf_counter()
    yield cost
    cost.seconds = perf_counter() - start
    replace_file(out / COST, json.dumps(cost.to_dict(), indent=1).encode())


def _recorded(cell: StudyCell) -> dict[str, str]:
    """All that a cell depends on and that can be told before anything is loaded."""
    models = [cell.backbone.source, loaded_by(parse_system(cell.system))]
    return {
        "code": code_digest(),
        "task": json.dumps(asdict(cell.task), sort_keys=True),
        "data": files_digest(_files(cell)),
        "weights": ", ".join(model_fingerprint(model) for model in models if model),
        "as": json.dumps(asdict(cell.backbone), sort_keys=True),
    }


def _files(cell: StudyCell) -> list[Path]:
    task = cell.task
    if isinstance(task, PairsTask):
        return [Path(task.path)]
    if isinstance(task, LabelsTask):
        return [Path(path) for path in (*task.files, *task.corpora.values())]
    judged = (f"{kind}/{task.split}.tsv" for kind in ("qrels", "negatives", "graded"))
    names = ("corpus.jsonl", "queries.jsonl", *judged)
    return [] if task.path == BUILT_IN else [Path(task.path, name) for name in names]


def _plain(text: str) -> str:
    """A name as part of a path; what it loses is told by a digest."""
    plain = re.sub(r"[^A-Za-z0-9.=+-]", "_", text)[:80].strip(".") or "_"
    return plain if plain == text else f"{plain}-{sha256(text.encode()).hexdigest()[:6]}"
