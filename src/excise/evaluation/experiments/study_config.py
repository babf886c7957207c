"""What a study measures, read from a TOML file: suites, pairs, graded labels, backbones, and tables of systems.

::

    [[suites]]                     # excise eval; "own" is the built-in suite
    name = "own"
    path = "own"
    split = "dev"

    [[pairs]]                      # excise eval-pairs
    name = "NOT pairs"
    path = "pairs.jsonl"

    [[labels]]                     # excise eval-coverage; only tables that name it use it
    name = "graded"
    files = ["labels.jsonl"]
    corpora = { news = "news/corpus.jsonl" }

    [[backbones]]                  # by default the embedded one
    name = "minilm"

    [[tables]]                     # which systems, on what (by default every suite and all pairs)
    title = "Main"
    systems = ["frozen", "excise"]
    on = ["own"]

A suite may have a ``limit`` of queries and, by the name of a backbone, an ``index``; a backbone may have a ``path`` of
its own, and ``words`` and ``budget`` for its windows. Paths are taken from the folder that the command is started in.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from excise.encoders.backbone import DEFAULT
from excise.errors import InvalidInput
from excise.evaluation.systems.external_spec import ForeignModel
from excise.evaluation.systems.spec import SystemSpec, Trained, parse_system
from excise.suites.suites import BUILT_IN

REFERENCE, FROZEN = "excise", "frozen"


@dataclass(frozen=True)
class SuiteTask:
    """A split of a suite. ``index`` names, by backbone, an index of its corpus."""

    name: str
    path: str
    split: str
    limit: int | None = None
    index: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PairsTask:
    """A file of pairs."""

    name: str
    path: str
    limit: int | None = None


@dataclass(frozen=True)
class LabelsTask:
    """Files of graded candidates, and the corpora (and, by corpus, indexes) that they name."""

    name: str
    files: tuple[str, ...]
    corpora: Mapping[str, str]
    indexes: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None


Task = SuiteTask | PairsTask | LabelsTask


@dataclass(frozen=True)
class StudyBackbone:
    """An encoder by a name for the tables; ``path`` is what is loaded, and ``words`` and ``budget`` cut documents."""

    name: str
    path: str = ""
    words: int | None = None
    budget: int | None = None

    @property
    def source(self) -> str:
        return self.path or self.name


@dataclass(frozen=True)
class StudyTable:
    """Systems that are shown together; ``on`` and ``backbones`` are names, all where there are none."""

    title: str
    systems: tuple[str, ...]
    on: tuple[str, ...] = ()
    backbones: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class StudyCell:
    """One task, one backbone, one system."""

    task: Task
    backbone: StudyBackbone
    system: str

    @property
    def label(self) -> str:
        return f"{self.task.name}, {self.backbone.name}, {self.system}"


@dataclass(frozen=True)
class StudyConfig:
    """A whole study."""

    title: str
    suites: tuple[SuiteTask, ...]
    pairs: tuple[PairsTask, ...]
    labels: tuple[LabelsTask, ...]
    backbones: tuple[StudyBackbone, ...]
    tables: tuple[StudyTable, ...]
    text: str = ""

    @property
    def tasks(self) -> list[Task]:
        return [*self.suites, *self.pairs, *self.labels]

    def tasks_of(self, table: StudyTable) -> list[Task]:
        """What a table is measured on."""
        if not table.on:
            return [task for task in self.tasks if not isinstance(task, LabelsTask)]
        return [task for task in self.tasks if task.name in table.on]

    def backbones_of(self, table: StudyTable) -> list[StudyBackbone]:
        """The backbones of a table."""
        return [one for one in self.backbones if not table.backbones or one.name in table.backbones]

    @property
    def cells(self) -> list[StudyCell]:
        """Every cell of every table once, those of one task and backbone together; pairs know no ':oracle'."""
        wanted = {
            (task.name, backbone.name, system): StudyCell(task, backbone, system)
            for table in self.tables
            for task in self.tasks_of(table)
            for backbone in self.backbones_of(table)
            for system in table.systems
            if not (isinstance(task, PairsTask) and parse_system(system).source == "oracle")
        }
        places = {task.name: i for i, task in enumerate(self.tasks)}
        names = [one.name for one in self.backbones]
        return sorted(wanted.values(), key=lambda cell: (names.index(cell.backbone.name), places[cell.task.name]))


def read_study(path: str | Path) -> StudyConfig:
    """Read and check a study; whatever it names must be there."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} is not TOML: {error}.") from None
    known = ("title", "suites", "pairs", "labels", "backbones", "tables")
    for key in content.keys() - known:
        raise InvalidInput(f"{file}: there is no {key!r} in a study; there are {', '.join(known)}.")
    config = StudyConfig(
        title=str(content.get("title", file.stem)),
        suites=_read(SuiteTask, content, "suites", file),
        pairs=_read(PairsTask, content, "pairs", file),
        labels=_read(LabelsTask, content, "labels", file),
        backbones=_read(StudyBackbone, content, "backbones", file) or (StudyBackbone(DEFAULT),),
        tables=_read(StudyTable, content, "tables", file),
        text=text,
    )
    _check(config, file)
    return config


