"""The folder that a run is written to: what was asked for, one line per outcome, and the summary.

A line is kept once it is written: the same run, started again, goes on with what is missing.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from excise import __version__
from excise.errors import ExciseError
from excise.evaluation.systems.cases import DEPTH
from excise.evaluation.systems.registry import System
from excise.evaluation.systems.topic_sources import detector_fingerprint
from excise.search.operator import Excise

CONFIG, LINES, METRICS = "config.json", "per_query.jsonl", "metrics.json"
SEED = 0
_PACKAGES = ("bm25s", "ir-measures", "numpy", "scikit-learn", "sentence-transformers", "torch")


class RunError(ExciseError):
    """A folder that a run cannot be written to."""


class RunFolder:
    """A run's folder. The lines that an interrupted run of the same configuration left are in ``finished``.

    Parameters
    ----------
    folder
        made where it does not exist.
    config
        everything that the outcomes depend on, in plain types.
    overwrite
        discard a run that is there already.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], overwrite: bool = False) -> None:
        self.folder = folder
        self.config = config
        self.finished: dict[tuple[str, str], dict[str, Any]] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if overwrite:
                self._clear()
            self._check_same()
            self._keep_finished()
            self._write(CONFIG, config)
        except OSError as error:
            raise RunError(f"could not write to {folder}: {error.strerror or error}.") from error

    def add(self, records: Iterable[Mapping[str, Any]], rankings: Mapping[str, Iterable[tuple[str, float]]]) -> None:
        """Write the lines of one query; rankings (system to ids and scores, best first) go to the TREC runs first."""
        added = list(records)
        for record in added:
            if record["system"] in rankings:
                rows = enumerate(rankings[record["system"]], 1)
                tag = _word(record["system"])
                lines = [
                    f"{_word(record['id'])} Q0 {_word(id)} {rank} {score:.6f} {tag}\n" for rank, (id, score) in rows
                ]
                self._append(run_name(record["system"]), lines)
        self._append(LINES, [json.dumps(record, ensure_ascii=False) + "\n" for record in added])
        self.finished.update({(record["system"], record["id"]): dict(record) for record in added})

    def summarise(self, metrics: Mapping[str, Any]) -> None:
        """Write the summary."""
        self._write(METRICS, metrics)

    def _check_same(self) -> None:
        config = self.folder / CONFIG
        if not config.exists() and not (self.folder / LINES).exists():
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
        path = self.folder / LINES
        if not path.exists():
            return
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                record = json.loads(line)
                self.finished[record["system"], record["id"]] = record
            except (ValueError, KeyError, TypeError):
                continue
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in self.finished.values())
        path.write_text(text, encoding="utf-8")
        for system in self.config["systems"]:
            run = self.folder / run_name(system)
            if run.exists():
                done = {_word(id) for name, id in self.finished if name == system}
                rows = run.read_text(encoding="utf-8").splitlines(keepends=True)
                run.write_text("".join(row for row in rows if row.split(" ", 1)[0] in done), encoding="utf-8")

    def _clear(self) -> None:
        for path in (self.folder / CONFIG, self.folder / LINES, self.folder / METRICS, *self.folder.glob("run.*.trec")):
            path.unlink(missing_ok=True)

    def _append(self, name: str, lines: Iterable[str]) -> None:
        with (self.folder / name).open("a", encoding="utf-8") as out:
            out.writelines(lines)

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
        (self.folder / name).write_text(text + "\n", encoding="utf-8")


def run_name(system: str) -> str:
    """The file that a system's TREC run is in.

    Examples
    --------
    >>> run_name("max+phi=0.8:oracle")
    'run.max+phi=0.8_oracle.trec'
    """
    return f"run.{re.sub(r'[^A-Za-z0-9.=+-]', '_', system)}.trec"


def run_config(operator: Excise, systems: Iterable[System], limit: int | None) -> dict[str, Any]:
    """What every run depends on: encoder, rule, systems and versions."""
    chosen = list(systems)
    fingerprints = {"backbone": operator.backbone.fingerprint}
    if operator.adapter is not None:
        fingerprints["adapter"] = operator.adapter.fingerprint
    if any(system.source == "detector" for system in chosen):
        fingerprints["detector"] = detector_fingerprint()
    return {
        "systems": [system.name for system in chosen],
        "limit": limit,
        "seed": SEED,
        "depth": DEPTH,
        "backbone": operator.backbone.name,
        "fingerprints": fingerprints,
        **operator.settings.as_dict(),
        "versions": {
            "excise": __version__,
            "python": platform.python_version(),
            **{package: version(package) for package in _PACKAGES},
        },
    }


def _word(text: str) -> str:
    """Without white space, which is what stands between the columns of a TREC run."""
    return "_".join(text.split())
