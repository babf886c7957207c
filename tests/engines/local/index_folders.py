"""What lies in the folder of a local index."""

from __future__ import annotations

from pathlib import Path

from excise.engines import MANIFEST, LocalEngine

LEAVINGS = "segment-0123456789ab"  # what a segment is called that nobody has finished


def segments(folder: Path) -> list[str]:
    """The segments on disk, whether the manifest names them or not."""
    return sorted(path.name for path in folder.glob("segment-*"))


def has_leavings(folder: Path) -> bool:
    """Whether something half-written lies about."""
    named = sorted(entry.name for entry in LocalEngine.open(folder).reader().manifest.segments)
    return (folder / f"{MANIFEST}.new").exists() or segments(folder) != named
