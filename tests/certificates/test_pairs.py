"""Pair weights in ℓ1 and ℓ∞: never above the joint move that a linear program finds, nor below either one alone."""

from fractions import Fraction

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.certificates.least_distance import least_distance_by_highs
from arml_core.certificates.pairs import PairGraph
from arml_core.certificates.triplet_rows import TripletRows
from tests.more import seeds
from tests.point_sets import triplets_of


def graph_of(M, X, y, x, norm, depth, rest=np.inf):
    """All negatives of x (class 0), and their training indices."""
    triplets = triplets_of(MahalanobisKNN(1, M).fit(X, y), ThreatModel(norm))
    rows = TripletRows(triplets, x[None].astype(np.float64), 0, None)
    references = triplets.references
    place = np.flatnonzero(references.label[references.order] != 0)
    return PairGraph(triplets, rows, 0, place, depth, rest), references.order[place]


def joint_moves(M, X, y, x, negatives, norm):
    """The smallest moves that bring all `negatives` as near as one positive, for each of these, the largest first."""
    sizes = []
    for i in np.flatnonzero(y == 0):
        normals = 2 * (X[negatives] - X[i]) @ M
        offsets = np.array([(X[i] - X[j]) @ M @ (2 * x - X[i] - X[j]) for j in negatives])
        delta, _, feasible = least_distance_by_highs(normals, offsets, norm)
        sizes.append(np.linalg.norm(delta, norm) if feasible else np.inf)
    return -np.sort(-np.array(sizes))


def problem(seed: int):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(2, 9)), 12
    y = np.concatenate([[0, 0, 0, 1, 1], rng.integers(2, size=n - 5)])
    X = rng.normal(size=(n, d)) + (y[:, None] * np.eye(d)[0])
    if seed % 3 == 0:
        X = np.round(2 * X) / 2  # ties, and negatives at the place of a positive
    if seed % 3 == 1:
        X[-3:] = X[3:6]
    G = rng.normal(size=(d, d)) if seed % 2 else np.eye(d)
    x = X[0] + 0.3 * rng.normal(size=d) + (1e4 if seed % 5 == 4 else 0.0)
    return G.T @ G, X, y, x


@pytest.mark.parametrize("norm", [1.0, np.inf])
@pytest.mark.parametrize("seed", seeds(16))
def test_weights_lie_between_the_single_costs_and_the_joint_move(seed, norm):
    M, X, y, x = problem(seed)
    depth = int((y == 0).sum())
    graph, index = graph_of(M, X, y, x, norm, depth)
    single = graph.weight[np.arange(len(index)), np.arange(len(index))]
    for a, j in enumerate(index):
        for b in range(a):
            real, got = joint_moves(M, X, y, x, [j, index[b]], norm), graph.weight[a, b]
            assert np.all(got <= real * (1 + 1e-7) + 1e-9), (a, b, got, real)
            assert np.all(got >= np.maximum(single[a], single[b])), (a, b)
            assert np.all(np.diff(got) <= 0), "fewer positives behind cannot cost more"
    np.testing.assert_array_equal(graph.weight, graph.weight.transpose(1, 0, 2))


@pytest.mark.parametrize("norm", [1.0, np.inf])
def test_most_of_what_a_pair_costs_beyond_the_dearer_one_is_found(norm):
    """The first order of weight against the linear program, over problems where the two differ."""
    shares = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], 6)
        X = rng.random((12, 10)) + 0.2 * y[:, None]
        x = X[:6].mean(axis=0)
        graph, index = graph_of(np.eye(10), X, y, x, norm, 3)
        single = graph.weight[np.arange(len(index)), np.arange(len(index)), 0]
        for a, j in enumerate(index):
            for b in range(a):
                real, alone = joint_moves(np.eye(10), X, y, x, [j, index[b]], norm)[0], max(single[a], single[b])
                if real > alone * 1.01:
                    shares.append((graph.weight[a, b, 0] - alone) / (real - alone))
    assert len(shares) > 20
    assert np.mean(shares) > 0.95


@pytest.mark.parametrize("norm", [1.0, np.inf])
def test_two_that_pull_apart_cost_what_both_cost(norm):
    """x = 0 with its positive there; one negative along each axis: the joint move reaches both."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    graph, _ = graph_of(np.eye(2), X, np.array([0, 1, 1]), np.zeros(2), norm, 1)
    assert graph.weight[0, 0, 0] == pytest.approx(0.5)
    assert graph.weight[0, 1, 0] == pytest.approx(1.0 if norm == 1 else 0.5)
    assert graph.weight[0, 1, 0] <= (1.0 if norm == 1 else 0.5)


@pytest.mark.parametrize("norm", [1.0, np.inf])
@pytest.mark.parametrize("far", [0.0, 1e3, 1e6])
def test_rounding_never_lifts_a_weight_above_the_exact_value(norm, far):
    """Two negatives in one place cost together what one of them does, known in whole numbers."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.random((4, 5)) + far
        X[3] = X[2]
        x = X[0] + rng.random(5) / 8
        graph, _ = graph_of(np.eye(5), X, np.array([0, 0, 1, 1]), x, norm, 2)
        exact = []
        for i in (0, 1):
            here, there, at = ([Fraction(value) for value in row] for row in (X[i], X[2], x))
            half = sum((t - p) * (t + p - 2 * a) for t, p, a in zip(there, here, at, strict=True)) / 2
            lengths = [abs(t - p) for t, p in zip(there, here, strict=True)]
            exact.append(max(half / (max(lengths) if norm == 1 else sum(lengths)), Fraction(0)))
        exact.sort(reverse=True)
        assert all(Fraction(got) <= value for got, value in zip(graph.weight[0, 1], exact, strict=True))


@pytest.mark.parametrize("norm", [1.0, np.inf])
def test_pairs_that_are_too_dear_anyway_are_left_as_their_dearer_one(norm):
    M, X, y, x = problem(2)
    everything, _ = graph_of(M, X, y, x, norm, 2)
    cut, _ = graph_of(M, X, y, x, norm, 2, rest=0.0)
    single = everything.weight[np.arange(len(everything.place)), np.arange(len(everything.place))]
    np.testing.assert_array_equal(cut.weight, np.maximum(single[:, None], single[None]))
