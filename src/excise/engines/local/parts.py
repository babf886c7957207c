"""What a state of a local index is made of: segments less what is deleted of them, and places in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.engines.local.manifest import SegmentEntry
from excise.engines.local.segment import Segment


class Part(NamedTuple):
    """A segment, and what of it is deleted in one state."""

    entry: SegmentEntry
    segment: Segment
    deleted: NDArray[np.bool_]
    live: int  # how many of its documents can be found


class Place(NamedTuple):
    """Where a document is: which part, and which row of it. In the order of indexing."""

    part: int
    row: int
