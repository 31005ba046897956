"""With many classes, rows of all other classes hold a winner back, not only those of the label."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from tests import oracles
from tests.attacks.oracles import truth
from tests.certificates.test_branch import without_attack
from tests.more import seeds

NORMS = [1.0, 2.0, np.inf]


def behind_others(d: int = 3):
    """K = 5: the nearest are of classes 0, 0, 1, 2, 3; more rows of 1 to 3 come in turn behind each other."""
    rng = np.random.default_rng(0)
    distance = np.concatenate([[0.1, 0.12, 0.2, 0.21, 0.22], np.linspace(1.0, 2.0, 9)])
    y = np.array([0, 0, 1, 2, 3, *np.tile([2, 3, 1], 3)])
    away = rng.normal(size=(len(y), d))
    return distance[:, None] * away / np.linalg.norm(away, axis=1, keepdims=True), y, np.zeros(d)


@pytest.mark.parametrize("norm", NORMS)
def test_five_nearest_of_four_classes_have_a_positive_radius(norm):
    """Ordered against the two rows of its own class alone, nothing is proved: both may be inside and outvoted."""
    X, y, x = behind_others()
    knn = MahalanobisKNN(5).fit(X, y)
    votes = knn.certify(x[None], threat=ThreatModel(norm))
    real = truth(np.eye(3), X, y, x, 0, 5, oracles.Threat(norm))
    assert oracles.votes_by_positives(np.eye(3), X, y, x, 0, 5, oracles.Threat(norm)) == 0
    assert 0.1 < votes.lower[0] <= real.ruled
    assert without_attack(knn, x, ThreatModel(norm))[0] <= real.ruled * (1 + 1e-7)


@pytest.mark.parametrize("d", [1, 3])  # along the line, and by branch and bound
def test_an_undecided_row_is_not_held_back_by_a_chosen_one(d):
    """K = 3: choosing the one row of class 0 and putting everything unchosen behind it would prove 1.6."""
    X, x = np.zeros((5, d)), np.zeros(d)
    X[:, 0] = 0.0, 0.5, -0.6, 1.2, 2.0
    y = np.array([2, 2, 1, 1, 0])
    knn = MahalanobisKNN(3).fit(X, y)
    assert truth(np.eye(d), X, y, x, 2, 3).ruled == pytest.approx(1.0)
    assert without_attack(knn, x, ThreatModel())[0] == pytest.approx(1.0, rel=1e-6)
    found = knn.certify(x[None], method="search", budget=10.0)
    assert found.lower[0] <= 1.0
    assert found.upper[0] == pytest.approx(1.0, rel=1e-6)
    assert knn.certify(x[None]).lower[0] <= 1.0


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", seeds(40))
def test_never_above_the_truth_nor_below_what_positives_prove(seed, norm):
    rng = np.random.default_rng(300 + seed)
    n, d, k = 12, 2 + seed % 3, 3 + seed % 4
    y, X, x = np.arange(n) % (3 + seed % 4), rng.normal(size=(n, d)), 0.3 * rng.normal(size=d)
    if seed % 3 == 0:
        X, x = np.round(2 * X) / 2, np.round(2 * x) / 2
    gone = [int(rng.integers(n))] if seed % 4 == 0 else []
    threat, free = ThreatModel(norm), ()
    box = None
    if seed % 5 == 0:
        box, free = (np.full(d, -0.5), np.full(d, 0.6)), (1,)
        threat = ThreatModel(norm, box=box, free=free)
    ties = "any" if seed % 7 == 0 else "order"
    knn = MahalanobisKNN(k).fit(X, y)
    found = knn.certify(x[None], threat=threat, exclude=[gone] if gone else None, ties=ties)
    label = found.predicted[0]
    asked = oracles.Threat(norm, None, (), box, at_no_cost=free)
    real = truth(np.eye(d), X, y, x, label, k, asked, gone, ties=ties)
    assert found.lower[0] <= real.ruled * (1 + 1e-9) + 1e-12
    if not free:
        before = oracles.votes(np.eye(d), X, y, x, label, k, oracles.Threat(norm), gone)
        assert found.lower[0] >= min(before, 1e9) * (1 - 1e-7) - 1e-9 or ties == "any"


def test_several_weak_points_at_once_with_rows_left_out():
    X, y, x = behind_others()
    knn = MahalanobisKNN(5).fit(np.vstack([X, x + 0.01]), np.append(y, 0))
    points = np.vstack([x, x + 0.02, x - 0.03])
    together = knn.certify(points, exclude=[14, -1, 14]).lower
    alone = [knn.certify(points[[b]], exclude=[gone]).lower[0] for b, gone in enumerate((14, -1, 14))]
    np.testing.assert_allclose(together, alone, rtol=1e-9)
    assert together[0] == pytest.approx(MahalanobisKNN(5).fit(X, y).certify(x[None]).lower[0], rel=1e-9)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", seeds(30))
def test_where_positives_prove_nothing_it_is_the_order_statistic_over_all_other_classes(seed, norm):
    """The formula of the module's docstring from the definition, with the fewest places that can win by counting."""
    rng = np.random.default_rng(700 + seed)
    k, d = 5 + seed % 3, 3
    near = np.array([0, 0, 1, 2, 3, 4, 5][:k])
    y = np.concatenate([near, rng.integers(1, near.max() + 1, 11)])
    away = rng.normal(size=(len(y), d))
    distance = np.concatenate([rng.uniform(0.1, 0.3, k), rng.uniform(1, 2, 11)])
    X, x = distance[:, None] * away / np.linalg.norm(away, axis=1, keepdims=True), np.zeros(d)
    gap = (X**2).sum(axis=1) - (X**2).sum(axis=1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        dual = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}[norm]
        triplet = np.where(gap > 0, gap / (2 * np.linalg.norm(X[:, None] - X, ord=dual, axis=2)), 0.0)
    expected = np.inf
    for c in range(1, near.max() + 1):
        places = [max(m + 1, -(-(k - m) // near.max())) for m in range(3)]
        t = min((t for m, t in enumerate(places) if t <= min(k - m, np.sum(y == c))), default=None)
        if t is not None:  # else it has too few rows to win
            behind = np.sort(triplet[np.ix_(y != c, y == c)], axis=0)[::-1][k - t]
            expected = min(expected, np.sort(behind)[t - 1])
    votes = MahalanobisKNN(k).fit(X, y).certify(x[None], threat=ThreatModel(norm))
    assert votes.predicted[0] == 0
    assert votes.lower[0] == pytest.approx(expected, rel=1e-7)
