"""What the Qdrant engine can be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from excise.engines.shared.options import StoreOptions
from excise.errors import InvalidInput

MEMORY = ":memory:"


@dataclass(frozen=True)
class QdrantOptions(StoreOptions):
    """Where the collection is, how it is laid out (when it is made), and how it is searched.

    Parameters
    ----------
    url
        "http://host:6333", "https://...", a folder, or ":memory:", which ends with this process.
    api_key
        the server's key.
    mode
        also "hnsw": Qdrant's own graph over the token vectors.
    shards, replicas
        of a new collection; 0 leaves them to the server. With more than one replica, most of them are asked and
        written; name the same number when you search.
    quantization
        of the token vectors of a new collection: "none", "scalar" or "binary".
    on_disk
        keep a new collection's token vectors on disk rather than in memory.
    grpc
        talk gRPC, which is faster with many vectors; the server's port is then 6334.
    """

    api_key: str | None = field(default=None, repr=False)
    shards: int = 0
    replicas: int = 0
    quantization: Literal["none", "scalar", "binary"] = "none"
    on_disk: bool = False
    grpc: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._choose("quantization", ("none", "scalar", "binary"))
        scheme, separator, _ = self.url.partition("://")
        if separator and scheme not in ("http", "https"):
            raise InvalidInput(f"Qdrant is reached by http:// or https://, got {self.url!r}.")

    @classmethod
    def modes(cls) -> tuple[str, ...]:
        return ("pooled", "exact", "hnsw")

    @property
    def remote(self) -> bool:
        """Whether a server is asked, rather than the library inside this process."""
        return "://" in self.url

    @property
    def folder(self) -> Path | None:
        """Where the library keeps the collection, if it does so in a folder."""
        return None if self.remote or self.url == MEMORY else Path(self.url)
