"""The eight ways in which published implementations go wrong, one named test (or a few) for each."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, NotSupportedError, ThreatModel, robust_error
from tests import oracles
from tests.more import more, seeds

# 1. Even K -----------------------------------------------------------------------------------------------------


def test_trap_1_even_k_theorem1_refuses_and_names_votes():
    knn = MahalanobisKNN(n_neighbors=2).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    with pytest.raises(NotSupportedError, match=r"'theorem1' needs odd K; this classifier has K = 2\. Use 'votes'"):
        knn.certify([[0.0]], method="theorem1")


def test_trap_1_even_k_order_statistics_differ_by_who_wins_the_tie():
    """K = 2 on a line: label 0 keeps a 1:1 vote, label 1 loses it. The same picture, mirrored, has two radii."""
    X = np.array([[-1.0], [0.0], [3.0], [4.0]])
    keeps_ties = MahalanobisKNN(n_neighbors=2).fit(X, [0, 0, 1, 1]).certify([[0.0]], method="votes")
    loses_ties = MahalanobisKNN(n_neighbors=2).fit(X, [1, 1, 0, 0]).certify([[0.0]], method="votes")
    # label 0 loses once both 3 and 4 are nearer than 0: at x = 2. Label 1 loses once 3 is nearer than -1: at x = 1.
    assert keeps_ties.lower[0] == pytest.approx(2.0, rel=1e-9)
    assert loses_ties.lower[0] == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("k", [2, 4, 6])
def test_trap_1_even_k_is_sound(k):
    rng = np.random.default_rng(k)
    X, y = rng.normal(size=(9, 2)), np.arange(9) % 3
    points = rng.normal(size=(4, 2))
    certificates = MahalanobisKNN(n_neighbors=k).fit(X, y).certify(points, method="votes")
    for b, x in enumerate(points):
        truth = oracles.true_radius(np.eye(2), X, y, x, certificates.predicted[b], k)
        assert certificates.lower[b] <= truth * (1 + 1e-9) + 1e-9


# 2. Radius 0 ---------------------------------------------------------------------------------------------------


def test_trap_2_radius_0_does_not_mean_a_wrong_prediction():
    """Three classes, K = 5, two votes win: right, but without a majority theorem1 has nothing to say."""
    X = np.array([[0.1], [-0.1], [0.2], [-0.2], [0.3], [9.0], [9.1], [9.2]])
    y = np.array([0, 0, 1, 2, 1, 0, 1, 2])
    knn = MahalanobisKNN(n_neighbors=5).fit(X, y)
    certificates = knn.certify([[0.0]], [0], method="theorem1")
    assert certificates.predicted[0] == 0
    assert certificates.correct[0]
    assert certificates.lower[0] == 0.0
    assert np.isposinf(certificates.upper[0])  # nothing was seen to fool it
    assert robust_error(certificates.lower, [0.0])[0] == 1.0
    assert (~certificates.correct).mean() == 0.0  # the clean error is a number of its own


def test_trap_2_radius_0_on_a_boundary_is_still_correct():
    knn = MahalanobisKNN().fit([[0.0], [2.0]], [0, 1])
    certificates = knn.certify([[1.0]], [0], method="exact")  # a tie in distance; the first training row wins
    assert certificates.correct[0]
    assert certificates.lower[0] == 0.0
    assert 0 < certificates.upper[0] <= 1e-6


# 3. Duplicates and singular M ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["theorem1", "votes", "exact"])
def test_trap_3_a_later_negative_on_top_of_a_positive_never_wins(method):
    X, y = [[0.0, 0.0], [0.0, 0.0], [4.0, 0.0]], [0, 1, 1]
    certificates = MahalanobisKNN().fit(X, y).certify([[1.0, 0.0]], method=method)
    assert certificates.predicted[0] == 0
    assert certificates.lower[0] == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("method", ["theorem1", "votes", "exact"])
def test_trap_3_an_earlier_positive_keeps_its_place_for_good(method):
    """Everything negative sits on earlier positives: no move can ever change the answer."""
    X, y = [[0.0], [0.0], [0.0]], [0, 1, 1]
    certificates = MahalanobisKNN().fit(X, y).certify([[0.5]], method=method)
    assert np.isposinf(certificates.lower[0])


@pytest.mark.parametrize("method", ["theorem1", "votes", "exact"])
def test_trap_3_an_excluded_earlier_twin_does_not_protect(method):
    X, y = [[0.0], [0.0], [9.0], [0.5]], [0, 1, 1, 0]
    knn = MahalanobisKNN().fit(X, y)
    kept = knn.certify([[0.4]], method=method)
    without = knn.certify([[0.4]], method=method, exclude=[0])
    assert kept.lower[0] == pytest.approx(4.75 - 0.4, rel=1e-9)
    assert without.lower[0] == pytest.approx(0.4 - 0.25, rel=1e-9)


@pytest.mark.parametrize("method", ["theorem1", "votes", "exact"])
@pytest.mark.parametrize("turn", [False, True])
def test_trap_3_singular_metric_twins_tie_by_training_order(method, turn):
    """Points that differ only where M is blind are one place: 0/0 must not come out as anything."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(5, 5)))[0] if turn else np.eye(5)
    G = basis[:2]  # sees two of five directions
    seen = rng.normal(size=(12, 2))[np.arange(24) % 12]
    X = seen @ G + rng.normal(size=(24, 3)) @ basis[2:]
    y = np.concatenate([np.arange(12) % 2, rng.integers(2, size=12)])  # later twins, whatever their label
    knn = MahalanobisKNN(metric=G.T @ G).fit(X, y)
    first_only = MahalanobisKNN().fit(seen[:12], y[:12])
    places = rng.normal(size=(40, 2))
    points = places @ G + rng.normal(size=(40, 3)) @ basis[2:]
    found, expected = knn.certify(points, method=method), first_only.certify(places, method=method)
    np.testing.assert_array_equal(found.predicted, expected.predicted)
    np.testing.assert_allclose(found.lower, expected.lower, rtol=1e-6, atol=1e-9)


