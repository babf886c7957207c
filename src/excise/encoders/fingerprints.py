"""Digests of weights. Hashing a hundred megabytes takes longer than a search, so they are remembered between runs.

What is remembered stands in one small file of the user's cache folder, under the paths, sizes and times of the files
that the weights came from. Nothing depends on it: where it cannot be read or written, weights are hashed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from excise.cache_folder import cache_folder

if TYPE_CHECKING:
    from torch import Tensor

_FILE = "fingerprints.json"
_MOST = 256  # digests kept: the newest, since training leaves checkpoints that are never seen again


class FileState(NamedTuple):
    """A file at one moment: another size or time is another content."""

    path: str
    size: int
    modified: int


def file_states(files: Sequence[Path]) -> tuple[FileState, ...]:
    """The state of each file now; none where one of them cannot be looked at."""
    try:
        return tuple(FileState(str(file.resolve()), (s := file.stat()).st_size, s.st_mtime_ns) for file in files)
    except OSError:
        return ()


def weights_hash(weights: Iterable[tuple[str, Tensor]]) -> hashlib._Hash:
    """A hash over names and values, to which a caller may add."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in weights:
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().flatten().view(torch.uint8).numpy().data)
    return digest


def remembered(origin: Sequence[FileState], of: str, compute: Callable[[], str]) -> str:
    """A digest that was computed before from the same files, or else one that is computed now.

    Parameters
    ----------
    origin
        the files that it depends on, as they were when they were read; without any it is always computed.
    of
        what else it depends on.
    compute
        takes the digest.
    """
    if not origin:
        return compute()
    place = cache_folder() / _FILE
    key = hashlib.sha256(json.dumps([of, origin]).encode()).hexdigest()[:32]
    found = _read(place).get(key)
    if found is None:
        found = compute()
        with suppress(OSError):
            _write(place, {**_read(place), key: found})  # read again: others may have written meanwhile
    return found


def files_digest(files: Sequence[Path]) -> str:
    """A digest of the names and contents of files; one that is missing counts as empty.

    Examples
    --------
    >>> files_digest([]) == files_digest([])
    True
    """
    known = [file for file in files if file.is_file()]

    def compute() -> str:
        digest = hashlib.sha256()
        for file in known:
            digest.update(file.name.encode() + b"\0")
            with file.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
        return digest.hexdigest()[:16]

    return remembered(file_states(known), "files", compute)


def _read(place: Path) -> dict[str, str]:
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {key: value for key, value in content.items() if isinstance(value, str)}


def _write(place: Path, content: dict[str, str]) -> None:
    """Replace the file in one step, by way of a name that no other process writing at this moment has chosen."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=_FILE)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as temporary:
            json.dump(dict(list(content.items())[-_MOST:]), temporary, indent=1)
        os.replace(name, place)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
