"""Files of passage pairs: a query, and which of two passages it has to prefer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from excise.errors import SuiteError
from excise.suites.jsonlines import Line, id_of, read_objects
from excise.text import clean

PairKind = Literal["boolean", "nevir"]

_FIELDS: dict[PairKind, tuple[str, ...]] = {
    "boolean": ("text", "positive", "negative"),
    "nevir": ("q1", "q2", "doc1", "doc2"),
}


@dataclass(frozen=True)
class Preference:
    """A query, and which of two texts has to score higher for it."""

    query: str
    preferred: str
    other: str


@dataclass(frozen=True)
class PassagePair:
    """What is counted in pairwise accuracy: right when every one of its preferences holds."""

    id: str
    preferences: tuple[Preference, ...]


@dataclass(frozen=True)
class PairSet:
    """A file of pairs: "boolean" with one preference each, or "nevir" with two."""

    name: str
    path: Path
    kind: PairKind
    pairs: tuple[PassagePair, ...]


def load_pairs(path: str | Path) -> PairSet:
    """Read and check a file of pairs, one JSON object a line.

    Parameters
    ----------
    path
        lines with ``text``, ``positive`` and ``negative`` ("boolean": the query wants the positive text), or with
        ``q1``, ``q2``, ``doc1`` and ``doc2`` ("nevir": q1 wants doc1, and q2 wants doc2). An ``_id`` or ``id`` names
        the pair; without one it is named by its line.
    """
    path = Path(path)
    kind: PairKind | None = None
    pairs: dict[str, PassagePair] = {}
    for line, record in read_objects(path, SuiteError):
        found = _kind(record, line)
        if kind is not None and found != kind:
            raise SuiteError(f"{line.where}: a {found} pair among {kind} pairs; a file holds one kind.")
        kind = found
        pair = _pair(record, kind, line)
        if pair.id in pairs:
            raise SuiteError(f"{line.where}: the pair id {pair.id!r} was already used.")
        pairs[pair.id] = pair
    if kind is None:
        raise SuiteError(f"{path}: holds no pairs.")
    return PairSet(path.stem, path, kind, tuple(pairs.values()))


def _kind(record: Mapping[str, Any], line: Line) -> PairKind:
    for kind, names in _FIELDS.items():
        if all(isinstance(record.get(name), str) and record[name].strip() for name in names):
            return kind
    wanted = " or ".join(", ".join(names) for names in _FIELDS.values())
    raise SuiteError(f"{line.where}: a pair needs the texts {wanted}, got the fields {', '.join(record) or 'none'}.")


def _pair(record: dict[str, Any], kind: PairKind, line: Line) -> PassagePair:
    id = f"line-{line.number}" if "_id" not in record and "id" not in record else id_of(record)
    if id is None:
        raise SuiteError(f"{line.where}: a pair's '_id' must be a text or a whole number.")
    texts = [clean(record[name]) for name in _FIELDS[kind]]
    if kind == "boolean":
        return PassagePair(id, (Preference(*texts),))
    first, second, one, other = texts
    return PassagePair(id, (Preference(first, one, other), Preference(second, other, one)))
