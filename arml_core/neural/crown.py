"""CROWN (Zhang et al., NeurIPS 2018): linear bounds on a ReLU network over an ℓ2 ball, and the radius they certify.

Over a ball every neuron lies between two bounds l ≤ z ≤ u. A neuron with l < 0 < u is enclosed by lines: above,
σ(z) ≤ u (z - l) / (u - l); below, σ(z) ≥ αz with α = 1 if u ≥ -l, else 0. Going back from the output through these
lines bounds each margin below by a linear function of the input, whose minimum over the ball is known. The bounds of
a hidden layer come from the same procedure applied to it.

The radius is sound up to float64 rounding, of which no account is kept here (unlike in :mod:`arml_core.certificates`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import FloatArray
from ..numerics.error_bounds import norm
from ..progress import Callback, report
from .network import ReLUNetwork

BISECTIONS = 30
LARGEST = 1e6
"""Nothing beyond is looked at."""
BLOCK = 32
"""Points bounded at once: the coefficients of a hidden layer are a matrix for each of them."""


def crown_radius(
    network: ReLUNetwork, X: ArrayLike, y: ArrayLike, callback: Callback | None = None
) -> tuple[FloatArray, FloatArray]:
    """For each row a radius within which the answer is proved to stay `y`, and the smallest margin at the row itself.

    The radius is 0 where the answer is not `y`.
    """
    x, given = np.asarray(X, dtype=np.float64), np.asarray(y)
    labels = given.astype(np.intp)
    if network.n_classes < 2:
        raise ValueError("a network of one class has no other answer to be kept from")
    if (labels != given).any() or ((labels < 0) | (labels >= network.n_classes)).any():
        raise ValueError(f"labels must be whole, 0 … {network.n_classes - 1}; got {given.min()} to {given.max()}")
    radius, margin = np.zeros(len(x)), np.zeros(len(x))
    for start in range(0, len(x), BLOCK):
        rows = slice(start, start + BLOCK)
        margin[rows] = smallest_margin(network, x[rows], labels[rows])
        radius[rows] = _largest_certified(network, x[rows], labels[rows], margin[rows] > 0)
        report(callback, min(start + BLOCK, len(x)), len(x))
    return radius, margin


def smallest_margin(network: ReLUNetwork, x: FloatArray, labels: np.ndarray) -> FloatArray:
    """logit_y less the largest other logit; negative where the answer is wrong."""
    logits = network.logits(x)
    own = logits[np.arange(len(x)), labels]
    logits[np.arange(len(x)), labels] = -np.inf
    return np.asarray(own - logits.max(axis=1))


def margin_bound(network: ReLUNetwork, x: FloatArray, labels: np.ndarray, radius: FloatArray) -> FloatArray:
    """A lower bound on the smallest margin over the ball of `radius` around each row."""
    lines: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    for number in range(len(network.layers) - 1):
        w, b = network.layers[number]
        count = len(w)
        both = np.broadcast_to(np.vstack([w, -w]), (len(x), 2 * count, w.shape[1]))
        bounds = _lowest(network, number, both, np.concatenate([b, -b]), lines, x, radius)
        lines.append(_relaxation(bounds[:, :count], -bounds[:, count:]))
    w, b = network.layers[-1]
    others = np.array([[c for c in range(network.n_classes) if c != label] for label in labels])
    margins = w[labels][:, None, :] - w[others]
    lowest = _lowest(network, len(network.layers) - 1, margins, b[labels][:, None] - b[others], lines, x, radius)
    return np.asarray(lowest.min(axis=1))


def _relaxation(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Slope below, slope above and intercept above of the lines around σ, for each neuron."""
    unstable = (lower < 0) & (upper > 0)
    above = np.where(upper <= 0, 0.0, 1.0)
    width = np.where(unstable, upper - lower, 1.0)
    above = np.where(unstable, upper / width, above)
    below = np.where(unstable, (upper >= -lower).astype(np.float64), above)
    intercept = np.where(unstable, -above * lower, 0.0)
    return below, above, intercept


def _lowest(
    network: ReLUNetwork,
    number: int,
    coefficients: FloatArray,
    constant: FloatArray,
    lines: list[tuple[FloatArray, FloatArray, FloatArray]],
    x: FloatArray,
    radius: FloatArray,
) -> FloatArray:
    """The least value over the ball of ``coefficients · a + constant``, a the input of layer `number`.

    `coefficients` has shape (points, functions, width of a); the result (points, functions).
    """
    total = np.broadcast_to(constant, coefficients.shape[:2]).copy()
    a = coefficients
    for before in reversed(range(number)):
        below, above, intercept = lines[before]
        positive, negative = np.maximum(a, 0.0), np.minimum(a, 0.0)
        total += np.einsum("nfh,nh->nf", negative, intercept)
        a = positive * below[:, None, :] + negative * above[:, None, :]
        w, b = network.layers[before]
        total += a @ b
        a = a @ w
    centre = np.einsum("nfd,nd->nf", a, x) + total
    return np.asarray(centre - radius[:, None] * norm(a))


def _largest_certified(network: ReLUNetwork, x: FloatArray, labels: np.ndarray, correct: np.ndarray) -> FloatArray:
    """Doubling, then bisection; what is returned was certified itself."""
    certified, refused = np.zeros(len(x)), np.full(len(x), np.inf)
    trial = np.full(len(x), 0.1)
    active = correct.copy()
    while active.any():  # until something is refused
        good = _certifies(network, x, labels, trial, active)
        certified[active & good] = trial[active & good]
        refused[active & ~good] = trial[active & ~good]
        active &= good & (trial < LARGEST)
        trial = trial * 2
    active = correct & np.isfinite(refused)
    for _ in range(BISECTIONS):
        middle = (certified + np.where(active, refused, certified)) / 2
        good = _certifies(network, x, labels, middle, active)
        certified = np.where(active & good, middle, certified)
        refused = np.where(active & ~good, middle, refused)
    return certified


def _certifies(
    network: ReLUNetwork, x: FloatArray, labels: np.ndarray, radius: FloatArray, wanted: np.ndarray
) -> np.ndarray:
    good = np.zeros(len(x), dtype=bool)
    rows = np.flatnonzero(wanted)
    if len(rows):
        good[rows] = margin_bound(network, x[rows], labels[rows], radius[rows]) > 0
    return good
