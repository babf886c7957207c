"""What encoders make of texts: a query's token vectors with their places, and documents as windows of token vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excise.vectors.arithmetic import of_length_one
from excise.vectors.ragged import Ragged, Vectors, ranges, starts


def leading(vectors: Vectors, dimensions: int) -> Vectors:
    """The leading dimensions of vectors, of length one again; vectors that have no more are left as they are.

    Examples
    --------
    >>> leading(np.array([[3.0, 4.0, 12.0]]), 2).round(2).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    if vectors.shape[1] <= dimensions:
        return vectors
    return of_length_one(vectors[:, :dimensions])


@dataclass(frozen=True, eq=False)
class EncodedQuery:
    """A query's token vectors and the characters that each one stands for, (-1, -1) for tokens that stand for none."""

    vectors: Vectors
    spans: NDArray[np.int64]

    def outside(self, spans: Sequence[tuple[int, int]]) -> Vectors:
        """The vectors of the tokens that touch none of the given character spans (the query with a topic masked)."""
        keep = np.ones(len(self.vectors), dtype=bool)
        for start, end in spans:
            keep &= ~((self.spans[:, 0] < end) & (self.spans[:, 1] > start) & (self.spans[:, 0] >= 0))
        return self.vectors[keep] if keep.any() else self.vectors

    def leading(self, dimensions: int) -> EncodedQuery:
        """The leading dimensions of its vectors (:func:`leading`)."""
        return EncodedQuery(leading(self.vectors, dimensions), self.spans)


@dataclass(frozen=True, eq=False)
class EncodedDocuments:
    """Windows of documents: document i owns windows ``offsets[i]`` to ``offsets[i + 1]`` of ``windows``."""

    windows: Ragged
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def document(self, index: int) -> Ragged:
        """One document's windows."""
        first, last = self.offsets[index], self.offsets[index + 1]
        rows = self.windows.offsets[first : last + 1]
        return Ragged(self.windows.vectors[rows[0] : rows[-1]], rows - rows[0])

    @classmethod
    def of(cls, documents: Sequence[Ragged]) -> EncodedDocuments:
        """From the windows of each document."""
        windows = [document[i] for document in documents for i in range(len(document))]
        return cls(Ragged.of(windows), starts([len(document) for document in documents]))

    def leading(self, dimensions: int) -> EncodedDocuments:
        """The leading dimensions of all token vectors (:func:`leading`)."""
        return EncodedDocuments(Ragged(leading(self.windows.vectors, dimensions), self.windows.offsets), self.offsets)

    def joined(self, *others: EncodedDocuments) -> EncodedDocuments:
        """The documents of all of them, one after the other."""
        parts = [self, *others]
        tokens = np.concatenate([np.diff(part.windows.offsets) for part in parts])
        windows = Ragged(np.concatenate([part.windows.vectors for part in parts]), starts(tokens))
        return EncodedDocuments(windows, starts(np.concatenate([np.diff(part.offsets) for part in parts])))

    def taken(self, positions: Sequence[int] | NDArray[np.int64]) -> EncodedDocuments:
        """Some of the documents, in the order asked for."""
        chosen = np.asarray(positions, dtype=np.int64)
        first, last = self.offsets[chosen], self.offsets[chosen + 1]
        return EncodedDocuments(self.windows.taken(ranges(first, last)), starts(last - first))


@dataclass(frozen=True)
class EncoderInfo:
    """Which encoder made the vectors of an index, and how it cut the documents: what another must equal to fit."""

    backbone: str
    fingerprint: str
    dimensions: int
    window_words: int
    word_budget: int

    @classmethod
    def from_record(cls, record: Any) -> EncoderInfo:
        """From what an index keeps of it, :func:`dataclasses.asdict`; anything strange is a ValueError."""
        if not isinstance(record, dict):
            raise ValueError(f"the encoder is {str(record)[:40]!r}")
        kinds = {one.name: int if one.type in (int, "int") else str for one in fields(cls)}
        if set(record) != set(kinds):
            raise ValueError(f"the encoder has {', '.join(map(repr, record))}")
        for name, kind in kinds.items():
            if not isinstance(record[name], kind) or isinstance(record[name], bool):
                raise ValueError(f"the encoder's {name} is {str(record[name])[:40]!r}")
        if record["dimensions"] < 1:
            raise ValueError(f"vectors cannot have {record['dimensions']} dimensions")
        return cls(**record)
