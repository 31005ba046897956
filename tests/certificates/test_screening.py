"""What is screened out is out for good: each screening bound holds, for every negative, and so does the rest's."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.certificates.candidates import Screening
from arml_core.certificates.screening_kernels import Near, Stop, bound_a, largest_quotients
from arml_core.certificates.triplet import Triplets
from arml_core.certificates.triplet_rows import TripletRows
from tests.more import seeds
from tests.point_sets import references_of

DUAL = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}


def problem(seed: int, norm: float):
    """A random screening of one class's test points, and S_m of every negative of theirs by computing all pairs."""
    rng = np.random.default_rng(seed)
    dimension, n, classes = int(rng.integers(1, 9)), int(rng.integers(60, 300)), int(rng.integers(2, 5))
    x = rng.normal(size=(n, dimension)) + rng.normal(size=(classes, dimension))[rng.integers(0, classes, n)]
    y = rng.integers(0, classes, n)
    y[: 12 * classes] = np.arange(12 * classes) % classes  # at least a dozen of each
    if seed % 3 == 1:
        x = np.round(2 * x) / 2  # duplicates and ties
    if seed % 5 == 2:
        x += 50.0
    g = rng.normal(size=(max(1, dimension - seed % 2), dimension)) if seed % 4 else np.eye(dimension)
    knn = MahalanobisKNN(3, metric=g.T @ g).fit(x, y)
    references = references_of(knn)
    triplets = Triplets(references, ThreatModel(norm).resolve(dimension))
    label, m = int(rng.integers(classes)), int(rng.integers(0, 6))
    points = x[rng.integers(0, n, 7)] + 0.3 * rng.normal(size=(7, dimension))
    exclude = np.full((7, 2), -1)
    if seed % 2:
        exclude[:, 0] = rng.integers(0, n, 7)
        exclude[:3, 1] = rng.integers(0, n, 3)
    rows = TripletRows(triplets, points, label, exclude if seed % 2 else None)
    screening = Screening(triplets, rows, m, exclude if seed % 2 else None)

    metric, order = g.T @ g, references.order
    truth = np.full((7, n), np.inf)  # by place; +inf for positives and what is left out
    for b in range(7):
        gone = exclude[b][exclude[b] >= 0]
        d = np.einsum("nd,de,ne->n", x[order] - points[b], metric, x[order] - points[b])
        positive = (y[order] == label) & ~np.isin(np.arange(n), gone)
        for j in np.flatnonzero((y[order] != label) & ~np.isin(np.arange(n), gone)):
            below = np.linalg.norm((x[order[j]] - x[order[positive]]) @ metric, ord=DUAL[norm], axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.nan_to_num((d[j] - d[positive]) / (2 * below), nan=0.0, posinf=np.inf, neginf=0.0)
            truth[b, j] = max(0.0, np.sort(values)[-m - 1])
    return screening, truth, rng


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("seed", seeds(60))
def test_screening_bounds_hold(seed, norm):
    screening, truth, rng = problem(seed, norm)
    tolerance = 1 + 1e-9, 1e-6 * np.median(truth[np.isfinite(truth)])
    everyone = np.arange(7)
    limit = truth.min(axis=1) * rng.choice([0.5, 1.0, 1.5, 4.0]) + tolerance[1]
    lists = [
        screening.candidates(everyone, 5),
        screening.candidates(everyone, 10_000),
        screening.candidates(everyone, 6, Stop(1.1, 3, np.empty(0, dtype=np.intp))),
        screening.candidates(everyone, 9, Stop(1.0, 2, np.array([2, 0, 1, 2]))),
        screening.candidates(everyone[::-1], 8, below=limit[::-1]),
    ]
    for which, found in zip([everyone] * 4 + [everyone[::-1]], lists, strict=True):
        for row, b in enumerate(which):
            listed = found.place[row][np.isfinite(found.bound[row])]
            assert len(set(listed.tolist())) == len(listed)
            own = found.bound[row][np.isfinite(found.bound[row])]
            assert np.all(own <= truth[b, listed] * tolerance[0] + tolerance[1])
            assert np.all(np.diff(own) >= 0)
            others = np.delete(truth[b], listed)
            assert found.rest[row] <= others.min(initial=np.inf) * tolerance[0] + tolerance[1]
    assert np.all(np.isfinite(truth).sum(axis=1) == np.isfinite(lists[1].bound).sum(axis=1))  # a complete list
    promising = screening.promising(everyone, limit)
    assert np.all(promising >= (truth < limit[:, None] - tolerance[1]).sum(axis=1))


@pytest.mark.parametrize("m", [1, 2, 5])
def test_the_bound_by_squares_where_it_is_tight(m):
    """All positives are as near to x; m of them coincide with the negative where it may move, the others are 2 away."""
    q = 4 * (m + 1)
    positives = np.tile([0.0, 2.0], (q, 1))
    positives[:m] = [2.0 - 1e-6, np.sqrt(4.0 - (2.0 - 1e-6) ** 2)]
    X = np.concatenate([positives, [[2.0, 1.0]], [[9.0, 9.0 + k] for k in range(3)]])
    y = np.repeat([0, 1], [q, 4])
    triplets = Triplets(references_of(MahalanobisKNN(3).fit(X, y)), ThreatModel(frozen=[1]).resolve(2))
    screening = Screening(triplets, TripletRows(triplets, np.zeros((1, 2)), 0, None), m, None)
    radius = 0.25  # (5 - 4) / (2 · 2)
    assert screening.promising(np.arange(1), np.array([radius * (1 + 1e-6)]))[0] == 1  # bound (a) is below it,
    assert screening.promising(np.arange(1), np.array([radius * (1 - 1e-3)]))[0] == 0  # and hardly


@pytest.mark.parametrize("seed", seeds(20))
def test_in_l2_the_first_bound_is_close(seed):
    """Not only valid: a list by bound (a) is short. Without the mean of the squares it is many times longer."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(3, 30))
    y = np.arange(3000) % 3
    x = centres[y] + 0.7 * rng.normal(size=(3000, 30))
    references = references_of(MahalanobisKNN(11).fit(x, y))
    triplets = Triplets(references, ThreatModel().resolve(30))
    rows = TripletRows(triplets, centres[:1], 0, None)
    screening = Screening(triplets, rows, 5, None)
    sixth = np.sort(screening.candidates(np.arange(1), 50).bound[0])[5]
    assert screening.promising(np.arange(1), np.array([sixth]))[0] < 400


def test_largest_quotients():
    rng = np.random.default_rng(0)
    n, p, below = rng.random(30), rng.random((4, 50)), rng.random((6, 50))
    below[2, :5] = 0.0
    p[1, 7] = np.inf
    b, row = rng.integers(0, 4, 30), rng.integers(0, 6, 30)
    for count in (1, 3, 20):
        values, places = largest_quotients(n, p, b, below, row, 2.0, count)
        with np.errstate(divide="ignore"):
            every = (n[:, None] - p[b]) / (2.0 * below[row])
        expected = -np.sort(-every, axis=1)[:, :count]
        np.testing.assert_array_equal(values, np.maximum(expected, 0.0))
        np.testing.assert_array_equal(np.take_along_axis(every, places, axis=1), expected)


def test_what_overflows_is_not_known():
    one = np.ones(1, np.float32)
    near = Near(p=0 * one, last=0 * one, mean=0 * one, variance=0 * one, reach=one, scatter=one, share=one)
    lower = np.array([[2.0, 1e25, np.nan, -3.0]], np.float32)
    bound = np.ones_like(lower)
    bound_a(lower, bound, near)
    assert bound[0, 0] > 0.9
    assert bound[0, 1:].tolist() == [0, 0, 0]  # the square of 1e25 is no float32
