"""Random problems of every awkward kind, each from one seed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from arml_core import MahalanobisKNN, ThreatModel
from tests import oracles

METRICS = ("identity", "diagonal", "full", "low_rank", "rank_1", "singular", "badly_scaled", "badly_scaled_diagonal")
LAYOUTS = ("gaussian", "blobs", "grid", "duplicates", "constant_feature", "singleton_class", "null_space_twins")


def engine_threat(threat: oracles.Threat) -> ThreatModel:
    """The oracle's threat as the engine takes it."""
    features = {"frozen": threat.frozen, "only_up": threat.only_up, "only_down": threat.only_down}
    given = {name: list(some) for name, some in (features | {"free": threat.at_no_cost}).items() if some}
    box = threat.box
    if box is not None and threat.by_row:
        box = tuple(np.atleast_2d(np.asarray(side, dtype=float)) for side in box)
    switches = [{"features": features, "values": values} for features, values in threat.switches]
    return ThreatModel(threat.norm, threat.costs, box=box, **given, switches=switches, max_switches=threat.most)


@dataclass
class Case:
    """A training set, a metric, points to certify, and which rows do not exist for each of them."""

    M: np.ndarray
    X: np.ndarray
    y: np.ndarray
    points: np.ndarray
    k: int
    threat: oracles.Threat = field(default_factory=oracles.Threat)
    exclude: list[list[int]] | None = None

    @property
    def allowance(self) -> float:
        """The stated rounding: 4(D + r + 8) units, of both vectors of a distance, twice for what predict does."""
        return 16 * (self.X.shape[1] + np.linalg.matrix_rank(self.M) + 8) * 2.0**-53 * 1.01

    def left_out(self, b: int) -> list[int]:
        return [] if self.exclude is None else self.exclude[b]

    def fitted(self) -> MahalanobisKNN:
        return MahalanobisKNN(n_neighbors=self.k, metric=self.M).fit(self.X, self.y)

    @property
    def scale(self) -> float:
        """The size of the data: what a vanishing radius is compared with."""
        return float(np.abs(np.vstack([self.X, self.points])).max())

    def certify(self, method: str, **options):
        knn = options.pop("knn", None) or self.fitted()
        exclude = self.exclude
        return knn.certify(self.points, method=method, threat=engine_threat(self.threat), exclude=exclude, **options)


def make_metric(kind: str, n_features: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "identity":
        return np.eye(n_features)
    if kind == "diagonal":
        return np.diag(rng.integers(0, 4, n_features) + np.eye(n_features)[0])
    if kind == "full":
        g = rng.normal(size=(n_features, n_features))
    elif kind == "low_rank":
        g = rng.normal(size=(max(1, n_features // 2), n_features))
    elif kind == "rank_1":
        g = rng.normal(size=(1, n_features))
    elif kind == "singular":  # a projection with small whole numbers: exact in floats
        g = np.vstack([np.ones(n_features), np.eye(n_features)[0]])
    elif kind == "badly_scaled":
        turn, _ = np.linalg.qr(rng.normal(size=(n_features, n_features)))
        g = np.sqrt(np.geomspace(1e-6, 1e6, n_features))[:, None] * turn
    elif kind == "badly_scaled_diagonal":
        g = np.diag(np.sqrt(np.geomspace(1e-6, 1e6, n_features)))
    return g.T @ g


def make_data(layout: str, n: int, n_features: int, n_classes: int, M: np.ndarray, rng: np.random.Generator):
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    X = rng.normal(size=(n, n_features))
    if layout == "blobs":
        X += 1.5 * rng.normal(size=(n_classes, n_features))[y]
    elif layout == "grid":
        X = rng.integers(0, 3, size=(n, n_features)).astype(float)
    elif layout == "duplicates":  # many rows on top of each other, whatever their labels
        X = X[rng.integers(n // 3, size=n)]
    elif layout == "constant_feature":
        X[:, -1] = 0.75
    elif layout == "singleton_class":
        y[y == n_classes - 1] = 0
        y[n // 2] = n_classes - 1
    elif layout == "null_space_twins":
        _, values, directions = np.linalg.svd(M)
        null = directions[values <= 1e-14 * values.max()]
        source = rng.integers(n // 2, size=n)
        X = X[source] + rng.normal(size=(n, len(null))) @ null
    order = rng.permutation(n)
    return X[order], y[order]


def make_case(seed: int, even_k: bool = False, n: int = 26, max_k: int = 15, n_points: int = 3) -> Case:
    """One problem; the seed walks through all metrics and layouts and draws the rest."""
    rng = np.random.default_rng(seed)
    metric = METRICS[seed % len(METRICS)]
    layout = LAYOUTS[seed // len(METRICS) % len(LAYOUTS)]
    n_features = int(rng.integers(2, 6))
    n_classes = int(rng.integers(2, 7))
    M = make_metric(metric, n_features, rng)
    X, y = make_data(layout, n, n_features, n_classes, M, rng)
    k = int(rng.integers(1, max_k + 1))
    k = k + k % 2 if even_k else k - 1 + k % 2
    threat = make_threat(n_features, rng)
    points = rng.normal(size=(n_points, n_features))
    own = rng.integers(n, size=n_points)
    on_training = rng.random(n_points) < 0.5
    points[on_training] = X[own[on_training]]
    exclude = None
    if seed % 3 == 0:  # leave-one-out, and for some points a few rows more
        others = [list(rng.choice(n, size=rng.integers(0, 4), replace=False)) for _ in range(n_points)]
        exclude = [sorted({int(own[b]), *map(int, others[b])}) for b in range(n_points)]
    return Case(M, X, y, points, k, threat, exclude)


def make_threat(n_features: int, rng: np.random.Generator) -> oracles.Threat:
    norm = float(rng.choice([1.0, 2.0, 2.0, np.inf]))
    costs = np.exp(rng.normal(size=n_features)) if rng.random() < 0.3 else None
    n_frozen = int(rng.integers(1, n_features)) if rng.random() < 0.3 else 0
    frozen = tuple(sorted(int(f) for f in rng.choice(n_features, size=n_frozen, replace=False)))
    return oracles.Threat(norm=norm, costs=costs, frozen=frozen)


def assert_same_radius(got: float, expected: float, scale: float, rtol: float = 1e-6) -> None:
    """Equal to `rtol`, or both vanishing against the data's scale."""
    assert_between(got, expected, expected, scale, rtol)


def assert_between(got: float, least: float, most: float, scale: float, rtol: float = 1e-6) -> None:
    assert got >= least * (1 - rtol) - 1e-9 * scale, (got, least, most)
    assert got <= most * (1 + rtol) + 1e-9 * scale, (got, least, most)
