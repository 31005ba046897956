"""Images moved by a few pixels, as rows of data."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad


def shifted(rows: Tensor, shape: tuple[int, int], most: int, generator: torch.Generator) -> Tensor:
    """Each row as an image of `shape`, moved down and right by -most … most pixels; what comes in is 0."""
    height, width = shape
    images = pad(rows.reshape(-1, height, width), (most,) * 4)
    down, right = torch.randint(0, 2 * most + 1, (2, len(rows)), generator=generator).to(rows.device)
    lines = (down[:, None] + torch.arange(height, device=rows.device))[:, :, None]
    columns = (right[:, None] + torch.arange(width, device=rows.device))[:, None, :]
    picked = images[torch.arange(len(rows), device=rows.device)[:, None, None], lines, columns]
    return picked.reshape(len(rows), height * width)
