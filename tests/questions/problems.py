"""Small tables with two numbers and two categories, and classifiers of them, for answers by brute force."""

import itertools

import numpy as np

from arml_core import MahalanobisKNN
from tests import oracles
from tests.attacks.oracles import truth

NAMES = ("a", "b", "island=N", "island=S", "island=W", "sex")
ISLAND, SEX = (2, 3, 4), (5,)
VALUES = {ISLAND: [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)], SEX: [(0.0,), (1.0,)]}


def table(seed, n=12, spread=1.0):
    """Rows of two numbers, an island of three and a sex of two; all islands and both sexes are there."""
    rng = np.random.default_rng(seed)
    island = np.eye(3)[np.append([0, 1, 2], rng.integers(0, 3, n - 3))]
    sex = np.append([0, 1], rng.integers(0, 2, n - 2))[:, None]
    return np.hstack([spread * rng.normal(size=(n, 2)), island, sex])


def fitted(seed, k=3, n=12, classes=2):
    """A classifier, with M and the training rows and labels for the oracles; every class has rows."""
    rng = np.random.default_rng(1000 + seed)
    X, y = table(seed, n), rng.permutation(np.arange(n) % classes)
    g = np.diag(0.5 + rng.random(6)) if seed % 2 else np.eye(6) + 0.2 * rng.normal(size=(6, 6))
    M = g.T @ g
    return MahalanobisKNN(k, M).fit(X, y), M, X, y


def versions_of(x, groups, most=None):
    """Every row that is `x` with other values in some of the groups, `x` first; at most so many groups at once."""
    found = []
    for picked in itertools.product(*([None, *VALUES[group]] for group in groups)):
        version, switched = x.copy(), 0
        for group, value in zip(groups, picked, strict=True):
            if value is not None and not np.array_equal(x[list(group)], value):
                version[list(group)] = value
                switched += 1
            elif value is not None:
                break
        else:
            if most is None or switched <= most:
                found.append(version)
    return found


def least_truth(M, X, y, versions, label, k, norm=2.0, frozen=()):
    """The smallest true radius of some rows, with the label to keep; frozen features do not move."""
    threat = oracles.Threat(norm, None, tuple(frozen))
    return min(
        0.0 if oracles.predict(M, X, y, v, k) != label else truth(M, X, y, v, label, k, threat).closed for v in versions
    )
