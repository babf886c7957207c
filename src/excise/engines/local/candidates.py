"""The best documents of segments with inverted lists: roughly ranked by the lists, then scored exactly, block by block.

The rough ranking of a good document can be off by hundreds of places, by more in some queries and in some corpora. So
there is no fixed number of candidates: blocks are scored, best first, until one brings nothing into the k best. Where
the processor is fast at it, blocks are scored in eight bits, and exactly only the k best with some to spare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.engines.local.inverted_lists import Probes, probes_of
from excise.engines.local.parts import Place
from excise.engines.local.segment import Segment
from excise.errors import BadIndex
from excise.vectors.byte_products import about_maxsim, bytes_pay
from excise.vectors.eight_bit import EightBitVectors
from excise.vectors.maxsim import maxsim
from excise.vectors.ragged import Ragged, Vectors
from excise.vectors.windows import best_window

_BLOCK, _LARGE_BLOCK = 256, 1_024  # documents after which is asked whether to go on: more where they are short
_BLOCK_TOKENS = 32_768
_LEAST_BLOCKS, _MOST_BLOCKS = 3, 64
_SPARE = 64  # documents beyond the k best that are scored exactly where blocks are scored in eight bits
_TOGETHER = 8_192  # token vectors, about, that are copied and scored at a time: they stay in the processor's cache


class Listed(NamedTuple):
    """A segment with inverted lists, which part of the index it is, and what of it is passed over."""

    part: int
    segment: Segment
    passed_over: NDArray[np.bool_]


def best_listed(listed: Sequence[Listed], query: Vectors, k: int) -> list[tuple[float, Place]]:
    """About the k best documents of segments with lists, with their exact scores, in no order."""
    block = max(_block_for(listed), 2 * k)
    allowed = sum(int(np.count_nonzero(~one.passed_over)) for one in listed)
    rough = [] if allowed <= _LEAST_BLOCKS * block else _rough(listed, query)
    in_bytes = bytes_pay() and all(isinstance(one.segment.windows.vectors, EightBitVectors) for one in listed)
    scores = np.empty(0, dtype=np.float32)
    seen: list[_Places] = []
    for number, places in enumerate(_blocks(listed, rough, block), 1):
        kth = np.partition(scores, -k)[-k] if len(scores) >= k else -np.inf
        fresh = _scored(listed, places, query, about_maxsim if in_bytes else maxsim)
        scores = np.concatenate([scores, fresh])
        seen.append(places)
        if rough and number >= _LEAST_BLOCKS and not (fresh > kth).any():
            break
    if not seen:
        return []
    found = _Places(*(np.concatenate(arrays) for arrays in zip(*seen, strict=True)))
    if in_bytes:
        best = _best(scores, k + _SPARE)
        found = found.taken(best[np.argsort(found.segments[best], kind="stable")])
        scores = _scored(listed, found, query, maxsim)
    return [
        (float(scores[i]), Place(listed[found.segments[i]].part, int(found.rows[i]))) for i in _best(scores, k).tolist()
    ]


def _block_for(listed: Sequence[Listed]) -> int:
    tokens = sum(len(one.segment.windows.vectors) for one in listed)
    documents = sum(len(one.segment) for one in listed)
    return min(_LARGE_BLOCK, max(_BLOCK, _BLOCK_TOKENS * documents // max(1, tokens)))


class _Places(NamedTuple):
    segments: NDArray[np.int64]
    rows: NDArray[np.int64]

    def taken(self, chosen: NDArray[np.int64]) -> _Places:
        return _Places(self.segments[chosen], self.rows[chosen])


def _rough(listed: Sequence[Listed], query: Vectors) -> list[NDArray[np.float32]]:
    probes: dict[str, Probes] = {}
    rough: list[NDArray[np.float32]] = []
    for one in listed:
        lists = one.segment.lists
        if lists is None:
            raise BadIndex(f"{one.segment.folder} has no inverted lists.")
        key = lists.codebook.key
        if key not in probes:
            probes[key] = probes_of(query, lists.codebook)
        try:
            scores = lists.rough_scores(probes[key], len(one.segment))
        except IndexError as error:
            raise BadIndex(f"{one.segment.folder} is damaged: its lists name documents that it has not.") from error
        scores[one.passed_over] = -np.inf
        rough.append(scores)
    return rough


def _blocks(listed: Sequence[Listed], rough: Sequence[NDArray[np.float32]], block: int) -> Iterator[_Places]:
    """Places in blocks, roughly best first; without rough scores, all that is not passed over."""
    if not rough:
        rows = [np.flatnonzero(~one.passed_over) for one in listed]
        numbers = np.repeat(np.arange(len(listed)), [len(own) for own in rows])
        together = np.concatenate([np.empty(0, dtype=np.int64), *rows])
        for start in range(0, len(together), block):
            yield _Places(numbers[start : start + block], together[start : start + block])
        return
    scores = np.concatenate(rough)
    starts = np.concatenate([[0], np.cumsum([len(own) for own in rough])])
    most = min(len(scores), _MOST_BLOCKS * block)
    order = np.argpartition(-scores, most - 1)[:most]
    order = order[np.argsort(-scores[order], kind="stable")]
    order = order[np.isfinite(scores[order])]
    for start in range(0, len(order), block):
        chosen = np.sort(order[start : start + block])  # neighbours in the files are read one after the other
        numbers = np.searchsorted(starts, chosen, side="right") - 1
        yield _Places(numbers, chosen - starts[numbers])


def _best(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Where the k best scores stand, and all that tie with the last of them."""
    return np.flatnonzero(scores >= np.partition(scores, -k)[-k]) if k < len(scores) else np.arange(len(scores))


def _scored(
    listed: Sequence[Listed],
    places: _Places,
    query: Vectors,
    score: Callable[[Vectors, Ragged], NDArray[np.float32]],
) -> NDArray[np.float32]:
    """The scores of documents, those of one segment next to each other."""

    def scored(here: slice) -> NDArray[np.float32]:
        encoded = listed[places.segments[here.start]].segment.picked(places.rows[here])
        return best_window(score(query, encoded.windows), encoded.offsets)

    scores = np.concatenate([scored(piece) for piece in _pieces(listed, places)])
    if not np.isfinite(scores).all():
        raise BadIndex("the index is damaged: it holds vectors that are not numbers.")
    return scores


def _pieces(listed: Sequence[Listed], places: _Places) -> list[slice]:
    """Places in pieces of one segment and about as many token vectors as are scored together."""
    edges = np.flatnonzero(np.diff(places.segments)) + 1  # places are sorted by segment
    pieces: list[slice] = []
    for first, last in pairwise([0, *edges.tolist(), len(places.rows)]):
        segment = listed[places.segments[first]].segment
        step = max(1, _TOGETHER * len(segment) // len(segment.windows.vectors))
        pieces += [slice(start, min(start + step, last)) for start in range(first, last, step)]
    return pieces
