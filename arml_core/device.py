"""Where tensors live."""

from __future__ import annotations

import torch


def pick_device(device: str = "auto") -> str:
    """The torch device for `device`; "auto" takes CUDA if there is one, else the CPU.

    Certificates need float64, which Apple's MPS does not have: there the CPU is used.
    """
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda'; got {device!r}") from error
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device {device!r} was asked for, but this machine has no CUDA GPU. Use 'auto'")
    return str(chosen)
