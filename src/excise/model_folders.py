"""Where models are: those that ship with excise, or ones of your own that stand in for them.

The environment variable ``EXCISE_MODELS`` names a folder whose ``detector``, ``adapter`` and ``coverage`` (what
``excise train`` writes) take the place of the shipped ones, in the library, the commands and the service alike.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Literal

from excise.errors import InvalidInput

ModelKind = Literal["detector", "adapter", "coverage"]
_KINDS = ("detector", "adapter", "coverage")


def shipped_folder(kind: ModelKind) -> Path:
    """The folder of a model that ships with excise."""
    return Path(str(files("excise") / "models" / kind))


def own_folder(kind: ModelKind) -> Path | None:
    """The folder of a model that stands in for the shipped one; None where there is none."""
    chosen = os.environ.get("EXCISE_MODELS")
    if not chosen:
        return None
    if not any((Path(chosen) / one).is_dir() for one in _KINDS):
        raise InvalidInput(f"EXCISE_MODELS names {chosen}, which has no folder detector, adapter or coverage.")
    folder = Path(chosen) / kind
    return folder if folder.is_dir() else None


def model_folder(kind: ModelKind) -> Path:
    """The folder of the model in use."""
    return own_folder(kind) or shipped_folder(kind)
