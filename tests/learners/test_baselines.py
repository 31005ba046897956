"""NCA, LMNN, ITML and LFDA against their formulas and against metric-learn."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import metric_learn
import numpy as np
import pytest
import torch
from metric_learn.constraints import Constraints
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances

import arml_core as arml
from arml_core.learners import neighbours, pairwise
from arml_core.learners.itml import ITML, random_pairs
from arml_core.learners.lfda import LFDA
from arml_core.learners.lmnn import LMNN, LMNNTerm
from arml_core.learners.nca import NCA, NCATerm
from arml_core.learners.neighbours import SortedByClass
from arml_core.learners.pairwise import PairObjective
from tests.fitted import fitted
from tests.more import more

from .data import blobs

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.filterwarnings("ignore:the learned metric may be doubtful")


def sorted_points(sizes=(6, 9, 1, 4), n_features=3) -> SortedByClass:
    return SortedByClass(*blobs(0, sizes, n_features), torch.device("cpu"), torch.float64)


def nca_objective(X, y, g) -> float:
    """-Σ p_i, straight from the definition."""
    d = euclidean_distances(X @ g.T, squared=True)
    np.fill_diagonal(d, np.inf)
    p = np.exp(-d) / np.exp(-d).sum(axis=1, keepdims=True)
    return -float((p * (y[:, None] == y)).sum())


def lmnn_objective(X, y, g, k=3, reg=0.5) -> float:
    """Pull and push, straight from the definition, with as many targets as a class has."""
    plain, d = euclidean_distances(X, squared=True), euclidean_distances(X @ g.T, squared=True)
    total = 0.0
    for i in range(len(X)):
        same = [j for j in np.argsort(plain[i], kind="stable") if y[j] == y[i] and j != i][:k]
        for t in same:
            total += reg * d[i, t] + (1 - reg) * np.maximum(1 + d[i, t] - d[i, y != y[i]], 0).sum()
    return total


OBJECTIVES = {
    "nca": (lambda points: NCATerm(), nca_objective),
    "lmnn": (lambda points: LMNNTerm(points, 3, 0.5), lmnn_objective),
}


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("rank", [3, 2])
@pytest.mark.parametrize("block_bytes", [1, 2**26], ids=["row by row", "in one block"])
def test_objective_and_gradient(name, rank, block_bytes, monkeypatch):
    """The value by the definition, the gradient by finite differences, whatever the size of a block."""
    monkeypatch.setattr(pairwise, "BLOCK_BYTES", block_bytes)
    points = sorted_points()
    make, definition = OBJECTIVES[name]
    objective = PairObjective(points, make(points))
    g = np.random.default_rng(1).standard_normal((rank, 3))
    value, gradient = objective.value_and_gradient(torch.tensor(g))
    X, y = points.x.numpy(), points.codes.numpy()
    assert float(value) == pytest.approx(definition(X, y, g), rel=1e-10)
    step = 1e-6
    numeric = [
        (definition(X, y, g + step * e) - definition(X, y, g - step * e)) / (2 * step)
        for e in np.eye(g.size).reshape(-1, rank, 3)
    ]
    assert_allclose(gradient.numpy().ravel(), numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_batches_of_anchors_add_up_to_the_whole(name):
    points = sorted_points()
    objective = PairObjective(points, OBJECTIVES[name][0](points))
    g = torch.tensor(np.random.default_rng(1).standard_normal((3, 3)))
    whole = objective.value_and_gradient(g)
    halves = [objective.value_and_gradient(g, torch.arange(start, 20, 2)) for start in (0, 1)]
    for total, *parts in zip(whole, *halves, strict=True):
        assert_allclose(total, sum(parts), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("learner", "name", "parameters"),
    [
        (NCA(), "NCA", {}),
        (NCA(n_components=3), "NCA", {"n_components": 3, "init": "pca"}),
        (LMNN(max_iter=200, growth=1.01), "LMNN", {"max_iter": 200}),
        pytest.param(ITML(random_state=5), "ITML_Supervised", {"random_state": 5}, marks=pytest.mark.more),
        (LFDA(), "LFDA", {}),
        (LFDA(n_components=2, embedding_type="plain"), "LFDA", {"n_components": 2, "embedding_type": "plain"}),
        (LFDA(embedding_type="orthonormalized"), "LFDA", {"embedding_type": "orthonormalized"}),
    ],
    ids=["NCA", "NCA rank 3", "LMNN", "ITML", "LFDA", "LFDA plain", "LFDA orthonormalized"],
)
@pytest.mark.filterwarnings("ignore::FutureWarning:sklearn", "ignore::RuntimeWarning:metric_learn")
def test_same_metric_as_metric_learn(learner, name, parameters):
    """Without ties among the distances both take the same steps."""
    X, y = blobs(0, (40, 50, 30))
    ours = learner.fit(X, y).get_mahalanobis_matrix()
    theirs = getattr(metric_learn, name)(**parameters).fit(X, y).get_mahalanobis_matrix()
    assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize(
    "learner",
    [NCA(), LMNN(max_iter=20, growth=1.01), LFDA(), *more(ITML(random_state=0))],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning:metric_learn")
def test_backend_metric_learn_is_the_reference_itself(learner):
    X, y = blobs(0, (40, 50, 30))
    ours = learner.fit(X, y).get_mahalanobis_matrix()
    learner.set_params(backend="metric-learn")
    assert_allclose(learner.fit(X, y).get_mahalanobis_matrix(), ours, rtol=1e-3, atol=1e-4 * np.abs(ours).max())


@pytest.mark.parametrize("sizes", [(40, 50, 30), (2, 1, 3)], ids=["more pairs than wanted", "fewer"])
@pytest.mark.filterwarnings("ignore:Only generated")
def test_itml_draws_the_pairs_of_metric_learn(sizes):
    _, codes = blobs(0, sizes)
    rng = np.random.RandomState(3)
    ours = [random_pairs(codes, 60, similar, rng) for similar in (True, False)]
    a, b, c, d = Constraints(codes).positive_negative_pairs(60, random_state=3)
    assert_array_equal(np.concatenate(ours), np.concatenate([np.column_stack([a, b]), np.column_stack([c, d])]))


WITHOUT_METRIC_LEARN = """
import sys
sys.modules["metric_learn"] = None  # importing it raises ImportError
import numpy as np
import arml_core.learners
from arml_core.learners.registry import LEARNERS
X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
for entry in LEARNERS.values():
    assert entry.build(random_state=0).fit(X, y).components_.shape == (3, 3)
