"""From per-point radii to robust-error curves, tables and confidence bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .numerics.arrays import FloatArray
from .radii import ATTACKABLE, CERTIFIED, Radii, verdicts


@dataclass(frozen=True)
class Curve:
    """A robust-error curve: at each radius the share of points whose robust radius is at most that."""

    radius: FloatArray
    error: FloatArray
    n_points: int


def robust_error(radii: ArrayLike, at: ArrayLike) -> FloatArray:
    """The share of points with radius ≤ ε, for each ε in `at`.

    With lower bounds this is the certified robust error, an upper bound on the true one; with upper bounds from an
    attack it is the empirical robust error, a lower bound. At ε = 0 the certified error also counts points that
    are classified correctly but have no certificate; the clean error is the share of wrong predictions.
    """
    values = _checked_radii(radii)
    wanted = np.asarray(at, dtype=np.float64)
    if np.isnan(wanted).any() or (wanted < 0).any():
        raise ValueError(f"every radius ε must be at least 0; got {wanted.min() if wanted.size else wanted}")
    return np.asarray(np.searchsorted(np.sort(values), wanted, side="right") / len(values))


def robust_error_curve(radii: ArrayLike) -> Curve:
    """The whole curve as a staircase: it jumps at each finite radius that occurs, and starts at ε = 0."""
    values = _checked_radii(radii)
    steps = np.unique(np.concatenate([[0.0], values[np.isfinite(values)]]))
    return Curve(steps, robust_error(values, steps), len(values))


def mean_radius(radii: ArrayLike) -> float:
    """The mean radius; a point nothing can flip counts with the largest radius of the others.

    With lower bounds it is then still a lower bound on the mean of the true radii. It is infinite only if nothing can
    flip any of the points.
    """
    values = _checked_radii(radii)
    finite = values[np.isfinite(values)]
    return float(np.minimum(values, finite.max()).mean()) if finite.size else float("inf")


def mean_attack_radius(radii: ArrayLike) -> tuple[float, int]:
    """The mean radius of the points that an attack flipped (infinite if none), and how many these are.

    A radius that is infinite says only that nothing was found; it bounds nothing.
    """
    values = _checked_radii(radii)
    found = values[np.isfinite(values)]
    return float(found.mean()) if found.size else float("inf"), len(found)


def dkw_band(error: ArrayLike, n_points: int, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """A band that holds the whole true curve with the given confidence, for `n_points` independent test points.

    The Dvoretzky–Kiefer–Wolfowitz inequality with Massart's constant: half-width √(ln(2/α) / 2n).
    """
    if n_points < 1:
        raise ValueError(f"a confidence band needs at least one point; got {n_points}")
    check_confidence(confidence)
    values = np.asarray(error, dtype=np.float64)
    half = float(np.sqrt(np.log(2 / (1 - confidence)) / (2 * n_points)))
    return np.clip(values - half, 0.0, 1.0), np.clip(values + half, 0.0, 1.0)


def share_bounds(count: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Between which shares the true one lies with the given confidence, where `count` of `n` independent rows have it.

    Clopper and Pearson's two-sided bounds: exact, so never less sure than they say.
    """
    from scipy.stats import binomtest  # half a second of import for those who want bounds

    check_confidence(confidence)
    found = binomtest(count, n).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)


def check_confidence(confidence: float) -> None:
    """A confidence lies between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1; got {confidence}")


@dataclass(frozen=True)
class Verdicts:
    """Shares of points at one radius ε: *certified* (lower > ε), *attackable* (upper ≤ ε), the rest *undecided*."""

    certified: float
    attackable: float
    undecided: float
    n_points: int


def verdict_shares(lower: ArrayLike, upper: ArrayLike, epsilon: float) -> Verdicts:
    """What is known about the points at radius ε; a ValueError if a point is both proved safe and flipped."""
    low, high = _checked_radii(lower), _checked_radii(upper)
    if len(low) != len(high):
        raise ValueError(f"lower and upper radii must belong to the same points; got {len(low)} and {len(high)}")
    words = verdicts(low, high, epsilon)
    both = int(((words == ATTACKABLE) & (low > epsilon)).sum())
    if both:
        raise ValueError(
            f"{both} of {len(low)} points have a lower radius above their upper one; they cannot be joined"
        )
    n = len(low)
    certified, attackable = int((words == CERTIFIED).sum()), int((words == ATTACKABLE).sum())
    return Verdicts(certified / n, attackable / n, (n - certified - attackable) / n, n)


@dataclass(frozen=True)
class FrontPoint:
    """One model where clean meets robust error: what it answers wrongly, and what is not proved to stay right within ε.

    `size` is the number of points it compares with, `target_radius` what it was trained for, None for other models.
    """

    label: str
    size: int
    clean_error: float
    robust_error: float
    n_points: int
    target_radius: float | None = None


def front_point(radii: Radii, epsilon: float, label: str, size: int, target_radius: float | None = None) -> FrontPoint:
    """A model by its certificates; the robust error at ε is the share of points with lower ≤ ε."""
    clean = float(np.mean(~radii.correct))
    robust = float(robust_error(radii.lower, epsilon))
    return FrontPoint(label, size, clean, robust, len(radii), target_radius)


def on_front(points: Sequence[FrontPoint]) -> list[bool]:
    """Which of the models no other one beats: none has less of one error without more of the other."""

    def beaten(point: FrontPoint) -> bool:
        mine = (point.clean_error, point.robust_error)
        others = ((other.clean_error, other.robust_error) for other in points)
        return any(other != mine and other[0] <= mine[0] and other[1] <= mine[1] for other in others)

    return [not beaten(point) for point in points]


def _checked_radii(radii: ArrayLike) -> FloatArray:
    values = np.asarray(radii, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"radii must be a list with one radius per point, at least one; got shape {values.shape}")
    if np.isnan(values).any() or (values < 0).any():
        raise ValueError("every point's radius must be a number ≥ 0; found NaN or a negative one")
    return values