_Row = TypeVar("_Row", SuiteTask, PairsTask, LabelsTask, StudyBackbone, StudyTable)
_KINDS: dict[str, tuple[type, ...]] = {"int | None": (int,), "tuple[str, ...]": (list,), "str": (str,)}


def _read(kind: type[_Row], content: Mapping[str, Any], key: str, file: Path) -> tuple[_Row, ...]:
    rows = content.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidInput(f"{file}: {key} must be tables, each under [[{key}]].")
    return tuple(_row(kind, row, f"{file}: [[{key}]] number {number}") for number, row in enumerate(rows, 1))


def _row(kind: type[_Row], row: Mapping[str, Any], where: str) -> _Row:
    known = {one.name: one for one in fields(kind)}
    for key in row.keys() - known.keys():
        raise InvalidInput(f"{where} has an unknown {key!r}; it may have {', '.join(known)}.")
    values: dict[str, Any] = {}
    for name, one in known.items():
        if name not in row:
            if one.default is MISSING and one.default_factory is MISSING:
                raise InvalidInput(f"{where} lacks {name!r}.")
            continue
        value, wanted = row[name], _KINDS.get(str(one.type), (dict,))
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise InvalidInput(f"{where}: {name} cannot be {value!r}.")
        values[name] = tuple(map(str, value)) if isinstance(value, list) else value
    return kind(**values)


def _check(config: StudyConfig, file: Path) -> None:
    for what, names in (
        ("task", [task.name for task in config.tasks]),
        ("backbone", [one.name for one in config.backbones]),
        ("table", [one.title for one in config.tables]),
    ):
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput(f"{file}: two of a study's {what}s are named {name!r}.")
    if not config.tables or not config.tasks:
        raise InvalidInput(f"{file}: a study needs at least one suite and one of [[tables]].")
    tasks, backbones = {task.name for task in config.tasks}, {one.name for one in config.backbones}
    for table in config.tables:
        for name in {*table.on} - tasks:
            raise InvalidInput(f"{file}: the table {table.title!r} is on {name!r}, which is no suite, pairs or labels.")
        for name in {*table.backbones} - backbones:
            raise InvalidInput(f"{file}: the table {table.title!r} names an unknown backbone {name!r}.")
        for system in table.systems:
            _check_system(parse_system(system), file)
    for path in (path for task in config.tasks for path in _paths(task)):
        if not Path(path).exists():
            raise InvalidInput(f"{file} names {path}, and there is no such file or folder.")


def _check_system(spec: SystemSpec, file: Path) -> None:
    """A model that is missing must not be found out in the middle of the night."""
    folder = spec.way.folder if isinstance(spec.way, Trained) else None
    if isinstance(spec.way, ForeignModel) and spec.way.kind in ("dense", "cross-encoder"):
        local = spec.way.model.count("/") != 1 or spec.way.model.startswith((".", "/"))
        folder = Path(spec.way.model) if local else None
    if folder is not None and not folder.is_dir():
        raise InvalidInput(f"{file}: {spec.name!r} needs the folder {folder}, which is not there.")


def _paths(task: Task) -> list[str]:
    if isinstance(task, LabelsTask):
        return [*task.files, *task.corpora.values()]
    return [] if isinstance(task, SuiteTask) and task.path == BUILT_IN else [task.path]
