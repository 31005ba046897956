"""The classifier people call: scikit-learn's own contract, every kind of input, and refusals that help."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import arml_core
from arml_core import MahalanobisKNN, Metric, NotPSDError, ThreatModel
from tests import oracles


@parametrize_with_checks([MahalanobisKNN(), MahalanobisKNN(n_neighbors=3)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.integers(3, size=40), rng.normal(size=(12, 3))


# predict -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("k", [1, 3, 8])
def test_neighbours_and_predictions_equal_scikit_learns(load, k):
    """On data made distinct by a whisper of noise; scikit-learn has other rules for ties."""
    X, y = load(return_X_y=True)
    X = X + 1e-7 * np.random.default_rng(0).normal(size=X.shape)
    M = np.linalg.inv(np.cov(X.T))
    ours = MahalanobisKNN(k, M).fit(X[::2], y[::2])
    theirs = KNeighborsClassifier(k, metric="mahalanobis", metric_params={"VI": M}, algorithm="brute").fit(
        X[::2], y[::2]
    )
    distances, indices = ours.kneighbors(X[1::2])
    expected_distances, expected_indices = theirs.kneighbors(X[1::2])
    np.testing.assert_array_equal(indices, expected_indices)
    np.testing.assert_allclose(np.sqrt(distances), expected_distances, rtol=1e-6)
    np.testing.assert_array_equal(ours.predict(X[1::2]), theirs.predict(X[1::2]))


def test_equal_distances_go_to_the_earlier_row():
    knn = MahalanobisKNN().fit([[1.0], [-1.0], [1.0]], [5, 3, 4])
    assert knn.predict([[0.0]])[0] == 5
    assert MahalanobisKNN().fit([[-1.0], [1.0]], [9, 1]).predict([[0.0]])[0] == 9
    np.testing.assert_array_equal(knn.kneighbors([[0.0]], n_neighbors=3)[1], [[0, 1, 2]])


def test_hundreds_of_ties_go_to_the_earlier_rows():
    """More equal distances than any candidate list: a ring of whole numbers and copies of one point."""
    ring = np.array(
        [[3, 4], [4, 3], [-3, 4], [4, -3], [-4, 3], [3, -4], [-4, -3], [-3, -4], [5, 0], [0, 5]], dtype=float
    )
    X = np.tile(ring, (40, 1))
    y = np.arange(len(X)) % 7
    knn = MahalanobisKNN(n_neighbors=9).fit(X, y)
    distances, indices = knn.kneighbors([[0.0, 0.0]])
    np.testing.assert_array_equal(indices[0], np.arange(9))
    np.testing.assert_array_equal(distances[0], 25.0)
    assert knn.predict([[0.0, 0.0]])[0] == oracles.predict(np.eye(2), X, y, np.zeros(2), 9)


def test_excluded_rows_are_no_neighbours():
    knn = MahalanobisKNN(n_neighbors=1).fit(np.arange(5.0)[:, None], [0, 1, 0, 1, 0])
    np.testing.assert_array_equal(knn.predict([[2.2], [2.2], [2.2]], exclude=[[], [2], [2, 3]]), [0, 1, 1])
    np.testing.assert_array_equal(knn.kneighbors([[2.2]], 3, exclude=[2])[1], [[3, 1, 4]])


def test_exclude_may_be_a_column_of_a_table(data):
    X, y, _ = data
    knn = MahalanobisKNN(3).fit(X, y)
    table = pd.DataFrame({"row": np.arange(len(X))})
    expected = knn.predict(X, exclude=np.arange(len(X)))
    np.testing.assert_array_equal(knn.predict(X, exclude=table["row"]), expected)
    np.testing.assert_array_equal(knn.predict(X, exclude=table), expected)


def test_minus_one_excludes_nothing(data):
    X, y, points = data
    knn = MahalanobisKNN(3).fit(X, y)
    expected = knn.certify(points)
    got = knn.certify(points, exclude=np.full(len(points), -1))
    np.testing.assert_array_equal(got.lower, expected.lower)
    mixed = knn.certify(points, exclude=np.where(np.arange(len(points)) == 4, 7, -1))
    np.testing.assert_allclose(np.delete(mixed.lower, 4), np.delete(expected.lower, 4), rtol=1e-9)


# what certify returns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "k"), [("theorem1", 3), ("votes", 4), ("exact", 1)])
def test_meanings_that_never_vary(data, method, k):
    X, y, points = data
    knn = MahalanobisKNN(k).fit(X, y)
    wanted = np.random.default_rng(1).integers(3, size=len(points))
    c = knn.certify(points, wanted, method=method)
    for values in (c.lower, c.upper):
        assert values.shape == (len(points),)
        assert values.dtype == np.float64
    np.testing.assert_array_equal(c.predicted, knn.predict(points))
    np.testing.assert_array_equal(c.correct, c.predicted == wanted)
    wrong = ~c.correct
    assert 0 < wrong.sum() < len(points)
    assert np.all(c.lower[wrong] == 0)
    assert np.all(c.upper[wrong] == 0)
    assert np.all(c.exact[wrong])
    assert np.all(c.lower <= c.upper)
    assert c.adversarial.shape == points.shape
    assert c.adversarial.dtype == points.dtype
    np.testing.assert_array_equal(np.isnan(c.adversarial).all(axis=1), np.isinf(c.upper))
    assert c.method == method
    assert c.threat == ThreatModel()


def test_without_labels_the_own_answer_is_certified(data):
    X, y, points = data
    knn = MahalanobisKNN(3).fit(X, y)
    own = knn.certify(points)
    np.testing.assert_array_equal(own.lower, knn.certify(points, knn.predict(points)).lower)
    assert own.correct.all()


def test_verdicts():
    knn = MahalanobisKNN().fit([[0.0], [1.0]], [0, 1])
    c = knn.certify([[0.2], [0.9]], [0, 0], method="exact")
    assert c.verdict(0.0).tolist() == ["certified", "attackable"]
    assert c.verdict(0.29).tolist() == ["certified", "attackable"]
    assert c.verdict(0.31).tolist() == ["attackable", "attackable"]
    assert knn.certify([[0.2]], [0]).verdict(0.31).tolist() == ["undecided"]
    with pytest.raises(ValueError, match="at least 0; got -1"):
        c.verdict(-1)
    with pytest.raises(ValueError, match="at least 0; got nan"):
        c.verdict(float("nan"))


@pytest.mark.parametrize("method", ["theorem1", "votes", "exact"])
def test_zero_correct_points(data, method):
    X, y, points = data
    knn = MahalanobisKNN(1).fit(X, y)
    c = knn.certify(points, (knn.predict(points) + 1) % 3, method=method)
    assert not c.correct.any()
    np.testing.assert_array_equal(c.lower, 0.0)
    np.testing.assert_array_equal(c.upper, 0.0)
    np.testing.assert_array_equal(c.adversarial, points)


# degenerate models ---------------------------------------------------------------------------------------------


def test_all_training_points_as_neighbours_never_changes(data):
    X, y, points = data
    c = MahalanobisKNN(len(X)).fit(X, y).certify(points)
    assert np.all(c.predicted == np.bincount(y).argmax())
    assert np.all(np.isposinf(c.lower))


@pytest.mark.parametrize("method", ["votes", "theorem1", "exact"])
def test_a_metric_of_zeros_sees_nothing_and_never_changes(data, method):
    X, y, points = data
    c = MahalanobisKNN(1, np.zeros((3, 3))).fit(X, y).certify(points, method=method)
    assert np.all(c.predicted == y[0])
    assert np.all(np.isposinf(c.lower))
    assert np.all(np.isposinf(c.upper))
    assert not c.exact.any()


def test_a_rank_1_metric_is_a_line(data):
    X, y, points = data
    g = np.array([[1.0, -2.0, 0.5]])
    for method, k in (("votes", 3), ("exact", 1)):
        got = MahalanobisKNN(k, g.T @ g).fit(X, y).certify(points, method=method)
        line = MahalanobisKNN(k).fit(X @ g.T, y).certify(points @ g.T, method=method)
        np.testing.assert_array_equal(got.predicted, line.predicted)
        np.testing.assert_allclose(got.lower, line.lower / np.linalg.norm(g), rtol=1e-6)


def test_two_training_points():
    c = MahalanobisKNN().fit([[0.0, 0.0], [2.0, 0.0]], ["no", "yes"]).certify([[0.5, 3.0]], method="exact")
    assert c.predicted[0] == "no"
    assert c.lower[0] == pytest.approx(0.5, rel=1e-9)


def test_an_exclusion_that_empties_a_class():
    """Row 0 is all of class 0; without it only class 1 is left, and nothing can change that."""
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1]
    for method, k in (("votes", 1), ("votes", 2), ("exact", 1)):
        knn = MahalanobisKNN(k).fit(X, y)
        c = knn.certify([[0.1]], method=method, exclude=[[0]])
        assert c.predicted[0] == 1
        assert np.isposinf(c.lower[0])
    with pytest.raises(ValueError, match=r"All but 0 rows are class 1; .* Use 'votes'"):
        MahalanobisKNN(1).fit(X, y).certify([[0.1]], method="theorem1", exclude=[[0]])


# labels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        np.array(["ant", "bee", "cat"]),
        np.array(["ant", "bee", "cat"], dtype=object),
        np.array([-7, -3, 0]),
        np.array([1.0, 2.0, 3.0]),
        np.array([0, 1, 2], dtype=np.uint8),
        np.array([0, 1, 2], dtype=np.float32),
    ],
)
def test_any_labels(data, names):
    X, y, points = data
    expected = MahalanobisKNN(3).fit(X, y).certify(points, y[:12])
    got = MahalanobisKNN(3).fit(X, names[y]).certify(points, names[y[:12]])
    np.testing.assert_array_equal(got.predicted, names[expected.predicted])
    np.testing.assert_array_equal(got.lower, expected.lower)


def test_boolean_labels(data):
    X, y, points = data
    expected = MahalanobisKNN(2).fit(X, (y > 0).astype(int)).certify(points)
    got = MahalanobisKNN(2).fit(X, y > 0).certify(points)
    np.testing.assert_array_equal(got.predicted, expected.predicted.astype(bool))
    np.testing.assert_array_equal(got.lower, expected.lower)


def test_labels_in_another_number_type(data):
    X, y, points = data
    knn = MahalanobisKNN(3).fit(X, y)
    expected = knn.certify(points, y[:12]).lower
    for labels in (
        y[:12].astype(float),
        y[:12].astype(np.int8),
        y[:12].tolist(),
        pd.Series(y[:12], index=range(50, 62)),
    ):
        np.testing.assert_array_equal(knn.certify(points, labels).lower, expected)


# input formats -------------------------------------------------------------------------------------------------


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


FORMATS = {
    "list": lambda a: a.tolist(),
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(np.repeat(a, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "read_only": read_only,
    "data_frame": lambda a: pd.DataFrame(a, columns=list("abc"), index=range(100, 100 + len(a))),
    "big_endian": lambda a: a.astype(">f8"),
    "object": lambda a: a.astype(object),
}


@pytest.mark.parametrize("convert", FORMATS.values(), ids=FORMATS.keys())
@pytest.mark.parametrize(("method", "k"), [("theorem1", 3), ("votes", 4), ("exact", 1)])
def test_every_way_to_hold_the_same_numbers(data, convert, method, k):
    X, y, points = data
    expected = MahalanobisKNN(k).fit(X, y).certify(points, method=method)
    got = MahalanobisKNN(k).fit(convert(X), y).certify(convert(points), method=method)
    np.testing.assert_allclose(got.lower, expected.lower, rtol=1e-12)
    np.testing.assert_allclose(got.upper, expected.upper, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.float16, bool])
def test_whole_numbers_of_any_type(dtype):
    rng = np.random.default_rng(3)
    X, y, points = rng.integers(0, 2, (30, 4)), rng.integers(2, size=30), rng.integers(0, 2, (9, 4))
    expected = MahalanobisKNN(3).fit(X.astype(float), y).certify(points.astype(float))
    got = MahalanobisKNN(3).fit(X.astype(dtype), y).certify(points.astype(dtype))
    np.testing.assert_array_equal(got.predicted, expected.predicted)
    np.testing.assert_allclose(got.lower, expected.lower, rtol=1e-12)


def test_nothing_the_caller_passes_is_changed(data):
    X, y, points = data
    copies = [X.copy(), y.copy(), points.copy()]
    exclude = np.arange(12)
    MahalanobisKNN(1).fit(X, y).certify(points, y[:12], method="exact", exclude=exclude)
    MahalanobisKNN(3).fit(X, y).certify(points, threat=ThreatModel(1, box=(-9, 9)), exclude=exclude)
    for kept, copy in zip([X, y, points], copies, strict=True):
        np.testing.assert_array_equal(kept, copy)
    np.testing.assert_array_equal(exclude, np.arange(12))


def test_what_the_caller_changes_later_does_not_reach_the_classifier(data):
    """Otherwise distances and screens would speak of different training sets, and certificates would be wrong."""
    X, y, points = data
    knn = MahalanobisKNN(3).fit(X, y)
    expected = knn.certify(points)
    X[:] = 0.0
    y[:] = 0
    got = knn.certify(points)
    np.testing.assert_array_equal(got.predicted, expected.predicted)
    np.testing.assert_array_equal(got.lower, expected.lower)


# an estimator among estimators ---------------------------------------------------------------------------------


def test_clone_params_and_pickle(data):
    X, y, points = data
    M = np.diag([1.0, 2.0, 3.0])
    knn = MahalanobisKNN(n_neighbors=np.int64(3), metric=M, device="cpu").fit(X, y)
    assert knn.get_params() == {
        "n_neighbors": 3,
        "metric": M,
        "device": "cpu",
        "n_jobs": None,
        "references": None,
    }
    expected = knn.certify(points)
    copy = clone(knn)
    assert not hasattr(copy, "classes_")
    np.testing.assert_array_equal(copy.fit(X, y).certify(points).lower, expected.lower)
    stored = pickle.loads(pickle.dumps(knn))  # noqa: S301 its own bytes
    np.testing.assert_array_equal(stored.certify(points).lower, expected.lower)
    np.testing.assert_array_equal(stored.predict(points), expected.predicted)


def test_fitting_again_forgets_the_first_time(data):
    X, y, points = data
    knn = MahalanobisKNN(3).fit(X, y)
    knn.certify(points)
    again = knn.fit(X[:20, :2], (y[:20] > 0).astype(int))
    fresh = MahalanobisKNN(3).fit(X[:20, :2], (y[:20] > 0).astype(int))
    np.testing.assert_array_equal(again.certify(points[:, :2]).lower, fresh.certify(points[:, :2]).lower)
    assert again.classes_.tolist() == [0, 1]


def test_another_k_after_fitting_is_used_or_refused(data):
    X, y, points = data
    knn = MahalanobisKNN(1).fit(X, y).set_params(n_neighbors=5)
    fresh = MahalanobisKNN(5).fit(X, y)
    np.testing.assert_array_equal(knn.predict(points), fresh.predict(points))
    np.testing.assert_array_equal(knn.certify(points).lower, fresh.certify(points).lower)
    for bad in (41, 0, -1):
        knn.set_params(n_neighbors=bad)
        with pytest.raises(ValueError, match=f"n_neighbors must be between 1 and the 40 training rows; got {bad}"):
            knn.certify(points)


def test_a_fitted_learner_or_a_metric_as_metric(data):
    X, y, points = data

    class Learner:
        components_ = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 1.0]])

    expected = MahalanobisKNN(3, Learner.components_.T @ Learner.components_).fit(X, y).certify(points).lower
    for metric in (Learner(), Metric.from_components(Learner.components_)):
        np.testing.assert_allclose(MahalanobisKNN(3, metric).fit(X, y).certify(points).lower, expected, rtol=1e-9)


def test_it_works_in_cross_validation():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(MahalanobisKNN(5), X, y, cv=5).mean() > 0.95


def test_the_public_names_are_there():
    for name in (
        "MahalanobisKNN",
        "ThreatModel",
        "Certificates",
        "robust_error",
        "Cancelled",
        "load_dataset",
        "Metric",
    ):
        assert name in arml_core.__all__
        assert hasattr(arml_core, name)


# refusals ------------------------------------------------------------------------------------------------------

X4, Y4 = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("X", "y", "options", "text"),
    [
        ([[0.0, np.nan], [1.0, 1.0]], [0, 1], {}, "contains NaN"),
        ([[0.0, np.inf], [1.0, 1.0]], [0, 1], {}, "contains infinity"),
        (np.empty((0, 2)), [], {}, r"0 sample\(s\)"),
        (np.empty((3, 0)), [0, 1, 0], {}, r"0 feature\(s\)"),
        ([1.0, 2.0], [0, 1], {}, "Expected 2D array, got 1D"),
        ([["a"], ["b"]], [0, 1], {}, "could not convert"),
        (X4, [0, 0, 1], {}, r"inconsistent numbers of samples: \[4, 3\]"),
        (X4, [3, 3, 3, 3], {}, r"all rows are class .*3.*: one class; a classifier needs two"),
        (X4, [0.5, 0.2, 1.7, 9.3], {}, "(?i)unknown label type.*continuous"),
        (X4, Y4, {"n_neighbors": 5}, "n_neighbors must be between 1 and the 4 training rows; got 5"),
        (X4, Y4, {"n_neighbors": 0}, "n_neighbors must be between 1 and the 4 training rows; got 0"),
        (X4, Y4, {"n_neighbors": -2}, "got -2"),
        (X4, Y4, {"n_neighbors": 2.0}, "n_neighbors must be an integer; got 2.0"),
        (X4, Y4, {"n_neighbors": "3"}, "n_neighbors must be an integer; got '3'"),
        (X4, Y4, {"n_neighbors": True}, "n_neighbors must be an integer; got True"),
        (X4, Y4, {"metric": [[1.0, 2.0], [2.0, 1.0]]}, "positive semi-definite; its smallest eigenvalue is -1 .*Clip"),
        (X4, Y4, {"metric": np.eye(3)}, "metric is for 3 features; the data has 2"),
        (X4, Y4, {"metric": "cosine"}, "(?i)metric"),
        (X4, Y4, {"device": "tpu9"}, "device 'tpu9' cannot be used"),
    ],
)
def test_a_training_set_that_makes_no_sense(X, y, options, text):
    with pytest.raises(ValueError, match=text):
        MahalanobisKNN(**options).fit(X, y)


def test_a_metric_that_is_not_psd_has_its_own_error():
    with pytest.raises(NotPSDError):
        MahalanobisKNN(metric=-np.eye(2)).fit(X4, Y4)


@pytest.mark.parametrize(
    ("points", "y", "options", "text"),
    [
        ([[0.0, np.nan]], None, {}, "contains NaN"),
        ([[0.0, -np.inf]], None, {}, "contains infinity"),
        ([[0.0, 1.0, 2.0]], None, {}, "X has 3 features, but MahalanobisKNN is expecting 2"),
        (np.empty((0, 2)), None, {}, r"0 sample\(s\)"),
        ([[0.0, 0.0]], [7], {}, r"label .*7.* \(1 rows?\) was not in training; the classes are \[0, 1\]"),
        ([[0.0, 0.0]], ["0"], {}, r"label .*'0'.* was not in training; the classes are \[0, 1\]"),
        ([[0.0, 0.0]], [np.nan], {}, r"label .*nan.* was not in training"),
        ([[0.0, 0.0]], [0, 1], {}, r"one label per row, 1 in all; got shape \(2,\)"),
        ([[0.0, 0.0]], [[0]], {}, r"one label per row, 1 in all; got shape \(1, 1\)"),
        ([[0.0, 0.0]], 0, {}, r"one label per row, 1 in all; got shape \(\)"),
        ([[0.0, 0.0]], None, {"method": "guess"}, "method must be one of theorem1, votes, exact.*; got 'guess'"),
        ([[0.0, 0.0]], None, {"exclude": [4]}, "exclude names training row 4; there are 4, counted from 0"),
        ([[0.0, 0.0]], None, {"exclude": [-2]}, "exclude names training row -2"),
        ([[0.0, 0.0]], None, {"exclude": [0, 1]}, "one entry per row, 1 in all; got 2"),
        ([[0.0, 0.0]], None, {"exclude": []}, "one entry per row, 1 in all; got 0"),
        ([[0.0, 0.0]], None, {"exclude": [[0, 1, 2, 3]]}, "leaving out 4 of 4 training rows leaves too few for K = 1"),
        ([[0.0, 0.0]], None, {"exclude": [0.5]}, "exclude.*0.5"),
        ([[0.0, 0.0]], None, {"exclude": [[True, False, False, False]]}, "(?i)exclude.*(mask|index|indices|bool)"),
        ([[0.0, 0.0]], None, {"exclude": 3}, "exclude.*one entry per row"),
        ([[0.0, 0.0]], None, {"threat": ThreatModel(costs=[1, 1, 1])}, "is for 3 features; the data has 2"),
        ([[0.0, 0.0]], None, {"threat": ThreatModel(frozen=[0, 1])}, "every feature is frozen"),
    ],
)
def test_points_that_make_no_sense(points, y, options, text):
    with pytest.raises(ValueError, match=text):
        MahalanobisKNN().fit(X4, Y4).certify(points, y, **options)


def test_numbers_written_as_text_are_no_labels_however_many_classes_there_are():
    """numpy would find "10" among the numbers, and look for it where texts are sorted."""
    X, y = np.random.default_rng(0).normal(size=(400, 3)), np.arange(400) % 30
    knn = MahalanobisKNN(1).fit(X, y)
    with pytest.raises(ValueError, match=r"label '0' \(14 rows\) was not in training"):
        knn.certify(X, y.astype(str))
    with pytest.raises(ValueError, match=r"label 0 \(14 rows\) was not in training"):
        MahalanobisKNN(1).fit(X, y.astype(str)).certify(X, y)


def test_a_threat_for_other_features_is_refused_also_when_its_like_was_seen():
    knn = MahalanobisKNN(1).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    knn.certify([[0.1, 0.2]], threat=ThreatModel(frozen=[0]))
    with pytest.raises(ValueError, match="3"):
        knn.certify([[0.1, 0.2]], threat=ThreatModel(frozen=[True, False, False]))


def test_a_refused_label_names_a_value_and_the_classes():
    knn = MahalanobisKNN().fit(X4, ["cat", "cat", "dog", "dog"])
    with pytest.raises(
        ValueError, match=r"label .*'cow'.* \(2 rows\) was not in training; the classes are \['cat', 'dog'\]"
    ):
        knn.certify(X4, ["cow", "cat", "cow", "dog"])


def test_other_column_names_are_refused(data):
    X, y, points = data
    knn = MahalanobisKNN().fit(pd.DataFrame(X, columns=list("abc")), y)
    with pytest.raises(ValueError, match="feature names should match"):
        knn.certify(pd.DataFrame(points, columns=list("abd")))


def test_too_many_neighbours_are_refused_by_kneighbors(data):
    X, y, points = data
    knn = MahalanobisKNN().fit(X, y)
    with pytest.raises(ValueError, match="between 1 and the 40 training rows; got 41"):
        knn.kneighbors(points, 41)
    with pytest.raises(ValueError, match="got 0"):
        knn.kneighbors(points, 0)
