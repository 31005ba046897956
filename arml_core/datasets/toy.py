"""Small two-dimensional sets to look at, made on the spot from n, noise and a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from sklearn.datasets import make_circles, make_moons

from ..numerics.arrays import FloatArray
from .base import Dataset, DatasetInfo, Labels
from .scaling import fit_scaling

Points = tuple[FloatArray, Labels]
LARGEST_N = 100_000
DEFAULT_N = 100

TRIANGLES = ((0.35, -0.45), (-0.41, -0.07), (0.29, 1.45), (-0.63, 0.73))
SQUARES = ((1.70, 0.39), (0.77, 0.95), (1.18, 0.60))


def seven_points() -> Points:
    """Four triangles and three squares on which NCA shrinks the safe region and ARML widens it (Figure 1).

    The paper does not print its coordinates; this layout shows the same. The mean exact leave-one-out
    1-NN radius is 0.44 for the Euclidean metric, 0.21 for NCA and 0.62 for ARML.
    """
    return np.array(TRIANGLES + SQUARES), np.array([0] * len(TRIANGLES) + [1] * len(SQUARES))


def moons(n: int, noise: float, rng: np.random.Generator) -> Points:
    """Two interleaved half circles."""
    x, y = make_moons(n_samples=(n - n // 2, n // 2), shuffle=False)
    return x + noise * rng.standard_normal(x.shape), y


def circles(n: int, noise: float, rng: np.random.Generator) -> Points:
    """A circle of radius 1/2 inside a circle of radius 1."""
    x, y = make_circles(n_samples=(n - n // 2, n // 2), factor=0.5, shuffle=False)
    return x + noise * rng.standard_normal(x.shape), y


def blobs(n: int, noise: float, rng: np.random.Generator) -> Points:
    """Three round clusters with standard deviation `noise`, their centres on a circle of radius 1."""
    y = np.sort(np.arange(n) % 3)
    angles = np.pi / 2 + 2 * np.pi * y / 3
    centres = np.column_stack([np.cos(angles), np.sin(angles)])
    return centres + noise * rng.standard_normal(centres.shape), y


def xor(n: int, noise: float, rng: np.random.Generator) -> Points:
    """Four clusters in the corners of a square; the class is the exclusive or of the two signs."""
    corner = np.arange(n) % 4
    signs = np.column_stack([np.where(corner % 2 == 0, -1.0, 1.0), np.where(corner < 2, -1.0, 1.0)])
    y = (signs[:, 0] != signs[:, 1]).astype(np.int64)
    order = np.argsort(y, kind="stable")
    return signs[order] + noise * rng.standard_normal(signs.shape), y[order]


def stretched(n: int, noise: float, rng: np.random.Generator) -> Points:
    """Two long thin clusters side by side: x1 decides, x2 only spreads, ten times as far as they are apart."""
    y = np.sort(np.arange(n) % 2)
    across = np.where(y == 0, -0.25, 0.25) + noise * rng.standard_normal(n)
    along = rng.uniform(-2.5, 2.5, n)
    return np.column_stack([across, along]), y


def imbalanced(n: int, noise: float, rng: np.random.Generator) -> Points:
    """A small class (a tenth of the points, at least two) at the edge of a large one."""
    small = max(2, n // 10)
    y = np.repeat([0, 1], [n - small, small])
    centres = np.where(y[:, None] == 0, [0.0, 0.0], [1.5, 0.0])
    widths = np.where(y == 0, 2.0 * noise, noise)[:, None]
    return centres + widths * rng.standard_normal(centres.shape), y


Generator = Callable[[int, float, np.random.Generator], Points]
GENERATORS: dict[str, tuple[str, Generator, float, tuple[str, ...]]] = {
    "moons": ("Two moons", moons, 0.15, ("upper", "lower")),
    "circles": ("Circles", circles, 0.08, ("outer", "inner")),
    "blobs": ("Three blobs", blobs, 0.3, ("top", "left", "right")),
    "xor": ("XOR", xor, 0.35, ("same sign", "different sign")),
    "stretched": ("Stretched", stretched, 0.08, ("left", "right")),
    "imbalanced": ("Imbalanced", imbalanced, 0.35, ("large", "small")),
}
SEVEN_POINTS = "seven_points"
TOY_NAMES = (SEVEN_POINTS, *GENERATORS)


def toy_info(name: str) -> DatasetInfo:
    """What is known about a toy before it is made; sizes are those of the default n."""
    if name == SEVEN_POINTS:
        return _info(name, "The paper's seven points", 7, 0, 2, seven_points, {})
    title, generator, noise, classes = GENERATORS[name]
    options = {"n": DEFAULT_N, "noise": noise, "seed": 0}
    return _info(name, title, DEFAULT_N, DEFAULT_N, len(classes), generator, options)


def load_toy(name: str, n: int = DEFAULT_N, noise: float | None = None, seed: int = 0) -> Dataset:
    """A toy with `n` training points and `n` fresh test points from the same generator.

    `noise` is a standard deviation (None takes the set's own); the seven points take no options and have
    no test part. The same name and options give the same points.
    """
    if name == SEVEN_POINTS:
        if (n, noise, seed) != (DEFAULT_N, None, 0):
            raise ValueError("seven_points is a fixed layout; it takes no n, noise or seed")
        x, y = seven_points()
        return _dataset(name, "The paper's seven points", (x, y), (np.empty((0, 2)), y[:0]), ("triangle", "square"))
    title, generator, own_noise, classes = GENERATORS[name]
    width = own_noise if noise is None else float(noise)
    if not 6 <= n <= LARGEST_N:
        raise ValueError(f"n must be between 6 and {LARGEST_N}; got {n}")
    if not 0 <= width <= 100:
        raise ValueError(f"noise must be between 0 and 100; got {noise}")
    if seed < 0:
        raise ValueError(f"seed must not be negative; got {seed}")
    train, test = (generator(int(n), width, rng) for rng in np.random.default_rng(seed).spawn(2))
    return _dataset(name, title, train, test, classes)


def _dataset(name: str, title: str, train: Points, test: Points, classes: tuple[str, ...]) -> Dataset:
    return Dataset(
        name=name,
        title=title,
        group="toy",
        X_train=train[0],
        y_train=train[1].astype(np.int64),
        X_test=test[0],
        y_test=test[1].astype(np.int64),
        feature_names=("x1", "x2"),
        class_names=classes,
        scaling=fit_scaling(train[0], "none"),
    )


def _info(
    name: str,
    title: str,
    n_train: int,
    n_test: int,
    n_classes: int,
    made_by: Callable[..., Points],
    options: Mapping[str, float],
) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        title=title,
        group="toy",
        n_train=n_train,
        n_test=n_test,
        n_features=2,
        n_classes=n_classes,
        description=(made_by.__doc__ or "").split("\n")[0],
        source="made here",
        terms="free to use",
        options=options,
    )
