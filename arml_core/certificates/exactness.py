"""When both sides of a radius count as met, and the length around a point that this is measured against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..neighbors.point_set import PointSet
from ..numerics.arrays import BoolArray, FloatArray
from ..numerics.error_bounds import float32_error
from ..radii import Radii
from .triplet import Triplets

AGREEMENT = 1e-6  # of the upper side
BLUR = 1e-9  # of the length around the point: solutions keep a distance of this order from every boundary
SINGLE_BLUR = 8.0  # units in the last place of float32 features
LARGEST_BLUR = 1e-4  # of the upper side, where the lower one is not 0
NARROW_BLUR = 1e-7  # of the narrowest column that can move, where the lower side is 0


def interval_radii(
    triplets: Triplets, points: PointSet, lower: FloatArray, upper: FloatArray, adversarial: NDArray[np.floating]
) -> Radii:
    """Both sides of all points as a result, exact where they meet; who asked finds out whether they contradict."""
    return Radii(
        index=np.arange(len(points)),
        lower=lower,
        upper=upper,
        exact=bounds_meet(lower, upper, triplets, points),
        correct=np.ones(len(points), dtype=bool),
        predicted=points.labels,
        adversarial=adversarial,
    )


def bounds_meet(lower: FloatArray, upper: FloatArray, triplets: Triplets, points: PointSet) -> BoolArray:
    """Where both sides agree to 1e-6 of the upper one, or to what rounding blurs around that very point.

    The blur is 1e-9 of :func:`neighbor_distance` or of the spread of the data, whichever is less: it tells something
    only of points all but on a boundary. A float32 point that flips lies on a coarse grid: for those the grid's width
    counts, too. Where the lower side is more than 0, neither is more than 1e-4 of the upper one. Where it is 0, that
    would say nothing: there the upper side has to be less than 1e-7 of the narrowest column that can move, as wide as
    the data or the room in the box, so that a step of that size is nothing in any unit. A side that is infinite meets
    nothing.
    """
    known = np.isfinite(upper)
    gap = np.where(known, upper, np.inf) - np.where(np.isfinite(lower), lower, 0.0)
    meet = known & (gap <= AGREEMENT * upper)
    open_ones = np.flatnonzero(known & ~meet)
    if len(open_ones):
        some_points = points.take(open_ones)
        some = some_points.points
        most = LARGEST_BLUR * upper[open_ones]
        around = neighbor_distance(triplets, some_points)
        spread = triplets.references.spread(triplets.threat) or np.inf  # 0: what can move is the same in every row
        blur = BLUR * np.minimum(around, spread)
        blur = np.minimum(blur, np.where(lower[open_ones] > 0, most, NARROW_BLUR * narrowest(triplets, some_points)))
        if some.dtype == np.float32:
            moving = triplets.threat.expand(triplets.threat.reduce_move(some.astype(np.float64)))
            grid = SINGLE_BLUR * float32_error(triplets.references.metric.magnitude(moving))
            blur += np.minimum(grid / operator_norm(triplets), most)
        meet[open_ones] = gap[open_ones] <= blur
    return meet


def narrowest(triplets: Triplets, points: PointSet) -> FloatArray:
    """For each point the width of the narrowest column that can move, as a size of moves; 0 if nothing has a width."""
    threat = triplets.threat
    scaled = triplets.references.widths[threat.movable] * threat.costs
    widths = np.broadcast_to(scaled, (len(points), len(threat.movable)))
    room = threat.room(points.exact_points(), points.ranges)
    if room is not None:
        widths = np.minimum(widths, room[0] + room[1])
    widths = threat.counted(widths)
    found = np.where(widths > 0, widths, np.inf).min(axis=1)
    return np.where(np.isfinite(found), found, 0.0)


def neighbor_distance(triplets: Triplets, points: PointSet) -> FloatArray:
    """The distance of the K-th neighbour of each row, as a size of moves: no smaller one can cover that distance.

    Unlike the width of the data this is no larger for a column in small units to which the metric gives no weight.
    It is 0 on top of K rows, and where the metric ignores all that can move.
    """
    distances, _ = points.references.nearest(points.exact_points(), points.n_neighbors, points.exclude)
    strength = operator_norm(triplets)
    return np.sqrt(distances[:, -1]) / strength if strength > 0 else np.zeros(len(points))


def operator_norm(triplets: Triplets) -> float:
    """The most that ‖Gδ‖ can be for a δ of size 1 (in ℓ∞ an upper bound)."""
    metric, threat = triplets.references.metric, triplets.threat
    g = threat.counted(threat.reduce(metric.components))
    columns = np.linalg.norm(g, axis=0)
    if threat.norm == np.inf:
        return float(columns.sum())
    if threat.norm == 1 or metric.is_diagonal:
        return float(columns.max())
    return float(np.linalg.norm(g, ord=2))
