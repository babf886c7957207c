"""Low-rank adaptation (Hu et al., 2022) of a frozen encoder, in as few lines as it takes.

Each linear map W of the chosen layers becomes W + (alpha / rank) B A, with only A and B trained. Before training starts
B is zero, so the adapted encoder is the frozen one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from excise.errors import InvalidInput


class LoraLinear(nn.Module):
    """A frozen linear map with a trained low-rank term beside it."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.base = base
        self.scale = alpha / rank
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, inputs: Tensor) -> Tensor:
        adapted: Tensor = self.base(inputs) + (inputs @ self.down.T) @ self.up.T * self.scale
        return adapted

    def merged(self) -> nn.Linear:
        """One ordinary linear map that computes the same."""
        with torch.no_grad():
            self.base.weight += self.up @ self.down * self.scale
        return self.base


def inject(encoder: nn.Module, rank: int = 8, alpha: float = 16.0, last_layers: int = 6) -> None:
    """Freeze an encoder, and put trainable low-rank terms into every linear map of its last layers."""
    if rank < 1:
        raise InvalidInput(f"the rank must be at least 1, got {rank}.")
    encoder.requires_grad_(False)
    for layer in _layers(encoder)[-last_layers:]:
        for parent, name, child in list(_linears(layer)):
            setattr(parent, name, LoraLinear(child, rank, alpha))


def merge(encoder: nn.Module) -> None:
    """Fold every low-rank term into its linear map: the same outputs at the frozen encoder's cost."""
    for parent in list(encoder.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LoraLinear):
                setattr(parent, name, child.merged())


def lora_state(encoder: nn.Module) -> dict[str, Tensor]:
    """The trained low-rank terms by name."""
    return {
        f"{name}.{part}": getattr(module, part).detach().clone().contiguous()
        for name, module in encoder.named_modules()
        if isinstance(module, LoraLinear)
        for part in ("down", "up")
    }


def load_lora_state(encoder: nn.Module, state: dict[str, Tensor]) -> None:
    """Put trained terms into an encoder that :func:`inject` prepared with the same rank and layers."""
    own = lora_state(encoder)
    if own.keys() != state.keys() or any(own[name].shape != state[name].shape for name in own):
        raise InvalidInput("these low-rank weights were trained on another encoder, or with another rank.")
    encoder.load_state_dict(state, strict=False)


def _layers(encoder: nn.Module) -> nn.ModuleList:
    stacks = [module for module in encoder.modules() if isinstance(module, nn.ModuleList)]
    if not stacks:
        raise InvalidInput(f"{type(encoder).__name__} has no stack of layers to adapt.")
    return max(stacks, key=len)


def _linears(layer: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Linear]]:
    for parent in layer.modules():
        for name, child in parent.named_children():
            if isinstance(child, nn.Linear):
                yield parent, name, child
