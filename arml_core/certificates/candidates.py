"""Which negatives can matter for a test point: cheap lower bounds on S_m(j), and the few j that need more.

``S_m(j)`` is the (m+1)-th largest ε̃₊(i, j) over the positives i. Two bounds, each valid and each paid for only
where the one before leaves doubt:

(a) from distances to one point per test point, the centre c of its q nearest positives P in h-space. By the triangle
    inequality ``‖h_i - h_j‖ ≤ ‖h_i - c‖ + ‖c - h_j‖`` for the m+1 nearest. And in ℓ2 the mean square is known, because
    c is the centre: ``Σ_P ‖h_i - h_j‖² = q ‖c - h_j‖² + Σ_P ‖h_i - c‖²``. At least q-m of P have ε̃ ≤ S_m(j), that is
    ``n_j - p_i ≤ 2 S_m(j) ‖h_i - h_j‖``; square and add up, and the left side is at least the sum over the q-m
    farthest: ``S_m(j)² ≥ Σ_far (n_j - p_i)² / (4 Σ_P ‖h_i - h_j‖²)`` where no p_i is above n_j;
(b) for the smallest of those, true denominators to P.

Free features give ``f(h_j - h_i)`` to the half-space in which j is ahead of i (:mod:`.box`). f is sublinear, so with
c_F the centre of P in their columns ``f(h_j - h_i) ≤ f(h_j - c_F) + f(c_F - h_i)``: n_j less twice the first and p_i
plus twice the second take the places of n_j and p_i in both bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..numerics.arrays import FloatArray, IntArray
from ..numerics.distance_kernels import centres_of
from ..numerics.error_bounds import rounded_up, sum_error
from . import screening_kernels as kernels
from .box import free_gain
from .triplet import Triplets
from .triplet_rows import TripletRows

NEAREST = 24  # positives of bound (b), and
PER_PLACE = 4  # times m+1 of bound (a) and at least of (b)
SMALLEST_SQUARE = 1e-36  # float32 holds it
NO_GUESS = kernels.Stop(np.inf, 1, np.empty(0, dtype=np.intp))
SAFETY = 1 - 1e-5  # covers the float32 rounding of the last few operations


@dataclass
class Candidates:
    """The most promising negatives of each test point, by rising lower bound on S_m.

    ``place[b]`` are places in class order, ``bound[b]`` the lower bounds on S_m, and ``rest[b]`` bounds S_m of
    every negative that is not listed. The last of `bound` may exceed `rest`: they were sharpened, it was not. `guess`
    is the largest of the bounds that would decide if they were the values.
    """

    place: IntArray
    bound: FloatArray
    rest: FloatArray
    guess: FloatArray


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
        self._n_negatives = len(references) - (rows.positives.stop - rows.positives.start)
        self._unit = 0.5 * SAFETY * triplets.radius_unit  # from the units of the distance bounds to radii
        screened = references.distance_bounds.query(rows.u, rows.slack)
        left_out = (slice(0), slice(0)) if exclude is None else _pairs(exclude)
        screened.lower[left_out] = np.inf
        self._lower = screened.lower.cpu().numpy()
        self._near_value, self._near_place = screened.nearest(rows.positives, max(NEAREST, PER_PLACE * (m + 1)))
        if triplets.threat.free.any():
            self._take_off_free(rows)
        centre, slack, near = self._around_centres()
        self._bound = self._squares_to(centre, slack)
        kernels.bound_a(self._lower, self._bound, near)
        self._bound[left_out] = np.inf
        self._bound[:, rows.positives] = np.inf

    def _take_off_free(self, rows: TripletRows) -> None:
        """Lower n_j and raise p_i by what free features give; the nearest positives in the order of the new p."""
        triplets = self.triplets
        free, dtype, unit = triplets.threat.free, self._lower.dtype, triplets.references.distance_bounds.scale**2
        h, slack = triplets.whole_h[:, free], triplets.h_slack
        for b, place in enumerate(self._near_place):
            room = rows.room_of(b)
            assert room is not None, "free features have ranges"
            own = room[0][free], room[1][free]
            centre = h[place].mean(axis=0)[None]
            error = slack + sum_error(float(np.abs(centre).max()), len(place))
            given = 2 * free_gain(h, centre, error[:, None], own)[:, 0] / unit
            taken = 2 * free_gain(centre, h[place], error[None, place], own)[0] / unit
            with np.errstate(over="ignore", invalid="ignore"):
                self._lower[b] = np.nextafter((self._lower[b] - given).astype(dtype), dtype.type(-np.inf))
                value = np.nextafter((self._near_value[b] + taken).astype(dtype), dtype.type(np.inf))
            order = np.argsort(value, kind="stable")
            self._near_value[b], self._near_place[b] = value[order], place[order]

    def _around_centres(self) -> tuple[FloatArray, FloatArray, kernels.Near]:
        """The centres of the nearest positives in h-space, how far they may be off, and what bound (a) needs."""
        triplets, m, dtype = self.triplets, self.m, self._lower.dtype
        place = self._near_place[:, : PER_PLACE * (m + 1)].copy()  # whole, as compiled loops expect it
        inside = np.isfinite(self._near_value[:, : place.shape[1]])  # others are left out; they come last
        value = np.where(inside, self._near_value[:, : place.shape[1]].astype(np.float64), 0.0)
        count, everyone = inside.sum(axis=1), np.arange(len(place))
        far = inside & (np.arange(place.shape[1]) >= m)
        mean = value.mean(axis=1, where=far)
        h, slack, order = triplets.h, triplets.h_slack[place], triplets.threat.dual_norm
        centre, away = centres_of(h, place, count, order)
        off = (slack + sum_error(triplets.pairwise.norms[place], place.shape[1])).mean(axis=1, where=inside)
        away = np.where(inside, rounded_up(away, h.shape[1] + 8) + slack, 0.0) / triplets.h_scale
        above = mean + sum_error(np.abs(value).mean(axis=1, where=far), place.shape[1])
        with np.errstate(over="ignore"):  # infinitely far: nothing is known
            near = kernels.Near(
                p=self._near_value[:, m].copy(),
                last=self._near_value[everyone, count - 1],
                mean=np.nextafter(above.astype(dtype), dtype.type(np.inf)),
                variance=np.square(value - mean[:, None]).mean(axis=1, where=far).astype(dtype),
                reach=(away[:, : m + 1].max(axis=1) + kernels.NOTHING).astype(dtype),
                scatter=(np.square(away).mean(axis=1, where=inside) + kernels.NOTHING).astype(dtype),
                share=((count - m) / count * (order == 2)).astype(dtype),
            )
        return centre, off, near

    def _squares_to(self, centre: FloatArray, slack: FloatArray) -> NDArray[np.floating]:
        """Upper bounds on ‖c - h_j‖² for all j, divided by the square of h's scale."""
        triplets = self.triplets
        if triplets.threat.dual_norm == 2:
            return triplets.distance_bounds.query(centre, slack).squared_upper()
        device = triplets.references.device
        distances = torch.cdist(
            torch.from_numpy(centre).to(device), torch.from_numpy(triplets.h).to(device), p=triplets.threat.dual_norm
        )
        distances += torch.from_numpy(triplets.h_slack).to(device)
        distances += torch.from_numpy(slack).to(device)[:, None]
        squares = distances.mul_((1 + 1e-6) / triplets.h_scale).square_().clamp_(min=SMALLEST_SQUARE)
        return squares.cpu().numpy().astype(self._lower.dtype)

    def candidates(
        self, which: IntArray, width: int, stop: kernels.Stop | None = None, below: FloatArray | None = None
    ) -> Candidates:
        """The `width` most promising negatives of the test points `which`, of all of them or of those under `below`.

        With `stop` and no `below`, they are looked for only as far as it says.
        """
        width = min(width, self._n_negatives)
        place, bound = np.empty((len(which), width), dtype=np.intp), np.empty((len(which), width))
        rest, guess = np.empty(len(which)), np.empty(len(which))
        limit = np.full(len(which), np.inf) if below is None else self._limit(below)
        references = self.triplets.references
        classes = references.label[references.order]
        kernels.shortlist(
            which, self._bound, self._lower, self._near_value, self._near_place, self.triplets.vectors, classes, self.m,
            self._n_negatives, stop or NO_GUESS, stop is not None and below is None, limit, place, bound, rest, guess,
        )  # fmt: skip
        return Candidates(place, self._unit * bound, self._unit * rest, self._unit * guess)

    def promising(self, which: IntArray, below: FloatArray) -> IntArray:
        """How long a list of each test point in `which` must be to hold every negative with a bound under `below`."""
        return np.asarray((self._bound[which] < self._limit(below)[:, None]).sum(axis=1))

    def limit_of(self, most: int, below: FloatArray) -> FloatArray:
        """`below`, or less where more than `most` negatives of a test point have a bound under it."""
        if most >= self._n_negatives:
            return below
        return np.minimum(below, self._unit * np.partition(self._bound, most, axis=1)[:, most].astype(np.float64))

    def _limit(self, below: FloatArray) -> FloatArray:
        return below / self._unit * (1 + 1e-12)


def _pairs(exclude: IntArray) -> tuple[IntArray, IntArray]:
    """The test points and the places that are left out for them."""
    b, e = np.nonzero(exclude >= 0)
    return b, exclude[b, e]