def test_trap_3_negatives_indistinguishable_after_freezing_are_not_skipped():
    """Only the second feature may move and it pulls both ways alike: never, or already; not NaN, not last."""
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0]]), np.array([0, 1, 1])
    knn = MahalanobisKNN().fit(X, y)
    threat = ThreatModel(frozen=[0])
    assert knn.certify([[0.2, 0.0]], threat=threat).lower[0] == pytest.approx(2.5, rel=1e-9)
    only_first = MahalanobisKNN().fit(X[:2], y[:2])
    assert np.isposinf(only_first.certify([[0.2, 0.0]], threat=threat).lower[0])
    on_the_line = only_first.certify([[0.5, 0.0]], threat=threat)  # a tie that no move of feature 1 can break
    assert on_the_line.lower[0] == 0.0 or np.isposinf(on_the_line.lower[0])


def test_trap_3_nothing_is_ever_nan():
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(4, 3)), 5, axis=0)
    y = np.arange(20) % 3
    for M in (np.zeros((3, 3)), np.diag([1.0, 0, 0]), np.ones((3, 3)), np.eye(3)):
        for k in (1, 2, 3, 8):
            knn = MahalanobisKNN(n_neighbors=k, metric=M).fit(X, y)
            for threat in (ThreatModel(), ThreatModel(norm=1, frozen=[0]), ThreatModel(norm="linf")):
                certificates = knn.certify(X, method="votes", threat=threat)
                assert not np.isnan(certificates.lower).any()
                assert np.all(certificates.lower >= 0)


# 4. Small classes ----------------------------------------------------------------------------------------------


def test_trap_4_small_class_theorem1_says_what_it_needs():
    X, y = np.arange(6.0)[:, None], [0, 0, 1, 1, 1, 1]
    knn = MahalanobisKNN(n_neighbors=5).fit(X, y)
    with pytest.raises(ValueError, match=r"this certificate needs 3 for K = 5\. Use 'votes'"):
        knn.certify([[4.0]], method="theorem1")


def test_trap_4_small_class_with_all_its_members_inside_is_held_by_nobody_of_its_own():
    """n_y = 1 and K = 3: its one member stays a neighbour, yet two negatives of a rival outvote it anywhere near."""
    X = np.array([[0.0], [0.1], [-0.1], [5.0], [5.1]])
    y = np.array([0, 1, 2, 1, 2])
    knn = MahalanobisKNN(n_neighbors=3).fit(X, y)
    certificates = knn.certify([[0.0]], method="votes")
    assert certificates.predicted[0] == 0  # 1:1:1, the smallest label wins
    truth = oracles.true_radius(np.eye(1), X, y, np.zeros(1), 0, 3)
    assert 2.4 < truth < 2.6
    assert certificates.lower[0] <= truth
    assert oracles.votes_by_positives(np.eye(1), X, y, np.zeros(1), 0, 3) == 0.0  # m = n_y is one of the cases


