"""Files of a run: written in one step, so that a reader never meets half of one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from excise.errors import ExciseError
from excise.suites.jsonlines import decoded, parsed_object


class XBenchError(ExciseError, ValueError):
    """Anything about building a benchmark that cannot be done; the message says what and where."""


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
        content = path.read_bytes()
    except OSError as error:
        raise XBenchError(f"{path}: {error.strerror or error}.") from None
    return parsed_object(decoded(content, str(path), XBenchError), str(path), XBenchError)
