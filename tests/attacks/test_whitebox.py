"""The white-box attack: finds a flip where there is one, close to the truth, and says what it did."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel, load_dataset
from arml_core.attacks.whitebox import PointAttack
from arml_core.learners.storage import load_metric
from arml_core.results import FOLDER
from tests import oracles
from tests.more import more
from tests.point_sets import point_set, triplets_of

from .oracles import truth

NORMS = (1.0, 2.0, np.inf)


def small_problem(seed: int, norm: float):
    rng = np.random.default_rng([seed, 17])
    d, n, k, n_classes = (int(rng.integers(*r)) for r in ((1, 5), (6, 13), (1, 6), (2, 5)))
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    return rng.normal(size=(n, d)), y, rng.normal(size=d), k


@pytest.mark.parametrize("norm", [2.0, *more(1.0, np.inf)])
def test_it_finds_a_flip_wherever_there_is_one_and_mostly_the_nearest(norm):
    ratios = []
    for seed in range(30, 60):
        X, y, x, k = small_problem(seed, norm)
        knn = MahalanobisKNN(k).fit(X, y)
        found = knn.attack(x[None], threat=ThreatModel(norm=norm))
        real = truth(np.eye(len(x)), X, y, x, found.predicted[0], k, oracles.Threat(norm))
        if np.isposinf(real.open):
            assert np.isposinf(found.upper[0])
            continue
        assert np.isfinite(found.upper[0]), (seed, real)
        assert knn.predict(found.adversarial)[0] != found.predicted[0]
        ratios.append(found.upper[0] / real.open)
    assert min(ratios) >= 1 - 1e-7
    assert np.mean(np.array(ratios) < 1.001) > 0.8, np.sort(ratios)


def test_a_winner_without_a_majority_is_enough():
    """Four classes of one row each and K = 2: the smaller of the two labels wins."""
    found = MahalanobisKNN(2).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, 3]).attack([[0.2]])
    assert found.upper[0] == pytest.approx(0.8, abs=1e-6)  # past the middle of 0 and 2, {1, 2} are the neighbours


@pytest.mark.parametrize(("labels", "radius"), [([1, 1, 0, 0], 1.4), ([0, 0, 1, 1], 3.15)])
def test_a_tied_vote_is_enough_for_the_smaller_label_only(labels, radius):
    """K = 2: label 0 wins with one of the two neighbours (past 1.5), label 1 needs both (past 3.25)."""
    knn = MahalanobisKNN(2).fit([[0.0], [0.5], [3.0], [6.0]], labels)
    assert knn.attack([[0.1]]).upper[0] == pytest.approx(radius, abs=1e-6)
    found = knn.certify([[0.1]], method="search")
    assert found.lower[0] == pytest.approx(radius, abs=1e-6)
    assert found.exact[0]


@pytest.mark.parametrize("norm", [2.0, *more(1.0, np.inf)])
def test_it_is_not_above_a_long_boundary_attack(norm):
    rng = np.random.default_rng(2)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 6)) + 2 * np.eye(6)[y]
    knn = MahalanobisKNN(7).fit(X[:80], y[:80])
    threat = ThreatModel(norm=norm)
    white = knn.attack(X[80:], threat=threat)
    black = knn.attack(X[80:], method="boundary", steps=500, threat=threat)
    assert np.mean(white.upper <= black.upper) >= 0.9
    assert np.median(white.upper / black.upper) < 1.0


def test_the_same_question_has_the_same_answer_whoever_else_asks():
    rng = np.random.default_rng(3)
    X, y, x = rng.normal(size=(60, 4)), np.arange(60) % 3, rng.normal(size=(6, 4))
    knn = MahalanobisKNN(4).fit(X, y)
    together = knn.attack(x)
    for b in range(len(x)):
        alone = knn.attack(x[[b]])
        assert alone.upper[0] == together.upper[b]
        np.testing.assert_array_equal(alone.adversarial[0], together.adversarial[b])


@pytest.mark.parametrize("method", ["whitebox", "boundary"])
def test_leave_one_out_attacks_the_classifier_without_that_row(method):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    knn = MahalanobisKNN(3).fit(X, y)
    rows = [[0, 5], [9], [11, 12]]
    x = X[[0, 9, 11]]
    found = knn.attack(x, method=method, steps=100, exclude=rows)
    for b, gone in enumerate(rows):
        assert knn.predict(found.adversarial[[b]], exclude=[gone])[0] != found.predicted[b]
        without = MahalanobisKNN(3).fit(np.delete(X, gone, axis=0), np.delete(y, gone))
        assert without.predict(found.adversarial[[b]])[0] != found.predicted[b]
        assert without.predict(x[[b]])[0] == found.predicted[b]


@pytest.mark.parametrize("method", ["whitebox", "boundary"])
def test_wrong_answers_need_no_attack(method):
    X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
    found = MahalanobisKNN(1).fit(X, y).attack([[0.2], [0.4]], [0, 1], method=method, steps=50)
    assert found.upper[1] == 0.0
    assert found.adversarial[1, 0] == 0.4
    assert list(found.correct) == [True, False]
    assert found.upper[0] == pytest.approx(2.8, rel=1e-6 if method == "whitebox" else 1e-1)


def test_the_caption_names_method_steps_and_seed():
    X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
    knn = MahalanobisKNN(1).fit(X, y)
    black = knn.attack([[0.2]], method="boundary", steps=1234, random_state=5)
    assert black.describe() == "boundary attack (steps 1,234, seed 5)"
    assert black.settings == {"steps": 1234, "seed": 5}
    assert knn.attack([[0.2]]).describe() == "whitebox attack"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"method": "pgd"}, r"method must be whitebox or boundary; got 'pgd'"),
        ({"method": None}, r"method must be whitebox or boundary; got None"),
        ({"method": "boundary", "steps": 0}, r"steps must be a whole number, at least 1; got 0"),
        ({"method": "boundary", "steps": -3}, r"steps must be a whole number, at least 1; got -3"),
        ({"method": "boundary", "steps": 2.5}, r"steps must be .*2\.5"),
        ({"method": "boundary", "steps": float("nan")}, r"steps must be .*nan"),
        ({"method": "boundary", "random_state": -1}, r"random_state must be .*-1"),
        ({"method": "boundary", "random_state": None}, r"random_state must be .*None"),
        ({"y": [7]}, r"label .*7.* was not in training; the classes are \[0, 1\]"),
        ({"y": [0, 1]}, r"y must hold one label per row, 1 in all; got shape \(2,\)"),
        ({"exclude": [9]}, r"exclude names training row 9; there are 4"),
        ({"threat": ThreatModel(frozen=[0])}, r"every feature is frozen"),
        ({"threat": ThreatModel(costs=[1, 2])}, r"the threat model is for 2 features; the data has 1"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_words(options, text):
    knn = MahalanobisKNN(1).fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match=text):
        knn.attack([[0.2]], **options)


@pytest.mark.parametrize("far", [1e3, 1e5])
def test_a_small_group_far_from_the_others_is_attacked_at_its_own_scale(far):
    rng = np.random.default_rng(0)
    X, y, x = rng.normal(size=(100, 4)), np.arange(100) % 2, rng.normal(size=(6, 4))
    alone = MahalanobisKNN(3).fit(X[:30], y[:30]).attack(x)
    X[:30, 0] += far
    x[:, 0] += far
    found = MahalanobisKNN(3).fit(X, y).attack(x)
    np.testing.assert_allclose(found.upper, alone.upper, rtol=1e-4)


@pytest.mark.parametrize("norm", [2.0, *more(1.0, np.inf)])
def test_where_no_search_succeeds_it_still_gives_a_point_on_the_way_to_a_misclassified_one(norm, monkeypatch):
    monkeypatch.setattr("arml_core.attacks.whitebox.RETRIES", 0)
    data = load_dataset("iris")
    knn = MahalanobisKNN(3).fit(data.X_train, data.y_train)
    threat = ThreatModel(norm, frozen=[1], box=(-0.5, 1.5))
    found = knn.attack(data.X_test, data.y_test, threat=threat)
    proved = knn.certify(data.X_test, data.y_test, threat=threat)
    rows = np.flatnonzero(found.correct)
    assert np.isfinite(found.upper).sum() > 0.8 * len(rows)
    rows = rows[np.isfinite(found.upper[rows])]
    assert (knn.predict(found.adversarial[rows]) != data.y_test[rows]).all()
    moved = found.adversarial[rows] - data.X_test[rows]
    np.testing.assert_allclose(found.upper[rows], np.linalg.norm(moved, ord=norm, axis=1), rtol=1e-9)
    assert (moved[:, 1] == 0).all()
    assert (found.upper >= proved.lower).all()


def test_it_goes_on_while_points_it_did_not_look_at_get_in_the_way(paper_data):
    """Satimage under NCA's metric: four rounds were not enough for these two."""
    data = load_dataset("satimage")
    metric = load_metric(FOLDER / "metrics" / "satimage-nca.npz").metric
    x, y = data.evaluation(100)
    found = MahalanobisKNN(11, metric).fit(data.X_train, data.y_train).attack(x[[62, 73]], y[[62, 73]])
    assert (found.upper < [0.2, 0.42]).all()


