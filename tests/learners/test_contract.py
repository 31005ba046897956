"""What every learner owes: scikit-learn's checks, metric-learn's conventions, and sense on odd data."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import arml_core as arml
from arml_core.learners.euclidean import Euclidean
from arml_core.learners.lfda import LFDA
from tests.fitted import fitted

from .data import blobs, every_learner, name_of

LEARNERS = [pytest.param(learner, id=name_of(learner)) for learner in every_learner()]
ITERATIVE = [param for param in LEARNERS if not isinstance(param.values[0], Euclidean)]


@pytest.mark.filterwarnings("ignore:the learned metric may be doubtful", "ignore:the classes do not vary")
@parametrize_with_checks(every_learner())
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    return blobs()


@pytest.mark.parametrize("learner", LEARNERS)
class TestMahalanobisContract:
    """The expectations of metric-learn's test_mahalanobis_mixin, test_base_metric and test_sklearn_compat."""

    def test_components_and_matrix(self, learner, data):
        learner = fitted(learner, *data)
        g, m = learner.components_, learner.get_mahalanobis_matrix()
        assert g.ndim == 2
        assert g.shape[1] == 5
        assert g.shape[0] <= 5
        assert_allclose(m, g.T @ g, rtol=1e-12)
        assert_allclose(m, m.T)
        assert np.linalg.eigvalsh(m).min() > -1e-9 * np.abs(m).max()

    def test_transform_is_the_linear_embedding(self, learner, data):
        X, y = data
        learner = fitted(learner, X, y)
        assert_allclose(learner.transform(X), X @ learner.components_.T)
        assert_allclose(learner.transform(2 * X + 1), 2 * learner.transform(X) + learner.transform(np.ones((1, 5))))
        assert_allclose(clone(learner).fit_transform(X, y), learner.transform(X))

    def test_pair_distance_is_the_distance_after_transform(self, learner, data):
        X, y = data
        learner = fitted(learner, X, y)
        pairs = np.stack([X[:20], X[20:40]], axis=1)
        distance = learner.pair_distance(pairs)
        assert_allclose(distance, np.linalg.norm(learner.transform(X[:20]) - learner.transform(X[20:40]), axis=1))

    def test_pair_distance_is_a_pseudo_metric(self, learner, data):
        X, y = data
        learner = fitted(learner, X, y)
        n = 12
        pairs = np.array([[X[i], X[j]] for i in range(n) for j in range(n)])
        d = learner.pair_distance(pairs).reshape(n, n)
        assert (d >= 0).all()
        assert_allclose(np.diag(d), 0)
        assert_allclose(d, d.T)
        assert (d[:, None, :] <= d[:, :, None] + d[None] + 1e-9).all()

    def test_get_metric_is_the_formula_and_feeds_scikit_learn(self, learner, data):
        X, y = data
        learner = fitted(learner, X, y)
        metric = learner.get_metric()
        u, v = X[0], X[1]
        m = learner.get_mahalanobis_matrix()
        assert metric(u, v) == pytest.approx(np.sqrt((u - v) @ m @ (u - v)), rel=1e-7)
        assert metric(u, v, squared=True) == pytest.approx((u - v) @ m @ (u - v), rel=1e-7)
        by_metric = KNeighborsClassifier(metric=metric).fit(X, y).predict(X)
        by_embedding = KNeighborsClassifier().fit(learner.transform(X), y).predict(learner.transform(X))
        assert (by_metric == by_embedding).all()

    def test_get_metric_is_independent_of_a_later_fit(self, learner, data):
        X, y = data
        learner = fitted(learner, X, y)
        metric = learner.get_metric()
        before = metric(X[0], X[1])
        learner.components_ *= 2
        learner.fit(3 * X, y)
        assert metric(X[0], X[1]) == before

    def test_lists_are_accepted_like_arrays(self, learner, data):
        X, y = data
        from_lists = clone(learner).fit(X.tolist(), y.tolist())
        assert_allclose(from_lists.components_, fitted(learner, X, y).components_)

    def test_string_labels_are_accepted(self, learner, data):
        X, y = data
        named = clone(learner).fit(X, np.array(["a", "b", "c"])[y])
        assert_allclose(named.components_, fitted(learner, X, y).components_)
        assert named.classes_.tolist() == ["a", "b", "c"]

    def test_unfitted_learner_says_so(self, learner, data):
        X, _ = data
        for call in (
            lambda: clone(learner).transform(X),
            lambda: clone(learner).get_metric(),
            lambda: clone(learner).get_mahalanobis_matrix(),
            lambda: clone(learner).pair_distance([[X[0], X[1]]]),
        ):
            with pytest.raises(NotFittedError):
                call()

    def test_pairs_of_the_wrong_width_are_refused(self, learner, data):
        learner = fitted(learner, *data)
        with pytest.raises(ValueError, match=r"pairs must be of shape \(n_pairs, 2, 5\); got \(1, 2, 4\)"):
            learner.pair_distance(np.zeros((1, 2, 4)))

    def test_works_as_a_step_of_a_pipeline(self, learner, data):
        X, y = data
        pipeline = make_pipeline(clone(learner), KNeighborsClassifier()).fit(X, y)
        assert pipeline.score(X, y) > 0.7

    def test_feeds_the_certifier(self, learner, data):
        X, y = data
        knn = arml.MahalanobisKNN(n_neighbors=1, metric=fitted(learner, X, y)).fit(X, y)
        radius = knn.certify(X, y, method="exact").lower
        assert radius.shape == (45,)
        assert (radius > 0).all()  # each training point is its own nearest neighbour


