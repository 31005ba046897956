"""A bound that sees more than positives: a winner's rows are ahead of almost everybody else, whatever their class.

If class c wins with t of the K places, these t rows are nearer than all but K-t of the rows of *all other classes
together*. So ‖δ‖ is at least the t-th smallest, over the rows j of c, of the (K-t+1)-th largest ε̃₊(i, j) over the rows
i of other classes; with K-t or fewer of those it is 0. Both order statistics grow with t: the fewest places with which
c can win decide. Leaving rows i out only lowers it, so a few near ones are enough.

`votes` asks for it only where ordering negatives against positives proves nothing: it takes about as long as predicting
the point a few times.
"""

from __future__ import annotations

import numpy as np

from ..neighbors.point_set import PointSet
from ..numerics.arrays import FloatArray, IntArray
from ..numerics.error_bounds import rounded_up, sum_error
from .box import free_gain
from .triplet import Triplets
from .triplet_rows import TripletRows

NEAR_PER_PLACE = 4  # rows of all classes that hold a winner back, times K
NEAR = 16  # and so many more


def against_all_others(triplets: Triplets, points: PointSet, label: int, fewest: dict[int, int]) -> FloatArray:
    """A lower bound on the radius of each point; `fewest` is how many places each class that can win needs."""
    references, k = triplets.references, points.n_neighbors
    gone = 0 if points.exclude is None else points.exclude.shape[1]
    count = min(NEAR_PER_PLACE * k + NEAR, len(references) - gone)
    _, near = points.references.nearest(points.exact_points(), count, points.exclude)
    hopeful = [b for b in range(len(points)) if not _tips_at_once(references.label[near[b]], k, fewest)]
    bounds = np.zeros(len(points))
    if not hopeful:
        return bounds
    some = points.take(np.array(hopeful))
    exclude = some.places_left_out()
    rows = TripletRows(triplets, some.exact_points(), label, exclude, points.rule.any_order, some.ranges)
    for place, b in enumerate(hopeful):
        left_out = np.empty(0, dtype=np.intp) if exclude is None else exclude[place][exclude[place] >= 0]
        bounds[b] = _bound(triplets, rows, place, references.rank[near[b]], left_out, k, fewest)
    return bounds


def _tips_at_once(classes: IntArray, k: int, fewest: dict[int, int]) -> bool:
    """Whether the nearest rows, of these classes, let a class win without a move, as far as the term can tell."""
    for c, t in fewest.items():
        own = np.flatnonzero(classes == c)
        if len(own) >= t and own[t - 1] - (t - 1) <= k - t:
            return True
    return False


def _bound(
    triplets: Triplets, rows: TripletRows, b: int, near: IntArray, gone: IntArray, k: int, fewest: dict[int, int]
) -> float:
    """The smallest, over the classes that can win, of the term above, with the places `near` as the others."""
    references = triplets.references
    everyone = np.arange(len(references))
    d, error = rows.negative_distances(np.full(len(everyone), b), everyone)
    classes = references.label[references.order]
    values = _triplets_to(triplets, rows, b, near, d - error, (d + error)[near])
    values[:, gone] = np.inf  # of the rows that are gone none comes in
    found = np.inf
    for c, t in fewest.items():
        others, own = np.flatnonzero(classes[near] != c), np.flatnonzero(classes == c)
        exempt = k - t
        if len(others) <= exempt:
            return 0.0
        held_back = -np.partition(-values[np.ix_(others, own)], exempt, axis=0)[exempt]
        found = min(found, float(np.partition(held_back, t - 1)[t - 1]))
    return found


def _triplets_to(
    triplets: Triplets, rows: TripletRows, b: int, near: IntArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """ε̃₊(i, j) of the places i in `near` and every place j, rounded down: d(x, ·) is at least `low`, at most `high`."""
    below = triplets.denominators(near, slice(0, len(low))).cpu().numpy()
    numerator = low - high[:, None]
    free, room = triplets.threat.free, rows.room_of(b)
    if room is not None and free.any():
        h, slack = triplets.whole_h, triplets.h_slack
        error = slack + slack[near][:, None]
        gain = free_gain(h[:, free], h[near][:, free], error.T, (room[0][free], room[1][free])).T
        numerator = numerator - 2 * gain
        numerator -= sum_error(np.abs(numerator), 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = numerator / (rounded_up(2.0, triplets.h.shape[1] + 16) * below)
    return np.where(numerator > 0, values, 0.0)
