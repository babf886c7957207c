"""MaxSim with eight bits on both sides: about the exact scores, in a fraction of the time.

A document's vectors are stored in eight bits. Where the query's are put into eight bits too, the products are of whole
numbers, which many processors multiply several times as fast, and nothing has to be widened. What that loses is far
less than what parts a good document from the next few dozen, so that it finds whom to score exactly. Not every
processor gains: :func:`bytes_pay` measures it, once.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from excise.vectors.arithmetic import default_backend, much_faster
from excise.vectors.eight_bit import EightBitVectors
from excise.vectors.ragged import Ragged, Vectors

if TYPE_CHECKING:
    from torch import Tensor

_TOGETHER = 16_384  # token vectors multiplied at a time
_TRIED = (32, 4_096, 256)  # query tokens, document tokens and dimensions of the products that are timed


def about_products(query: Vectors, stored: EightBitVectors) -> NDArray[np.float32]:
    """About the product of each query token with each vector that is stored in eight bits: a row a query token.

    Examples
    --------
    >>> stored = EightBitVectors(np.array([[127, 0], [0, 127]], np.int8), np.array([1 / 127] * 2, np.float16))
    >>> about_products(np.array([[0.6, -0.8]], np.float32), stored).round(2).tolist()
    [[0.6000000238418579, -0.800000011920929]]
    """
    import torch

    asked = EightBitVectors.of(query)
    products = _of_bytes(torch.from_numpy(asked.values), torch.from_numpy(stored.values)).float()
    products *= torch.from_numpy(stored.scales.astype(np.float32))
    products *= torch.from_numpy(asked.scales.astype(np.float32))[:, None]
    return np.asarray(products.numpy())


def about_maxsim(query: Vectors, documents: Ragged) -> NDArray[np.float32]:
    """About what :func:`excise.vectors.maxsim.maxsim` gives, for documents that are stored in eight bits.

    Examples
    --------
    >>> stored = EightBitVectors(np.array([[127, 0], [0, 127]], np.int8), np.array([1 / 127] * 2, np.float16))
    >>> about_maxsim(np.array([[1.0, 0.0]], np.float32), Ragged(stored, np.array([0, 1, 2]))).round(2).tolist()
    [1.0, 0.0]
    """
    stored = documents.vectors
    assert isinstance(stored, EightBitVectors)
    scores = np.empty(len(documents), dtype=np.float32)
    for texts, rows in documents.chunks(_TOGETHER):
        products = about_products(query, stored.part(rows))
        scores[texts] = np.maximum.reduceat(products, documents.offsets[texts] - rows.start, axis=1).sum(axis=0)
    return scores


@cache
def bytes_pay() -> bool:
    """Whether products of bytes are faster here than widening them and multiplying floats. Takes milliseconds, once."""
    if default_backend() == "numpy":
        return False
    import torch

    tokens, others, dimensions = _TRIED
    query = torch.full((tokens, dimensions), 3, dtype=torch.int8)
    documents = torch.full((others, dimensions), 5, dtype=torch.int8)
    floats = query.float()

    try:
        return much_faster(lambda: _of_bytes(query, documents), lambda: floats @ documents.float().T)
    except (AttributeError, RuntimeError):  # an older torch, or one without such products
        return False


def _of_bytes(query: Tensor, documents: Tensor) -> Tensor:
    import torch

    return torch._int_mm(query, documents.T)
