"""The triplet problem: how far x must move before a negative x_j comes as close to it as a positive x_i.

The paper's closed form (Section 3.2) is ``ε̃(i,j) = (d(x,x_j) - d(x,x_i)) / (2 ‖M(x_i - x_j)‖)``; with a threat
norm p the norm below the line is its dual q. Costs divide M(x_i - x_j) feature by feature and frozen features
drop out of it. Writing ``h = M x`` (divided by the costs, movable features only), the denominator is
``2 ‖h_i - h_j‖_q``. Free features are no part of h: what they contribute is taken off the numerator.

Everything here errs to the small side: numerators are rounded down, denominators up, so a computed ε̃ is never
above the true one, and stays true for the distances that ``predict`` computes.
"""

from __future__ import annotations

from threading import Lock

import numpy as np
import torch

from ..metric import Metric
from ..neighbors.prepared import PreparedReferences
from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.distance_bounds import DistanceBounds, PairwiseBounds, power_of_two
from ..numerics.distance_kernels import Vectors
from ..numerics.error_bounds import LARGEST, SMALLEST, TINY, UNDERFLOW, norm_rounded_up, squared_distance_error
from ..threat import ResolvedThreat
from .box import boxed_distance

RESCALE = "Rescale the features, the metric or the costs"


_making = Lock()
"""What is as large as the training set must not be made twice at once; a lock of each object could not be pickled."""


