"""Texts of like length go through an encoder together: padding is computed like any token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

# Tokens in one pass, padding included: it bounds the memory that a pass takes. Much larger passes are slower on one
# thread, since what a layer writes has left the processor's cache before the next one reads it; much smaller ones keep
# several threads waiting for each other.
PADDED_TOKENS = 4_096


def batches(lengths: Sequence[int], padded_tokens: int = PADDED_TOKENS) -> Iterator[list[int]]:
    """Which texts to encode together: the longest first, a batch never larger than so many tokens when padded.

    Parameters
    ----------
    lengths
        how many tokens each text has.
    padded_tokens
        the most tokens of a batch; a text that is longer by itself makes a batch of its own.

    Examples
    --------
    >>> list(batches([3, 9, 2, 8, 3], padded_tokens=18))
    [[1, 3], [0, 4, 2]]
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        size = max(1, padded_tokens // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def padded(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Token ids padded to the longest row, and which of them are tokens.

    Examples
    --------
    >>> ids, mask = padded([[7, 8], [9]])
    >>> ids.tolist(), mask.tolist()
    ([[7, 8], [9, 0]], [[True, True], [True, False]])
    """
    import torch

    longest = max(len(row) for row in rows)
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return ids, torch.arange(longest) < lengths[:, None]
