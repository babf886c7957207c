"""Documents go through the embedded encoder in bfloat16 where the processor multiplies it much faster than floats.

The factors of the large products are rounded to eight significant bits; their sums, normalisation and the projection
stay in single precision. That moves a token vector by less than storing it in eight bits does. Queries and topics, of
which there are few, are always encoded in single precision.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import torch
from torch.nn.functional import linear

from excise.vectors.arithmetic import much_faster

_TRIED = (512, 384, 1_536)  # tokens, and the widths of the product that is timed


def for_documents() -> AbstractContextManager[object]:
    """What documents are encoded within, in this thread: products in bfloat16 where that is faster here."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16_pays())


@cache
def bfloat16_pays() -> bool:
    """Whether products in bfloat16 are much faster here than in single precision. Takes milliseconds, once."""
    tokens, narrow, wide = _TRIED
    inputs, weights = torch.ones(tokens, narrow), torch.ones(wide, narrow)
    halved, halves = inputs.bfloat16(), weights.bfloat16()

    with torch.inference_mode():
        return much_faster(lambda: linear(halved, halves), lambda: linear(inputs, weights))
