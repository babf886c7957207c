"""The folder that a run is written to: what was asked for, one line per outcome, and the summary.

A line is kept once :meth:`RunFolder.add` has returned: the same run, started again after an interruption of any kind,
goes on with what is missing. Lines are only ever appended; a query's rows of the TREC runs are on disk before its
lines are, so that what an interruption leaves half done is always behind the last whole line, and is dropped when the
folder is opened again. Whatever is replaced (the configuration, the summary, files with something to drop) is written
beside the old one and put in its place in one step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from excise.durable import make_folder, replace_file, sync, unfinished
from excise.errors import ExciseError
from excise.text import clean

CONFIG, LINES, METRICS = "config.json", "per_query.jsonl", "metrics.json"
SEARCH_LINES, RELIABILITY = "per_search.jsonl", "reliability.svg"  # of runs over graded labels
_LONGEST = 200  # of a system's name in a file name: file systems take 255 bytes

Values = Mapping[str, float | None]
"""The outcomes of one line, by the names of their metrics."""


class RunError(ExciseError):
    """A folder that a run cannot be written to."""


class RunLine(Protocol):
    """What a system made of one query or pair."""

    @property
    def system(self) -> str:
        """The system's name."""

    @property
    def id(self) -> str:
        """The id of the query or pair."""

    def to_dict(self) -> dict[str, Any]:
        """Plain types, with ``system``, ``id`` and ``metrics`` among them."""


class RunFolder:
    """A run's folder. The outcomes that an interrupted run of the same configuration left are in ``finished``.

    Parameters
    ----------
    folder
        made where it does not exist.
    config
        everything that the outcomes depend on, in plain types; ``systems`` names the systems.
    overwrite
        discard a run that is there already.
    lines
        the name of the file that the lines are in.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], overwrite: bool = False, lines: str = LINES) -> None:
        self.folder = folder
        self.lines = folder / lines
        self.config = config
        self.finished: dict[tuple[str, str], Values] = {}
        self._runs = run_names(config["systems"])
        try:
            make_folder(folder)
            if overwrite:
                self._clear()
            self._check_same()
            self._keep_finished()
            replace_file(folder / CONFIG, _pretty(config))
        except OSError as error:
            raise RunError(f"could not write to {folder}: {error.strerror or error}.") from error

    def add(self, lines: Iterable[RunLine], rankings: Mapping[str, Sequence[tuple[str, float]]]) -> None:
        """Write the lines of one query, and the rankings (by system, ids and scores, best first) behind them.

        When this returns, they outlive a crash.
        """
        added = list(lines)
        records = [line.to_dict() for line in added]
        ranked = [line for line in added if line.system in rankings]
        try:
            self._append({self._runs[line.system]: _trec(line, rankings[line.system]) for line in ranked})
            self._append(
                {self.lines.name: "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)}
            )
        except OSError as error:
            raise RunError(f"could not write to {self.folder}: {error.strerror or error}.") from error
        self.finished |= {(record["system"], record["id"]): record["metrics"] for record in records}

    def summarise(self, metrics: Mapping[str, Any]) -> None:
        """Write the summary."""
        replace_file(self.folder / METRICS, _pretty(metrics))

    def _check_same(self) -> None:
        config = self.folder / CONFIG
        if not config.exists() and not self.lines.exists():
            return
        try:
            before = json.loads(config.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            before = {}
        asked = json.loads(json.dumps(self.config))
        other = [key for key in {**before, **asked} if before.get(key) != asked.get(key)]
        if other:
            raise RunError(
                f"{self.folder} holds a run with another configuration ({', '.join(other)} differ): "
                "name another folder, or discard that run with --overwrite."
            )

    def _keep_finished(self) -> None:
        """Read the lines that are whole, and take out of the files what an interruption left half done."""
        self._keep(self.lines.name, self._is_line)
        for system, run in self._runs.items():
            done = {_word(id).encode() for name, id in self.finished if name == system}
            self._keep(run, lambda row, done=done: row.split(b" ", 1)[0] in done)  # type: ignore[misc]

    def _is_line(self, line: bytes) -> bool:
        """Whether this is a line that ``add`` wrote, whose outcomes are then in ``finished``."""
        try:
            record = json.loads(line)
            self.finished[record["system"], record["id"]] = dict(record["metrics"])
        except (ValueError, KeyError, TypeError):
            return False
        return True

    def _keep(self, name: str, good: Callable[[bytes], bool]) -> None:
        """Drop the lines of a file that are torn or not good; where there are none, the file stays as it is."""
        path = self.folder / name
        if not path.exists():
            return
        # Split at line feeds alone: a text may hold other signs that Python takes for the end of a line.
        *whole, torn = path.read_bytes().split(b"\n")
        kept = [line for line in whole if good(line)]
        if torn or len(kept) < len(whole):
            replace_file(path, b"".join(line + b"\n" for line in kept))

    def _clear(self) -> None:
        named = (METRICS, LINES, SEARCH_LINES, RELIABILITY, CONFIG)
        for path in (*self.folder.glob("run.*.trec"), *(self.folder / name for name in named)):
            path.unlink(missing_ok=True)
            unfinished(path).unlink(missing_ok=True)

    def _append(self, texts: Mapping[str, str]) -> None:
        """Add a text to the end of each file, and bring them all to the disk."""
        paths = {self.folder / name: clean(text).encode() for name, text in texts.items()}
        new = [path for path in paths if not path.exists()]
        for path, text in paths.items():
            with path.open("ab") as out:
                out.write(text)
        sync([*paths, *([self.folder] if new else [])])


def run_names(systems: Sequence[str]) -> dict[str, str]:
    """The file that each system's TREC run is in. Names that differ only in odd characters are numbered.

    Examples
    --------
    >>> run_names(["max+phi=0.8:oracle", "query-only=/a,b", "query-only=/a:b"])
    {'max+phi=0.8:oracle': 'run.max+phi=0.8_oracle.trec', 'query-only=/a,b': 'run.query-only=_a_b.trec', \
'query-only=/a:b': 'run.query-only=_a_b-2.trec'}
    """
    files: dict[str, str] = {}
    for system in systems:
        plain = re.sub(r"[^A-Za-z0-9.=+-]", "_", system)[:_LONGEST]
        name, number = f"run.{plain}.trec", 2
        while name in files.values():
            name, number = f"run.{plain}-{number}.trec", number + 1
        files[system] = name
    return files


def _trec(line: RunLine, ranking: Sequence[tuple[str, float]]) -> str:
    query, tag = _word(line.id), _word(line.system)
    return "".join(f"{query} Q0 {_word(id)} {rank} {score:.6f} {tag}\n" for rank, (id, score) in enumerate(ranking, 1))


def _pretty(content: Mapping[str, Any]) -> bytes:
    return clean(json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def _word(text: str) -> str:
    """Without white space, which is what stands between the columns of a TREC run."""
    return "_".join(clean(text).split())
