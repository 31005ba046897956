"""Where at most two features can move the search ends with the exact radius, and no dense sample contradicts it."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel

LAYOUTS = ("random", "clustered", "grid", "collinear", "duplicated", "rings")


def training_set(layout: str, n: int, n_classes: int, rng: np.random.Generator):
    y = rng.integers(n_classes, size=n)
    y[:n_classes] = np.arange(n_classes)
    X = rng.normal(size=(n, 2))
    if layout == "clustered":  # tight clusters, some of them mixed
        X = 3 * rng.normal(size=(6, 2))[rng.integers(6, size=n)] + 0.01 * X
    elif layout == "grid":
        side = int(np.ceil(np.sqrt(n)))
        X = np.array([(i // side, i % side) for i in range(n)], dtype=float)
    elif layout == "collinear":
        X = np.outer(np.round(20 * rng.random(n)), [1.0, 2.0])
    elif layout == "duplicated":
        X = X[rng.integers(n // 4 + 1, size=n)]
    elif layout == "rings":  # every point of a ring is equally far from the centre
        angle = 2 * np.pi * rng.integers(24, size=n) / 24
        X = (1.0 + rng.integers(4, size=n))[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X, y


def moves(n: int, norm: float, toward: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """n moves of size at most 1: all over the ball, close to its surface, and around one direction."""
    angle = rng.uniform(0, 2 * np.pi, n)
    if np.isfinite(toward).all():
        angle[: n // 3] = np.arctan2(toward[1], toward[0]) + 0.05 * rng.normal(size=n // 3)
    v = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    v /= np.linalg.norm(v, norm, axis=1, keepdims=True)
    return v * np.where(rng.random(n) < 0.5, np.sqrt(rng.random(n)), 1 - 1e-3 * rng.random(n))[:, None]


def check(knn: MahalanobisKNN, x: np.ndarray, threat: ThreatModel, rng, exact: bool = True, n_samples: int = 20_000):
    """One point: both sides meet, the upper one is real, and nothing below the lower one flips."""
    found = knn.certify(x[None], method="search", threat=threat, budget=60.0)
    lower, upper, point = found.lower[0], found.upper[0], found.adversarial[0]
    assert np.isfinite(upper)
    assert knn.predict(point[None])[0] != found.predicted[0]
    assert np.linalg.norm(point - x, threat.norm) == pytest.approx(upper, rel=1e-12)
    assert lower <= upper
    assert found.exact[0] or not exact, (lower, upper)
    inside = x + lower * (1 - 1e-9) * moves(n_samples, threat.norm, point - x, rng)
    assert np.all(knn.predict(inside) == found.predicted[0])
    return found


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_sides_meet_on_every_layout(layout, norm):
    for seed, (n, k, n_classes) in enumerate([(300, 15, 2), (120, 4, 3), (40, 7, 4)]):
        rng = np.random.default_rng([seed, LAYOUTS.index(layout)])
        X, y = training_set(layout, n, n_classes, rng)
        y = np.where(X[:, 0] > np.median(X[:, 0]), y, 0)  # a side where class 0 is safe, so that radii are not tiny
        knn = MahalanobisKNN(k).fit(X, y)
        x = X[rng.integers(n)] + 0.3 * X.std() * rng.normal(size=2)
        check(knn, x, ThreatModel(norm=norm), rng, n_samples=20_000 if n == 300 else 4_000)
