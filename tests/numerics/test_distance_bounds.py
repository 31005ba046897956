"""Float32 may choose candidates, never decide: the screen's bounds hold, and near ties come out right."""

import numpy as np
import pytest
import torch

import arml_core.numerics.distance_bounds as screen_module
from arml_core import MahalanobisKNN
from arml_core.numerics.distance_bounds import DistanceBounds, power_of_two
from arml_core.numerics.distance_kernels import Vectors, as_columns, centres_of, upper_distances_to
from arml_core.numerics.smallest import keep_smallest
from tests.point_sets import references_of


def true_squares(u: np.ndarray, points: np.ndarray) -> np.ndarray:
    difference = u[:, None].astype(np.longdouble) - points
    return (difference**2).sum(axis=2)


@pytest.mark.parametrize("far", [1e6, 0.0])
@pytest.mark.parametrize("shape", ["cloud", "offset", "clusters", "outlier", "duplicates", "tiny", "huge", "zero"])
def test_bounds_enclose_the_true_squared_distances(shape, far, monkeypatch):
    monkeypatch.setattr(screen_module, "FAR", far)  # 0: every query is screened in float64
    for seed in range(6):
        rng = np.random.default_rng(seed)
        points, u = rng.normal(size=(60, 5)), rng.normal(size=(9, 5))
        if shape == "offset":
            points, u = points + 300, u + 300
        elif shape == "clusters":
            points[:30] += 1000
            u[:4] += 1000
        elif shape == "outlier":
            points[0] = 1e6
        elif shape == "duplicates":
            u = points[:9].copy()
        elif shape in ("tiny", "huge"):
            points, u = (a * (1e-30 if shape == "tiny" else 1e30) for a in (points, u))
        elif shape == "zero":
            points, u = points * 0, u * 0
        slack, own_slack = (1e-9 * np.linalg.norm(a, axis=1) for a in (points, u))
        rows = DistanceBounds(points, slack, torch.device("cpu")).query(u, own_slack)
        unit = float(rows.side.scale) ** 2
        lower = (rows.lower + rows.constant[:, None]).double().numpy() * unit
        upper = (rows.lower + rows.width(slice(None)) + rows.constant[:, None]).double().numpy() * unit
        truth = np.sqrt(true_squares(u, points))
        moved = own_slack[:, None] + slack  # the bounds hold for points that are off by their slack
        assert np.all(lower <= np.maximum(truth - moved, 0) ** 2)
        assert np.all(upper >= (truth + moved) ** 2)
        few, places = rows.nearest(slice(10, 60), 7)
        within = (rows.lower + rows.width(slice(None))).numpy()[:, 10:]
        np.testing.assert_allclose(few, np.sort(within, axis=1)[:, :7], rtol=1e-5)
        assert np.all(few >= np.take_along_axis(within, places - 10, axis=1) * (1 - np.sign(few) * 1e-6))
        squares = rows.squared_upper().astype(np.float64) * unit
        assert np.all(squares >= (truth + moved) ** 2 * (1 - 1e-6))


@pytest.mark.parametrize("order", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_distances_between_a_few_points_are_not_too_small(offset, order):
    for seed, dimension in enumerate((1, 2, 3, 4, 7, 40)):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(30, dimension)) + offset
        points[7] = points[3]
        slack = 1e-9 * np.linalg.norm(points, axis=1)
        bounds = DistanceBounds(points, slack, torch.device("cpu"))
        scale = bounds.scale if order == 2 else 1.0
        vectors = bounds.vectors() if order == 2 else Vectors(points, slack, slack, 1 + 1e-6, order)
        places = rng.permutation(30)[:11]
        found = np.empty(11, vectors.points.dtype)
        for j in range(30):
            upper_distances_to(vectors, j, places, as_columns(vectors.points, places), found)
            truth = np.linalg.norm(points[j] - points[places], ord=order, axis=1) + slack[j] + slack[places]
            assert np.all(found.astype(np.float64) * scale >= truth * (1 - 1e-6))
            spread = np.linalg.norm(points[j]) + np.linalg.norm(points[places], axis=1) if order == 2 else truth
            assert np.all((found.astype(np.float64) * scale) ** 2 <= truth**2 + 2e-5 * spread**2)


