"""A projection for an encoder that was trained for late interaction and is published without its own.

Such an encoder's last layer means little by itself: its token vectors were compared only after a linear map. The map
is learned anew, the encoder as it is: titles are asked for, and each must find its own text among those of a batch.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from excise.documents import Corpus
from excise.encoders.backbone import Backbone, Preset
from excise.errors import InvalidInput
from excise.progress import Progress, silent
from excise.vectors.ragged import Vectors
from excise.vectors.windows import SHORT

if TYPE_CHECKING:
    from torch import Tensor

_BATCH = 24  # titles that compete for each other's texts
_HELD_OUT = 16 * _BATCH
_SHARPNESS = 60.0  # what mean similarities are multiplied with before they compete
_TITLE_WORDS, _TEXT_WORDS = range(4, 40), 150
_PORTION = 64  # texts encoded between two steps of the progress bar


@dataclass(frozen=True)
class ProjectionArguments:
    """How a projection is learned.

    Attributes
    ----------
    dimensions
        of the vectors that are stored.
    pairs
        titles with their texts, at most.
    markers
        what stands before queries and before documents: tokens of the encoder's vocabulary, or nothing.
    epochs, rate, seed
        passes over the pairs, the learning rate, and the seed of everything random.
    """

    dimensions: int = 96
    pairs: int = 3_200
    markers: tuple[str, str] = ("[unused0]", "[unused1]")
    epochs: int = 4
    rate: float = 2e-3
    seed: int = 0


@dataclass(frozen=True)
class FittedProjection:
    """The rows of the map, and how many held-out titles find their own text among 24, without it and with it."""

    rows: Vectors
    before: float
    after: float


def title_pairs(corpora: Sequence[Path], most: int, seed: int = 0) -> list[tuple[str, str]]:
    """Titles with the beginnings of their texts, as many of each corpus; titles of under four words say too little."""
    chosen: list[tuple[str, str]] = []
    for path in corpora:
        own = [
            (document.title, " ".join(document.text.split()[:_TEXT_WORDS]))
            for document in Corpus([path])
            if len(document.title.split()) in _TITLE_WORDS
        ]
        random.Random(seed).shuffle(own)
        chosen += own[: most // len(corpora)]
    return chosen


def fit_late_projection(
    queries: Sequence[Vectors],
    documents: Sequence[Vectors],
    arguments: ProjectionArguments,
    progress: Progress = silent,
) -> FittedProjection:
    """Learn the map: of a batch, each query's MaxSim must be largest for the document in its own place.

    Parameters
    ----------
    queries, documents
        token vectors of titles and of their texts, one by one.
    arguments
        how it is learned.
    progress
        called after each batch.
    """
    import torch

    if len(queries) < _HELD_OUT + _BATCH:
        raise InvalidInput(
            f"a projection needs at least {_HELD_OUT + _BATCH} titles of four words or more, got {len(queries)}."
        )
    chance, order = random.Random(arguments.seed), list(range(len(queries)))
    chance.shuffle(order)
    held, kept = order[:_HELD_OUT], order[_HELD_OUT:]
    width = queries[0].shape[1]
    generator = torch.Generator().manual_seed(arguments.seed)
    weight = torch.nn.Parameter(torch.randn(arguments.dimensions, width, generator=generator) / width**0.5)
    own = torch.arange(_BATCH)

    def scores(places: Sequence[int], rows: Tensor | None) -> Tensor:
        return _mean_maxsims([queries[i] for i in places], [documents[i] for i in places], rows)

    def found(rows: Tensor | None) -> float:
        parts = [held[start : start + _BATCH] for start in range(0, _HELD_OUT, _BATCH)]
        with torch.no_grad():
            return float(np.mean([(scores(part, rows).argmax(1) == own).float().mean() for part in parts]))

    optimizer = torch.optim.Adam([weight], lr=arguments.rate)
    steps = len(kept) // _BATCH
    for step in range(arguments.epochs * steps):
        if step % steps == 0:
            chance.shuffle(kept)
        first = step % steps * _BATCH
        logits = scores(kept[first : first + _BATCH], weight) * _SHARPNESS
        loss = torch.nn.functional.cross_entropy(logits, own) + torch.nn.functional.cross_entropy(logits.T, own)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        progress("learning", step + 1, arguments.epochs * steps)
    rows = weight.detach()
    return FittedProjection(np.asarray(rows.numpy(), dtype=np.float32), found(None), found(rows))


def train_late_projection(
    source: Path, corpora: Sequence[Path], out: Path, arguments: ProjectionArguments, progress: Progress = silent
) -> FittedProjection:
    """Fit a projection for the encoder in a folder, and write both as a checkpoint that ``--backbone`` takes."""
    import torch

    from excise.encoders.checkpoints import CheckpointEncoder, marked_pipeline, quiet

    if not (source / "config.json").is_file():
        raise InvalidInput(f"{source} is not the folder of an encoder: it has no config.json (see excise fetch).")
    quiet()
    pairs = title_pairs(corpora, arguments.pairs, arguments.seed)
    encoder = CheckpointEncoder(marked_pipeline(str(source), arguments.markers))
    backbone = Backbone(str(source), encoder, Preset(str(source), SHORT, 64, 300))
    queries: list[Vectors] = []
    documents: list[Vectors] = []
    for start in range(0, len(pairs), _PORTION):
        titles, texts = zip(*pairs[start : start + _PORTION], strict=True)
        queries += [query.vectors.astype(np.float16) for query in backbone.encode_queries(titles)]
        windows = backbone.encode_documents(texts).windows
        documents += [windows[i] for i in range(len(texts))]
        progress("encoding", min(start + _PORTION, len(pairs)), len(pairs))
    fitted = fit_late_projection(queries, documents, arguments, progress)
    pipeline = marked_pipeline(str(source), arguments.markers, torch.from_numpy(fitted.rows))
    pipeline.save_pretrained(str(out))
    (out / "README.md").write_text(_card(source, corpora, len(pairs), fitted, arguments), encoding="utf-8")
    return fitted


def _mean_maxsims(queries: Sequence[Vectors], documents: Sequence[Vectors], rows: Tensor | None) -> Tensor:
    """MaxSim of each query with each document over the query's tokens, after the map where there is one."""
    import torch
    from torch.nn.functional import normalize

    asked, there = _padded(queries), _padded(documents)
    vectors = [normalize(one.vectors if rows is None else one.vectors @ rows.T, dim=-1) for one in (asked, there)]
    similarity = torch.einsum("qid,njd->qnij", *vectors).masked_fill(~there.mask[None, :, None, :], -1.0)
    best = similarity.amax(dim=-1) * asked.mask[:, None, :]
    return best.sum(dim=-1) / asked.mask.sum(dim=-1)[:, None]


