"""Wrong training rows, counted against all ways to be wrong and against classifiers fitted to the changed rows."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arml_core as arml
from arml_core import MahalanobisKNN, Metric
from arml_core.certificates.training_rows import KINDS
from tests.training_row_oracles import exact_distances, fewest_added, fewest_relabelled, fewest_removed, vote

METRICS = (None, np.diag([1.0, 0.0]), *(Metric.from_components(g) for g in ([[2.0, 1.0], [0.0, 1.0]], [[1.0, 1.0]])))


def columns(found):
    return np.column_stack([getattr(found, kind) for kind in KINDS])


@st.composite
def tables(draw, most=8, most_k=8, most_classes=4):
    """Rows on a small grid, so that places, distances and votes tie; the first rows have every class once."""
    n_classes = draw(st.integers(2, most_classes))
    n = draw(st.integers(n_classes, most))
    X = np.array(draw(st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=n, max_size=n)), dtype=float)
    rest = st.lists(st.integers(0, n_classes - 1), min_size=n - n_classes, max_size=n - n_classes)
    y = np.array([*draw(st.permutations(range(n_classes))), *draw(rest)])
    x = np.array(draw(st.tuples(*[st.integers(-1, 3)] * 2)), dtype=float)
    return X, y, x, draw(st.integers(1, min(n, most_k)))


@settings(max_examples=150)
@given(tables(), st.sampled_from(METRICS), st.integers(-1, 7))
def test_removing_and_relabelling_equal_all_subsets(table, M, left_out):
    X, y, x, k = table
    seen = np.arange(len(X)) != (left_out if left_out < len(X) and k < len(X) else -1)
    knn = MahalanobisKNN(k, M).fit(X, y)
    found = knn.certify_training(x[None], exclude=None if seen.all() else np.flatnonzero(~seen))
    distances, labels = exact_distances(knn.metric_.components, X[seen], x), y[seen].tolist()
    assert found.predicted[0] == vote(distances, labels, k)
    assert found.removed[0] == fewest_removed(distances, labels, k)
    assert found.relabelled[0] == fewest_relabelled(distances, labels, k, range(len(knn.classes_)))


@settings(max_examples=100)
@given(tables(most=6, most_k=4, most_classes=3), st.sampled_from(METRICS), st.booleans())
def test_adding_equals_all_places_and_labels(table, M, leave_one_out):
    X, y, x, k = table
    left_out = leave_one_out and k < len(X)
    knn = MahalanobisKNN(k, M).fit(X, y)
    found = knn.certify_training(x[None], exclude=[0] if left_out else None)
    seen = slice(1 if left_out else 0, None)
    distances, labels = exact_distances(knn.metric_.components, X[seen], x), y[seen].tolist()
    assert found.added[0] == fewest_added(distances, labels, k, range(len(knn.classes_)))


def answer(X, y, x, k):
    """Of a classifier fitted to these rows; one class alone is refused, but leaves no doubt."""
    return y[0] if len(set(y)) == 1 else MahalanobisKNN(k).fit(X, y).predict(x[None])[0]


@settings(max_examples=25)
@given(tables(most=6, most_k=5, most_classes=3))
def test_the_numbers_hold_for_classifiers_fitted_to_the_changed_rows(table):
    X, y, x, k = table
    found, before, n = MahalanobisKNN(k).fit(X, y).certify_training(x[None]), answer(X, y, x, k), len(X)
    removed = [r for r in range(1, n - k + 1) for kept in combinations(range(n), n - r)
               if answer(X[list(kept)], y[list(kept)], x, k) != before]  # fmt: skip
    assert found.removed[0] == min(removed, default=np.inf)
    added = int(found.added[0])
    for r in (added - 1, added):
        after = [answer(np.vstack([*[x] * r, X]), np.array([*[c] * r, *y]), x, k) for c in np.unique(y)]
        assert any(label != before for label in after) == (r == added)
    for r in (int(found.relabelled[0]) - 1, int(found.relabelled[0])):
        after = []
        for rows in combinations(range(n), r):
            for c in np.unique(y):
                changed = y.copy()
                changed[list(rows)] = c
                after.append(answer(X, changed, x, k))
        assert any(label != before for label in after) == (r == int(found.relabelled[0]))


def test_a_point_whose_numbers_can_be_told_by_hand():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    knn = MahalanobisKNN(3).fit(X, ["a", "a", "a", "b", "b"])
    found = knn.certify_training([[0.0]])
    # Without two of the a, one a and two b vote; two b at 0 push out two a; two a that become b outvote the third.
    assert [found.removed[0], found.added[0], found.relabelled[0]] == [2, 2, 2]
    # Three must remain, and there are too few b to outvote two a.
    assert MahalanobisKNN(5).fit(X, ["a", "a", "a", "b", "b"]).certify_training([[0.0]]).removed[0] == np.inf


def test_an_added_row_comes_before_rows_at_the_same_place():
    knn = MahalanobisKNN(1).fit(np.zeros((3, 1)), [0, 1, 1])
    found = knn.certify_training([[0.0]])
    assert found.predicted[0] == 0
    assert columns(found).tolist() == [[1, 1, 1]]


@pytest.mark.parametrize(("near", "rivals"), [(0, 2), (1, 1)])
def test_equal_votes_go_to_the_smaller_label(near, rivals):
    """K = 2 with two votes for the class: label 0 keeps a tie, label 1 loses it."""
    knn = MahalanobisKNN(2).fit([[0.0], [1.0], [2.0], [3.0]], [near, near, 1 - near, 1 - near])
    assert columns(knn.certify_training([[0.0]])).tolist() == [[rivals] * 2 + [rivals]]


def test_a_wrong_answer_needs_no_wrong_row():
    knn = MahalanobisKNN(1).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    found = knn.certify_training([[0.1], [0.1]], [0, 1])
    assert columns(found).tolist() == [[1, 1, 1], [0, 0, 0]]
    assert found.correct.tolist() == [True, False]
    assert found.predicted.tolist() == [0, 0]
    with pytest.raises(ValueError, match="was not in training"):
        knn.certify_training([[0.1]], [7])


def removed_by_sorting(knn, X, y, x, k):
    """The definition, row by row, over exactly sorted neighbours."""
    distances = exact_distances(knn.metric_.components, X, x)
    labels = y[sorted(range(len(X)), key=lambda i: (distances[i], i))]
    label = knn.predict(x[None])[0]
    for r in range(len(X) - k + 1):
        counts = np.bincount(labels[: k + r], minlength=int(y.max()) + 1)
        counts[label] = max(counts[label] - r, 0)
        if counts.argmax() != label:
            return r
    return np.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["identity", "full"])
def test_deep_in_a_large_class_and_among_equal_distances(dtype, metric):
    """Hundreds of rows are nearer than the one that decides, and it shares its distance with others."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, (700, 3)).astype(dtype)
    y = (X.sum(axis=1) > 10).astype(int) + (rng.random(700) < 0.02)
    M = None if metric == "identity" else np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    points = rng.integers(0, 6, (12, 3)).astype(dtype)
    for k in (1, 6):
        knn = MahalanobisKNN(k, M).fit(X, y)
        found = knn.certify_training(points)
        assert found.removed.max() > 30
        assert found.removed.tolist() == [removed_by_sorting(knn, X, y, x, k) for x in points]


