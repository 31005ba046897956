"""A box with a line for each row: every row is held to its own limits, and to nobody else's."""

import json

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.jobs.spec import EvaluationSpec

NORMS = [1.0, 2.0, np.inf]


def problem(seed: int = 0, d: int = 4, n: int = 6):
    rng = np.random.default_rng(40 + seed)
    X = rng.normal(size=(60, d))
    X[:, 0] += np.arange(60) % 3
    x = rng.normal(size=(n, d))
    low, high = x - rng.random((n, d)), x + rng.random((n, d))
    low[1] += 0.5  # outside of its own box: that is widened to hold it
    return MahalanobisKNN(3).fit(X, np.arange(60) % 3), x, low, np.maximum(low, high)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("d", [2, 4])  # in the plane, and by branch and bound
@pytest.mark.parametrize("method", ["votes", "theorem1", "search", "whitebox", "boundary"])
def test_each_row_together_as_alone(method, d, norm):
    knn, x, low, high = problem(d=d)
    options = {"budget": 10.0} if method == "search" else {"steps": 50} if method == "boundary" else {}
    ask = knn.attack if method in ("whitebox", "boundary") else knn.certify
    together = ask(x, method=method, threat=ThreatModel(norm, box=(low, high)), **options)
    for b in range(len(x)):
        alone = ask(x[[b]], method=method, threat=ThreatModel(norm, box=(low[b], high[b])), **options)
        np.testing.assert_allclose(together.lower[b], alone.lower[0], rtol=1e-6, atol=1e-9)
        if method != "boundary":  # where the box differs by row, its noise starts from the row's own range
            np.testing.assert_allclose(together.upper[b], alone.upper[0], rtol=1e-6)
    found = np.isfinite(together.upper) & (together.upper > 0)
    moved = together.adversarial[found]
    assert (moved >= np.minimum(low, x)[found]).all()
    assert (moved <= np.maximum(high, x)[found]).all()
    if method in ("search", "whitebox"):
        assert found.any()


def test_exact_and_a_wrong_row_among_them():
    """A row that is wrong from the start takes no part: the lines of the others must not move up."""
    knn, x, low, high = problem(seed=1)
    knn = MahalanobisKNN(1).fit(knn.references_, knn.reference_labels_)
    labels = knn.predict(x)
    labels[0] = (labels[0] + 1) % 3
    together = knn.certify(x, labels, method="exact", threat=ThreatModel(box=(low, high)))
    assert together.lower[0] == together.upper[0] == 0
    for b in range(1, len(x)):
        alone = knn.certify(x[[b]], method="exact", threat=ThreatModel(box=(low[b], high[b])))
        np.testing.assert_allclose([together.lower[b], together.upper[b]], [alone.lower[0], alone.upper[0]], rtol=1e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_a_box_that_cannot_matter_changes_nothing_and_none_lowers_a_bound(norm):
    knn, x, low, high = problem(seed=2)
    plain = knn.certify(x, method="votes", threat=ThreatModel(norm)).lower
    wide = ThreatModel(norm, box=(np.full(x.shape, -100.0), np.full(x.shape, 100.0)))
    np.testing.assert_allclose(knn.certify(x, method="votes", threat=wide).lower, plain, rtol=1e-9)
    assert (knn.certify(x, method="votes", threat=ThreatModel(norm, box=(low, high))).lower >= plain * (1 - 1e-9)).all()
    open_search, boxed_search = (
        knn.certify(x, method="search", budget=10.0, threat=threat)
        for threat in (ThreatModel(norm), ThreatModel(norm, box=(low, high)))
    )
    assert (boxed_search.lower >= open_search.lower * (1 - 1e-6)).all()


def test_lines_are_for_as_many_rows_and_features():
    knn, x, low, high = problem()
    with pytest.raises(ValueError, match="a line for each of 6 rows; asked about are 5"):
        knn.certify(x[:5], threat=ThreatModel(box=(low, high)))
    with pytest.raises(ValueError, match="lower limits for 6 rows and upper limits for 5"):
        ThreatModel(box=(low, high[:5]))
    with pytest.raises(ValueError, match="4 lower and 3 upper limits"):
        ThreatModel(box=(low, high[:, :3]))
    with pytest.raises(ValueError, match="a line of these for each row"):
        ThreatModel(box=(np.zeros((2, 2, 2)), 1.0))
    with pytest.raises(ValueError, match="for 4 features"):
        ThreatModel(box=(low, 9.0)).resolve(3)
    mixed = knn.certify(x, threat=ThreatModel(box=(low, 9.0), only_up=[2]))
    assert len(mixed) == 6
    threat = ThreatModel(box=(low, high))
    assert threat.describe() == "ℓ2 norm, inside a box for each row"
    assert ThreatModel(**json.loads(json.dumps(threat.arguments()))) == threat
    assert eval(threat.python(), {"arml": __import__("arml_core")}) == threat


def test_a_job_refuses_lines_for_each_row():
    _, _, low, high = problem()
    spec = EvaluationSpec("certify", "run", 3, threat=ThreatModel(box=(low, high)))
    with pytest.raises(ValueError, match="cannot carry a box with a line for each row"):
        spec.normalised()


def test_one_neighbour_in_a_direction_is_attacked_in_that_direction():
    """The shortest way to another answer is down; only up is allowed."""
    X, x = np.array([[0.0, 0.0], [0.0, -2.0], [0.0, 5.0]]), np.array([[0.0, -0.5]])
    knn = MahalanobisKNN(1).fit(X, [0, 1, 1])
    found = knn.attack(x, threat=ThreatModel(only_up=[1]))
    assert found.upper[0] == pytest.approx(3.0, rel=1e-6)
    assert found.adversarial[0, 1] >= -0.5