class _Padded(NamedTuple):
    """Vectors of several texts in one block, and which of its places are taken."""

    vectors: Tensor
    mask: Tensor


def _padded(texts: Sequence[Vectors]) -> _Padded:
    import torch

    block = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(text.astype(np.float32)) for text in texts], True)
    lengths = torch.tensor([len(text) for text in texts])
    return _Padded(block, torch.arange(block.shape[1])[None, :] < lengths[:, None])


def _card(
    source: Path, corpora: Sequence[Path], pairs: int, fitted: FittedProjection, arguments: ProjectionArguments
) -> str:
    given = " ".join(f"--corpus .../{path.parent.name}/{path.name}" for path in corpora)
    return f"""# {source.name} with a fitted projection

The encoder's weights are those of {source.name}, unchanged. Its own projection was not to be had.
This one, to {arguments.dimensions} dimensions, was fitted on {pairs - _HELD_OUT} titles that look for their own
texts, so it is not the published model.

    excise train projection --backbone .../{source.name} {given} --dimensions {arguments.dimensions} --out DIR

Seed {arguments.seed}, {arguments.epochs} passes, rate {arguments.rate:g}. Held-out titles that find their own text
among {_BATCH}: {fitted.before:.3f} by the encoder's own token vectors, {fitted.after:.3f} with the projection. The
licence is that of the encoder.
"""
