"""What every training run shares: its steps told, their rate, and a state after each epoch that a run goes on from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from excise.errors import InvalidInput
from excise.progress import Progress

_FILE = "checkpoint.safetensors"

StepProgress = Callable[[int, int, float], None]
"""Called with the steps done, the steps in all, and the loss."""


def with_loss(progress: Progress, title: str) -> StepProgress:
    """Tell steps under a title, with their loss.

    Examples
    --------
    >>> with_loss(lambda *told: print(told), "rate 0.001")(3, 10, 0.25)
    ('rate 0.001, loss 0.250', 3, 10)
    """
    return lambda done, total, loss: progress(f"{title}, loss {loss:.3f}", done, total)


def rate_at(step: int, steps: int, warmup: float) -> float:
    """The share of the learning rate at a step: up over the warm-up, then down to nothing.

    Examples
    --------
    >>> [rate_at(step, 10, 0.2) for step in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.125]
    """
    ramp = max(1, int(steps * warmup))
    return (step + 1) / ramp if step < ramp else max(0.0, (steps - step) / max(1, steps - ramp))


def descend(
    loss: Tensor,
    trained: Sequence[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LRScheduler,
) -> None:
    """One step down the gradient, which is clipped to length one."""
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    scheduler.step()


def save(
    folder: Path | None, weights: Mapping[str, Tensor], optimizer: torch.optim.Optimizer, run: str, epoch: int
) -> None:
    """Keep the state after an epoch, in one step; without a folder, nothing is kept."""
    from safetensors.torch import save_file

    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    state = {f"weights.{name}": tensor.detach().clone() for name, tensor in weights.items()}
    for number, moments in optimizer.state_dict()["state"].items():
        state |= {f"optimizer.{number}.{name}": torch.as_tensor(value).clone() for name, value in moments.items()}
    temporary = folder / f"{_FILE}.new"
    save_file(state, temporary, metadata={"epoch": str(epoch), "run": run})
    temporary.replace(folder / _FILE)


def resume(folder: Path | None, optimizer: torch.optim.Optimizer, run: str) -> tuple[int, dict[str, Tensor]]:
    """How many epochs a checkpoint of the same run has behind it, and its weights; 0 and none where there is none."""
    from safetensors import safe_open

    if folder is None or not (folder / _FILE).exists():
        return 0, {}
    with safe_open(folder / _FILE, framework="pt") as stored:
        metadata = stored.metadata()
        if metadata["run"] != run:
            raise InvalidInput(f"{folder} holds another run, with {metadata['run']}: remove it or name another folder.")
        tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 (not a dictionary)
    moments: dict[int, dict[str, Tensor]] = {}
    for name in [name for name in tensors if name.startswith("optimizer.")]:
        _, number, part = name.split(".", 2)
        moments.setdefault(int(number), {})[part] = tensors.pop(name)
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    return int(metadata["epoch"]), {name.removeprefix("weights."): tensor for name, tensor in tensors.items()}
