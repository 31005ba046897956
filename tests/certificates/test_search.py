"""`search`: valid whenever it stops, never worse with more effort, and the exact radius where that is known."""

import time

import numpy as np
import pytest

from arml_core import Cancelled, MahalanobisKNN, ThreatModel
from arml_core.attacks import attack_point
from arml_core.certificates.search import PointSearch
from tests import oracles
from tests.attacks.oracles import truth
from tests.more import more
from tests.point_sets import point_set, triplets_of

NORMS = (1, 2, np.inf)


def blobs(seed=0, n=90, d=5, n_classes=3, apart=2.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, d)) + apart * np.eye(d)[y % d], y, rng.normal(size=(8, d)) + apart * np.eye(d)[0]


def check_adversarial(knn, x, found, exclude=None):
    for b in np.flatnonzero(np.isfinite(found.upper)):
        gone = None if exclude is None else [exclude[b]]
        assert knn.predict(found.adversarial[b][None], exclude=gone)[0] != found.predicted[b]
        move = found.adversarial[b].astype(np.float64) - x[b].astype(np.float64)
        assert np.linalg.norm(move, found.threat.norm) == pytest.approx(found.upper[b], rel=1e-12)


@pytest.mark.parametrize("norm", [2, *more(1, np.inf)])
@pytest.mark.parametrize("k", [2, 5])
def test_without_any_time_both_sides_are_valid(norm, k):
    X, y, x = blobs()
    knn = MahalanobisKNN(k).fit(X, y)
    threat = ThreatModel(norm=norm)
    rushed = knn.certify(x, method="search", threat=threat, budget=0.0)
    votes = knn.certify(x, method="votes", threat=threat)
    patient = knn.certify(x, method="search", threat=threat, budget=0.7)
    assert np.all(votes.lower <= rushed.lower)
    assert np.all(rushed.lower <= patient.upper), "a lower side that a later attack refutes"
    assert np.all(patient.lower <= rushed.upper)
    check_adversarial(knn, x, rushed)
    check_adversarial(knn, x, patient)
    assert np.all(patient.lower >= rushed.lower * (1 - 1e-9))
    assert np.all(patient.upper <= rushed.upper * (1 + 1e-9))


@pytest.mark.parametrize("norm", [2.0, np.inf, *more(1.0)])
def test_without_any_time_small_problems_hold_the_truth(norm):
    for seed in range(8):
        X, y, x = blobs(seed, n=11, d=2 + seed % 3, n_classes=2 + seed % 2, apart=1.0)
        k = 2 + seed % 3
        found = MahalanobisKNN(k).fit(X, y).certify(x[:1], method="search", threat=ThreatModel(norm=norm), budget=0.0)
        real = truth(np.eye(X.shape[1]), X, y, x[0], found.predicted[0], k, oracles.Threat(norm))
        assert found.lower[0] <= real.ruled * (1 + 1e-7)
        assert found.upper[0] >= real.closed * (1 - 1e-7)


def point_search(knn, x, threat):
    """The search for one point, as certify sets it up."""
    lower = float(knn.certify(x[None], threat=threat).lower[0])
    return PointSearch(triplets_of(knn, threat), point_set(knn, x[None], threat), 0, attack_point, lower)


@pytest.mark.parametrize("norm", [2, np.inf, *more(1)])
def test_more_nodes_never_give_a_worse_interval(norm):
    X, y, x = blobs(3, n=60, d=4, n_classes=2)
    knn = MahalanobisKNN(5).fit(X, y)
    grew = 0
    for point in x[:3]:
        sides = []
        for nodes in (0, 1, 8, 40):
            search = point_search(knn, point, ThreatModel(norm=norm))
            search.run(60.0, max_nodes=nodes)
            sides.append((search.lower, search.upper))
        lowers, uppers = np.array(sides).T
        assert np.all(np.diff(lowers) >= -1e-9 * lowers[0])
        assert np.all(np.diff(uppers) <= 1e-9 * uppers[0])
        assert np.all(lowers <= uppers.min() * (1 + 1e-12)), "some lower side is above a point that flips"
        grew += lowers[-1] > lowers[0]
    assert grew, "no point gained anything from forty nodes"


