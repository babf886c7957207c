"""What the LanceDB engine can be told."""

from __future__ import annotations

from dataclasses import dataclass

from excise.engines.shared.options import StoreOptions
from excise.errors import InvalidInput

_STORAGES = ("s3", "gs", "az", "abfss", "file")


@dataclass(frozen=True)
class LanceOptions(StoreOptions):
    """Where the tables are, and how they are searched.

    Parameters
    ----------
    url
        a folder, or object storage: "s3://bucket/path", "gs://...", "az://...". Its credentials come from where that
        storage's own tools look for them, the environment first.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        scheme, separator, _ = self.url.partition("://")
        if separator and scheme not in _STORAGES:
            raise InvalidInput(f"LanceDB is a folder or one of {', '.join(_STORAGES[:-1])}, got {self.url!r}.")