try:
    LEARNERS["nca"].build({"backend": "metric-learn"}).fit(X, y)
except ValueError as error:
    print(error)
"""


@pytest.mark.more
def test_metric_learn_is_needed_by_its_backend_alone():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_METRIC_LEARN], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "pip install metric-learn" in done.stdout


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
def test_reference_that_returns_noise_is_an_error():
    X, y = blobs(0, (40, 50, 30))
    with pytest.raises(FloatingPointError, match="backend='native'"):
        LFDA(backend="metric-learn").fit(np.column_stack([X, np.ones(len(X))]), y)


def test_lfda_as_published():
    """Both scatter matrices pair by pair, as in the article; metric-learn's differ."""
    X, y = blobs(0, (40, 50, 30))
    n, d = X.shape
    within, between = np.zeros((d, d)), np.zeros((d, d))
    for i in range(n):
        for j in range(n):
            outer = np.outer(X[i] - X[j], X[i] - X[j]) / 2
            if y[i] != y[j]:
                between += outer / n
                continue
            size = int((y == y[i]).sum())
            sigma = [np.sort(np.linalg.norm(X[y == y[i]] - X[p], axis=1))[4] for p in (i, j)]
            affinity = np.exp(-((X[i] - X[j]) ** 2).sum() / (sigma[0] * sigma[1]))
            within += affinity / size * outer
            between += affinity * (1 / n - 1 / size) * outer
    learner = LFDA(variant="published").fit(X, y)
    values, vectors = np.linalg.eig(np.linalg.solve(within, between))
    order = np.argsort(-values.real)
    vectors = vectors[:, order].real
    vectors /= np.sqrt(np.einsum("di,de,ei->i", vectors, within, vectors))
    expected = (vectors * np.maximum(values[order].real, 0)) @ vectors.T
    assert_allclose(learner.get_mahalanobis_matrix(), expected, rtol=1e-6, atol=1e-8)
    assert not np.allclose(LFDA().fit(X, y).get_mahalanobis_matrix(), expected, rtol=0.01)


