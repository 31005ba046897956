"""GMLVQ: its gradient, what it learns, and a training that can be broken off and resumed."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

import arml_core as arml
from arml_core import GMLVQ, KMeansPrototypes, MahalanobisKNN
from arml_core.metric import Metric
from arml_core.references.gmlvq import relative_distances
from tests.learners.data import blobs, noisy


def plain_cost(X, y, W, c, G):
    """The mean of (d⁺ - d⁻) / (d⁺ + d⁻), one distance at a time."""
    terms = []
    for x, label in zip(X, y, strict=True):
        d = np.array([np.sum((G @ (x - w)) ** 2) for w in W])
        plus, minus = d[c == label].min(), d[c != label].min()
        terms.append((plus - minus) / (plus + minus))
    return float(np.mean(terms))


def run_of(X, y, **parameters):
    return GMLVQ(random_state=0, device="cpu", **parameters)._training(X, y, Metric.identity(X.shape[1]))


@pytest.mark.parametrize("rank", [None, 2])
def test_the_gradient_is_that_of_finite_differences(rank):
    X, y = blobs(1)
    run = run_of(X, y, n_prototypes=2, n_components=rank)
    rng = np.random.default_rng(0)
    run.w += torch.as_tensor(0.3 * rng.standard_normal(run.w.shape))
    run.g += torch.as_tensor(0.3 * rng.standard_normal(run.g.shape))
    W, G = run.w.numpy().copy(), run.g.numpy().copy()
    leaves = run.adam.leaves(("w", "g"))
    own, other = run._nearest(run.x, run.labels)
    loss = relative_distances(run.x, leaves[0][own], leaves[0][other], leaves[1]).mean()
    assert loss.item() == pytest.approx(plain_cost(X, y, W, run.w_codes, G), rel=1e-12)
    for gradient, array in zip(torch.autograd.grad(loss, leaves), (W, G), strict=True):
        for at in np.ndindex(array.shape):
            kept, h = array[at], 1e-6
            array[at] = kept + h
            above = plain_cost(X, y, W, run.w_codes, G)
            array[at] = kept - h
            below = plain_cost(X, y, W, run.w_codes, G)
            array[at] = kept
            assert float(gradient[at]) == pytest.approx((above - below) / (2 * h), abs=1e-7)


def test_the_history_begins_with_the_cost_of_the_start_and_falls():
    X, y = noisy()
    centres = KMeansPrototypes(random_state=0).fit(X, y)
    learner = GMLVQ(random_state=0).fit(X, y)
    loss = learner.history_["loss"]
    start = plain_cost(X, y, centres.references_, centres.reference_labels_, np.eye(8))
    assert loss[0] == pytest.approx(start, rel=1e-9)
    assert loss[-1] < start - 0.3
    end = plain_cost(X, y, learner.references_, learner.reference_labels_, learner.components_)
    assert end == pytest.approx(loss[-1], abs=1e-3)


def test_it_finds_the_feature_that_parts_the_classes():
    X, y = noisy(n=120)
    centres = MahalanobisKNN(1, references=KMeansPrototypes(3, random_state=0)).fit(X, y)
    learned = MahalanobisKNN(1, references=GMLVQ(3, random_state=0)).fit(X, y)
    fresh_X, fresh_y = noisy(seed=1, n=400)
    errors = [np.mean(knn.predict(fresh_X) != fresh_y) for knn in (centres, learned)]
    assert errors[1] < min(0.05, errors[0])
    assert np.argmax((learned.metric_.components**2).sum(axis=0)) == 0


@pytest.mark.parametrize("rank", [None, 2])
def test_the_trace_of_the_metric_is_the_number_of_features(rank):
    learner = GMLVQ(n_components=rank, random_state=0).fit(*blobs(2))
    assert learner.components_.shape == (rank or 5, 5)
    assert np.sum(learner.components_**2) == pytest.approx(5)


def test_another_seed_is_another_result():
    X, y = blobs(3, (60, 60))
    one, two = (GMLVQ(random_state=seed).fit(X, y).references_ for seed in (0, 1))
    assert one.shape != two.shape or not np.array_equal(one, two)


@pytest.mark.parametrize("rows", [(15, 15, 15), (300, 300)], ids=["a step an epoch", "two"])
def test_a_resumed_training_is_the_undisturbed_one(rows):
    X, y = blobs(4, rows)
    whole = GMLVQ(random_state=0).fit(X, y)
    saved = {}

    def stop(done, total, info):
        if done == 7:
            saved.update(info["state"]())
            assert info["metric"]().n_features == 5
            raise arml.Cancelled

    with pytest.raises(arml.Cancelled):
        GMLVQ(random_state=0).fit(X, y, callback=stop)
    resumed = GMLVQ(random_state=0).fit(X, y, resume=saved)
    for name in ("references_", "reference_labels_", "components_"):
        assert_array_equal(getattr(resumed, name), getattr(whole, name))
    assert_array_equal(resumed.history_["loss"], whole.history_["loss"])


def test_a_state_of_another_training_is_refused():
    X, y = blobs(4)
    states = []
    GMLVQ(2, random_state=0).fit(X, y, callback=lambda done, total, info: states.append(info["state"]()))
    with pytest.raises(ValueError, match="not one of this training: w has shape"):
        GMLVQ(3, random_state=0).fit(X, y, resume=states[0])
    with pytest.raises(ValueError, match="not one of this training"):
        GMLVQ(2, random_state=0).fit(X, y, resume={"w": states[0]["w"]})


def test_what_the_callback_sees_last_is_the_result():
    seen = {}
    learner = GMLVQ(random_state=0).fit(*blobs(), callback=lambda done, total, info: seen.update(info))
    points, codes, metric = seen["references"]()
    assert_array_equal(points, learner.references_)
    assert_array_equal(codes, learner.reference_labels_)
    assert_allclose(metric.components, learner.components_)
    assert seen["loss"] == learner.history_["loss"][-1]


def test_a_row_on_prototypes_of_both_sides_has_no_gradient():
    x = torch.zeros(1, 2, dtype=torch.float64)
    own, other, g = (torch.zeros(1, 2, dtype=torch.float64, requires_grad=True) for _ in range(3))
    terms = relative_distances(x, own, other, g + torch.eye(1, 2, dtype=torch.float64))
    assert terms.item() == 0
    assert all((part == 0).all() for part in torch.autograd.grad(terms.sum(), [own, other, g]))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_epochs": 0}, "n_epochs must be an integer at least 1"),
        ({"n_prototypes": 0}, "n_prototypes must be an integer at least 1"),
        ({"n_components": 6}, "n_components must be an integer from 1 to 5"),
    ],
)
def test_wrong_parameters_are_named(wrong, said):
    with pytest.raises(ValueError, match=said):
        GMLVQ(**wrong).fit(*blobs())