@pytest.mark.parametrize("order", [1.0, 2.0, np.inf])
def test_centres_of_points(order):
    rng = np.random.default_rng(0)
    points, places = rng.normal(size=(40, 6)), rng.integers(0, 40, (5, 9))
    counts = np.array([9, 1, 4, 9, 2])
    centre, away = centres_of(points, places, counts, order)
    for b, count in enumerate(counts):
        some = points[places[b, :count]]
        np.testing.assert_allclose(centre[b], some.mean(axis=0))
        expected = np.linalg.norm(some - some.mean(axis=0), ord=order, axis=1)
        np.testing.assert_allclose(away[b, :count], expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_smallest_of_a_row(dtype):
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 3000))
        count = int(rng.integers(1, min(n, 150) + 1))
        row = np.round(rng.random(n), int(rng.integers(1, 6))).astype(dtype)
        row[rng.random(n) < 0.1] = [np.inf, np.nan][int(rng.integers(2))]
        if rng.random() < 0.3:
            row = -np.sort(-row)
        values, places = np.empty(count, dtype), np.empty(count, dtype=np.intp)
        keep_smallest(row, values, places)
        numbers = np.where(np.isnan(row), np.inf, row)
        np.testing.assert_array_equal(values, np.sort(numbers)[:count])
        np.testing.assert_array_equal(values, numbers[places])
        assert len(set(places.tolist())) == count


@pytest.mark.parametrize(("value", "power"), [(1.0, 1.0), (1.1, 2.0), (0.3, 0.5), (0.0, 1.0), (1024.0, 1024.0)])
def test_scaling_is_by_a_power_of_two(value, power):
    assert power_of_two(value) == power


@pytest.mark.parametrize("offset", [0.0, 1.0, 1000.0])
@pytest.mark.parametrize("gap", [1e-6, 1e-8, 1e-10])
def test_distances_that_float32_cannot_tell_apart_are_ranked_right(gap, offset):
    """300 rows on a sphere whose radii differ far below float32's resolution, shuffled, far from the centre."""
    rng = np.random.default_rng(0)
    direction = rng.normal(size=(300, 4))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    order = rng.permutation(300)
    X = offset + direction * (1 + gap * order)[:, None]
    X = np.vstack([X, -offset * np.ones((40, 4)) - 50])  # draws the centre away
    x = np.full((1, 4), offset)
    d = true_squares(x, X)[0]
    k = 15
    expected = np.argsort(d, kind="stable")[:k]
    if np.diff(np.sort(d)[: k + 1]).min() < 1e-13 * (1 + offset):
        pytest.skip("the rounding of the coordinates themselves is larger than the gaps")
    knn = MahalanobisKNN(k).fit(X, np.arange(340) % 3)
    np.testing.assert_array_equal(knn.kneighbors(x)[1][0], expected)


@pytest.mark.parametrize("k", [1, 5, 11, 60])
@pytest.mark.parametrize("shape", ["cloud", "grid", "duplicates", "offset"])
def test_what_the_screen_decides_alone_is_the_set_of_the_nearest(shape, k):
    rng = np.random.default_rng(k)
    x, queries = rng.normal(size=(60, 4)), rng.normal(size=(80, 4))
    if shape == "grid":
        x, queries = np.round(2 * x), np.round(2 * queries) / 2
    elif shape == "duplicates":
        x[30:] = x[:30]
    elif shape == "offset":
        x, queries = x + 1000, queries + 1000
    knn = MahalanobisKNN(k, metric=np.diag([1.0, 2.0, 0.5, 1.0])).fit(x, np.arange(60) % 3)
    sets, decided = references_of(knn).nearest_sets(queries, k)
    nearest = references_of(knn).nearest(queries, k)[1]
    np.testing.assert_array_equal(np.sort(sets[decided], axis=1), np.sort(nearest[decided], axis=1))
    if shape == "cloud" and k < 60:
        assert decided.mean() > 0.9
    votes = np.array([np.bincount(row % 3, minlength=3).argmax() for row in nearest])
    np.testing.assert_array_equal(knn.predict(queries), votes)
