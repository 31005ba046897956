"""ε̃ and the losses against the paper's formula, brute force and finite differences."""

import numpy as np
import pytest
import torch

from arml_core.learners.neighbours import SortedByClass, rank_neighbours, rank_neighbours_of
from arml_core.learners.triplet_sampling import DecidingTriplets, TripletSampler
from arml_core.learners.triplets import LOSSES, differences, loss_and_gradient, triplet_radius

from .data import blobs

CPU = torch.device("cpu")


def triplet(n: int = 7, d: int = 4, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, positive, negative = (torch.randn(n, d, generator=generator, dtype=torch.float64) for _ in range(3))
    return x, positive, negative


def components(rank: int, d: int = 4, seed: int = 1) -> torch.Tensor:
    return torch.randn(rank, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("rank", [4, 1])
def test_radius_is_the_papers_quotient(rank):
    g, (x, i, j) = components(rank), triplet()
    m = (g.T @ g).numpy()
    radius = triplet_radius(g, x, i, j).numpy()
    for a, b, c, r in zip(x.numpy(), i.numpy(), j.numpy(), radius, strict=True):
        above = (a - c) @ m @ (a - c) - (a - b) @ m @ (a - b)
        assert r == pytest.approx(above / (2 * np.linalg.norm(m @ (b - c))), rel=1e-12)


def test_moving_by_the_radius_makes_both_equally_near():
    g, (x, i, j) = components(3), triplet()
    m = g.T @ g
    normal = (j - i) @ m
    step = triplet_radius(g, x, i, j)[:, None] * normal / normal.norm(dim=1, keepdim=True)
    to_i, to_j = ((x + step - i) @ g.T).square().sum(1), ((x + step - j) @ g.T).square().sum(1)
    np.testing.assert_allclose(to_i, to_j, rtol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rank", [4, 2, 1])
def test_gradient_by_finite_differences(loss, rank):
    g, (x, i, j) = components(rank), triplet(30)

    def value(flat):
        return float(LOSSES[loss](triplet_radius(torch.as_tensor(flat.reshape(rank, 4)), x, i, j)).mean())

    mean, gradient, radius = loss_and_gradient(g, *differences(x, i, j), loss)
    assert float(mean) == value(g.numpy().ravel())
    np.testing.assert_array_equal(radius, triplet_radius(g, x, i, j))
    flat, step = g.numpy().ravel(), 1e-6
    numeric = [(value(flat + step * e) - value(flat - step * e)) / (2 * step) for e in np.eye(flat.size)]
    np.testing.assert_allclose(gradient.numpy().ravel(), numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rank", [4, 1])
def test_gradient_equals_automatic_differentiation_with_coinciding_points(loss, rank):
    g, (x, i, j) = components(rank), triplet(30)
    j[3] = i[3]
    leaf = g.clone().requires_grad_()
    LOSSES[loss](triplet_radius(leaf, x, i, j)).mean().backward()
    np.testing.assert_allclose(loss_and_gradient(g, *differences(x, i, j), loss)[1], leaf.grad, rtol=1e-12, atol=1e-15)


def test_losses_are_the_named_functions():
    radius = torch.tensor([-2.0, 0.0, 0.5, 3.0], dtype=torch.float64)
    r = radius.numpy()
    expected = {
        "negative": -r,
        "hinge": np.maximum(1 - r, 0),
        "exponential": np.exp(-r),
        "logistic": np.log1p(np.exp(-r)),
    }
    for name, loss in LOSSES.items():
        np.testing.assert_allclose(loss(radius), expected[name], rtol=1e-12)


def test_coinciding_positive_and_negative_give_zero_and_no_gradient():
    x = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    same = torch.tensor([[1.0, 1.0]], dtype=torch.float64)
    g = torch.eye(2, dtype=torch.float64, requires_grad=True)
    radius = triplet_radius(g, x, same, same)
    radius.sum().backward()
    assert radius.item() == 0.0
    assert torch.equal(g.grad, torch.zeros(2, 2, dtype=torch.float64))


def test_float32_radius_does_not_cancel():
    """Two squared distances of 1e4 differ in the first decimal only: their float32 difference would be noise."""
    x, i, j = triplet()
    x, i, j = 0.01 * x + 100, 0.01 * i, 0.01 * j
    exact = triplet_radius(torch.eye(4, dtype=torch.float64), x, i, j)
    rounded = triplet_radius(torch.eye(4), x.float(), i.float(), j.float())
    np.testing.assert_allclose(rounded, exact, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sizes", [(400, 900, 300), (1, 2, 9, 30), (3, 2)])
def test_lists_are_the_nearest_of_each_kind(dtype, sizes):
    X, y = blobs(3, sizes, n_features=4)
    k, g = 6, components(3).to(dtype)
    points = SortedByClass(X, y, CPU, dtype)
    X, y = X[points.order], y[points.order]
    anchors = torch.arange(0, len(X), 3)
    lists = rank_neighbours(g, points, k, anchors)
    distances = (((X[:, None] - X[None]) @ g.double().numpy().T) ** 2).sum(-1)
    for row, a in enumerate(anchors.tolist()):
        same = [b for b in np.argsort(distances[a]) if y[b] == y[a] and b != a][:k]
        other = [b for b in np.argsort(distances[a]) if y[b] != y[a]][:k]
        assert lists.positive[row, : lists.n_positive[row]].tolist() == same
        assert lists.negative[row, : lists.n_negative[row]].tolist() == other


def test_lists_of_points_outside_the_training_set():
    X, y = blobs(4, (40, 50))
    points = SortedByClass(X[20:], y[20:], CPU, torch.float64)
    order = np.argsort(y[:20], kind="stable")
    rows, codes = points.place(X[:20][order], CPU, torch.float64), torch.as_tensor(y[:20][order])
    lists = rank_neighbours_of(torch.eye(5, dtype=torch.float64), points, 3, rows, codes)
    train, labels = X[20:][points.order], y[20:][points.order]
    for row, (x, c) in enumerate(zip(X[:20][order], y[:20][order], strict=True)):
        near = np.argsort(((train - x) ** 2).sum(1))
        assert lists.positive[row].tolist() == [b for b in near if labels[b] == c][:3]
        assert lists.negative[row].tolist() == [b for b in near if labels[b] != c][:3]


def test_draws_are_uniform_over_each_list():
    X, y = blobs(5, (2, 4, 20))
    points = SortedByClass(X, y, CPU, torch.float64)
    g = torch.eye(5, dtype=torch.float64)
    lists = rank_neighbours(g, points, 10, torch.arange(len(X)))
    positive, negative = lists.draw(torch.Generator().manual_seed(0), 2000)
    for row in (0, 3, 25):
        for drawn, near, count in (
            (positive, lists.positive, lists.n_positive),
            (negative, lists.negative, lists.n_negative),
        ):
            allowed = near[row, : count[row]]
            counts = (drawn[:, row, None] == allowed).sum(0)
            assert counts.sum() == 2000  # nothing but list members
            expected = 2000 / len(allowed)
            assert ((counts - expected) ** 2 / expected).sum() < 30  # χ², 9 degrees of freedom at most


def test_batches_run_through_all_points_before_one_comes_again():
    X, y = blobs(6, (30, 31, 1))
    points = SortedByClass(X, y, CPU, torch.float64)
    triplets = TripletSampler(points, 3, 10, torch.Generator().manual_seed(0), every=1)
    g = torch.eye(5, dtype=torch.float64)
    seen = []
    for _ in range(6):
        triplets.refresh(g)
        u, v = triplets.draw(g)
        assert u.shape == v.shape == (10, 5)
        seen += triplets.state()["anchors"].tolist()
    assert len(set(seen)) == 60
    lonely = int(np.flatnonzero(y[points.order] == 2)[0])
    assert lonely not in seen


@pytest.mark.parametrize("batch", [50, 20])
def test_triplets_drawn_ahead_are_those_drawn_one_by_one(monkeypatch, batch):
    """Each is of an anchor, one of its positives and one of its negatives, and the same whatever the way."""
    X, y = blobs(8, (20, 30))
    points = SortedByClass(X, y, CPU, torch.float64)
    g = torch.eye(5, dtype=torch.float64)

    def seen() -> list[torch.Tensor]:
        triplets = TripletSampler(points, 3, batch, torch.Generator().manual_seed(0), every=4)
        found = []
        for epoch in range(12):
            if epoch % 4 == 0:
                triplets.refresh(g)
            u, v = triplets.draw(g)
            near = rank_neighbours(g, points, 3, triplets.state()["anchors"])
            x, i = points.x[triplets.state()["anchors"]], points.x[near.positive]
            j = points.x[near.negative]
            every_u, every_v = differences(x[:, None, None], i[:, :, None], j[:, None])  # (A, 3, 3, D)
            hit = (every_u == u[:, None, None]).all(-1) & (every_v == v[:, None, None]).all(-1)
            assert hit.flatten(1).any(1).all()
            found += [u, v]
        return found

    ahead = seen()
    monkeypatch.setattr("arml_core.learners.triplet_sampling.PREDRAWN_VALUES", 0)
    for one, other in zip(ahead, seen(), strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(ahead[0], ahead[2])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_unsampled_triplet_decides_theorem_1(k):
    """kth-min_j kth-max_i over all pairs, by loops."""
    X, y = blobs(7, (4, 9, 3))
    points = SortedByClass(X, y, CPU, torch.float64)
    g = components(5, 5)
    anchors, i, j = DecidingTriplets(points, k).decide(g)
    radius = triplet_radius(g, points.x[anchors], points.x[i], points.x[j])
    X, y = X[points.order], y[points.order]
    m = (g.T @ g).numpy()
    for a, r in zip(anchors.tolist(), radius.tolist(), strict=True):
        own = [b for b in range(len(X)) if y[b] == y[a] and b != a]
        other = [b for b in range(len(X)) if y[b] != y[a]]
        table = np.array(
            [
                [
                    ((X[a] - X[q]) @ m @ (X[a] - X[q]) - (X[a] - X[p]) @ m @ (X[a] - X[p]))
                    / (2 * np.linalg.norm(m @ (X[p] - X[q])))
                    for q in other
                ]
                for p in own
            ]
        )
        over_i = np.sort(table, axis=0)[::-1][min(k, len(own)) - 1]
        assert r == pytest.approx(np.sort(over_i)[k - 1], rel=1e-9)
