"""In which precision the torch learners compute, and the way back to numpy."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..numerics.arrays import FloatArray

SMALL_DATA = 1_000_000
"""Up to this many entries of X the learners use float64 on a CPU: it costs little and keeps odd scales exact."""


def choose_dtype(device: torch.device, n_values: int) -> torch.dtype:
    """float64 for small data on a CPU, float32 elsewhere."""
    return torch.float64 if device.type == "cpu" and n_values <= SMALL_DATA else torch.float32


def to_numpy(values: Tensor) -> FloatArray:
    """A copy in float64, wherever the tensor lives."""
    return np.array(values.detach().cpu().numpy(), dtype=np.float64)
