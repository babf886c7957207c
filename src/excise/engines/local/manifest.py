"""The manifest of a local index: the one file that says which segments make it up, and which rows are deleted.

Whatever it does not name is no part of the index. It is replaced in one step, so an index changes in one step. The file
begins with what tells one state from another (format, version, id, generation, commit): a reader that has loaded a
state knows from these few bytes whether there is a newer one.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from excise.engines.local.vector_files import check_format
from excise.errors import BadIndex
from excise.vectors.encoded import EncoderInfo

MANIFEST = "excise-index.json"
_FORMAT = "excise-index"
_VERSIONS = (1, 2)  # the second says how vectors are stored; an index of half precision is of the first
_HEAD_BYTES = 200
_SEGMENT_NAME = re.compile(r"segment-[0-9a-f]{12}")
_FILE_NAME = re.compile(r"[a-z_]+\.[a-z0-9]+")


@dataclass(frozen=True)
class SegmentEntry:
    """A segment as the manifest names it: its folder, and its files with their sizes."""

    name: str
    files: Mapping[str, int]


@dataclass(frozen=True)
class Manifest:
    """One committed state of an index.

    Attributes
    ----------
    encoder
        which encoder the vectors come from.
    segments
        what makes up the index, in the order of indexing.
    deleted
        the deleted rows of each segment that has any.
    id
        tells this index from all others, however often it is written.
    generation
        how many commits there were.
    commit
        tells this commit from all others, even from one of the same generation that a restored copy went through.
    vectors
        how token vectors are stored (:mod:`excise.engines.local.vector_files`).
    """

    encoder: EncoderInfo
    segments: tuple[SegmentEntry, ...] = ()
    deleted: Mapping[str, list[int]] = field(default_factory=dict)
    id: str = field(default_factory=lambda: _fresh_key())
    generation: int = 0
    commit: str = ""
    vectors: str = "f16"

    @property
    def fingerprint(self) -> str:
        """Differs between any two states of any index."""
        return "-".join(filter(None, (self.encoder.fingerprint, self.id, str(self.generation), self.commit)))

    def following(self, segments: Sequence[SegmentEntry], deleted: Mapping[str, list[int]]) -> Manifest:
        """The next state."""
        return replace(
            self,
            segments=tuple(segments),
            deleted={name: rows for name, rows in deleted.items() if rows},
            generation=self.generation + 1,
            commit=_fresh_key(),
        )

    def to_bytes(self) -> bytes:
        """As it stands on disk: JSON, a line for each key."""
        content = {
            "format": _FORMAT,
            "version": 1 if self.vectors == "f16" else 2,
            "id": self.id,
            "generation": self.generation,
            "commit": self.commit,
            "encoder": asdict(self.encoder),
            "segments": [{"name": entry.name, "files": dict(entry.files)} for entry in self.segments],
            "deleted": dict(self.deleted),
        }
        if content["version"] == 2:
            content["vectors"] = self.vectors
        lines = ",\n ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
        return f"{{\n {lines}\n}}\n".encode()

    @classmethod
    def from_bytes(cls, content: bytes, path: Path) -> Manifest:
        """Read and check; ``path`` is for the sentence with which anything strange is refused."""
        try:
            record = json.loads(content)
            if not isinstance(record, dict) or "format" not in record:
                raise ValueError("it has no format")
            if record["format"] != _FORMAT:
                raise BadIndex(f"{path} is not the manifest of an excise index.")
            if record["version"] not in _VERSIONS:
                read = " and ".join(map(str, _VERSIONS))
                raise BadIndex(f"{path} has version {record['version']}; this excise reads version {read}.")
            return cls(
                EncoderInfo.from_record(record["encoder"]),
                _segments(record["segments"]),
                _deleted(record["deleted"]),
                _checked(record["id"], str, "the id"),
                _whole(record["generation"], "the generation"),
                _checked(record.get("commit", ""), str, "the commit"),
                check_format(_checked(record.get("vectors", "f16"), str, "how vectors are stored")),
            )
        except KeyError as error:
            raise BadIndex(f"{path} is damaged: it has no {error.args[0]!r}.") from error
        except (ValueError, RecursionError) as error:
            raise BadIndex(f"{path} is damaged: it is not a manifest that excise wrote ({error}).") from error


def head_of(content: bytes) -> bytes:
    """What tells the state in a manifest from any other."""
    return content[:_HEAD_BYTES]


def read_head(folder: Path) -> bytes | None:
    """The head of an index's manifest as it is now; None where there is no manifest."""
    try:
        with (folder / MANIFEST).open("rb", buffering=0) as file:
            return file.read(_HEAD_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None


def new_segment_name() -> str:
    return f"segment-{_fresh_key()}"


def is_segment_name(name: str) -> bool:
    """Whether excise gives such names to segments; nothing else in a folder is ever removed."""
    return _SEGMENT_NAME.fullmatch(name) is not None


def _fresh_key() -> str:
    return uuid.uuid4().hex[:12]


def _segments(record: Any) -> tuple[SegmentEntry, ...]:
    entries: dict[str, SegmentEntry] = {}
    for part in _checked(record, list, "the list of segments"):
        # Names become paths: nothing but what excise itself would write may point anywhere.
        name = _checked(_checked(part, dict, "a segment")["name"], str, "a segment's name")
        if not is_segment_name(name) or name in entries:
            raise ValueError(f"{name!r} is not the name of a segment, or names two")
        sizes = _checked(part["files"], dict, f"the list of files of {name}")
        strange = [file for file in sizes if not _FILE_NAME.fullmatch(file)]
        if strange:
            raise ValueError(f"{strange[0]!r} is not a file of a segment")
        entries[name] = SegmentEntry(name, {file: _whole(size, f"the size of {file}") for file, size in sizes.items()})
    return tuple(entries.values())


def _deleted(record: Any) -> dict[str, list[int]]:
    return {
        name: [_whole(row, "a deleted row") for row in _checked(rows, list, "the deleted rows")]
        for name, rows in _checked(record, dict, "the deletions").items()
    }


def _whole(value: Any, what: str) -> int:
    number: int = _checked(value, int, what)
    if not 0 <= number < 2**63:
        raise ValueError(f"{what} is {number}")
    return number


def _checked(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{what} is {str(value)[:40]!r}")
    return value
