"""Properties over generated problems: small whole-number data (full of ties), any metric rank, K, labels, threat."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arml_core import MahalanobisKNN, ThreatModel
from tests import oracles


@st.composite
def problems(draw, max_n=9):
    n_features = draw(st.integers(1, 3))
    n = draw(st.integers(3, max_n))
    number = st.integers(-4, 4)
    X = np.array(draw(st.lists(st.lists(number, min_size=n_features, max_size=n_features), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    if len(set(y)) < 2:
        y[0] = y[0] + 1
    weights = np.array(draw(st.lists(st.sampled_from([0, 1, 1, 4]), min_size=n_features, max_size=n_features)))
    x = np.array(draw(st.lists(number, min_size=n_features, max_size=n_features))) / 2
    k = draw(st.integers(1, n - 1))
    norm = draw(st.sampled_from([1.0, 2.0, np.inf]))
    return np.diag(weights.astype(float)), X.astype(float), y, x, k, oracles.Threat(norm)


@given(problems())
def test_predict_is_the_definition_even_where_everything_ties(problem):
    M, X, y, x, k, _ = problem
    assert MahalanobisKNN(k, M).fit(X, y).predict(x[None])[0] == oracles.predict(M, X, y, x, k)


@given(problems())
def test_votes_is_the_formula_even_where_everything_ties(problem):
    M, X, y, x, k, threat = problem
    certificates = MahalanobisKNN(k, M).fit(X, y).certify(x[None], threat=ThreatModel(norm=threat.norm))
    expected = oracles.votes(M, X, y, x, certificates.predicted[0], k, threat)
    assert certificates.lower[0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(problems(max_n=6))
def test_votes_is_below_the_true_radius_even_where_everything_ties(problem):
    M, X, y, x, k, threat = problem
    certificates = MahalanobisKNN(k, M).fit(X, y).certify(x[None], threat=ThreatModel(norm=threat.norm))
    truth = oracles.true_radius(M, X, y, x, certificates.predicted[0], k, threat)
    assert certificates.lower[0] <= truth * (1 + 1e-7) + 1e-7


@given(problems())
def test_exact_brackets_the_true_radius_even_where_everything_ties(problem):
    M, X, y, x, _, _ = problem
    knn = MahalanobisKNN(1, M).fit(X, y)
    certificates = knn.certify(x[None], method="exact")
    truth = oracles.exact_1nn(M, X, y, x, certificates.predicted[0])
    assert certificates.lower[0] <= truth * (1 + 1e-9) + 1e-9
    assert certificates.upper[0] >= truth * (1 - 1e-9) - 1e-9
    if np.isfinite(truth):
        assert certificates.exact[0]
    if np.isfinite(certificates.upper[0]):
        assert knn.predict(certificates.adversarial)[0] != certificates.predicted[0]


@given(problems(), st.integers(0, 8))
def test_the_answer_holds_on_every_half_step_below_lower(problem, left_out):
    """All moves by multiples of a half, in every direction, that are smaller than `lower`: exact in floats."""
    M, X, y, x, k, threat = problem
    exclude = [[left_out % len(X)]]
    knn = MahalanobisKNN(k, M).fit(X, y)
    certificates = knn.certify(x[None], threat=ThreatModel(norm=threat.norm), exclude=exclude)
    steps = np.arange(-6, 7) / 2
    moves = np.array(np.meshgrid(*[steps] * X.shape[1])).reshape(X.shape[1], -1).T
    moves = moves[np.linalg.norm(moves, threat.norm, axis=1) < certificates.lower[0] * (1 - 1e-9)]
    if len(moves):
        assert np.all(knn.predict(x + moves, exclude=exclude * len(moves)) == certificates.predicted[0])


@given(problems())
def test_only_the_order_of_the_labels_matters(problem):
    """Labels as text, as negative numbers or as multiples, in the same order: the same certificate."""
    M, X, y, x, k, threat = problem
    engine_threat = ThreatModel(norm=threat.norm)
    expected = MahalanobisKNN(k, M).fit(X, y).certify(x[None], threat=engine_threat)
    for names in (np.array(["a", "b", "c", "d", "e"]), np.arange(-10, -5), np.arange(5) * 10):
        got = MahalanobisKNN(k, M).fit(X, names[y]).certify(x[None], threat=engine_threat)
        assert got.predicted[0] == names[expected.predicted[0]]
        assert got.lower[0] == expected.lower[0]
