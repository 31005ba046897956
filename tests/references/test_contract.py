"""What every learner of references owes: scikit-learn's checks, the attributes, and sense on odd data."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import arml_core as arml
from arml_core.references import training
from tests.fitted import fitted
from tests.learners.data import blobs

from .data import ODD, every_learner, name_of

LEARNERS = [pytest.param(learner, id=name_of(learner)) for learner in every_learner()]


@pytest.fixture(autouse=True)
def short_trainings(monkeypatch):
    """Nothing here depends on how well something is learned."""
    monkeypatch.setattr(training, "FEWEST_STEPS", 20)


@parametrize_with_checks(every_learner())
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    return blobs()


def same(one, two):
    assert_array_equal(one.references_, two.references_)
    assert_array_equal(one.reference_labels_, two.reference_labels_)
    assert_array_equal(one.reference_rows_, two.reference_rows_)
    assert (one.components_ is None) == (two.components_ is None)
    if one.components_ is not None:
        assert_array_equal(one.components_, two.components_)


@pytest.mark.parametrize("learner", LEARNERS)
class TestReferenceLearners:
    def test_attributes(self, learner, data):
        X, y = data
        learner = fitted(learner, X, y)
        assert learner.references_.dtype == np.float64
        assert learner.references_.shape == (len(learner.reference_labels_), 5)
        assert np.isfinite(learner.references_).all()
        assert set(learner.reference_labels_) <= {0, 1, 2}
        assert_array_equal(learner.classes_, [0, 1, 2])
        assert (learner.components_ is not None) == learner.learns_its_metric
        assert all(len(values) == learner.n_iter_ for values in learner.history_.values())
        if learner.reference_rows_ is not None:
            assert_array_equal(learner.references_, X[learner.reference_rows_])
            assert_array_equal(learner.reference_labels_, y[learner.reference_rows_])
        assert not hasattr(learner, "predict")

    def test_the_same_seed_gives_the_same_result(self, learner, data):
        same(clone(learner).fit(*data), fitted(learner, *data))

    def test_lists_string_labels_and_float32_are_accepted(self, learner, data):
        X, y = data
        expected = fitted(learner, X, y)
        same(clone(learner).fit(X.tolist(), y.tolist()), expected)
        names = np.array(["a", "b", "c"])
        named = clone(learner).fit(X, names[y])
        assert_array_equal(named.reference_labels_, names[expected.reference_labels_])
        assert_array_equal(named.references_, expected.references_)
        assert named.classes_.tolist() == ["a", "b", "c"]
        same(clone(learner).fit(X.astype(np.float32), y), clone(learner).fit(X.astype(np.float32).astype(float), y))

    def test_a_table_leaves_its_column_names(self, learner, data):
        X, y = data
        table = pd.DataFrame(X, columns=list("abcde"))
        from_table = clone(learner).fit(table, pd.Series(y))
        assert from_table.feature_names_in_.tolist() == list("abcde")
        same(from_table, fitted(learner, X, y))

    def test_parameters_and_pickling(self, learner, data):
        learner = fitted(learner, *data)
        assert clone(learner).get_params() == learner.get_params()
        assert not hasattr(clone(learner), "references_")
        for name, value in learner.get_params().items():
            assert learner.set_params(**{name: value}) is learner
        same(pickle.loads(pickle.dumps(learner)), learner)  # noqa: S301 its own bytes

    def test_one_class_is_refused(self, learner):
        with pytest.raises(ValueError, match="needs two classes"):
            clone(learner).fit(np.eye(4), np.zeros(4))

    def test_a_metric_is_taken_or_refused(self, learner, data):
        X, y = data
        if learner.learns_its_metric:
            with pytest.raises(ValueError, match="learns its own metric"):
                clone(learner).fit(X, y, metric=np.eye(5))
        else:
            same(clone(learner).fit(X, y, metric=np.eye(5)), fitted(learner, X, y))
            with pytest.raises(ValueError, match="the metric is for 3 features"):
                clone(learner).fit(X, y, metric=np.eye(3))

    def test_progress_reaches_the_total_and_shows_the_current_references(self, learner, data):
        X, y = data
        seen = []

        def watch(done, total, info):
            points, codes, metric = info["references"]()
            assert points.shape == (len(codes), 5)
            assert metric.n_features == 5
            seen.append((done, total))

        last = clone(learner).fit(X, y, callback=watch)
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        assert seen[-1][0] == seen[-1][1]
        same(last, fitted(learner, X, y))

    def test_a_cancelled_fit_keeps_the_old_references(self, learner, data):
        X, y = data
        learner = fitted(learner, X, y)
        before = fitted(learner, X, y)

        def stop(done, total, info):
            raise arml.Cancelled

        with pytest.raises(arml.Cancelled):
            learner.fit(2 * X[::-1] + 1, y, callback=stop)
        same(learner, before)

    @pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.__name__)
    def test_odd_data(self, learner, odd):
        """Finite points, and radii that hold: no attack is nearer than what is proved."""
        X, y = odd()
        learner = clone(learner).fit(X, y)
        assert len(learner.references_) >= 1
        assert np.isfinite(learner.references_).all()
        assert_array_equal(learner.classes_, np.unique(y))
        knn = arml.MahalanobisKNN(1, references=learner).fit(X, y)
        proved = knn.certify(X, y, method="exact")
        assert (proved.lower <= proved.upper).all()
        assert (proved.lower <= knn.attack(X, y).upper).all()
        gone = ~np.isin(y, learner.reference_labels_)
        assert not proved.correct[gone].any()
        assert (proved.upper[gone] == 0).all()
