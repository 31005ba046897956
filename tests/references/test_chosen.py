"""``MahalanobisKNN(references=…)``: each way to say which points are compared with, and what holds on them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import arml_core as arml
from arml_core import GMLVQ, LFDA, AdversarialPruning, KMeansPrototypes, MahalanobisKNN, RobustPrototypes, ThreatModel
from tests.fitted import fitted
from tests.learners.data import blobs

from .data import every_learner, name_of

LEARNERS = [pytest.param(learner, id=name_of(learner)) for learner in every_learner()]
LEARNS_A_METRIC = [GMLVQ(n_epochs=1, random_state=0), RobustPrototypes(n_epochs=1, random_state=0)]
LEARNS_NONE = [
    KMeansPrototypes(random_state=0),
    AdversarialPruning(),
    RobustPrototypes(metric="euclidean", n_epochs=1, random_state=0),
]


@pytest.fixture
def data():
    X, y = blobs(7, (25, 20, 15), n_features=3)
    return X, y, X[:12] + 0.3 * np.random.default_rng(0).standard_normal((12, 3))


def plain(knn):
    """The ordinary classifier of the same points."""
    return MahalanobisKNN(knn.n_neighbors, knn.metric_).fit(knn.references_, knn.reference_labels_)


# which points ----------------------------------------------------------------------------------------------------


def test_none_is_all_training_rows(data):
    X, y, points = data
    knn = MahalanobisKNN(3).fit(X, y)
    assert_array_equal(knn.references_, X)
    assert_array_equal(knn.reference_labels_, y)
    assert knn.reference_learner_ is None
    pair = MahalanobisKNN(3, references=(X, y)).fit(X, y)
    assert_array_equal(pair.certify(points).lower, knn.certify(points).lower)


def test_a_pair_is_used_as_it_is_and_copied(data):
    X, y, points = data
    rows, labels = X[::4].copy(), y[::4].copy()
    knn = MahalanobisKNN(3, references=(rows, labels)).fit(X, y)
    expected = MahalanobisKNN(3).fit(X[::4], y[::4])
    before = knn.certify(points).lower
    assert_array_equal(before, expected.certify(points).lower)
    assert_array_equal(knn.predict(points), expected.predict(points))
    rows += 5.0
    labels[:] = 0
    assert_array_equal(knn.certify(points).lower, before)
    assert_array_equal(knn.references_, X[::4])
    assert_array_equal(knn.reference_labels_, y[::4])


def test_a_pair_may_be_lists_or_a_table(data):
    X, y, points = data
    expected = MahalanobisKNN(references=(X[:9], y[:9])).fit(X, y).predict(points)
    table = pd.DataFrame(X, columns=list("abc"))
    for pair in ((X[:9].tolist(), y[:9].tolist()), (table[:9], pd.Series(y[:9]))):
        assert_array_equal(MahalanobisKNN(references=pair).fit(X, y).predict(points), expected)
    knn = MahalanobisKNN(references=KMeansPrototypes(random_state=0)).fit(table, y)
    assert knn.feature_names_in_.tolist() == list("abc")


@pytest.mark.parametrize(
    ("references", "said"),
    [
        ((np.zeros((2, 3)),), r"a pair \(points, labels\); got 1"),
        ((np.zeros((2, 3)), [0, 1, 1]), "one label a point, 2 in all"),
        ((np.zeros((2, 4)), [0, 1]), "the references have 4 features; the training rows have 3"),
        ((np.zeros((2, 3)), [0, 9]), "label 9 .* was not in training"),
        ((np.zeros((2, 3)), ["0", "1"]), "label '0' .* was not in training"),
        ((np.full((2, 3), np.nan), [0, 1]), "NaN"),
        ("prototypes", r"references must be None, \(points, labels\) or a learner of references; got str"),
        (np.zeros((2, 3)), "got ndarray"),
    ],
)
def test_what_is_no_reference_is_refused_in_words(data, references, said):
    X, y, _ = data
    with pytest.raises(ValueError, match=said):
        MahalanobisKNN(references=references).fit(X, y)


@pytest.mark.parametrize("learner", LEARNERS)
class TestLearnedReferences:
    def test_a_fitted_learner_is_used_and_an_unfitted_one_stays_so(self, learner, data):
        X, y, points = data
        ready = fitted(learner, X, y)
        knn = MahalanobisKNN(references=ready).fit(X, y)
        assert knn.reference_learner_ is ready
        given = clone(learner)
        other = MahalanobisKNN(references=given).fit(X, y)
        assert not hasattr(given, "references_")
        assert other.reference_learner_ is not given
        for found in (knn, other):
            assert_array_equal(found.references_, ready.references_)
            assert_array_equal(found.reference_labels_, ready.reference_labels_)
        assert_array_equal(other.certify(points).lower, knn.certify(points).lower)

    def test_string_labels(self, learner, data):
        X, y, points = data
        names = np.array(["a", "b", "c"])
        knn = MahalanobisKNN(references=clone(learner)).fit(X, names[y])
        expected = MahalanobisKNN(references=clone(learner)).fit(X, y)
        assert_array_equal(knn.predict(points), names[expected.predict(points)])

    def test_clone_parameters_and_pickle(self, learner, data):
        X, y, points = data
        knn = MahalanobisKNN(references=clone(learner)).fit(X, y)
        expected = knn.certify(points).lower
        copy = clone(knn)
        assert not hasattr(copy, "references_")
        assert_array_equal(copy.fit(X, y).certify(points).lower, expected)
        name, value = next(iter(learner.get_params().items()))
        assert knn.get_params()[f"references__{name}"] == value
        stored = pickle.loads(pickle.dumps(knn))  # noqa: S301 its own bytes
        assert_array_equal(stored.certify(points).lower, expected)

    @pytest.mark.parametrize("k", [1, 3])
    @pytest.mark.parametrize("norm", [2, 1, np.inf])
    def test_radii_are_those_of_an_ordinary_classifier_of_these_points(self, learner, data, k, norm):
        X, y, points = data
        knn = MahalanobisKNN(k, references=fitted(learner, X, y)).fit(X, y)
        other, threat = plain(knn), ThreatModel(norm=norm)
        predicted = knn.predict(points)
        assert_array_equal(predicted, other.predict(points))
        methods = ["votes", "theorem1" if k == 3 else "exact"]
        for method in methods:
            ours = knn.certify(points, method=method, threat=threat)
            theirs = other.certify(points, method=method, threat=threat)
            assert_array_equal(ours.lower, theirs.lower)
            assert_array_equal(ours.upper, theirs.upper)
        lower = knn.certify(points, method="search", threat=threat, budget=0.05).lower
        assert (lower >= knn.certify(points, threat=threat).lower).all()
        for method in ("whitebox", "boundary"):
            found = knn.attack(points, method=method, threat=threat, steps=30)
            assert (lower <= found.upper).all()
            flipped = np.isfinite(found.upper)
            assert flipped.any()
            assert (knn.predict(found.adversarial[flipped]) != predicted[flipped]).all()


def test_a_learner_can_be_searched_over(data):
    X, y, _ = data
    knn = MahalanobisKNN(references=KMeansPrototypes(random_state=0))
    assert cross_val_score(knn, X, y, cv=3).shape == (3,)
    assert len(knn.set_params(references__n_prototypes=2).fit(X, y).references_) == 6


# which metric ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNS_A_METRIC, ids=name_of)
def test_a_metric_learned_with_the_references_is_used_and_another_refused(learner, data):
    X, y, _ = data
    ready = fitted(learner, X, y)
    for references in (ready, clone(learner)):
        knn = MahalanobisKNN(references=references).fit(X, y)
        assert_allclose(knn.metric_.components, ready.components_)
        with pytest.raises(ValueError, match="metric"):
            MahalanobisKNN(metric=np.eye(3), references=references).fit(X, y)


@pytest.mark.parametrize("learner", LEARNS_NONE, ids=name_of)
def test_references_that_learn_no_metric_are_learned_under_the_one_that_is_given(learner, data):
    X, y, points = data
    lfda = fitted(LFDA(), X, y)
    for metric in (lfda, lfda.get_mahalanobis_matrix()):
        knn = MahalanobisKNN(metric=metric, references=learner).fit(X, y)
        assert_allclose(knn.metric_.matrix(), lfda.get_mahalanobis_matrix(), atol=1e-9)
        expected = clone(learner).fit(X, y, metric=metric)
        assert_array_equal(knn.references_, expected.references_)
        assert_array_equal(knn.certify(points).lower, plain(knn).certify(points).lower)


def test_k_means_sees_the_metric(data):
    X, y, _ = data
    M = np.diag([100.0, 1.0, 0.01])
    plainly = MahalanobisKNN(references=KMeansPrototypes(2, random_state=0)).fit(X, y)
    stretched = MahalanobisKNN(metric=M, references=KMeansPrototypes(2, random_state=0)).fit(X, y)
    assert not np.array_equal(plainly.references_, stretched.references_)


# leaving rows out ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("references", ["pair", KMeansPrototypes(random_state=0), *LEARNS_A_METRIC], ids=str)
def test_learned_references_leave_no_training_row_out(data, references):
    X, y, points = data
    knn = MahalanobisKNN(references=(X, y) if isinstance(references, str) else references).fit(X, y)
    for ask in (knn.predict, knn.certify, knn.attack, knn.kneighbors, knn.possible_answers):
        with pytest.raises(ValueError, match=r"these references are no training rows.*cross-validation"):
            ask(points, exclude=np.arange(len(points)))


@pytest.mark.parametrize("rows", [[0, 30, -1], [0, 30, 30]], ids=["counted from the end", "one twice"])
def test_rows_that_do_not_name_each_reference_once_leave_no_row_out(data, rows):
    """Else row 59, or one of the two copies of row 30, would stay when it is to be left out."""
    X, y, points = data
    learner = AdversarialPruning().fit(X, y)
    learner.reference_rows_ = np.array(rows)
    learner.references_, learner.reference_labels_ = X[rows], y[rows]
    knn = MahalanobisKNN(references=learner).fit(X, y)
    with pytest.raises(ValueError, match="these references are no training rows"):
        knn.predict(points[:2], exclude=[59, 30])


def test_kept_rows_are_left_out_by_their_place_in_the_training_set(data):
    X, y, points = data
    knn = MahalanobisKNN(references=AdversarialPruning(0.6)).fit(X, y)
    kept = knn.reference_learner_.reference_rows_
    dropped = np.setdiff1d(np.arange(len(X)), kept)
    assert len(dropped) > 0
    _, nearest = knn.kneighbors(points)
    _, second = knn.kneighbors(points, 2)
    _, found = knn.kneighbors(points, exclude=kept[nearest[:, 0]])
    assert_array_equal(found[:, 0], second[:, 1])
    nobody = knn.certify(points, exclude=np.full(len(points), dropped[0]))
    assert_array_equal(nobody.lower, knn.certify(points).lower)
    assert_array_equal(knn.certify(points, exclude=np.full(len(points), -1)).lower, nobody.lower)
    mixed = [[int(kept[0]), int(dropped[0])]] + [[]] * (len(points) - 1)
    assert_array_equal(knn.predict(points, exclude=mixed)[1:], knn.predict(points)[1:])


def test_what_names_no_training_row_is_refused(data):
    X, y, points = data
    knn = MahalanobisKNN(references=AdversarialPruning(0.6)).fit(X, y)
    with pytest.raises(ValueError, match=f"training row {len(X)}; there are {len(X)}"):
        knn.predict(points, exclude=np.full(len(points), len(X)))
    with pytest.raises(ValueError, match="not a mask"):
        knn.predict(points, exclude=np.zeros(len(points), dtype=bool))
    with pytest.raises(ValueError, match="one entry per row"):
        knn.predict(points, exclude=[0])


def test_rows_kept_from_other_data_are_no_training_rows(data):
    """A number would name another row there."""
    X, y, points = data
    learner = AdversarialPruning(0.6).fit(X, y)
    for others in (X[::-1], X[:30], X + 1.0):
        knn = MahalanobisKNN(references=learner).fit(others, y[::-1][: len(others)])
        with pytest.raises(ValueError, match="no training rows"):
            knn.predict(points, exclude=np.zeros(len(points), dtype=int))


# too few references ----------------------------------------------------------------------------------------------


def test_a_class_without_a_reference_is_never_answered(data):
    X, y, _ = data
    two = y != 2
    knn = MahalanobisKNN(references=(X[two], y[two])).fit(X, y)
    assert knn.classes_.tolist() == [0, 1, 2]
    for method in ("votes", "exact", "search"):
        radii = knn.certify(X, y, method=method)
        assert not radii.correct[~two].any()
        assert (radii.lower[~two] == 0).all()
        assert (radii.upper[~two] == 0).all()
        assert_array_equal(radii.lower[two], MahalanobisKNN().fit(X[two], y[two]).certify(X[two], y[two], method).lower)
    assert np.isinf(knn.certify(X[two], target=2).lower).all()
    assert np.isinf(knn.attack(X[two], target=2).upper).all()


def test_fewer_references_than_neighbours_are_refused(data):
    X, y, points = data
    with pytest.raises(ValueError, match="n_neighbors must be between 1 and the 3 references; got 5"):
        MahalanobisKNN(5, references=KMeansPrototypes(1)).fit(X, y)
    knn = MahalanobisKNN(3, references=KMeansPrototypes(1)).fit(X, y).set_params(n_neighbors=4)
    with pytest.raises(ValueError, match="the 3 references; got 4"):
        knn.predict(points)


def test_fitting_again_forgets_the_references(data):
    X, y, points = data
    knn = MahalanobisKNN(references=AdversarialPruning(0.6)).fit(X, y)
    again = knn.set_params(references=None).fit(X, y)
    assert again.reference_learner_ is None
    assert_array_equal(
        again.predict(X, exclude=np.arange(len(X))), MahalanobisKNN().fit(X, y).predict(X, exclude=np.arange(len(X)))
    )
    assert again.certify(points).lower.shape == (12,)
    assert arml.MahalanobisKNN().fit(X, y).references is None