@pytest.mark.parametrize("far", [1.0, 1e9])
def test_rows_that_only_rounding_would_exchange(far):
    """Distances that agree in all sixteen digits are put in order without rounding; far out in another precision."""
    rng = np.random.default_rng(0)
    steps = rng.permutation(40)
    X = np.column_stack([far + steps * np.spacing(far), np.zeros(40)])
    y = (steps % 3 == 1).astype(int)
    knn = MahalanobisKNN(1).fit(X, y)
    for x in (np.zeros(2), np.array([0.0, 0.3])):
        assert knn.certify_training(x[None]).removed[0] == removed_by_sorting(knn, X, y, x, 1) == 1
    y = (steps > 17).astype(int)
    knn = MahalanobisKNN(3).fit(X, y)
    x = np.array([0.0, 0.3])
    assert knn.certify_training(x[None]).removed[0] == removed_by_sorting(knn, X, y, x, 3) == 17


def test_many_points_in_parts_with_progress_and_cancel():
    rng = np.random.default_rng(1)
    X, points = rng.normal(size=(300, 4)), rng.normal(size=(300, 4))
    y = rng.integers(0, 3, 300)
    seen = []
    knn = MahalanobisKNN(5, n_jobs=2).fit(X, y)
    labels = rng.integers(0, 3, 300)
    together = columns(knn.certify_training(points, labels, callback=lambda *a: seen.append(a[:2])))
    alone = np.vstack([columns(knn.certify_training(points[i : i + 1], labels[i : i + 1])) for i in range(300)])
    assert (together == alone).all()
    assert seen[0] == (0, 300)
    assert seen[-1] == (300, 300)

    def stop(done, total, info):
        if done:
            raise arml.Cancelled

    with pytest.raises(arml.Cancelled):
        knn.certify_training(points, labels, callback=stop)


def test_learned_references_are_refused_in_words():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    knn = MahalanobisKNN(1, references=(X[:4], y[:4])).fit(X, y)
    with pytest.raises(ValueError, match="these references are no training rows"):
        knn.certify_training(X)


class KeptRows:
    """References that are some of the training rows."""

    components_ = None

    def __init__(self, X, y, rows):
        self.references_, self.reference_labels_, self.reference_rows_ = X[rows], y[rows], rows


def test_of_kept_rows_the_kept_ones_are_counted():
    rng = np.random.default_rng(0)
    X, y, rows = rng.normal(size=(40, 2)), np.arange(40) % 2, np.arange(3, 23)
    kept = MahalanobisKNN(3, references=KeptRows(X, y, rows)).fit(X, y)
    alone = MahalanobisKNN(3).fit(X[rows], y[rows])
    exclude = np.arange(40)
    places = np.where((exclude >= 3) & (exclude < 23), exclude - 3, -1)
    assert (
        columns(kept.certify_training(X, y, exclude=exclude)) == columns(alone.certify_training(X, y, exclude=places))
    ).all()


def test_the_result_as_a_table_and_in_short():
    knn = MahalanobisKNN(1).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    found = knn.certify_training([[0.1], [3.0]], ["a", "a"])
    frame = found.to_frame()
    assert list(frame.columns) == ["predicted", "correct", *KINDS]
    assert frame["removed"].tolist() == [1, 0]
    assert repr(found) == "TrainingChanges(2 points, 1 correct; medians: removed 0.5, added 0.5, relabelled 0.5)"
    assert len(found.take(np.array([1]))) == len(found) - 1 == 1
