"""Nearest points of the same class and of the other classes, in M-space, in blocks that fit the memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BLOCK_BYTES = 64 * 2**20
"""Size of one block of distances; a block that stays near the cache is faster than a large one."""
GROUP = 128
"""Columns whose minimum is taken before the k smallest are looked for."""


class SortedByClass:
    """Training points on the device, rows sorted by class and centred (no distance changes by that).

    Attributes
    ----------
    x : (N, D) tensor. codes : (N,) tensor of class numbers. edges : class c is the rows edges[c]:edges[c+1].
    order : row r is the row order[r] of the given data.
    """

    def __init__(
        self, X: NDArray[np.floating], codes: NDArray[np.intp], device: torch.device, dtype: torch.dtype
    ) -> None:
        self.order = np.argsort(codes, kind="stable")
        self.centre = X.mean(axis=0, dtype=np.float64)
        self.x = self.place(X, device, dtype)[torch.as_tensor(self.order, device=device)]
        self.codes = torch.as_tensor(codes[self.order], device=device)
        self.edges = [0, *np.cumsum(np.bincount(codes)).tolist()]

    def place(self, rows: NDArray[np.floating], device: torch.device, dtype: torch.dtype) -> Tensor:
        """Other rows on the same device, centred like the training points."""
        placed = torch.tensor(rows, device=device, dtype=dtype)
        placed -= torch.as_tensor(self.centre, dtype=dtype, device=device)
        return placed

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class NeighbourLists:
    """For each anchor its nearest positives and negatives, as rows of the sorted training points.

    A list is shorter where a class is small: only the first ``n_positive[a]`` entries of row a count.
    """

    positive: Tensor  # (A, k)
    n_positive: Tensor  # (A,)
    negative: Tensor  # (A, k)
    n_negative: Tensor  # (A,)

    def draw(self, generator: torch.Generator, times: int) -> tuple[Tensor, Tensor]:
        """A positive and a negative of each anchor, uniformly from its lists (the paper's randnear), (times, A) each.

        On the CPU the numbers drawn are those of as many calls for one time each.
        """
        shape = (times, 2, len(self.positive))
        uniform = torch.rand(shape, generator=generator, device=self.positive.device, dtype=torch.float32)
        return (
            _take(self.positive, self.n_positive, uniform[:, 0]),
            _take(self.negative, self.n_negative, uniform[:, 1]),
        )


def rank_neighbours(g: Tensor, points: SortedByClass, k: int, anchors: Tensor) -> NeighbourLists:
    """The k nearest points of the own class and of the other classes for the rows `anchors`, sorted ascending.

    A point is not its own neighbour. Nothing here carries a gradient.
    """
    with torch.no_grad():
        embedded, squared = _embed(g, points.x)
        codes = points.codes[anchors]
        return _rank(embedded[anchors], codes, anchors, embedded, squared, points, k)


def rank_neighbours_of(g: Tensor, points: SortedByClass, k: int, rows: Tensor, codes: Tensor) -> NeighbourLists:
    """The same for `rows` (sorted by their class `codes`) that are not training points themselves."""
    with torch.no_grad():
        embedded, squared = _embed(g, points.x)
        return _rank(rows @ g.T, codes, None, embedded, squared, points, k)


def rank_own_class(points: SortedByClass, k: int) -> tuple[Tensor, Tensor]:
    """The k nearest points of its class for every point in the Euclidean metric, and how many there are."""
    x = points.x
    nearest = torch.zeros(len(x), k, dtype=torch.long, device=x.device)
    count = torch.zeros(len(x), dtype=torch.long, device=x.device)
    squared = (x * x).sum(dim=1)
    for part, first, last in blocks_by_class(points, points.codes, max(1, BLOCK_BYTES // (len(x) * x.element_size()))):
        kept = min(k, last - first - 1)
        count[part] = kept
        distances = torch.addmm(squared[first:last], x[part], x[first:last].T, alpha=-2.0)
        distances.diagonal(part.start - first).fill_(torch.inf)  # not its own neighbour
        nearest[part, :kept] = first + distances.topk(kept, dim=1, largest=False).indices
    return nearest, count


def blocks_by_class(points: SortedByClass, codes: Tensor, height: int) -> Iterator[tuple[slice, int, int]]:
    """Rows sorted by class `codes`, cut into blocks of one class and at most `height` rows.

    Yields the block and the range of training rows of its class.
    """
    ends = torch.bincount(codes, minlength=len(points.edges) - 1).cumsum(0).tolist()
    for c, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        for start in range(begin, end, height):
            yield slice(start, min(start + height, end)), points.edges[c], points.edges[c + 1]


def _embed(g: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """G x and ‖G x‖², padded to whole groups with points at infinity."""
    pad = -len(x) % GROUP
    embedded = x.new_zeros(len(x) + pad, len(g))
    torch.mm(x, g.T, out=embedded[: len(x)])
    squared = (embedded * embedded).sum(dim=1)
    squared[len(x) :] = torch.inf
    return embedded, squared


def _rank(
    rows: Tensor,
    codes: Tensor,
    own: Tensor | None,
    embedded: Tensor,
    squared: Tensor,
    points: SortedByClass,
    k: int,
) -> NeighbourLists:
    n_rows, n = len(rows), len(points)
    positive = torch.zeros(n_rows, k, dtype=torch.long, device=rows.device)
    negative = torch.zeros_like(positive)
    n_positive = torch.zeros(n_rows, dtype=torch.long, device=rows.device)
    n_negative = torch.zeros_like(n_positive)
    height = max(1, min(n_rows, BLOCK_BYTES // (len(squared) * rows.element_size())))
    buffer = rows.new_empty(height, len(squared))
    for part, first, last in blocks_by_class(points, codes, height):
        kp = min(k, last - first - (own is not None))
        kn = min(k, n - (last - first))
        n_positive[part], n_negative[part] = kp, kn
        # d(x, ·) up to a constant of the row, which does not change the order
        distances = torch.addmm(squared, rows[part], embedded.T, alpha=-2.0, out=buffer[: part.stop - part.start])
        if own is not None:
            distances.scatter_(1, own[part, None], torch.inf)
        if kp > 0:
            positive[part, :kp] = first + distances[:, first:last].topk(kp, dim=1, largest=False).indices
        distances[:, first:last] = torch.inf
        negative[part, :kn] = _smallest(distances, kn)
    return NeighbourLists(positive, n_positive, negative, n_negative)


def _smallest(values: Tensor, k: int) -> Tensor:
    """The columns of the k smallest values of each row, ascending.

    They lie in the k groups of columns with the smallest minima, so the full width is read only once.
    """
    height, width = values.shape
    if width // GROUP <= 2 * k:
        return values.topk(k, dim=1, largest=False).indices
    grouped = values.view(height, width // GROUP, GROUP)
    groups = grouped.amin(dim=2).topk(k, dim=1, largest=False).indices  # (height, k)
    candidates = grouped.gather(1, groups[:, :, None].expand(-1, -1, GROUP)).view(height, k * GROUP)
    at = candidates.topk(k, dim=1, largest=False).indices
    return groups.gather(1, at // GROUP) * GROUP + at % GROUP


def _take(lists: Tensor, lengths: Tensor, uniform: Tensor) -> Tensor:
    """An entry of each list for each row of numbers in [0, 1)."""
    # float32 rounding may carry u·n up to n itself
    at = torch.minimum((uniform * lengths).long(), (lengths - 1).clamp(min=0))
    return lists.gather(1, at.T).T
