"""Which triplets (x, x_i, x_j) an update of ARML looks at: sampled near each point, or the deciding ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import torch
from torch import Tensor

from .neighbours import NeighbourLists, SortedByClass, rank_neighbours
from .triplets import differences

LARGEST_UNSAMPLED = 2000
"""The unsampled objective looks at all N³ triplets in every epoch."""
BLOCK_VALUES = 8_000_000
PREDRAWN_VALUES = 2**18
"""Triplets of small data are drawn for all epochs up to the next refresh at once, which saves most of the calls."""
LIST_FIELDS = tuple(field.name for field in fields(NeighbourLists))


class TripletSampler:
    """randnear⁺ and randnear⁻ of the paper: a random one of each point's k nearest positives and negatives.

    :meth:`refresh` draws the batch of anchors and ranks the lists of just these; :meth:`draw` then samples from
    the lists, `every` times until the next refresh. Batches run through all points in random order before one
    comes again.
    """

    def __init__(self, points: SortedByClass, k: int, batch_size: int, generator: torch.Generator, every: int) -> None:
        self._points, self._k, self._generator = points, k, generator
        self._eligible = _with_positives(points)
        self._batch_size = min(batch_size, len(self._eligible))
        self._queue = self._eligible[:0]
        self._anchors = self._eligible
        self._lists: NeighbourLists | None = None
        self._n_predrawn = every if self._batch_size * points.x.shape[1] * every <= PREDRAWN_VALUES else 1
        self._predrawn: list[tuple[Tensor, Tensor]] = []
        self._generator_state = generator.get_state()

    def refresh(self, g: Tensor) -> None:
        self._anchors = self._next_batch()
        self._lists = rank_neighbours(g, self._points, self._k, self._anchors)
        self._predrawn = []

    def draw(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """The :func:`differences` of a triplet of each anchor."""
        if not self._predrawn:
            self._predraw()
        return self._predrawn.pop()

    def state(self) -> dict[str, Tensor]:
        """What :meth:`restore` needs to go on drawing as if nothing had happened."""
        assert self._lists is not None, "refresh comes first"
        kept = {"queue": self._queue, "anchors": self._anchors, "generator": self._generator_state}
        kept["taken"] = torch.tensor(self._n_predrawn - len(self._predrawn))
        return kept | {name: getattr(self._lists, name) for name in LIST_FIELDS}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        device = self._eligible.device
        self._queue, self._anchors = state["queue"].to(device), state["anchors"].to(device)
        self._generator.set_state(state["generator"].cpu())
        self._lists = NeighbourLists(*(state[name].to(device) for name in LIST_FIELDS))
        self._predraw()
        del self._predrawn[self._n_predrawn - int(state["taken"]) :]

    def _predraw(self) -> None:
        assert self._lists is not None, "refresh comes first"
        self._generator_state = self._generator.get_state()
        positive, negative = self._lists.draw(self._generator, self._n_predrawn)
        x = self._points.x
        u, v = differences(x[self._anchors], x[positive], x[negative])
        self._predrawn = list(zip(u, v, strict=True))[::-1]  # taken from the end

    def _next_batch(self) -> Tensor:
        if self._batch_size == len(self._eligible):
            return self._eligible
        if len(self._queue) < self._batch_size:
            shuffle = torch.randperm(len(self._eligible), generator=self._generator, device=self._eligible.device)
            self._queue = torch.cat([self._queue, self._eligible[shuffle]])
        batch, self._queue = self._queue[: self._batch_size], self._queue[self._batch_size :]
        return batch.sort().values  # rank_neighbours wants them by class, as rows are


class DecidingTriplets:
    """The triplet that decides Theorem 1's leave-one-out radius, kth-min_j kth-max_i ε̃(i, j), of each point.

    The derivative of that radius is the derivative of this one triplet, wherever the radius has a derivative.
    A class with fewer than k + 1 points uses as many positives as it has.
    """

    def __init__(self, points: SortedByClass, k: int) -> None:
        if len(points) > LARGEST_UNSAMPLED:
            raise ValueError(
                f"the unsampled objective is for up to {LARGEST_UNSAMPLED} points; there are {len(points)}. "
                "Use objective='sampled'"
            )
        self._points, self._k = points, k
        self._anchors = _with_positives(points)

    def refresh(self, g: Tensor) -> None:
        """Nothing is kept between epochs."""

    def state(self) -> dict[str, Tensor]:
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """There is nothing to restore."""

    def draw(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """The :func:`differences` of the deciding triplet of each anchor."""
        x = self._points.x
        return differences(*(x[rows] for rows in self.decide(g)))

    @torch.no_grad()
    def decide(self, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rows of the anchors and of the positive and the negative that decide the radius of each."""
        x = self._points.x
        embedded = x @ g.T
        distances = torch.cdist(embedded, embedded, compute_mode="donot_use_mm_for_euclid_dist").square()
        mapped = embedded @ g
        norms = torch.cdist(mapped, mapped, compute_mode="donot_use_mm_for_euclid_dist")
        chosen = [self._decide(c, distances, norms) for c in range(len(self._points.edges) - 1)]
        positive, negative = (torch.cat(part) for part in zip(*chosen, strict=True))
        return self._anchors, positive, negative

    def _decide(self, c: int, distances: Tensor, norms: Tensor) -> tuple[Tensor, Tensor]:
        """The deciding positive and negative of each point of class c."""
        first, last = self._points.edges[c], self._points.edges[c + 1]
        size, n = last - first, len(self._points)
        rows = torch.arange(n, device=distances.device)
        others = torch.cat([rows[:first], rows[last:]])
        if size < 2:
            return others[:0], others[:0]
        k_positive, k_negative = min(self._k, size - 1), min(self._k, len(others))
        below = 2.0 * norms[first:last][:, others]  # (i, j)
        positives, negatives = [], []
        height = max(1, BLOCK_VALUES // (size * len(others)))
        for start in range(first, last, height):
            a = rows[start : min(start + height, last)]
            gain = distances[a][:, None, others] - distances[a, first:last][:, :, None]  # (a, i, j)
            radius = torch.where(below > 0, gain / below, torch.zeros_like(gain))
            radius[torch.arange(len(a), device=a.device), a - first] = -torch.inf  # not its own positive
            over_i = radius.topk(k_positive, dim=1)
            over_j = over_i.values[:, -1].topk(k_negative, dim=1, largest=False)
            j = over_j.indices[:, -1]
            positives.append(first + over_i.indices[:, -1].gather(1, j[:, None]).squeeze(1))
            negatives.append(others[j])
        return torch.cat(positives), torch.cat(negatives)


def _with_positives(points: SortedByClass) -> Tensor:
    """The rows that have another point of their class; the others have no triplet."""
    sizes = torch.bincount(points.codes)
    return torch.nonzero(sizes[points.codes] > 1).squeeze(1)
