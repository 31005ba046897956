"""Adversarial pruning: separated classes with the fewest rows dropped, held against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

import arml_core as arml
from arml_core import AdversarialPruning, MahalanobisKNN
from arml_core.references import adversarial_pruning, close_pairs
from arml_core.references.smallest_cover import smallest_cover
from tests.learners.data import blobs
from tests.more import seeds

NAMES = {1: "cityblock", 2: "euclidean", np.inf: "chebyshev"}


def conflicts(X, y, radius, norm):
    """All pairs of rows of different classes that are less than 2r apart."""
    close = (cdist(X, X, NAMES[norm]) < 2 * radius) & (y[:, None] != y)
    return list(zip(*np.nonzero(np.triu(close)), strict=True))


def smallest_cover_size(n, pairs):
    """By trying every set of rows."""
    for size in range(n + 1):
        for dropped in itertools.combinations(range(n), size):
            if all(i in dropped or j in dropped for i, j in pairs):
                return size
    raise AssertionError("dropping all rows leaves no pair")


@st.composite
def small_problems(draw, n_classes):
    n, d = draw(st.integers(2, 11)), draw(st.integers(1, 2))
    X = np.array(draw(st.lists(st.integers(0, 5), min_size=n * d, max_size=n * d)), dtype=float).reshape(n, d)
    y = np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
    y[0], y[1] = 0, 1
    return X, y, draw(st.sampled_from([0.5, 0.75, 1.0, 1.5])), draw(st.sampled_from([1, 2, np.inf]))


@given(small_problems(n_classes=2))
def test_two_classes_lose_as_few_rows_as_brute_force_finds(problem):
    X, y, radius, norm = problem
    learner = AdversarialPruning(radius, norm=norm).fit(X, y)
    kept = learner.reference_rows_
    pairs = conflicts(X, y, radius, norm)
    assert not conflicts(X[kept], y[kept], radius, norm)
    assert len(X) - len(kept) == smallest_cover_size(len(X), pairs)


@given(small_problems(n_classes=4))
def test_more_classes_are_separated_and_no_row_could_come_back(problem):
    X, y, radius, norm = problem
    kept = set(AdversarialPruning(radius, norm=norm).fit(X, y).reference_rows_.tolist())
    pairs = conflicts(X, y, radius, norm)
    assert not any(i in kept and j in kept for i, j in pairs)
    for row in set(range(len(X))) - kept:
        partners = {i + j - row for i, j in pairs if row in (i, j)}
        assert partners & kept


def test_a_row_comes_back_when_all_its_rivals_have_gone():
    """Row 0 goes first, with three conflicts; then each of its rivals must go for the sake of its other two."""
    pairs = [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 6), (2, 7), (3, 8), (3, 9)]
    codes = np.array([0, 1, 1, 1, 0, 2, 0, 2, 0, 2])
    assert_array_equal(np.flatnonzero(smallest_cover(*np.transpose(pairs), codes)), [1, 2, 3])


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("sizes", [(300, 280), (200, 220, 150)], ids=["two classes", "three"])
def test_hundreds_of_rows_in_several_blocks(monkeypatch, norm, sizes):
    X, y = blobs(3, sizes, n_features=3)
    whole = AdversarialPruning(norm=norm).fit(X, y)
    monkeypatch.setattr(close_pairs, "BLOCK_ROWS", 64)
    learner = AdversarialPruning(norm=norm).fit(X, y)
    assert_array_equal(learner.reference_rows_, whole.reference_rows_)
    kept = learner.reference_rows_
    assert 0 < len(kept) < len(X)
    assert not conflicts(X[kept], y[kept], learner.radius_, norm)
    assert_array_equal(kept, np.sort(kept))


@pytest.mark.parametrize("seed", seeds(10))
def test_two_classes_lose_no_more_rows_than_a_matching_forces(seed):
    """Disjoint pairs in conflict need a row each; the most of them by augmenting paths."""
    rng = np.random.default_rng(seed)
    X, y, radius = rng.random((110, 2)), np.arange(110) % 2, 0.05
    learner = AdversarialPruning(radius).fit(X, y)
    pairs = conflicts(X, y, radius, 2)
    rivals = {row: [i + j - row for i, j in pairs if row in (i, j)] for row in np.flatnonzero(y == 0)}
    partner = {}

    def augment(row, seen):
        for rival in rivals[row]:
            if rival not in seen:
                seen.add(rival)
                if rival not in partner or augment(partner[rival], seen):
                    partner[rival] = row
                    return True
        return False

    matched = sum(augment(row, set()) for row in rivals)
    assert 10 < matched < 50
    assert len(X) - len(learner.references_) == matched


def test_rows_exactly_2r_apart_stay():
    X, y = np.array([[0.1], [1.1], [2.1]]), [0, 1, 0]
    gap = X[1, 0] - X[0, 0]
    assert len(AdversarialPruning(gap / 2).fit(X, y).references_) == 3
    assert_array_equal(AdversarialPruning(np.nextafter(gap / 2, 1)).fit(X, y).reference_rows_, [0, 2])


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_far_from_the_origin_the_distances_are_still_those_of_differences(offset):
    rng = np.random.default_rng(0)
    X, y = offset + rng.integers(0, 4, size=(60, 3)) / 8, np.arange(60) % 2
    pairs = conflicts(X, y, 0.125, 2)  # distances of 1/4 are common: these stay
    learner = AdversarialPruning(0.125).fit(X, y)
    kept = set(learner.reference_rows_.tolist())
    assert pairs
    assert not any(i in kept and j in kept for i, j in pairs)
    clear = set(range(60)) - {row for pair in pairs for row in pair}
    assert clear <= kept


def test_the_automatic_radius_is_half_the_median_distance_to_another_class():
    X, y = blobs(1, (30, 25, 20))
    for norm, name in NAMES.items():
        between = np.where(y[:, None] != y, cdist(X, X, name), np.inf)
        assert AdversarialPruning(norm=norm).fit(X, y).radius_ == pytest.approx(np.median(between.min(axis=1)) / 2)


def test_rows_in_the_same_place_do_not_make_the_automatic_radius_zero():
    X, y = np.array([[0.0], [0.0], [3.0], [3.0]]), [0, 1, 0, 1]
    learner = AdversarialPruning().fit(X, y)
    assert learner.radius_ == 1.5
    assert len(learner.references_) == 2
    with pytest.raises(ValueError, match="give the radius as a number"):
        AdversarialPruning().fit(np.zeros((4, 2)), y)


def test_rows_in_both_classes_are_dropped_from_both_alike():
    """Each pair must lose one of its two rows, and no class pays for all of them."""
    X = np.repeat(10.0 * np.arange(20), 2)[:, None]
    y = np.tile([0, 1], 20)
    learner = AdversarialPruning(1.0).fit(X, y)
    assert np.bincount(learner.reference_labels_).tolist() == [10, 10]


def test_a_class_that_loses_every_row_keeps_its_label():
    X = np.array([[0.0], [0.5], [1.0], [0.25], [0.75]])
    y = np.array(["many", "many", "many", "few", "few"])
    learner = AdversarialPruning(1.0).fit(X, y)
    assert set(learner.reference_labels_) == {"many"}
    assert learner.classes_.tolist() == ["few", "many"]
    knn = MahalanobisKNN(1, references=learner).fit(X, y)
    for radii in (knn.certify(X, y), knn.certify(X, y, method="exact"), knn.certify(X, y, method="search")):
        assert_array_equal(radii.correct, y == "many")
        assert_array_equal(radii.lower, np.where(y == "many", np.inf, 0.0))
        assert_array_equal(radii.upper, np.where(y == "many", np.inf, 0.0))
    assert np.isinf(knn.attack(X, y).upper[:3]).all()


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_rows_that_are_kept_have_a_radius_of_r(norm):
    """The one thing that the separation gives by itself: Euclidean ℓ2; in the other norms r counts as ℓ2 allows."""
    X, y = blobs(4, (40, 40), n_features=3)
    learner = AdversarialPruning(norm=norm).fit(X, y)
    knn = MahalanobisKNN(1, references=learner).fit(X, y)
    kept = learner.reference_rows_
    radius = knn.certify(X[kept], y[kept], method="exact").lower
    between = np.where(y[kept][:, None] != y[kept], cdist(X[kept], X[kept]), np.inf).min(axis=1)
    assert (radius >= between / 2 * (1 - 1e-6)).all()
    if norm == 2:
        assert (radius >= learner.radius_ * (1 - 1e-6)).all()


@pytest.mark.parametrize("k", [1, 3])
def test_leaving_one_out_leaves_that_reference_out(k):
    X, y = blobs(5, (40, 40), n_features=3)
    learner = AdversarialPruning().fit(X, y)
    knn = MahalanobisKNN(k, references=learner).fit(X, y)
    kept = learner.reference_rows_
    assert 10 < len(kept) < len(X)
    rows = np.arange(len(X))
    answers, radii = knn.predict(X, exclude=rows), knn.certify(X, y, exclude=rows).lower
    for row in rows:
        others = kept[kept != row]
        alone = MahalanobisKNN(k).fit(X[others], y[others])
        assert answers[row] == alone.predict(X[row : row + 1])[0]
        assert radii[row] == pytest.approx(alone.certify(X[row : row + 1], y[row : row + 1]).lower[0], rel=1e-6)


def test_too_many_conflicts_for_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(adversarial_pruning, "MOST_PAIRS", 50)
    X, y = blobs(0, (20, 20))
    with pytest.raises(ValueError, match=r"more than 50 pairs .* less than 2 × 100 apart: choose a smaller radius"):
        AdversarialPruning(100).fit(X, y)


@pytest.mark.parametrize("radius", [0, -1.0, np.nan, "large", None])
def test_a_radius_must_be_positive(radius):
    with pytest.raises(ValueError, match="radius must be"):
        AdversarialPruning(radius).fit(*blobs())


def test_it_can_be_stopped_between_blocks(monkeypatch):
    monkeypatch.setattr(close_pairs, "BLOCK_ROWS", 16)
    calls = []

    def stop(done, total, info):
        calls.append((done, total))
        if done == 3:
            raise arml.Cancelled

    X, y = blobs(0, (60, 60))
    with pytest.raises(arml.Cancelled):
        AdversarialPruning(0.5).fit(X, y, callback=stop)
    assert [done for done, _ in calls] == [0, 1, 2, 3]
    assert calls[0][1] > 10

    def stop_at_once(done, total, info):
        assert done == 0
        raise arml.Cancelled

    monkeypatch.setattr(close_pairs.OtherClassDistances, "closer_than", None)  # the automatic radius comes first
    with pytest.raises(arml.Cancelled):
        AdversarialPruning().fit(X, y, callback=stop_at_once)
