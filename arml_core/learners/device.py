"""Where the torch learners compute, and in which precision."""

from __future__ import annotations

import torch

SMALL_DATA = 1_000_000
"""Up to this many entries of X the learners use float64 on a CPU: it costs little and keeps odd scales exact."""


def resolve_device(device: str) -> torch.device:
    """`auto` picks CUDA, then MPS, then the CPU; any other name must be a device that is there."""
    if device != "auto":
        try:
            chosen = torch.device(device)
            torch.empty(1, device=chosen)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(f"device {device!r} cannot be used: {str(error).splitlines()[0]}") from error
        return chosen
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def choose_dtype(device: torch.device, n_values: int) -> torch.dtype:
    """float64 for small data on a CPU, float32 elsewhere."""
    return torch.float64 if device.type == "cpu" and n_values <= SMALL_DATA else torch.float32
