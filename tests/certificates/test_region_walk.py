"""Where at most two features can move the search ends with the exact radius, and no dense sample contradicts it."""

import itertools

import numpy as np
import pytest

from arml_core import MahalanobisKNN, Metric, ThreatModel
from arml_core.certificates.search import PointSearch
from arml_core.neighbors.point_set import PointSet
from tests import oracles, rational
from tests.attacks.oracles import truth
from tests.more import more
from tests.point_sets import point_set, triplets_of

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


def places_of_ties(X: np.ndarray, x: np.ndarray, radius: float, norm: float, rng) -> np.ndarray:
    """Points equally far from two training rows, where training order decides: middles, and others on bisectors."""
    a, b = rng.integers(len(X), size=(2, 20_000))
    middle, along = (X[a] + X[b]) / 2, (X[b] - X[a])[:, ::-1] * [1.0, -1.0]
    points = np.vstack([middle, middle + rng.integers(-4, 5, size=(len(a), 1)) / 4 * along])
    return points[np.linalg.norm(points - x, norm, axis=1) < radius * (1 - 1e-9)]


def check(knn: MahalanobisKNN, X, x: np.ndarray, threat: ThreatModel, rng, n_samples: int = 20_000):
    """One point: the upper side is real, no place of ties below the lower side flips, and no other below the upper."""
    found = knn.certify(x[None], method="search", threat=threat, budget=60.0)
    lower, upper, point = found.lower[0], found.upper[0], found.adversarial[0]
    assert lower <= upper < np.inf
    assert knn.predict(point[None])[0] != found.predicted[0]
    assert np.linalg.norm(point - x, threat.norm) == pytest.approx(upper, rel=1e-12)
    inside = x + upper * (1 - 1e-5) * moves(n_samples, threat.norm, point - x, rng)
    assert np.all(knn.predict(inside) == found.predicted[0])
    ties = places_of_ties(X, x, lower, threat.norm, rng)
    if len(ties):
        assert np.all(knn.predict(ties) == found.predicted[0])
    return found


