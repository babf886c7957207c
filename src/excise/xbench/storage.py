"""Files of JSON lines: read with the line's number in every complaint, written in one step, added to line by line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from excise.errors import ExciseError

LINE_LIMIT = 8 * 1024 * 1024  # bytes of one line; a request with two documents has some thousands


class XBenchError(ExciseError, ValueError):
    """Anything about building a benchmark that cannot be done; the message says what and where."""


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file of JSON lines, each with its place ("file, line 3")."""
    if not path.is_file():
        raise XBenchError(f"{path}: no such file.")
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{path}, line {number}"
            if len(line) > LINE_LIMIT:
                raise XBenchError(f"{where}: the line has {len(line):,} bytes; at most {LINE_LIMIT:,} are read.")
            if line.strip():
                yield where, parsed_object(line, where)


def parsed_object(line: bytes, where: str) -> dict[str, Any]:
    """One JSON object, or a sentence about why it is none."""
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise XBenchError(f"{where}: not UTF-8 text ({error.reason} at byte {error.start}).") from None
    except (ValueError, RecursionError) as error:
        raise XBenchError(f"{where}: not valid JSON ({error}).") from None
    if not isinstance(found, dict):
        raise XBenchError(f"{where}: must be a JSON object, got {type(found).__name__}.")
    return found


def write_text(path: Path, content: str | Iterable[str]) -> None:
    """Write a file in one step: a reader meets the old content or the new, never half of it."""
    temporary = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8", newline="") as out:
            out.writelines([content] if isinstance(content, str) else content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise XBenchError(f"could not write {path}: {error.strerror or error}.") from error


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    write_text(path, (json_line(record) for record in records))


def json_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def read_json(path: Path) -> dict[str, Any]:
    try:
        return parsed_object(path.read_bytes(), str(path))
    except OSError as error:
        raise XBenchError(f"{path}: {error.strerror or error}.") from None
