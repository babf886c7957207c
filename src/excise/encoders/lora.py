"""Low-rank adaptation (Hu et al., 2022) of a frozen encoder, in as few lines as it takes.

Each linear map W of the chosen layers becomes W + (alpha / rank) B A, with only A and B trained. Before training starts
B is zero, so the adapted encoder is the frozen one. The terms either go into the encoder (:func:`inject`) or stay
beside it and are switched on for a while (:class:`SwitchedLora`).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from excise.errors import InvalidInput

# Which terms count, and from which row of a pass on. Threads that do a part of somebody's work are handed this with it.
_COUNTING: ContextVar[Mapping[int, int]] = ContextVar("counting", default=MappingProxyType({}))


class LoraLinear(nn.Module):
    """A frozen linear map with a trained low-rank term beside it."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.base = base
        self.scale = alpha / rank
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        _fresh(self.down)

    def forward(self, inputs: Tensor) -> Tensor:
        adapted: Tensor = self.base(inputs) + (inputs @ self.down.T) @ self.up.T * self.scale
        return adapted

    def merged(self) -> nn.Linear:
        """One ordinary linear map that computes the same."""
        with torch.no_grad():
            self.base.weight += self.up @ self.down * self.scale
        return self.base


class SwitchedLora(nn.Module):
    """Low-rank terms beside an encoder: one set of weights computes frozen and adapted vectors.

    The terms count only inside ``with terms.active():`` and only in the thread that says so. The encoder's modules,
    weights and names stay what they were, and so does, bit for bit, what it computes while the terms are off.
    """

    def __init__(self, encoder: nn.Module, rank: int = 8, alpha: float = 16.0, last_layers: int = 6) -> None:
        super().__init__()
        _check_rank(rank)
        encoder.requires_grad_(False)
        places = {id(module): name for name, module in encoder.named_modules()}
        maps = [child for layer in _layers(encoder)[-last_layers:] for _, _, child in _linears(layer)]
        self.names = [places[id(linear)] for linear in maps]
        self.scale = alpha / rank
        self.down = nn.ParameterList(_fresh(torch.empty(rank, linear.in_features)) for linear in maps)
        self.up = nn.ParameterList(torch.zeros(linear.out_features, rank) for linear in maps)
        handles = [linear.register_forward_hook(_hook(weakref.ref(self), i)) for i, linear in enumerate(maps)]
        weakref.finalize(self, _unhook, handles)

    @property
    def is_active(self) -> bool:
        """Whether the terms count in this thread."""
        return id(self) in _COUNTING.get()

    @contextmanager
    def active(self, first_row: int = 0) -> Iterator[None]:
        """Let the terms count in this thread until the block ends.

        Parameters
        ----------
        first_row
            where texts are laid end to end, the first token that they count for; only without gradients.
        """
        token = _COUNTING.set({**_COUNTING.get(), id(self): first_row})
        try:
            yield
        finally:
            _COUNTING.reset(token)

    def added_to(self, output: Tensor, number: int, inputs: Tensor) -> Tensor:
        """The numbered map's output with its term, in one product: wide outputs are not gone over twice."""
        down, up = self.down[number], self.up[number]
        first = _COUNTING.get().get(id(self), 0)
        if first:
            output[first:].addmm_(inputs[first:] @ down.T, up.T, alpha=self.scale)
            return output
        low = inputs.reshape(-1, inputs.shape[-1]) @ down.T * self.scale
        return torch.addmm(output.reshape(-1, output.shape[-1]), low, up.T).reshape(output.shape)

    def fold(self, encoder: nn.Module) -> None:
        """Add the terms to the weights of the encoder that they were made for, for good, and start again from none."""
        with torch.no_grad():
            for i, name in enumerate(self.names):
                weight = encoder.get_submodule(name).weight
                weight += self.up[i] @ self.down[i] * self.scale
                self.up[i].zero_()

    def state(self) -> dict[str, Tensor]:
        """The trained terms by name, as :func:`lora_state` names them."""
        return {
            f"{name}.{part}": getattr(self, part)[i].detach().clone().contiguous()
            for i, name in enumerate(self.names)
            for part in ("down", "up")
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Put trained terms in; they must have been made for the same maps and rank."""
        _check_fit(self.state(), state)
        with torch.no_grad():
            for i, name in enumerate(self.names):
                self.down[i].copy_(state[f"{name}.down"])
                self.up[i].copy_(state[f"{name}.up"])


def inject(encoder: nn.Module, rank: int = 8, alpha: float = 16.0, last_layers: int = 6) -> None:
    """Freeze an encoder, and put trainable low-rank terms into every linear map of its last layers."""
    _check_rank(rank)
    encoder.requires_grad_(False)
    for layer in _layers(encoder)[-last_layers:]:
        for parent, name, child in list(_linears(layer)):
            setattr(parent, name, LoraLinear(child, rank, alpha))


def unfreeze(encoder: nn.Module, last_layers: int) -> None:
    """Let all weights of an encoder's last layers be trained, in place of low-rank terms beside them, and no others."""
    encoder.requires_grad_(False)
    for layer in _layers(encoder)[-last_layers:]:
        layer.requires_grad_(True)


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
    _check_fit(lora_state(encoder), state)
    encoder.load_state_dict(state, strict=False)


def _check_rank(rank: int) -> None:
    if rank < 1:
        raise InvalidInput(f"the rank must be at least 1, got {rank}.")


def _check_fit(own: dict[str, Tensor], state: dict[str, Tensor]) -> None:
    if own.keys() != state.keys() or any(own[name].shape != state[name].shape for name in own):
        raise InvalidInput("these low-rank weights were trained on another encoder, or with another rank.")


def _fresh(down: Tensor) -> Tensor:
    return nn.init.kaiming_uniform_(down, a=math.sqrt(5))


def _hook(owner: weakref.ref[SwitchedLora], number: int) -> Any:
    def add(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        terms = owner()
        return None if terms is None or not terms.is_active else terms.added_to(output, number, inputs[0])

    return add


def _unhook(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()


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
