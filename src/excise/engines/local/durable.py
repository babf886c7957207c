"""Files and folders that outlive a crash: on the disk, not only in the system's cache, before anything names them."""

from __future__ import annotations

import os
from pathlib import Path


def sync_file(path: Path) -> None:
    """Bring a file's content to the disk, whoever wrote it."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Bring a folder's list of names to the disk: files in it that were made, renamed or removed."""
    if os.name == "nt":  # Windows opens no folders; it writes their lists of names by itself
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are missing."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in reversed(missing):
        sync_folder(folder.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Put a file in place in one step: whoever reads it finds the old content or the new, and so does a crash."""
    fresh = unfinished(path)
    with fresh.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    os.replace(fresh, path)
    sync_folder(path.parent)


def unfinished(path: Path) -> Path:
    """Where the content of a file is prepared before it takes its place."""
    return path.with_name(path.name + ".new")