@pytest.mark.parametrize("seed", range(4))
def test_one_neighbour_in_l2_is_exact(seed):
    X, y, x = blobs(seed, d=2 + seed)
    M = None
    if seed % 2:
        G = np.random.default_rng(seed).normal(size=(2, 2 + seed))
        M = G.T @ G
    knn = MahalanobisKNN(1, M).fit(X, y)
    search, exact = (knn.certify(x, method=method) for method in ("search", "exact"))
    np.testing.assert_array_equal(search.lower, exact.lower)
    np.testing.assert_array_equal(search.upper, exact.upper)
    assert search.exact.all()
    attack = knn.attack(x)
    np.testing.assert_allclose(attack.upper, exact.upper, rtol=1e-9)
    full = np.eye(X.shape[1]) if M is None else M
    fewer = MahalanobisKNN(1, M).fit(X[:30], y[:30]).certify(x[:1], method="search")
    expected = oracles.exact_1nn(full, X[:30], y[:30], x[0], fewer.predicted[0])
    assert fewer.upper[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("norm", [1, np.inf])
def test_one_neighbour_in_other_norms_is_the_true_radius(norm):
    X, y, x = blobs(5, n=14, d=3, n_classes=2)
    found = MahalanobisKNN(1).fit(X, y).certify(x, method="search", threat=ThreatModel(norm=norm), budget=10.0)
    threat = oracles.Threat(float(norm))
    expected = [oracles.exact_1nn(np.eye(3), X, y, p, c, threat) for p, c in zip(x, found.predicted, strict=True)]
    assert found.exact.all()
    np.testing.assert_allclose(found.upper, expected, rtol=1e-6)


def test_wrong_answers_have_radius_zero_and_the_rest_is_as_without_them():
    X, y, x = blobs(1, d=2)
    knn = MahalanobisKNN(3).fit(X, y)
    labels = knn.predict(x)
    alone = knn.certify(x, labels, method="search", budget=5.0)
    labels[2] = (labels[2] + 1) % 3
    found = knn.certify(x, labels, method="search", budget=5.0)
    assert found.lower[2] == found.upper[2] == 0.0
    assert found.exact[2]
    assert not found.correct[2]
    np.testing.assert_array_equal(found.adversarial[2], x[2])
    kept = np.arange(len(x)) != 2
    np.testing.assert_allclose(found.lower[kept], alone.lower[kept], rtol=1e-12)  # products of another size may
    np.testing.assert_allclose(found.upper[kept], alone.upper[kept], rtol=1e-12)  # differ in the last bit


@pytest.mark.parametrize("d", [2, 4])
def test_leave_one_out_is_a_training_set_without_that_row(d):
    X, y, _ = blobs(2, n=40, d=d, n_classes=2)
    rows = [0, 7, 13]
    knn = MahalanobisKNN(3).fit(X, y)
    found = knn.certify(X[rows], method="search", exclude=rows, budget=20.0)
    check_adversarial(knn, X[rows], found, exclude=rows)
    for b, row in enumerate(rows):
        without = MahalanobisKNN(3).fit(np.delete(X, row, axis=0), np.delete(y, row))
        other = without.certify(X[[row]], method="search", budget=20.0)
        assert found.lower[b] == pytest.approx(other.lower[0], rel=1e-6)
        assert found.upper[b] == pytest.approx(other.upper[0], rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("norm", NORMS)
def test_float32_points_are_searched_as_they_are_and_flip_as_they_are(norm, dtype):
    X, y, x = blobs(4, d=2)
    X, x = X.astype(dtype), x.astype(dtype)
    knn = MahalanobisKNN(5).fit(X, y)
    found = knn.certify(x, method="search", threat=ThreatModel(norm=norm), budget=20.0)
    assert found.adversarial.dtype == dtype
    check_adversarial(knn, x, found)
    double = MahalanobisKNN(5).fit(X.astype(np.float64), y)
    exact = double.certify(x.astype(np.float64), method="search", threat=ThreatModel(norm=norm), budget=20.0)
    np.testing.assert_allclose(found.lower, exact.lower, rtol=1e-6)
    np.testing.assert_allclose(found.upper, exact.upper, rtol=1e-4)
    assert np.all(found.upper >= exact.lower)


def test_nothing_can_flip_an_answer_without_rivals_in_reach():
    """K of N with a majority of everything: no set of neighbours answers otherwise."""
    X = np.arange(10.0).reshape(5, 2)
    found = MahalanobisKNN(5).fit(X, [0, 0, 0, 1, 1]).certify([[0.0, 1.0]], method="search")
    assert np.isposinf(found.lower[0])
    assert np.isposinf(found.upper[0])
    assert np.isnan(found.adversarial).all()


def test_progress_counts_points_and_can_stop_the_search():
    X, y, x = blobs(6, d=2)
    knn = MahalanobisKNN(3).fit(X, y)
    seen = []
    knn.certify(x, method="search", callback=lambda done, total, info: seen.append((done, total)))
    assert seen[-1] == (len(x), len(x))
    assert {done for done, _ in seen} >= set(range(1, len(x) + 1))
    assert seen == sorted(seen)

    def stop(done, total, info):
        if done == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        knn.certify(x, method="search", callback=stop)


@pytest.mark.parametrize("budget", [-1.0, float("nan"), -0.001])
def test_a_budget_that_is_not_a_time_is_refused(budget):
    X, y, x = blobs()
    knn = MahalanobisKNN(3).fit(X, y)
    with pytest.raises(ValueError, match=r"budget must be a number of seconds, at least 0; got"):
        knn.certify(x, method="search", budget=budget)


def test_an_unseen_label_is_refused_by_name():
    X, y, x = blobs()
    with pytest.raises(ValueError, match=r"label .*9.* was not in training; the classes are \[0, 1, 2\]"):
        MahalanobisKNN(3).fit(X, y).certify(x, np.full(len(x), 9), method="search")


def test_an_attack_that_finds_nothing_leaves_time_for_the_proof(monkeypatch):
    """It takes as long as it takes, and once: the walk after it has its share of any budget."""
    X = np.array([-0.83, 0.12, -2.6, 0.23, 0.53, 0.77, -0.65, 0.69, -0.21])[:, None]
    knn = MahalanobisKNN(4).fit(X, [1, 0, 0, 1, 0, 1, 1, 0, 0])
    tried = []

    def slow(*args, **kwargs):
        tried.append(1)
        time.sleep(0.5)
        return attack_point(*args, **kwargs)

    monkeypatch.setattr("arml_core.knn.attack_point", slow)
    found = knn.certify([[0.509]], method="search", threat=ThreatModel(norm="inf"), budget=0.4)
    patient = knn.certify([[0.509]], method="search", threat=ThreatModel(norm="inf"), budget=20.0)
    assert np.isposinf(patient.upper[0])
    assert found.lower[0] == patient.lower[0] > 10.0
    assert len(tried) == 2


def test_where_more_rows_matter_than_are_looked_at_first_the_search_goes_on_with_more(monkeypatch):
    """With four negatives the bound of the fifth is all that can be proved; with time left, their number is doubled."""
    rng = np.random.default_rng(1)
    X, y, x = rng.normal(size=(150, 4)), rng.integers(0, 3, 150), rng.normal(size=(1, 4))
    knn = MahalanobisKNN(3).fit(X, y)
    whole = knn.certify(x, method="search", budget=20)
    monkeypatch.setattr("arml_core.certificates.search.MOST_NEGATIVES", 4)
    grown = knn.certify(x, method="search", budget=20)
    monkeypatch.setattr("arml_core.certificates.search.LIST_WIDTH", 4)
    short = knn.certify(x, method="search", budget=20)
    assert whole.exact[0]
    assert grown.exact[0]
    assert grown.lower[0] == pytest.approx(whole.lower[0], rel=1e-9)
    assert not short.exact[0]
    assert short.lower[0] < 0.999 * whole.lower[0]