@pytest.mark.parametrize("norm", [2, *more(1, np.inf)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_searched_to_the_end(layout, norm):
    """Sides may stay apart only where many bisectors coincide, so that a set of neighbours lives on a line of ties."""
    for seed, (n, k, n_classes) in enumerate([(300, 15, 2), (120, 4, 3), (40, 7, 4)]):
        rng = np.random.default_rng([seed, LAYOUTS.index(layout)])
        X, y = training_set(layout, n, n_classes, rng)
        y = np.where(X[:, 0] > np.median(X[:, 0]), y, 0)  # a side where class 0 is safe, so that radii are not tiny
        knn = MahalanobisKNN(k).fit(X, y)
        x = X[rng.integers(n)] + 0.3 * X.std() * rng.normal(size=2)
        found = check(knn, X, x, ThreatModel(norm=norm), rng, n_samples=20_000 if n == 300 else 4_000)
        assert found.exact[0] or layout in ("grid", "rings"), (found.lower, found.upper)


@pytest.mark.parametrize("norm", [2, *more(1, np.inf)])
def test_one_movable_feature_is_a_walk_along_a_line(norm):
    """The true radius by trying every cell between the places where two rows are equally far."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, k = (300, 15) if seed == 0 else (40, int(rng.integers(1, 8)))
        X, y = rng.normal(size=(n, 3)), rng.integers(3, size=n)
        x = rng.normal(size=3)
        threat = ThreatModel(norm=norm, frozen=[0, 2], costs=[1.0, 4.0, 1.0])
        knn = MahalanobisKNN(k).fit(X, y)
        found = knn.certify(x[None], method="search", threat=threat, budget=60.0)
        a, b = np.triu_indices(n, 1)
        gap = np.sum((X[a] - x) ** 2, axis=1) - np.sum((X[b] - x) ** 2, axis=1)
        steps = np.sort(gap / (2 * (X[a, 1] - X[b, 1])))  # where a and b are equally far
        steps = steps[np.abs(steps) < 5]
        cells = (steps[1:] + steps[:-1]) / 2
        answers = knn.predict(x + cells[:, None] * np.array([0.0, 1.0, 0.0]))
        nearer = np.where(cells > 0, steps[:-1], -steps[1:])  # the near end of each cell
        flipped = (answers != found.predicted[0]) & (np.diff(steps) > 1e-9)
        assert flipped.any()
        expected = 4.0 * nearer[flipped].min()
        assert found.exact[0]
        assert found.upper[0] == pytest.approx(expected, rel=1e-5)
        assert found.lower[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_two_rows_a_hair_apart_far_from_the_point(norm):
    """A boundary between rows 1e-5 apart, seen from a distance of 10: rounding may cost the upper side a little."""
    X = np.array([[0.0, 0.0], [1e-5, 0.0], [3.0, 9.0], [-4.0, 7.0]])
    knn = MahalanobisKNN(1).fit(X, [0, 1, 0, 0])
    found = knn.certify([[-1.0, -10.0]], method="search", threat=ThreatModel(norm=norm), budget=20.0)
    assert knn.predict(found.adversarial)[0] == 1
    assert 1.000005 * (1 - 1e-4) <= found.lower[0] <= 1.000005
    assert 1.000005 * (1 - 1e-9) <= found.upper[0] <= 1.02


class NeverFooled(PointSet):
    def predict(self, points, members):
        return self.labels[members]


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_without_an_upper_side_the_lower_one_is_the_truth(norm):
    """A classifier that is never seen to be fooled: nothing from above hides a bound that is too high."""
    for seed in range(10):
        rng = np.random.default_rng([seed, 5])
        X, y = training_set(LAYOUTS[seed % 5], 10, 2 + seed % 2, rng)
        x, k = rng.normal(size=2), 1 + seed % 4
        knn = MahalanobisKNN(k).fit(X, y)
        threat = ThreatModel(norm=norm)
        label = int(knn.predict(x[None])[0])
        points = NeverFooled(**vars(point_set(knn, x[None], threat)))
        search = PointSearch(triplets_of(knn, threat), points, 0, lambda *_: None, 0.0)
        search.run(60.0)
        real = truth(np.eye(2), X, y, x, label, k, oracles.Threat(norm))
        assert search.lower <= real.ruled * (1 + 1e-9)
        assert search.lower >= min(real.closed, 10 * np.ptp(X)) * (1 - 1e-5) - 1e-6 * np.ptp(X)


def test_a_box_that_lets_nothing_flip_proves_it():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 20])
    knn = MahalanobisKNN(5).fit(X, np.arange(40) // 20)
    found = knn.certify(X[:3], method="search", threat=ThreatModel(box=(-3.0, 3.0)), budget=20.0)
    assert np.all(found.lower > 6 * np.sqrt(2)), "nothing in the box is farther than its diagonal"
    assert np.isposinf(found.upper).all()


def test_the_corner_of_a_box_is_found():
    """The nearest flip without a box lies outside it; inside, the way goes along its side."""
    X, y = np.array([[0.0, 0.0], [4.0, 2.0]]), [0, 1]
    knn = MahalanobisKNN(1).fit(X, y)
    x = np.array([[0.5, 0.0]])  # flips where 2a + b >= 5; the box ends at a = 2
    threat = ThreatModel(box=((-9.0, -9.0), (2.0, 9.0)))
    found = knn.certify(x, method="search", threat=threat)
    free = knn.certify(x, method="search")
    assert free.upper[0] == pytest.approx(4.0 / np.sqrt(5.0), rel=1e-6)
    assert found.upper[0] == pytest.approx(np.hypot(1.5, 1.0), rel=1e-6)
    assert found.lower[0] == pytest.approx(np.hypot(1.5, 1.0), rel=1e-6)
    assert found.adversarial[0, 0] <= 2.0


def test_a_box_with_no_more_than_k_rows_in_reach():
    """Nobody can be exchanged, so nothing can flip."""
    X = np.array([[0.1], [-0.2], [-1.4], [-1.4], [0.3]])
    found = (
        MahalanobisKNN(3)
        .fit(X, [0, 1, 1, 0, 2])
        .certify([[0.17]], method="search", threat=ThreatModel(norm=1, box=(0.0, 0.0)))
    )
    assert np.isposinf(found.lower[0])
    assert np.isposinf(found.upper[0])


def test_a_feature_that_mostly_has_one_value_still_has_a_scale():
    """x lies on the boundary; both sides vanish against the data, whose movable feature is -1 in most rows."""
    X = np.array([[-1.0, 1.0], [-1.0, 1.0], [2.0, 2.0]])
    threat = ThreatModel(norm=np.inf, frozen=[1])
    found = MahalanobisKNN(1).fit(X, [1, 0, 0]).certify([[0.0, 3.0]], method="search", threat=threat)
    assert found.lower[0] == 0.0
    assert found.upper[0] <= 1e-9
    assert found.exact[0]


def test_where_nothing_is_known_to_flip_only_what_was_searched_is_promised():
    """Each negative sits among positives, so no place has two of them among its three neighbours."""
    X = np.array([[-10, 0], [10, 0], [-10, 0.1], [-10, -0.1], [10, 0.1], [10, -0.1], [0, 0], [0, 1], [0, -1]], float)
    knn = MahalanobisKNN(3).fit(X, np.array([1, 1, 0, 0, 0, 0, 0, 0, 0]))

    def lower(box):
        return knn.certify([[0.0, 0.0]], method="search", threat=ThreatModel(box=box), budget=60.0).lower[0]

    assert lower(([0, 0], [50, 50])) == np.inf
    assert 100 < lower(None) < np.inf


def before_a_boundary(knn: MahalanobisKNN, x: np.ndarray, gap: float) -> np.ndarray | None:
    """x moved along feature 0 to `gap` before the nearest place where its answer changes, by asking for answers."""
    label = knn.predict(x[None])[0]

    def at(step):
        return x + np.multiply.outer(step, np.eye(len(x))[0])

    steps = np.concatenate([np.geomspace(1e-9, 3, 400), -np.geomspace(1e-9, 3, 400)])
    flipped = steps[knn.predict(at(steps)) != label]
    if not len(flipped):
        return None
    inside, outside = 0.0, flipped[np.abs(flipped).argmin()]
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if knn.predict(at(middle)[None])[0] == label else (inside, middle)
    return at(outside - gap * np.sign(outside))


@pytest.mark.parametrize("free", [1, *more(2)])
def test_rows_far_from_the_rest_are_not_certified_beyond_the_digits_they_have(free):
    """A group 2e8 from the centre: G(x - centre) has an error of 1e-7, and the boundary is 3e-7 away."""
    n_features, asked = 8, 0
    for seed in (*range(7, 18), 37, 38):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(20, n_features)), np.array([0, 1] * 10)
        X[14:, free:] += 2e8 * rng.normal(size=n_features - free)
        G = rng.normal(size=(n_features, n_features))
        knn = MahalanobisKNN(3, Metric.from_components(G)).fit(X, y)
        x = before_a_boundary(knn, X[-1] + 0.5 * rng.normal(size=n_features), 3e-7)
        if x is None:
            continue
        found = knn.certify(x[None], method="search", threat=ThreatModel(frozen=range(free, n_features)))
        radius = rational.line_radius(G, X, y, x, 3, 0, label=found.predicted[0])  # no farther with two free features
        assert found.lower[0] <= radius, seed
        assert found.upper[0] >= radius or free == 2, seed
        assert not found.exact[0] or found.upper[0] - found.lower[0] <= 1e-6 * found.upper[0] + 1e-8, seed
        asked += radius > 0
    assert asked >= 5


def test_a_movable_feature_that_is_the_same_in_every_row_still_has_a_length():
    """It says nothing about the rows, but through the metric it moves x along the other feature."""
    G, X, y = np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([[1.0, 0], [1, 1], [1, 2], [1, -1]]), np.array([0, 1, 1, 0])
    for k, x in itertools.product((1, 3), ([1.0, 0.5], [1.0, 0.0], [3.0, -0.2])):  # one of them on top of a row
        knn = MahalanobisKNN(k, Metric.from_components(G)).fit(X, y)
        found = knn.certify([x], method="search", threat=ThreatModel(norm="l1", frozen=[1]))
        expected = float(rational.line_radius(G, X, y, x, k, 0))
        assert found.exact[0] == (expected > 0)  # 0 is not told from 1e-9 where there is no width to compare it with
        assert found.lower[0] <= expected <= found.upper[0] * (1 + 1e-12)
        assert found.upper[0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("same", [[0.0, 0.0], [0.3, 0.1]])
def test_rows_that_are_all_in_one_place_leave_nothing_to_search(same):
    knn = MahalanobisKNN(3).fit(np.tile(same, (5, 1)), [0, 0, 1, 1, 1])
    found = knn.certify([same], method="search")
    votes = knn.certify([same])
    assert votes.lower[0] <= found.lower[0] <= found.upper[0] == np.inf
