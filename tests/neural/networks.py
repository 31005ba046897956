"""Small networks, an attack on them, and their true radius by looking at every activation pattern."""

from itertools import pairwise, product

import numpy as np
from scipy.optimize import nnls

from arml_core.neural import ReLUNetwork


def random_network(rng: np.random.Generator, widths: list[int]) -> ReLUNetwork:
    return ReLUNetwork(
        tuple(
            (rng.standard_normal((after, before)), 0.5 * rng.standard_normal(after))
            for before, after in pairwise(widths)
        )
    )


def nearest_in_polyhedron(a: np.ndarray, b: np.ndarray) -> float:
    """min ‖δ‖ with aδ ≥ b, +inf if there is none (Lawson and Hanson's least distance programming)."""
    n = a.shape[1]
    e, f = np.vstack([a.T, b[None, :]]), np.append(np.zeros(n), 1.0)
    u, residual = nnls(e, f)
    if residual < 1e-9:
        return np.inf
    r = e @ u - f
    return float(np.linalg.norm(r[:n] / r[n]))


def true_radius(network: ReLUNetwork, x: np.ndarray, label: int) -> float:
    """The smallest ℓ2 step to a point where another logit is at least as large, over all activation patterns."""
    hidden = [len(b) for _, b in network.layers[:-1]]
    best = np.inf
    for pattern in product((0.0, 1.0), repeat=sum(hidden)):
        slope, offset = np.eye(len(x)), x.copy()  # a(δ) = slope δ + offset inside the region of the pattern
        rows, limits, used = [], [], 0
        for (w, b), width in zip(network.layers[:-1], hidden, strict=True):
            on = np.array(pattern[used : used + width])
            used += width
            slope, offset = w @ slope, w @ offset + b
            sign = 2 * on - 1
            rows.append(sign[:, None] * slope)
            limits.append(-sign * offset)
            slope, offset = on[:, None] * slope, on * offset
        w, b = network.layers[-1]
        slope, offset = w @ slope, w @ offset + b
        for other in range(len(b)):
            if other != label:
                a = np.vstack([*rows, slope[other] - slope[label]])
                limit = np.concatenate([*limits, [offset[label] - offset[other]]])
                best = min(best, nearest_in_polyhedron(a, limit))
    return best


def pgd_radius(network: ReLUNetwork, x: np.ndarray, label: int, rng: np.random.Generator, starts: int = 8) -> float:
    """An upper bound on the radius: gradient steps towards another class, then bisection back to x."""
    best = np.inf
    for other in [c for c in range(network.n_classes) if c != label]:
        for start in range(starts):
            at = x + (0.0 if start == 0 else 0.5) * rng.standard_normal(len(x))
            for _ in range(100):
                if network.predict(at[None])[0] != label:
                    break
                gradient = margin_gradient(network, at, label, other)
                norm = np.linalg.norm(gradient)
                if norm == 0:
                    break
                at = at - 0.1 * gradient / norm
            if network.predict(at[None])[0] == label:
                continue
            low, high = 0.0, 1.0
            for _ in range(40):
                middle = (low + high) / 2
                flipped = network.predict((x + middle * (at - x))[None])[0] != label
                low, high = (low, middle) if flipped else (middle, high)
            best = min(best, high * float(np.linalg.norm(at - x)))
    return best


def margin_gradient(network: ReLUNetwork, x: np.ndarray, label: int, other: int) -> np.ndarray:
    a, slope = x, np.eye(len(x))
    for w, b in network.layers[:-1]:
        z = w @ a + b
        a, slope = np.maximum(z, 0), (z > 0)[:, None] * (w @ slope)
    w, _ = network.layers[-1]
    return (w[label] - w[other]) @ slope