def test_the_last_resort_stays_inside_a_box_that_float32_rounds_out_of():
    """0.1 as a float32 is more than 0.1; only there would the answer change."""
    X, x = np.array([[0.2], [0.0]], dtype=np.float32), np.array([0.01], dtype=np.float32)
    knn = MahalanobisKNN(1).fit(X, [1, 0])
    threat = ThreatModel(1, box=(-1.0, 0.1))
    points = point_set(knn, x[None], threat)
    assert PointAttack(triplets_of(knn, threat), points, 0).towards_misclassified() is None
    wider = ThreatModel(1, box=(-1.0, 0.15))
    roomy = PointAttack(triplets_of(knn, wider), point_set(knn, x[None], wider), 0)
    size, found = roomy.towards_misclassified()
    assert 0.1 < float(found[0]) <= 0.15
    assert size >= float(found[0]) - float(x[0])


@pytest.mark.parametrize("norm", NORMS)
def test_a_start_that_just_misses_is_enough_and_brings_its_own_neighbours(norm):
    """One rival to the right decides at 0.6, behind hundreds to the left that are nearer and well guarded."""
    height = np.linspace(-0.5, 0.5, 300)
    left = np.column_stack([np.full(300, -1.0), height])
    X = np.vstack([[0.0, 0.0], left * 0.9, [1.2, 0.0], left])
    y = np.repeat([0, 1], [301, 301])
    knn = MahalanobisKNN(1).fit(X, y)
    x = np.zeros((1, 2))
    attack = PointAttack(triplets_of(knn, ThreatModel(norm)), point_set(knn, x), 0)
    found = attack.run(np.array([0.599, 0.0]))
    assert found is not None
    assert found[0] == pytest.approx(0.6, rel=1e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_anchors_are_the_rivals_that_are_cheapest_in_the_norm_of_the_attack(norm):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 6)) * [1, 1, 1, 5, 5, 5], np.repeat([0, 1], 30)
    knn = MahalanobisKNN(3).fit(X, y)
    x = X[:1] * 0.9
    attack = PointAttack(triplets_of(knn, ThreatModel(norm)), point_set(knn, x), 0)
    place = attack._neighbourhood()
    label, dual = attack.label, {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}[norm]
    near = X[y == label][np.argsort(((X[y == label] - x) ** 2).sum(axis=1))[:8]]
    costs = {}
    for j in np.flatnonzero(y != label):
        above = ((X[j] - x[0]) ** 2).sum() - ((near - x[0]) ** 2).sum(axis=1)
        costs[j] = np.sort(above / np.linalg.norm(X[j] - near, ord=dual, axis=1))[-2]
    anchors = place.index[attack._anchors(place)]
    assert list(anchors) == sorted(costs, key=lambda j: costs[j])[: len(anchors)]
