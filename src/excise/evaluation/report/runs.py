"""What the report is made of: the folders that ``excise eval`` and ``excise eval-pairs`` write."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from excise.errors import InvalidInput

Kind = Literal["exclusion", "ordinary", "pairs"]
Scores = Mapping[str, float]

BASELINE = "frozen"


@dataclass(frozen=True)
class Difference:
    """A system less the baseline, with its 95% interval and p-value."""

    difference: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class EvaluatedRun:
    """One folder. Metrics that are null or not finite in the file are left out of every mapping.

    Attributes
    ----------
    label
        suite and split, with the folder's name where another run has the same.
    systems
        by system, its metrics over all queries.
    tiers
        by tier and system.
    intervals, significance
        by system and metric.
    config
        how it was run, as the file says.
    """

    folder: Path
    label: str
    systems: Mapping[str, Scores]
    tiers: Mapping[str, Mapping[str, Scores]]
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    significance: Mapping[str, Mapping[str, Difference]]
    config: Mapping[str, Any]

    @property
    def kind(self) -> Kind:
        """Pairs, a suite whose queries rule documents out, or one that only wants some."""
        scores = self.systems.values()
        if any("accuracy" in own for own in scores):
            return "pairs"
        return "exclusion" if any("leak@10" in own for own in scores) else "ordinary"

    @property
    def headline(self) -> str:
        """The one metric that stands for the run."""
        return {"pairs": "accuracy", "exclusion": "success@10", "ordinary": "ndcg@10"}[self.kind]

    @property
    def baseline(self) -> str:
        """What the other systems are compared with."""
        return str(self.config.get("baseline") or BASELINE)

    def records(self) -> Iterator[dict[str, Any]]:
        """The lines of ``per_query.jsonl``; none where the folder has no such file."""
        path = self.folder / "per_query.jsonl"
        if not path.is_file():
            return
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _object(line, f"{path}, line {number}")


def read_runs(folders: Sequence[str | Path]) -> list[EvaluatedRun]:
    """Read the metrics of every folder, in the order given.

    Examples
    --------
    >>> read_runs(["no-such-folder"])
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: no-such-folder/metrics.json: no such file; name folders that 'excise eval' or
    'excise eval-pairs' wrote.
    """
    if not folders:
        raise InvalidInput("there is nothing to report on: name at least one folder that 'excise eval' wrote.")
    paths = list(dict.fromkeys(Path(folder) for folder in folders))
    contents = [_metrics(path) for path in paths]
    names = [" ".join(str(content[key]) for key in ("suite", "split") if content.get(key)) for content in contents]
    return [
        _run(path, content, name if names.count(name) == 1 else f"{name} ({path.resolve().name})")
        for path, content, name in zip(paths, contents, names, strict=True)
    ]


def _metrics(folder: Path) -> dict[str, Any]:
    path = folder / "metrics.json"
    if not path.is_file():
        raise InvalidInput(f"{path}: no such file; name folders that 'excise eval' or 'excise eval-pairs' wrote.")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.") from None
    content = _object(text, str(path))
    if not isinstance(content.get("systems"), dict) or not content["systems"]:
        raise InvalidInput(f"{path}: has no 'systems'; it was not written by 'excise eval'.")
    if "labels" in content:
        raise InvalidInput(f"{path}: written by 'excise eval-coverage', whose measures have no place in this report.")
    return content


def _run(folder: Path, content: Mapping[str, Any], label: str) -> EvaluatedRun:
    try:
        return EvaluatedRun(
            folder=folder,
            label=label or folder.name,
            systems=_scores(content["systems"]),
            tiers={str(tier): _scores(systems) for tier, systems in (content.get("tiers") or {}).items()},
            intervals={
                name: {metric: (float(low), float(high)) for metric, (low, high) in _present(own)}
                for name, own in (content.get("intervals") or {}).items()
            },
            significance={
                name: {metric: _difference(value) for metric, value in _present(own)}
                for name, own in (content.get("significance") or {}).items()
            },
            config=dict(content.get("config") or {}),
        )
    except (AttributeError, TypeError, ValueError, KeyError) as error:
        raise InvalidInput(f"{folder / 'metrics.json'} is not as 'excise eval' writes it: {error!r}.") from None


def _scores(systems: Mapping[str, Mapping[str, Any]]) -> dict[str, Scores]:
    return {
        name: {metric: float(value) for metric, value in _present(own) if math.isfinite(value)}
        for name, own in systems.items()
    }


def _present(values: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    return [(metric, value) for metric, value in (values or {}).items() if value is not None]


def _difference(value: Mapping[str, Any]) -> Difference:
    return Difference(*(float(value[name]) for name in ("difference", "low", "high", "p_value")))


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{where}: not valid JSON ({error}).") from None
    if not isinstance(content, dict):
        raise InvalidInput(f"{where}: must be a JSON object, got {type(content).__name__}.")
    return content
