"""JSON lines as they come from others: one object a line, and the file and the line in every complaint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from excise.errors import ExciseError

LINE_LIMIT = 16 * 1024 * 1024  # bytes of one line; a filing has about 70,000


class Line(NamedTuple):
    """One line of a file that is not blank, with its number, counted from 1."""

    path: Path
    number: int
    text: str

    @property
    def where(self) -> str:
        """The line's place, as complaints begin."""
        return f"{self.path}, line {self.number}"


class Digest(Protocol):
    """What takes in bytes as they are read: a hash of :mod:`hashlib`."""

    def update(self, data: bytes, /) -> None: ...


def read_text_lines(path: Path, error: type[ExciseError], digest: Digest | None = None) -> Iterator[Line]:
    """The lines of a UTF-8 file that are not blank.

    Parameters
    ----------
    path
        the file; one that is missing, or has a line that is no UTF-8, is refused.
    error
        what is raised then.
    digest
        updated with every byte that is read.
    """
    if not path.is_file():
        raise error(f"{path}: no such file.")
    with path.open("rb") as content:
        for number, data in enumerate(content, 1):
            if digest is not None:
                digest.update(data)
            line = Line(path, number, decoded(data, f"{path}, line {number}", error))
            if line.text.strip():
                yield line


def read_objects(
    path: Path, error: type[ExciseError], digest: Digest | None = None
) -> Iterator[tuple[Line, dict[str, Any]]]:
    """The objects of a file of JSON lines, each with its line; parameters as in :func:`read_text_lines`."""
    for line in read_text_lines(path, error, digest):
        yield line, parsed_object(line.text, line.where, error)


def decoded(data: bytes, where: str, error: type[ExciseError]) -> str:
    """A line as text, or a sentence about why it is none."""
    if len(data) > LINE_LIMIT:
        raise error(f"{where}: the line has {len(data):,} bytes; at most {LINE_LIMIT:,} are read.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise error(f"{where}: not UTF-8 text ({problem.reason} at byte {problem.start}).") from None


def parsed_object(text: str, where: str, error: type[ExciseError]) -> dict[str, Any]:
    """One JSON object, or a sentence about why it is none.

    Examples
    --------
    >>> parsed_object('{"_id": "leaf"}', "cars.jsonl, line 1", ExciseError)
    {'_id': 'leaf'}
    >>> parsed_object("[1]", "cars.jsonl, line 2", ExciseError)
    Traceback (most recent call last):
        ...
    excise.errors.ExciseError: cars.jsonl, line 2: must be a JSON object, got list.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise error(f"{where}: not valid JSON ({problem}).") from None
    if not isinstance(found, dict):
        raise error(f"{where}: must be a JSON object, got {type(found).__name__}.")
    return found


def id_of(record: dict[str, Any]) -> str | None:
    """The ``_id`` or ``id`` of a record as a text; None where it has none that is a text or a whole number.

    Examples
    --------
    >>> id_of({"_id": 12}), id_of({"id": "leaf"}), id_of({"_id": True})
    ('12', 'leaf', None)
    """
    id = record.get("_id", record.get("id"))
    if isinstance(id, bool) or not isinstance(id, str | int) or not str(id).strip():
        return None
    return str(id)
