"""The exclusion adapter: low-rank terms that re-embed a query, its topics and a shortlist.

The adapter has no encoder of its own. Its terms stand beside the backbone's weights and are switched on for the length
of one call, in one thread, so that frozen and adapted vectors come from the same weights at the same time, and the
frozen ones are the same bits with an adapter and without.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.encoders.cache import CacheKey, EmbeddingCache
from excise.errors import BackboneError, InvalidInput
from excise.model_folders import model_folder
from excise.vectors.encoded import EncodedDocuments, EncodedQuery
from excise.vectors.ragged import Vectors

if TYPE_CHECKING:
    from excise.encoders.lora import SwitchedLora

WEIGHTS, CONFIG = "adapter.safetensors", "adapter.json"
Side = Literal["both", "query"]


@dataclass(frozen=True)
class AdapterConfig:
    """How an adapter is made.

    Parameters
    ----------
    backbone
        the name of the backbone that it was trained on.
    weights
        the fingerprint of that backbone's weights; it fits no others.
    rank, alpha, last_layers
        the size of the low-rank terms.
    side
        "both" re-embeds queries, topics and documents; "query" queries alone, for documents as a frozen index has them.
    """

    backbone: str = "minilm"
    weights: str = ""
    rank: int = 8
    alpha: float = 16.0
    last_layers: int = 6
    side: Side = "both"

    def __post_init__(self) -> None:
        if self.side not in ("both", "query"):
            raise InvalidInput(f"side must be 'both' or 'query', got {self.side!r}.")


class Adapter:
    """Encodes as the backbone does, with trained terms switched on. Any number of threads may share one.

    Load one with :meth:`from_pretrained` or :func:`load_adapter`.
    """

    def __init__(self, backbone: Backbone, config: AdapterConfig | None = None) -> None:
        """An adapter with fresh terms, which change nothing until they are trained."""
        from excise.encoders.lora import SwitchedLora

        config = config or AdapterConfig(backbone.name, backbone.weights_fingerprint)
        if config.weights != backbone.weights_fingerprint:
            raise BackboneError(
                f"the adapter was trained on {config.backbone!r} with weights {config.weights}; "
                f"{backbone.name!r} has the weights {backbone.weights_fingerprint}."
            )
        self.backbone = backbone
        self.config = config
        transformer = backbone.encoder.transformer
        self.terms: SwitchedLora = SwitchedLora(transformer, config.rank, config.alpha, config.last_layers)

    @classmethod
    def from_pretrained(cls, folder: str | Path, backbone: Backbone) -> Adapter:
        """Load an adapter that :meth:`save_pretrained` wrote, onto a backbone that is loaded already."""
        from safetensors.torch import load_file

        path = Path(folder)
        try:
            config = AdapterConfig(**json.loads((path / CONFIG).read_text(encoding="utf-8")))
            state = load_file(path / WEIGHTS)
        except (OSError, ValueError, TypeError) as error:
            raise BackboneError(f"{path} does not hold an adapter: {error}.") from error
        trained_on = (one for one in (backbone, backbone.judging) if one.weights_fingerprint == config.weights)
        adapter = cls(next(trained_on, backbone), config)
        adapter.terms.load_state(state)
        adapter.terms.requires_grad_(False)
        return adapter

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the terms and the configuration. The backbone's own weights are not written."""
        from safetensors.torch import save_file

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        save_file(self.terms.state(), path / WEIGHTS)
        (path / WEIGHTS).chmod(0o644)
        (path / CONFIG).write_text(json.dumps(asdict(self.config), indent=1) + "\n", encoding="utf-8")

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that decides the adapted vectors: the backbone and its windows, the terms, their scale."""
        digest = hashlib.sha256(self.backbone.fingerprint.encode())
        digest.update(json.dumps(asdict(self.config), sort_keys=True).encode())
        for name, tensor in self.terms.state().items():
            digest.update(name.encode())
            digest.update(tensor.numpy().tobytes())
        return digest.hexdigest()[:16]

    def encode_query(self, query: str) -> EncodedQuery:
        """Adapted token vectors of a query; see :meth:`Backbone.encode_query`.

        Examples
        --------
        >>> from excise.encoders.backbone import load_backbone
        >>> backbone = load_backbone("minilm")
        >>> fresh = Adapter(backbone).encode_query("electric cars")
        >>> bool((fresh.vectors == backbone.encode_query("electric cars").vectors).all())
        True
        """
        with self.terms.active():
            return self.backbone.encode_query(query)

    def encode_topics(self, topics: Sequence[str]) -> list[Vectors]:
        """Adapted token vectors of each topic. They are held against documents, so a query-side adapter leaves them."""
        if self.config.side == "query":
            return self.backbone.encode_topics(topics)
        with self.terms.active():
            return self.backbone.encode_topics(topics)

    def encode_documents(
        self, texts: Sequence[str], progress: Callable[[float], None] | None = None
    ) -> EncodedDocuments:
        """Adapted token vectors of each document's windows, cut as in the index; a query-side adapter's are frozen."""
        if self.config.side == "query":
            return self.backbone.encode_documents(texts, progress)
        with self.terms.active():
            return self.backbone.encode_documents(texts, progress)

    def reembed(self, documents: Sequence[Document], cache: EmbeddingCache | None = None) -> EncodedDocuments:
        """Adapted vectors of a shortlist; only what the cache does not hold is encoded.

        Parameters
        ----------
        documents
            the candidates, in the order of the shortlist.
        cache
            where vectors are looked for and left; without one everything is encoded.
        """
        if cache is None:
            return self.encode_documents([document.full_text for document in documents])
        keys = [CacheKey.of(document.full_text, self.fingerprint) for document in documents]
        found = {key: cache.get(key) for key in keys}
        missing = {key: document for key, document in zip(keys, documents, strict=True) if found[key] is None}
        if missing:
            encoded = self.encode_documents([document.full_text for document in missing.values()])
            for i, key in enumerate(missing):
                found[key] = windows = encoded.document(i)
                cache.put(key, windows)
        return EncodedDocuments.of([held for key in keys if (held := found[key]) is not None])


def load_adapter(backbone: Backbone) -> Adapter | None:
    """The adapter that ships, or that of ``EXCISE_MODELS``; None where the backbone is not the one it was trained on.

    It re-embeds as exclusions are judged: with :attr:`Backbone.judging`.
    """
    folder = model_folder("adapter")
    if not (folder / CONFIG).is_file():
        return None
    fits = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["weights"] == backbone.judging.weights_fingerprint
    return Adapter.from_pretrained(folder, backbone) if fits else None
