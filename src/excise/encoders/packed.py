"""Weights in a quarter of their room: the large matrices as whole numbers, each row with a scale of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

_SCALE = ".scale"
_LARGE = 4_096  # entries from which on a matrix is packed: what norms and heads weigh is not worth an error


def pack(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights as they are stored: one byte for each entry of a large matrix.

    Examples
    --------
    >>> import torch
    >>> packed = pack({"map": torch.ones(64, 64), "bias": torch.ones(64)})
    >>> [(name, str(tensor.dtype)) for name, tensor in packed.items()]
    [('map', 'torch.int8'), ('map.scale', 'torch.float32'), ('bias', 'torch.float32')]
    """
    import torch

    packed: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        values = tensor.detach().float()
        if values.ndim == 2 and values.numel() >= _LARGE:
            scale = values.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
            packed[name] = torch.round(values / scale).to(torch.int8)
            packed[name + _SCALE] = scale.squeeze(1)
        else:
            packed[name] = values.clone()
    return packed


def unpack(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights that :func:`pack` stored, as floats again: off by at most half a step of their row's scale.

    Examples
    --------
    >>> import torch
    >>> weights = {"map": torch.linspace(-1, 1, 4096).reshape(64, 64)}
    >>> bool((unpack(pack(weights))["map"] - weights["map"]).abs().max() <= 0.5 / 127 + 1e-6)
    True
    """
    return {
        name: tensor.float() * stored[name + _SCALE][:, None] if name + _SCALE in stored else tensor
        for name, tensor in stored.items()
        if not (name.endswith(_SCALE) and name.removesuffix(_SCALE) in stored)
    }