def test_itml_leaves_out_pairs_of_coinciding_points():
    X, y = blobs(0, (20, 20))
    X[:10] = X[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        m = ITML(random_state=0).fit(X, y).get_mahalanobis_matrix()
    assert np.isfinite(m).all()


@pytest.mark.parametrize("learner", [LMNN, *more(NCA)], ids=lambda e: e.__name__)
def test_no_n_by_n_matrix_is_made(learner, monkeypatch):
    """The largest tensor a step makes is a block or the data, at a size where N×N would be larger by far."""
    monkeypatch.setattr(pairwise, "BLOCK_BYTES", 2**16)
    monkeypatch.setattr(neighbours, "BLOCK_BYTES", 2**16)
    X, y = blobs(0, (1500, 1500), n_features=4)
    largest = 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            result = function(*args, **(kwargs or {}))
            for tensor in result if isinstance(result, (tuple, list)) else [result]:
                if isinstance(tensor, torch.Tensor):
                    largest = max(largest, tensor.numel())
            return result

    with Watch():
        learner(solver="stochastic", n_steps=2, batch_size=500, random_state=0).fit(X, y)
    assert largest <= 10 * len(X) * 4  # N×N is 9,000,000


def robust_errors(learner, X_train, y_train, X, y, radii) -> np.ndarray:
    knn = arml.MahalanobisKNN(n_neighbors=1, metric=learner).fit(X_train, y_train)
    return (knn.certify(X, y, method="exact").lower[:, None] <= radii).mean(axis=0)


def splice() -> tuple[np.ndarray, ...]:
    if not (Path(os.environ.get("ARML_DATA", "/nonexistent")) / "splice.npz").is_file():
        pytest.skip("ARML_DATA names no folder with the paper's datasets")
    data = arml.load_dataset("splice")
    return (data.X_train, data.y_train, *data.evaluation(1000), np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5]))


def digits() -> tuple[np.ndarray, ...]:
    X, y = load_digits(return_X_y=True)
    return (X[:900] / 16, y[:900], X[900:] / 16, y[900:], np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5]))


@pytest.mark.more
@pytest.mark.parametrize("load", [digits, splice], ids=lambda load: load.__name__)
def test_nca_agrees_with_metric_learn(load):
    X, y, *test = load()
    ours, theirs = (fitted(NCA(backend=backend), X, y) for backend in ("native", "metric-learn"))
    assert nca_objective(X, y, ours.components_) <= 0.99 * nca_objective(X, y, theirs.components_)
    assert np.abs(robust_errors(ours, X, y, *test) - robust_errors(theirs, X, y, *test)).max() <= 0.02


@pytest.mark.more
def test_splice_gives_the_papers_nca_row():
    X, y, *test = splice()
    assert_allclose(
        robust_errors(fitted(NCA(backend="native"), X, y), X, y, *test),
        [0.130, 0.252, 0.404, 0.584, 0.733, 0.836],
        atol=0.01,
    )


@pytest.mark.more
@pytest.mark.parametrize("load", [digits, splice], ids=lambda load: load.__name__)
def test_stochastic_nca_comes_near_the_full_solver(load):
    X, y = load()[:2]
    full = fitted(NCA(backend="native"), X, y)
    batches = NCA(solver="stochastic", batch_size=200, random_state=0).fit(X, y)
    assert nca_objective(X, y, batches.components_) <= 0.99 * nca_objective(X, y, full.components_)


@pytest.mark.more
@pytest.mark.parametrize("load", [digits, splice], ids=lambda load: load.__name__)
def test_lmnn_agrees_with_metric_learn(load):
    """Ties among integer-valued features make each choose other targets: each objective is for its own."""
    X, y, *test = load()
    ours, theirs = (LMNN(backend=backend).fit(X, y) for backend in ("native", "metric-learn"))
    assert ours.history_["objective"][-1] <= 1.01 * lmnn_objective(X, y, theirs.components_)
    assert np.abs(robust_errors(ours, X, y, *test) - robust_errors(theirs, X, y, *test)).max() <= 0.02
