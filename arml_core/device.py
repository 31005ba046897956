"""Where tensors live."""

from __future__ import annotations

import torch


def resolve_device(device: str = "auto") -> torch.device:
    """`auto` picks CUDA, then MPS, then the CPU; any other name must be a device that is there."""
    if device != "auto":
        try:
            chosen = torch.device(device)
            torch.empty(1, device=chosen)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(f"device {device!r} cannot be used: {str(error).splitlines()[0]}. Use 'auto'") from error
        return chosen
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def list_devices() -> list[str]:
    """The names of the devices that are there, the one `auto` picks first."""
    gpus = [f"cuda:{i}" for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return [*gpus, *(["mps"] if torch.backends.mps.is_available() else []), "cpu"]


def device_name(device: torch.device | str) -> str:
    """What people call it."""
    device = torch.device(device)
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return "this Mac's GPU" if device.type == "mps" else "the CPU"


def device_for_certificates(device: str = "auto") -> torch.device:
    """The same, for float64: Apple's MPS does not have it, so the CPU stands in."""
    chosen = resolve_device(device)
    return torch.device("cpu") if chosen.type == "mps" else chosen
