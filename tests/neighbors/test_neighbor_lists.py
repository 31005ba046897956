"""Short lists of neighbours never change an answer; they only save looking at the rest."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.neighbors.neighbor_lists import HEAD, LARGE_BYTES, TRY_AGAIN, NeighborListPredictor
from arml_core.neighbors.point_set import PointSet
from tests.more import more
from tests.point_sets import references_of


def problem(seed, n_train, n_features, n_classes, kind):
    """Training points and a metric; `kind` says what makes deciding hard."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_train, n_features))
    if kind == "grid":  # many equal distances
        x = np.round(x)
    elif kind == "twins":  # every place holds points of several classes
        x = x[rng.integers(0, n_train // 3, n_train)]
    elif kind == "tiny":
        x = 1e-30 * x
    elif kind == "huge":
        x = 1e30 * x
    elif kind == "far":  # the offsets are small beside the coordinates
        x = 1e7 + x
    components = rng.standard_normal((n_features, n_features))
    if kind == "singular":
        components = components[: max(1, n_features // 2)]
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_train - n_classes)])
    return x, y, components.T @ components


def predictors(x, y, metric, k, n_walkers, exclude, with_tails=False, n_predictors=1):
    """The classifier's own predictions, and those from lists; `asked` counts rows that came back to the former.

    Lists `with_tails` are those of a large training set.
    """
    knn = MahalanobisKNN(n_neighbors=k, metric=metric).fit(x, y)
    asked = []
    walkers = np.zeros((n_walkers, x.shape[1])), np.zeros(n_walkers, dtype=np.intp), exclude

    class Counted(PointSet):
        def predict(self, points, members):
            asked.append(len(members))
            return super().predict(points, members)

    with mock.patch("arml_core.neighbors.neighbor_lists.LARGE_BYTES", 0 if with_tails else LARGE_BYTES):
        lists = NeighborListPredictor(Counted(references_of(knn), k, *walkers), n_predictors)
    return PointSet(references_of(knn), k, *walkers).predict, lists, asked


@given(
    seed=st.integers(0, 10_000),
    n_features=st.integers(1, 8),
    n_classes=st.integers(2, 4),
    k=st.integers(1, 11),
    kind=st.sampled_from(["plain", "grid", "twins", "tiny", "huge", "far", "singular"]),
    leave_out=st.booleans(),
    stride=st.sampled_from([1e-6, 1e-2, 0.1, 0.3, 30.0]),
    with_tails=st.booleans(),
)
def test_walkers_get_the_classifiers_answers(seed, n_features, n_classes, k, kind, leave_out, stride, with_tails):
    n_walkers = 12
    x, y, metric = problem(seed, 260, n_features, n_classes, kind)
    rng = np.random.default_rng(seed + 1)
    exclude = rng.integers(-1, len(x), (n_walkers, 2)) if leave_out else None
    plain, nearby, _ = predictors(x, y, metric, k, n_walkers, exclude, with_tails)
    assert nearby.is_useful
    assert (nearby.length > nearby.head) == with_tails
    scale = np.abs(x - np.median(x, axis=0)).max() + 1e-40
    at = x[rng.integers(0, len(x), n_walkers)].copy()
    for step in range(8):
        walkers = np.flatnonzero(rng.random(n_walkers) < (1.0 if step % 2 else 0.6))
        at[walkers] += stride * scale * rng.standard_normal((len(walkers), n_features)) * (rng.random() < 0.8)
        if kind == "grid":
            at = np.round(at * 2) / 2  # half way between training points
        assert np.array_equal(nearby(at[walkers], walkers), plain(at[walkers], walkers))


def test_a_short_walk_is_decided_by_the_lists():
    x, y, metric = problem(0, 3000, 6, 3, "plain")
    rng = np.random.default_rng(1)
    plain, nearby, asked = predictors(x, y, metric, 5, 20, None)
    at, everybody = x[:20].copy(), np.arange(20)
    looked_up = []
    look_up = nearby.look_up
    nearby.look_up = lambda u, slack, walkers: (looked_up.append(len(walkers)), look_up(u, slack, walkers))
    for _ in range(40):
        at += 1e-3 * rng.standard_normal(at.shape)
        assert np.array_equal(nearby(at, everybody), plain(at, everybody))
    assert looked_up[0] == 20
    assert sum(looked_up[1:]) <= 20  # of 780: hardly anybody outgrows a list
    assert not asked


@pytest.mark.parametrize("with_tails", [False, True])
def test_who_takes_long_steps_gets_no_lists_until_the_steps_are_short(with_tails):
    x, y, metric = problem(4, 3000, 6, 3, "plain")
    rng = np.random.default_rng(1)
    plain, nearby, asked = predictors(x, y, metric, 5, 20, None, with_tails)
    home, everybody = x[:20].copy(), np.arange(20)
    listed = []
    look_up = nearby.look_up
    nearby.look_up = lambda u, slack, walkers: (listed.append(len(walkers)), look_up(u, slack, walkers))

    def walk(stride, n_steps):
        listed.clear(), asked.clear()
        for _ in range(n_steps):
            at = home + stride * rng.standard_normal(home.shape)
            assert np.array_equal(nearby(at, everybody), plain(at, everybody))
        return sum(listed), sum(asked)

    n_lists, n_asked = walk(3.0, 100)
    assert n_lists <= 20 * 3  # the first ones, and again after a while
    assert n_asked >= 20 * 90
    n_lists, n_asked = walk(1e-3, 100)
    assert n_lists <= 20 * 3
    assert n_asked <= 20 * 2  # the step back home is a long one


def test_a_list_that_was_good_for_nothing_is_not_the_last():
    rng = np.random.default_rng(3)
    x = np.concatenate([np.zeros((500, 2)), 10 + rng.standard_normal((500, 2))])
    plain, nearby, asked = predictors(x, rng.integers(0, 2, 1000), None, 3, 1, None)
    walker = np.array([0])
    nearby(np.zeros((1, 2)), walker)
    assert nearby.takes[0] <= 0  # as many as are on the list lie just beyond it
    for step in range(2 * TRY_AGAIN):
        point = np.full((1, 2), 10 + 1e-4 * step)
        assert nearby(point, walker) == plain(point, walker)
    assert sum(asked) <= TRY_AGAIN


@pytest.mark.parametrize("with_tails", [False, True])
def test_a_list_full_of_ties_is_left_to_the_classifier(with_tails):
    x = np.concatenate([np.repeat([[1.0, 0.0]], 3000, axis=0), np.repeat([[5.0, 0.0]], 3000, axis=0)])
    y = np.repeat([0, 1], 3000)
    plain, nearby, asked = predictors(x, y, None, 3, 1, None, with_tails)
    point, walker = np.array([[0.0, 0.0]]), np.array([0])
    assert nearby(point, walker) == plain(point, walker)
    assert asked == [1]  # as many as are on the list lie just beyond it


def test_the_tail_of_a_list_is_asked_before_a_new_list_is_made():
    x, y, metric = problem(2, 3000, 6, 3, "plain")
    rng = np.random.default_rng(1)
    plain, nearby, asked = predictors(x, y, metric, 5, 20, None, with_tails=True)
    at, everybody = x[:20].copy(), np.arange(20)
    nearby(at, everybody)
    outgrown, beyond_heads = [], []
    look_up, up_to = nearby.look_up, nearby.nearest_up_to
    nearby.look_up = lambda u, slack, walkers: (outgrown.append(len(walkers)), look_up(u, slack, walkers))
    nearby.nearest_up_to = lambda end, *rest: (beyond_heads.append(end), up_to(end, *rest))[1]
    for _ in range(30):
        at += 0.1 * rng.standard_normal(at.shape)
        assert np.array_equal(nearby(at, everybody), plain(at, everybody))
    assert sum(outgrown) < len(beyond_heads) / 3
    assert nearby.head < min(beyond_heads) <= max(beyond_heads) <= nearby.length
    assert not asked


def test_lists_of_many_walkers_stay_within_the_memory(monkeypatch):
    x, y, _ = problem(3, 3000, 6, 2, "plain")
    monkeypatch.setattr("arml_core.neighbors.neighbor_lists.LIST_BYTES", 4 * 6 * 1000 * 100)
    _, nearby, _ = predictors(x, y, None, 5, 1000, None, with_tails=True)
    assert nearby.length == 100
    _, nearby, _ = predictors(x, y, None, 5, 250, None, with_tails=True, n_predictors=4)
    assert nearby.length == 100
    _, nearby, _ = predictors(x, y, None, 5, 10_000, None, with_tails=True)
    assert nearby.length == nearby.head


def test_twins_of_two_classes_are_decided_by_training_order():
    rng = np.random.default_rng(3)
    x = np.concatenate([np.zeros((4, 2)), 10 + rng.standard_normal((300, 2))])
    y = np.concatenate([[1, 0, 0, 1], rng.integers(0, 2, 300)])
    for exclude, answer in ((None, 1), (np.array([[0, -1]]), 0)):
        plain, nearby, asked = predictors(x, y, None, 1, 1, exclude)
        point, walker = np.array([[0.5, 0.5]]), np.array([0])
        assert plain(point, walker) == [answer]  # the first of those that may vote
        assert nearby(point, walker) == [answer]
        assert not asked


@pytest.mark.parametrize("leave_out", [True, *more(False)])
@pytest.mark.parametrize("large_bytes", [0, LARGE_BYTES])
def test_the_attack_is_the_same_with_and_without_lists(monkeypatch, large_bytes, leave_out):
    monkeypatch.setattr("arml_core.neighbors.neighbor_lists.LARGE_BYTES", large_bytes)
    x, y, metric = problem(5, 400, 4, 3, "plain")
    knn = MahalanobisKNN(n_neighbors=3, metric=metric).fit(x, y)
    options = {"method": "boundary", "steps": 300, "threat": ThreatModel(box=(-3.0, 3.0))}
    exclude = np.arange(30) if leave_out else None
    with_lists = knn.attack(x[:30], exclude=exclude, **options)
    monkeypatch.setattr(
        NeighborListPredictor, "__call__", lambda self, points, walkers: self._walkers.predict(points, walkers)
    )
    without = knn.attack(x[:30], exclude=exclude, **options)
    assert np.array_equal(with_lists.upper, without.upper)
    assert np.array_equal(with_lists.adversarial, without.adversarial)


def test_a_small_training_set_has_no_lists():
    x, y, metric = problem(7, HEAD, 3, 2, "plain")
    plain, nearby, asked = predictors(x, y, metric, 1, 4, None)
    at = x[:4] + 0.1
    assert not nearby.is_useful
    assert np.array_equal(nearby(at, np.arange(4)), plain(at, np.arange(4)))
    assert asked == [4]
