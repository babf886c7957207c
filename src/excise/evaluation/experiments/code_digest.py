"""A digest of the code that decides rankings, and of what it learned: outcomes of another are not those of this one."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

from excise.encoders.fingerprints import files_digest

DECIDING = (  # rooms and modules of excise; the others only carry, draw or serve what these decide
    "documents.py",
    "text.py",
    "settings.py",
    "vectors",
    "encoders",
    "topics",
    "engines/base.py",
    "engines/local",
    "rules",
    "search",
    "suites",
    "evaluation/measures",
    "evaluation/systems",
)
_WEIGHTS = (".safetensors", ".json")


@cache
def code_digest() -> str:
    """A digest of the sources and shipped weights that rankings and their measures depend on.

    Examples
    --------
    >>> len(code_digest())
    16
    """
    root = Path(str(files("excise")))
    digest = hashlib.sha256()
    for name in DECIDING:
        place = root / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    weights = sorted(path for path in (root / "models").rglob("*") if path.suffix in _WEIGHTS)
    digest.update(files_digest(weights).encode())
    return digest.hexdigest()[:16]
