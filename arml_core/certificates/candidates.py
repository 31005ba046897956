"""Which negatives can matter for a test point: cheap lower bounds on S_m(j), and the few j that need more.

``S_m(j)`` is the (m+1)-th largest ε̃₊(i, j) over the positives i. Two bounds, each valid and each paid for only
where the one before leaves doubt:

(a) ``‖h_i - h_j‖ ≤ a_i + a_j`` with ``a = ‖h_x - h‖``: the m+1 nearest positives alone give every j a bound, with
    no denominators at all;
(b) for the `WIDTH` smallest of those, true denominators to the nearest positives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ..numerics.arrays import FloatArray, IntArray
from ..numerics.distance_bounds import BoundedRows
from .triplet import Triplets
from .triplet_rows import TripletRows

WIDTH = 96
NEAREST = 48
SAFETY = 1 - 1e-5  # covers the float32 rounding of the last few operations
GATHER_BYTES = 16 * 2**20
NOTHING = 1e-30  # added to denominators: 0/0, where nothing is known, becomes 0


@dataclass
class Candidates:
    """The most promising negatives of each test point, by rising lower bound on S_m.

    ``place[b]`` are places in class order, ``bound[b]`` the lower bounds on S_m, and ``rest[b]`` bounds S_m of
    every negative that is not listed. The last of `bound` may exceed `rest`: they were sharpened, it was not.
    """

    place: IntArray
    bound: FloatArray
    rest: FloatArray


def by_length(needed: IntArray, shortest: int) -> list[tuple[IntArray, int]]:
    """Test points in parts whose lists are of similar length: the part, and a length that is enough for it."""
    order = np.argsort(needed, kind="stable")
    doubling = np.floor(np.log2(np.maximum(needed[order], shortest)))
    parts = np.split(order, np.flatnonzero(np.diff(doubling)) + 1)
    return [(part, max(shortest, int(needed[part].max()))) for part in parts if len(part)]


class Screening:
    """Bound (a) on S_m of every negative, for a chunk of test points of one class; each has at least m+1 positives.

    `exclude` holds places in class order that do not exist for a test point, padded with -1.
    """

    def __init__(self, triplets: Triplets, rows: TripletRows, m: int, exclude: IntArray | None) -> None:
        self.triplets, self.m = triplets, m
        references = triplets.references
        screened = references.distance_bounds.query(rows.u, rows.slack)
        if exclude is not None:
            b, e = np.nonzero(exclude >= 0)
            screened.lower[torch.from_numpy(b), torch.from_numpy(exclude[b, e])] = torch.inf
        away = _upper_h_distances(triplets, rows, screened)

        start, stop = rows.positives.start, rows.positives.stop
        p_high = screened.lower[:, start:stop] + screened.width(rows.positives)
        n_nearest = min(stop - start, max(NEAREST, 4 * (m + 1)))
        near = torch.topk(p_high, n_nearest, dim=1, largest=False)
        self._near_value, self._near_place = near.values, near.indices + start
        reach = away.gather(1, self._near_place[:, : m + 1]).amax(dim=1)

        below = away.add_(reach[:, None] + NOTHING)
        bound = (screened.lower - near.values[:, m : m + 1]).div_(below)
        bound.nan_to_num_(nan=0.0, posinf=torch.inf, neginf=0.0)  # errors that overflow: nothing is known
        if exclude is not None:
            bound[screened.lower == torch.inf] = torch.inf
        bound[:, start:stop] = torch.inf
        self._bound = bound.clamp_(min=0)
        self._lower = screened.lower
        self._n_negatives = len(references) - (stop - start)
        self._unit = 0.5 * SAFETY * triplets.radius_unit  # from the units of the distance bounds to radii

    def candidates(self, which: IntArray, width: int, nearest: int = NEAREST) -> Candidates:
        """The `width` most promising negatives of the test points `which`; bound (b) uses the `nearest` positives."""
        chosen = torch.from_numpy(which).to(self._bound.device)
        coarse = self._bound[chosen]  # also where these are all of them: they come in any order
        width = min(width, self._n_negatives)
        first = torch.topk(coarse, min(width + 1, self._n_negatives), dim=1, largest=False)
        listed, place = first.values[:, :width], first.indices[:, :width]
        beyond = first.values[:, width] if self._n_negatives > width else torch.full_like(first.values[:, 0], torch.inf)
        bound_b, order = torch.sort(torch.maximum(listed, self._with_denominators(chosen, place, nearest)), dim=1)
        # float64 before the units come in: radii may be far outside float32's range
        sharpened, rest = (self._unit * values.double().cpu().numpy() for values in (bound_b, beyond))
        return Candidates(place.gather(1, order).cpu().numpy(), sharpened, rest)

    def promising(self, which: IntArray, below: FloatArray) -> IntArray:
        """How long a list of each test point in `which` must be to hold every negative with a bound under `below`."""
        coarse = self._bound[torch.from_numpy(which).to(self._bound.device)]
        limit = torch.from_numpy(below / self._unit).to(coarse)
        limit = torch.nextafter(limit, torch.full_like(limit, torch.inf))  # float32 may have rounded it down
        return (coarse < limit[:, None]).sum(dim=1).cpu().numpy()

    def _with_denominators(self, chosen: torch.Tensor, place: torch.Tensor, nearest: int) -> torch.Tensor:
        """Bound (b): the (m+1)-th largest ε̃₊(i, j) over the nearest positives i only, in the units of bound (a)."""
        result, m = torch.empty_like(place, dtype=self._lower.dtype), self.m
        count = max(nearest, 4 * (m + 1))
        near_place, near_value = self._near_place[chosen, :count], self._near_value[chosen, :count]
        n_movable = self.triplets.h.shape[1]
        step = max(1, GATHER_BYTES // (8 * n_movable * (place.shape[1] + near_place.shape[1])))
        for start in range(0, len(place), step):
            part = slice(start, start + step)
            below = _gathered_denominators(self.triplets, place[part], near_place[part]).to(result.dtype)
            ahead = self._lower[chosen[part, None], place[part]][:, :, None] - near_value[part, None, :]
            ahead.div_(below.add_(NOTHING))
            # the largest alone is found many times faster than the first of a list
            result[part] = ahead.amax(dim=2) if m == 0 else torch.topk(ahead, m + 1, dim=2).values[:, :, m]
        return result.nan_to_num_(nan=0.0, posinf=torch.inf, neginf=-torch.inf)  # inf - inf: (a) knows j is left out


def _upper_h_distances(triplets: Triplets, rows: TripletRows, screened: BoundedRows) -> torch.Tensor:
    """Upper bounds on ‖h_x - h_i‖_q for all i, divided by h's scale."""
    side = screened.side
    if triplets.shares_u:
        return screened.upper_distances()
    h, h_slack = triplets.embed(rows.u, rows.slack)
    if triplets.threat.dual_norm == 2:
        own = triplets.distance_bounds.query(h, h_slack)
        return own.upper_distances().to(side.dtype)
    device = triplets.references.device
    distances = torch.cdist(
        torch.from_numpy(h).to(device), torch.from_numpy(triplets.h).to(device), p=triplets.threat.dual_norm
    )
    distances += torch.from_numpy(triplets.h_slack).to(device)
    distances += torch.from_numpy(h_slack).to(device)[:, None]
    return distances.mul_((1 + 1e-6) / triplets.h_scale).to(side.dtype)


def _gathered_denominators(triplets: Triplets, place: torch.Tensor, near_place: torch.Tensor) -> torch.Tensor:
    """Upper bounds on ‖h_i - h_j‖_q for each row's own places j and positives i, divided by h's scale."""
    device = triplets.references.device
    if triplets.threat.dual_norm == 2:
        return triplets.distance_bounds.upper_between(place, near_place)
    h, slack = torch.from_numpy(triplets.h).to(device), torch.from_numpy(triplets.h_slack).to(device)
    result = torch.cdist(h[place], h[near_place], p=triplets.threat.dual_norm)
    result += slack[place][:, :, None] + slack[near_place][:, None, :]
    return result.mul_((1 + 1e-6) / triplets.h_scale)
