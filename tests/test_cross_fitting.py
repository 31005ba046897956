"""Every row is answered by a model that has not seen it, and the folds are the same on every machine."""

import numpy as np
import pytest

import arml_core as arml
from arml_core.cross_fitting import assign_folds, cross_fit
from arml_core.errors import Cancelled
from arml_core.learners.euclidean import Euclidean
from arml_core.references import AdversarialPruning, KMeansPrototypes

from .learners.data import blobs

LEARNER = KMeansPrototypes(2, random_state=0)


def test_folds_spread_every_class_evenly_and_depend_on_the_seed_alone():
    y = np.repeat(["a", "b", "c"], [10, 7, 23])
    fold = assign_folds(y, 4, 3)
    sizes = np.array([np.bincount(fold[y == label], minlength=4) for label in "abc"])
    assert (sizes.max(axis=1) - sizes.min(axis=1) <= 1).all()
    assert np.ptp(np.bincount(fold)) <= 1
    np.testing.assert_array_equal(fold, assign_folds(y, 4, 3))
    assert (fold != assign_folds(y, 4, 4)).any()
    # RandomState(0) draws 5 2 1 3 0 4: of class 0 the rows 2 0 4, then of class 1 the rows 5 1 3 are dealt out
    assert assign_folds(np.array([0, 1, 0, 1, 0, 1]), 3, 0).tolist() == [1, 1, 0, 2, 2, 0]


@pytest.mark.parametrize("learner", [LEARNER, AdversarialPruning(), Euclidean(), None], ids=str)
def test_every_row_is_certified_by_what_was_learned_from_the_others(learner):
    X, y = blobs()
    crossed = cross_fit(learner, X, y, folds=3, random_state=1)
    found = crossed.certify(method="exact")
    np.testing.assert_array_equal(found.index, np.arange(len(X)))
    for fold in range(3):
        others, own = np.flatnonzero(crossed.fold_of != fold), np.flatnonzero(crossed.fold_of == fold)
        arguments = {}
        if learner is not None:
            fitted = type(learner)(**learner.get_params()).fit(X[others], y[others])
            arguments = {"references": fitted} if hasattr(fitted, "references_") else {"metric": fitted}
        knn = arml.MahalanobisKNN(**arguments).fit(X[others], y[others])
        expected = knn.certify(X[own], y[own], method="exact")
        np.testing.assert_array_equal(found.lower[own], expected.lower)
        np.testing.assert_array_equal(found.predicted[own], expected.predicted)
    np.testing.assert_array_equal(crossed.predict(), found.predicted)


def test_some_rows_in_any_order_and_changed_ones():
    X, y = blobs()
    crossed = cross_fit(LEARNER, X, y, folds=3)
    rows = [7, 0, 30]
    whole, some = crossed.certify(method="exact"), crossed.certify(rows, method="exact")
    np.testing.assert_allclose(some.lower, whole.lower[rows], rtol=1e-9)
    np.testing.assert_array_equal(some.index, [0, 1, 2])
    flipped = [row for row in rows if whole.correct[row]]
    moved = crossed.certify(flipped, method="exact").adversarial
    assert (crossed.predict(moved, flipped) != y[flipped]).all()
    reached = crossed.attack(flipped)
    assert (crossed.predict(reached.adversarial, flipped) != y[flipped]).all()
    with pytest.raises(ValueError, match="2 points, 1 rows"):
        crossed.predict(X[:2], [0])


def test_own_answers_are_certified_without_labels():
    X, y = blobs()
    crossed = cross_fit(LEARNER, X, y, folds=3)
    found = crossed.certify(labels=False, method="exact")
    assert found.correct.all()
    np.testing.assert_array_equal(found.predicted, crossed.predict())


def test_the_only_row_of_a_class_is_answered_wrongly():
    """No model learned without it knows its label: radius 0, and it is its own adversarial point."""
    X, y = blobs()
    y = np.where(np.arange(len(y)) == 5, 9, y)
    crossed = cross_fit(LEARNER, X, y, folds=3)
    found = crossed.certify(method="exact")
    assert (found.lower[5], found.upper[5], found.exact[5], found.correct[5]) == (0.0, 0.0, True, False)
    np.testing.assert_array_equal(found.adversarial[5], X[5])
    assert found.predicted[5] != 9
    aimed = [crossed.certify(target=label).take([5]) for label in (0, 1, 2)]
    assert not any(radii.correct[0] for radii in aimed)
    assert [radii.lower[0] == 0 for radii in aimed] == [found.predicted[5] == label for label in (0, 1, 2)]


def test_a_box_with_a_line_for_each_row_stays_with_its_rows():
    X, y = blobs()
    crossed = cross_fit(LEARNER, X, y, folds=3)
    rows = [40, 7, 0, 30, 12]
    width = np.array([0.5, 4.0, 1.0, 3.0, 2.0])[:, None]
    threat = arml.ThreatModel(box=(X[rows] - width, X[rows] + width))
    found = crossed.certify(rows, method="exact", threat=threat)
    assert found.threat == threat
    for place, row in enumerate(rows):
        alone = arml.ThreatModel(box=(X[row] - width[place], X[row] + width[place]))
        assert found.lower[place] == crossed.certify([row], method="exact", threat=alone).lower[0]
    per_fold = len(X) // 3
    with pytest.raises(ValueError, match=f"each of {per_fold} rows; asked about are {len(X)}"):
        crossed.certify(threat=arml.ThreatModel(box=(X[:per_fold] - 1, X[:per_fold] + 1)))
    with pytest.raises(ValueError, match="exclude: every row is answered by a model learned without it"):
        crossed.certify([3], exclude=[3])


def test_what_cannot_be_dealt_into_folds_is_refused():
    X, y = blobs()
    with pytest.raises(ValueError, match="two classes with at least two rows each"):
        cross_fit(LEARNER, X, (np.arange(len(y)) == 3).astype(int), folds=3)
    with pytest.raises(ValueError, match="50 folds need as many rows; there are 45"):
        cross_fit(LEARNER, X, y, folds=50)
    with pytest.raises(ValueError, match="folds must be a whole number, at least 2"):
        cross_fit(LEARNER, X, y, folds=1)


def test_progress_counts_all_folds_and_can_be_cancelled():
    X, y = blobs()
    seen = []
    cross_fit(LEARNER, X, y, folds=3, callback=lambda done, total, info: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert seen == sorted(seen)
    rows = []
    crossed = cross_fit(LEARNER, X, y, folds=3)
    crossed.certify(callback=lambda done, total, info: rows.append((done, total)))
    assert rows[-1] == (45, 45)
    assert rows == sorted(rows)

    def stop(done, total, info):
        raise Cancelled

    with pytest.raises(Cancelled):
        cross_fit(LEARNER, X, y, callback=stop)