@pytest.mark.parametrize("seed", range(20))
def test_trap_4_small_class_votes_is_sound_with_one_member_or_none(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 2)), np.array([0, 1, 1, 1, 2, 2, 2, 2])
    k = 1 + seed % 4
    knn = MahalanobisKNN(n_neighbors=k).fit(X, y)
    exclude = [[0], [1], [0, 4], []]
    points = np.vstack([X[0], X[1], X[4], X[0]])
    certificates = knn.certify(points, method="votes", exclude=exclude)
    for b, x in enumerate(points):
        truth = oracles.true_radius(np.eye(2), X, y, x, certificates.predicted[b], k, exclude=exclude[b])
        assert certificates.lower[b] <= truth * (1 + 1e-9) + 1e-9


def test_trap_4_a_label_that_nothing_can_outvote_is_safe_for_good():
    X, y = np.arange(9.0)[:, None], [0, 0, 0, 0, 0, 0, 0, 1, 1]
    certificates = MahalanobisKNN(n_neighbors=5).fit(X, y).certify([[8.0]], method="votes")
    assert certificates.predicted[0] == 0
    assert np.isposinf(certificates.lower[0])


# 5. An unconverged QP ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_trap_5_an_unfinished_program_still_gives_two_valid_sides(rounds, monkeypatch):
    import arml_core.certificates.exact as exact_module

    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(150, 3)), rng.integers(2, size=150)
    points = rng.normal(size=(12, 3))
    knn = MahalanobisKNN().fit(X, y)
    finished = knn.certify(points, method="exact")
    monkeypatch.setattr(exact_module, "MAX_ROUNDS", rounds)
    monkeypatch.setattr(exact_module, "NEW_CONSTRAINTS", 1)
    cut_short = knn.certify(points, method="exact")
    assert np.all(cut_short.lower <= finished.upper)
    assert np.all(cut_short.upper >= finished.lower)
    seen = np.isfinite(cut_short.upper)
    assert np.all(knn.predict(cut_short.adversarial[seen]) != cut_short.predicted[seen])
    claimed = cut_short.exact
    np.testing.assert_allclose(cut_short.lower[claimed], finished.lower[claimed], rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def shielded():
    """Points for some of which the negative with the least triplet bound does not win, and their true radii."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, 2)), (rng.random(30) < 0.2).astype(int)
    points = 0.3 * rng.normal(size=(120, 2))
    knn = MahalanobisKNN().fit(X, y)
    truth = [oracles.exact_1nn(np.eye(2), X, y, x, label) for x, label in zip(points, knn.predict(points), strict=True)]
    return knn, points, np.array(truth)


@pytest.mark.parametrize("noise_level", [0.0, 1.0])
@pytest.mark.parametrize("stretch", [0.5, 1.5, *more(0.1, 0.9)])
def test_trap_5_a_solver_that_fails_gives_no_wrong_bound(stretch, noise_level, shielded, monkeypatch):
    """Whatever the solver hands back, lower stays below and upper above the truth."""
    import arml_core.certificates.exact as exact_module

    knn, points, truth = shielded

    def rough(normals, offsets):
        noise = np.random.default_rng(len(offsets))
        delta, multipliers, feasible = solve(normals, offsets)
        return delta * stretch, multipliers * (1 + noise_level * noise.random(len(multipliers))), feasible

    solve = exact_module.least_distance
    monkeypatch.setattr(exact_module, "least_distance", rough)
    certificates = knn.certify(points, method="exact")
    assert np.all(certificates.lower <= truth * (1 + 1e-9))
    assert np.all(certificates.upper >= truth * (1 - 1e-9))


# 6. One threat model -------------------------------------------------------------------------------------------


def test_trap_6_the_result_carries_its_threat_model():
    knn = MahalanobisKNN().fit([[0.1], [0.9]], [0, 1])
    threat = ThreatModel(norm="linf", box=(0.0, 1.0))
    assert knn.certify([[0.2]], threat=threat).threat == threat
    assert knn.certify([[0.2]], threat=threat).threat != ThreatModel(norm="linf")


def test_trap_6_exact_minds_the_box_and_the_norm():
    knn = MahalanobisKNN().fit([[0.1, 0.0], [0.9, 0.0], [0.5, 0.7]], [0, 1, 1])
    x = [[0.2, 0.1]]
    found = {
        (norm, box): knn.certify(x, method="exact", threat=ThreatModel(norm, box=box))
        for norm in (1, 2, np.inf)
        for box in (None, (0, 0.45))
    }
    for norm in (1, 2, np.inf):
        plain, boxed = found[norm, None], found[norm, (0, 0.45)]
        assert plain.exact[0]
        assert boxed.exact[0]
        assert boxed.lower[0] >= plain.lower[0] * (1 - 1e-6)
    assert len({round(float(radii.lower[0]), 9) for radii in found.values()}) >= 4
    with pytest.raises(NotSupportedError, match=r"(?s)'exact' needs K = 1.*votes: any K"):
        MahalanobisKNN(2).fit([[0.1], [0.9]], [0, 1]).certify([[0.2]], method="exact")


def test_trap_6_another_threat_on_the_same_classifier_is_not_a_stale_answer():
    rng = np.random.default_rng(6)
    X, y, x = rng.random((20, 2)), np.arange(20) % 2, rng.random((5, 2))
    threats = [
        ThreatModel(),
        ThreatModel(1),
        ThreatModel(costs=[2, 2]),
        ThreatModel(frozen=[0]),
        ThreatModel(box=(0, 1)),
    ]
    knn = MahalanobisKNN(n_neighbors=3).fit(X, y)
    one_after_another = [knn.certify(x, threat=t).lower for t in [*threats, *threats]]
    fresh = [MahalanobisKNN(n_neighbors=3).fit(X, y).certify(x, threat=t).lower for t in threats]
    np.testing.assert_array_equal(one_after_another, fresh + fresh)
    np.testing.assert_allclose(fresh[2], 2 * fresh[0], rtol=1e-9)


# 7. Ties in votes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [(0, 1), (1, 0), ("a", "b"), ("b", "a"), (-1, -2), (False, True), (10, 9)])
def test_trap_7_the_smallest_label_wins_a_tied_vote(labels):
    near, far = labels
    knn = MahalanobisKNN(n_neighbors=2).fit([[0.0], [1.0]], [near, far])
    assert knn.predict([[0.1]])[0] == min(labels)


@pytest.mark.parametrize("seed", seeds(15))
def test_trap_7_bounds_use_the_same_tie_rule_as_predict(seed):
    """Relabelling so that the order of the classes is reversed changes who wins ties, and the bound with it."""
    rng = np.random.default_rng(seed)
    X, y, x = rng.normal(size=(8, 2)), np.array([0, 0, 0, 1, 1, 1, 2, 2]), rng.normal(size=(3, 2))
    for relabel in (lambda c: c, lambda c: -c):
        labels = relabel(y)
        for k in (2, 3, 4):
            certificates = MahalanobisKNN(n_neighbors=k).fit(X, labels).certify(x, method="votes")
            for b in range(len(x)):
                truth = oracles.true_radius(np.eye(2), X, labels, x[b], certificates.predicted[b], k)
                assert certificates.lower[b] <= truth * (1 + 1e-9) + 1e-9
                formula = oracles.votes(np.eye(2), X, labels, x[b], certificates.predicted[b], k)
                assert certificates.lower[b] == pytest.approx(formula, rel=1e-6, abs=1e-9)


# 8. Leave-one-out ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["theorem1", "votes", "exact"])
def test_trap_8_leave_one_out_equals_fitting_without_the_row(method):
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(25, 3)), rng.integers(3, size=25)
    k = 1 if method == "exact" else 3
    knn = MahalanobisKNN(n_neighbors=k).fit(X, y)
    certificates = knn.certify(X, y, method=method, exclude=np.arange(25))
    for i in range(25):
        without = MahalanobisKNN(n_neighbors=k).fit(np.delete(X, i, 0), np.delete(y, i))
        expected = without.certify(X[i : i + 1], y[i : i + 1], method=method)
        assert certificates.predicted[i] == expected.predicted[0]
        assert certificates.lower[i] == pytest.approx(expected.lower[0], rel=1e-9)
        assert certificates.upper[i] == pytest.approx(expected.upper[0], rel=1e-6)


@pytest.mark.parametrize("method", ["theorem1", "votes", "exact"])
def test_trap_8_several_rows_left_out_of_both_classes(method):
    X, y = [[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]
    knn = MahalanobisKNN().fit(X, y)
    for exclude, expected in [([1, 3], 2.3), ([0, 2], 3.3), ([], 2.8), ([-1, 1], 2.3)]:
        certificates = knn.certify([[0.2]], method=method, exclude=[exclude])
        assert certificates.lower[0] == pytest.approx(expected, rel=1e-9)


def test_trap_8_without_exclude_a_training_point_flatters_itself():
    X, y = np.array([[0.0], [1.0], [1.2]]), np.array([0, 1, 1])
    knn = MahalanobisKNN().fit(X, y)
    assert knn.certify(X[:1], y[:1]).lower[0] == pytest.approx(0.5, rel=1e-9)
    left_out = knn.certify(X[:1], y[:1], exclude=[0])
    assert not left_out.correct[0]
    assert left_out.lower[0] == 0.0
