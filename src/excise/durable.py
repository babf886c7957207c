"""Files and folders that outlive a crash: on the disk, not only in the system's cache, before anything names them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def sync(paths: Sequence[Path]) -> None:
    """Bring files to the disk, whoever wrote them, and the lists of names in folders.

    All at once, which takes hardly longer than one: the system writes its journal once for them together.
    """
    with ThreadPoolExecutor(max(1, len(paths))) as threads:
        list(threads.map(_sync_one, paths))  # a list, so that an error in any of them is raised


def _sync_one(path: Path) -> None:
    if not path.is_dir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    elif os.name != "nt":  # Windows opens no folders; it writes their lists of names by itself
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are missing."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    if missing:
        sync([folder.parent for folder in missing])


def replace_file(path: Path, content: bytes) -> None:
    """Put a file in place in one step: whoever reads it finds the old content or the new, and so does a crash."""
    fresh = unfinished(path)
    fresh.write_bytes(content)
    _sync_one(fresh)
    os.replace(fresh, path)
    _sync_one(path.parent)


def unfinished(path: Path) -> Path:
    """Where the content of a file is prepared before it takes its place."""
    return path.with_name(path.name + ".new")
