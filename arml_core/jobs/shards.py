"""How the rows of an evaluation are split into blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..numerics.arrays import IntArray


def shards(n: int, method: str) -> list[IntArray]:
    """The rows 0 … n - 1 in blocks that depend on these two alone: wherever it runs, the work is the same.

    The first block is small, so that a result shows soon; the others are a small part of the whole, within limits.
    Methods that take one point after the other gain nothing from larger ones. For the boundary attack all blocks are
    large: its steps take hardly longer for hundreds of points than for a few.
    """
    if method == "boundary":
        first = size = 512
    elif method in ("search", "whitebox"):
        first, size = 2, int(np.clip(n // 100, 4, 16))
    else:
        first, size = 8, int(np.clip(n // 16, 16, 768))
    edges = [0, *range(min(first, n), n, size), n]
    return [np.arange(start, stop) for start, stop in pairwise(edges) if stop > start]