class Triplets:
    """The training set in h-space, for one threat model.

    Attributes
    ----------
    h : (N, n), of the movable features that count, in the references' class order.
    whole_h : (N, n_movable), with the free features among them.
    h_slack : bounds the error of each row of either in the dual norm.
    """

    def __init__(self, references: PreparedReferences, threat: ResolvedThreat) -> None:
        self.references, self.threat = references, threat
        metric = references.metric
        self.shares_u = metric.is_identity and threat.is_plain and threat.norm == 2
        moving = Metric.from_components(threat.reduce(metric.components))
        self._widening = moving.operator_magnitude()
        if threat.dual_norm == 1:
            self._widening *= float(np.sqrt(len(threat.movable)))
        self.whole_h: FloatArray
        self.whole_h, slack = self._embedded(references.u, references.slack)
        self.h: FloatArray = threat.counted(self.whole_h)
        self.h_slack: FloatArray = slack + UNDERFLOW
        largest = float(np.abs(self.h).max())
        if 0 < largest < SMALLEST:
            raise ValueError(f"M x, divided by the costs, is at most {largest:.3g}: its squares underflow. {RESCALE}")
        self.pairwise = PairwiseBounds(self.h, self.h_slack, threat.dual_norm, references.device)
        self.h_scale = power_of_two(float(self.pairwise.norms.max()))
        with np.errstate(over="ignore"):
            self.radius_unit = float(np.square(references.distance_bounds.scale) / self.h_scale)
        if not 0 < self.radius_unit < np.inf:
            raise ValueError(f"radii are of the order of {self.radius_unit:g}: floats do not hold them. {RESCALE}")
        self._distance_bounds: DistanceBounds | None = references.distance_bounds if self.shares_u else None

    def _to_h(self, u: FloatArray, slack: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.shares_u:
            return u, slack
        metric = self.references.metric
        back = u * np.diag(metric.components) if metric.is_diagonal else u @ metric.components
        return self.threat.reduce(back), slack * self._widening

    @property
    def distance_bounds(self) -> DistanceBounds:
        """Bounds on ‖h - h_i‖₂ for many points at once."""
        with _making:
            if self._distance_bounds is None:
                self._distance_bounds = DistanceBounds(self.h, self.h_slack, self.references.device)
            return self._distance_bounds

    @property
    def vectors(self) -> Vectors:
        """For upper bounds on ‖h_i - h_j‖_q of a few pairs, divided by h's scale."""
        if self.threat.dual_norm == 2:
            return self.distance_bounds.vectors()
        return Vectors(self.h, self.h_slack, self.h_slack, (1 + 1e-6) / self.h_scale, self.threat.dual_norm)

    def _embedded(self, u: FloatArray, slack: FloatArray) -> tuple[FloatArray, FloatArray]:
        """h, free features included, and its error bound for points given as u."""
        with np.errstate(over="ignore", invalid="ignore"):
            h, h_slack = self._to_h(u, slack)
        largest = float(np.abs(h).max(initial=0.0))
        if not largest <= LARGEST:  # or not a number
            raise ValueError(f"M x, divided by the costs, is up to {largest:.3g}: its squares overflow. {RESCALE}")
        return h, h_slack

    def denominators(self, rows: IntArray, columns: slice) -> torch.Tensor:
        """Upper bounds on ‖h_i - h_j‖_q for j in `rows` and i in `columns` (places in class order)."""
        return self.pairwise.upper(rows, columns)

    def direct_row(
        self,
        x: FloatArray,
        j: int,
        places: IntArray,
        left_out: BoolArray,
        any_order: bool = False,
        room: tuple[FloatArray, FloatArray] | None = None,
    ) -> FloatArray:
        """ε̃₊(i, j) for one x and one j against the positives i at `places`, from differences.

        Slower than matrix products and accurate to a few rounding errors of the differences themselves; a
        vector M(x_i - x_j) that is structurally zero (frozen features) gives exactly +inf or 0. With `room`, how far
        each feature may fall and rise, the value is the boxed one. `left_out` marks the places that do not exist for
        this x. With `any_order` M-identical rows tie, whichever comes first in training order.
        """
        references, threat = self.references, self.threat
        positives = references.points(references.order[places])
        negative = references.points(references.order[j : j + 1])
        _, p_high = self.distance_interval(x, positives)
        n_low, _ = self.distance_interval(x, negative)
        p_high[left_out] = np.inf
        numerator = n_low[0] - p_high
        difference = negative - positives
        vector = threat.reduce(references.metric.apply(difference))
        error = threat.reduce(references.transform_error(references.metric.absolute_apply(difference)))
        result = np.zeros(len(positives))
        ahead = np.flatnonzero(numerator > 0)
        if room is not None:
            half = numerator[ahead] / 2
            result[ahead] = boxed_distance(vector[ahead], error[ahead], half, room, threat.norm, threat.free)
        else:
            below = norm_rounded_up(vector[ahead], error[ahead], threat.dual_norm, extra_terms=16)
            with np.errstate(divide="ignore"):
                result[ahead] = numerator[ahead] / (2 * below)
        result[self.underflows(vector, error, difference)] = 0.0
        settle_twins(references, result, j, places, any_order)
        result[left_out] = 0.0
        return result

    def underflows(self, vector: FloatArray, error: FloatArray, difference: FloatArray) -> BoolArray:
        """Which rows of M(x_j - x_i), divided by the costs, are below what floats can hold: not zero, but unknown."""
        lost: BoolArray = self.threat.counted(np.abs(vector) + error).max(axis=-1) < TINY
        if lost.any():
            entries = self.references.metric.components != 0
            counted = self.threat.movable[~self.threat.free]
            lost[lost] = ((difference[lost] != 0) @ entries.T @ entries)[:, counted].any(axis=-1)
        return lost

    def distance_interval(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds on the squared distances of x to the rows of z, valid for what predict computes too."""
        metric = self.references.metric
        d = metric.squared_distances(x, z)
        error = squared_distance_error(d, self.references.transform_error(metric.magnitude(x - z)))
        return d - error, d + error


def settle_twins(
    references: PreparedReferences, values: FloatArray, j: int, places: IntArray, any_order: bool = False
) -> None:
    """Set ε̃(i, j) for M-identical i and j in `values`: +inf where i comes first in training order, else 0.

    Their distances tie everywhere, so training order alone decides which of them is nearer; with `any_order` it
    decides nothing, and every value is 0.
    """
    indices = references.order[places]
    own = references.order[j]
    same = np.flatnonzero(references.twin[indices] == references.twin[own])
    values[same] = np.where((indices[same] < own) & (not any_order), np.inf, 0.0)