@pytest.mark.parametrize("learner", ITERATIVE)
def test_cancelled_fit_raises_and_keeps_the_old_metric(learner, data):
    X, y = data
    learner = fitted(learner, X, y)
    before = learner.components_.copy()

    def stop(done, total, info):
        assert 1 <= done <= total
        assert info["metric"]().n_features == 5
        raise arml.Cancelled

    with pytest.raises(arml.Cancelled):
        learner.fit(2 * X[::-1] + 1, y, callback=stop)
    assert np.array_equal(learner.components_, before)


@pytest.mark.parametrize("learner", ITERATIVE)
def test_one_class_is_refused(learner):
    with pytest.raises(ValueError, match="needs at least two classes"):
        clone(learner).fit(np.eye(4), np.zeros(4))


def one_two_and_nine_members():
    return blobs(1, (1, 2, 9, 20))


def duplicated_points():
    X, y = blobs(2)
    return np.concatenate([X, X, X[:5]]), np.concatenate([y, y, y[:5]])


def constant_feature():
    X, y = blobs(3)
    return np.column_stack([X, np.full(len(X), 7.0)]), y


def feature_scaled_by_a_million():
    X, y = blobs(4)
    return X * [1, 1, 1, 1, 1e6], y


def more_features_than_points():
    return blobs(5, (6, 6), n_features=30)


def two_classes_with_identical_points():
    X, y = blobs(6, (12, 12))
    X[y == 1] = X[y == 0]
    return X, y


ODD = {
    one_two_and_nine_members: "single point",
    duplicated_points: None,
    constant_feature: None,
    feature_scaled_by_a_million: "differ by a factor of",
    more_features_than_points: "more features",
    two_classes_with_identical_points: "24 points coincide",
}


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.__name__)
@pytest.mark.parametrize("learner", ITERATIVE)
def test_odd_data_gives_a_finite_metric_and_a_warning_where_it_is_doubtful(learner, odd):
    X, y = odd()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner = clone(learner).fit(X, y)
    m = learner.get_mahalanobis_matrix()
    assert np.isfinite(m).all()
    assert np.linalg.eigvalsh(m).max() > 0
    assert np.isfinite(learner.transform(X)).all()
    doubts = [str(w.message) for w in caught if "doubtful" in str(w.message)]
    if ODD[odd] is None:
        assert doubts == []
    else:
        assert len(doubts) == 1
        assert ODD[odd] in doubts[0]
    assert not [w for w in caught if issubclass(w.category, RuntimeWarning)]


def test_constant_feature_has_no_part_in_lfda():
    X, y = constant_feature()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = LFDA().fit(X, y).get_mahalanobis_matrix()
    assert (m[-1] == 0).all()
    assert_allclose(m[:5, :5], LFDA().fit(X[:, :5], y).get_mahalanobis_matrix(), rtol=1e-9)


@pytest.mark.parametrize("learner", ITERATIVE)
def test_every_class_with_a_single_point_is_refused(learner):
    X = np.random.default_rng(0).standard_normal((6, 2))
    with pytest.raises(ValueError, match="needs a class with at least two points; every class has one"):
        clone(learner).fit(X, np.arange(6))


def test_lfda_refuses_classes_whose_points_are_all_the_same():
    with pytest.raises(ValueError, match="the points of each class are all the same"):
        LFDA().fit(np.repeat([[0.0, 1.0], [1.0, 0.0]], 3, axis=0), np.repeat([0, 1], 3))
