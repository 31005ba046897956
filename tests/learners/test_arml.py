"""ARML: the point of Figure 1, the paper's Splice rows, and what training promises."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import arml_core as arml
from arml_core.learners import triplet_sampling
from arml_core.learners.arml import ARML
from arml_core.learners.euclidean import Euclidean
from arml_core.learners.nca import NCA
from arml_core.learners.triplets import LOSSES
from tests.more import seeds

from .data import SEVEN_X, SEVEN_Y, blobs, noisy

needs_data = pytest.mark.skipif(
    not (Path(os.environ.get("ARML_DATA", "/nonexistent")) / "splice.npz").is_file(),
    reason="ARML_DATA names no folder with the paper's datasets",
)


def leave_one_out_radius(learner) -> float:
    """The mean exact 1-NN radius of the seven points, each certified without itself."""
    knn = arml.MahalanobisKNN(n_neighbors=1, metric=learner.fit(SEVEN_X, SEVEN_Y)).fit(SEVEN_X, SEVEN_Y)
    return float(knn.certify(SEVEN_X, SEVEN_Y, method="exact", exclude=np.arange(7)).lower.mean())


@pytest.fixture(scope="module")
def rivals() -> tuple[float, float]:
    return leave_one_out_radius(Euclidean()), leave_one_out_radius(NCA())


@pytest.mark.parametrize("seed", seeds(10))
def test_seven_points_make_the_point_of_figure_1(seed, rivals):
    euclidean, nca = rivals
    radius = leave_one_out_radius(ARML(random_state=seed))
    assert radius > 4 / 3 * euclidean
    assert radius > 2 * nca


def test_unsampled_objective_is_at_least_as_good_on_the_seven_points(rivals):
    unsampled = leave_one_out_radius(ARML(objective="unsampled"))
    assert unsampled > 4 / 3 * rivals[0]
    assert unsampled > leave_one_out_radius(ARML(random_state=0)) - 0.01


@pytest.mark.more
@needs_data
def test_splice_gives_the_papers_rows():
    data = arml.load_dataset("splice")
    X, y = data.evaluation(1000)
    learner = ARML(random_state=42).fit(data.X_train, data.y_train)
    radii = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    for k, method, paper in (
        (1, "exact", [0.130, 0.233, 0.370, 0.526, 0.652, 0.758]),
        (11, "theorem1", [0.128, 0.221, 0.345, 0.509, 0.666, 0.819]),
    ):
        knn = arml.MahalanobisKNN(n_neighbors=k, metric=learner).fit(data.X_train, data.y_train)
        lower = knn.certify(X, y, method=method).lower
        np.testing.assert_allclose((lower[:, None] <= radii).mean(axis=0), paper, atol=0.03)


def test_same_seed_same_metric_and_another_seed_another():
    X, y = blobs()
    first, again, other = (ARML(50, random_state=s).fit(X, y).components_ for s in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_training_leaves_torchs_global_generator_alone():
    X, y = blobs()
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    ARML(3, random_state=1).fit(X, y)
    assert torch.rand(1) == expected


def test_row_order_and_label_names_do_not_matter_to_the_objective():
    """The unsampled objective draws nothing, so any order of the rows gives the same metric."""
    X, y = blobs()
    order = np.random.default_rng(0).permutation(len(X))
    plain = ARML(30, objective="unsampled").fit(X, y).get_mahalanobis_matrix()
    names = np.array(["cat", "ant", "bee"])[y[order]]
    shuffled = ARML(30, objective="unsampled").fit(X[order], names).get_mahalanobis_matrix()
    np.testing.assert_allclose(shuffled, plain, rtol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_falls_and_the_radius_grows(loss):
    X, y = noisy()
    history = ARML(300, loss=loss, learning_rate=0.01, random_state=0).fit(X, y).history_
    assert history["loss"][-50:].mean() < history["loss"][:50].mean()
    assert history["radius"][-50:].mean() > history["radius"][:50].mean()


def test_low_rank_has_the_rows_asked_for_and_learns():
    X, y = noisy()
    learner = ARML(300, n_components=2, learning_rate=0.01, random_state=0).fit(X, y)
    assert learner.components_.shape == (2, 8)
    assert learner.history_["radius"][-50:].mean() > learner.history_["radius"][:50].mean()


def test_refresh_ranks_in_the_current_metric():
    """With lists from the start only, a feature of noise would keep deciding who is near."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = np.column_stack([y + 0.3 * rng.standard_normal(120), 3.0 * rng.standard_normal(120)])
    fresh, stale = (
        ARML(400, n_neighbors=3, learning_rate=0.02, refresh=r, random_state=0).fit(X, y).history_["radius"]
        for r in (1, 400)
    )
    assert fresh[:1] == stale[:1]
    assert not np.allclose(fresh[-1], stale[-1], rtol=1e-3)


@pytest.mark.parametrize(
    ("n", "batch_size", "refresh", "rankings"),
    [(40, None, 10, 3), (10_001, None, 10, 2), (10_001, 500, 10, 3), (10_001, None, 30, 1)],
)
def test_batches_of_large_data_stay_longer(n, batch_size, refresh, rankings, monkeypatch):
    """Ranking a batch among all points takes as long as dozens of updates."""
    counted = []
    original = triplet_sampling.rank_neighbours
    monkeypatch.setattr(triplet_sampling, "rank_neighbours", lambda *a: counted.append(1) or original(*a))
    X = np.random.default_rng(0).normal(size=(n, 1))
    ARML(30, batch_size=batch_size, refresh=refresh, random_state=0).fit(X, np.arange(n) % 2)
    assert len(counted) == rankings


def test_warm_start_continues_from_the_given_metric():
    X, y = blobs()
    first = ARML(100, random_state=0).fit(X, y)
    resumed = ARML(1, init=first.components_, learning_rate=1e-9, random_state=0).fit(X, y)
    np.testing.assert_allclose(resumed.components_, first.components_, atol=1e-8)


def test_early_stop_returns_the_best_metric_on_the_held_out_part():
    X, y = blobs(1, (30, 30), n_features=25)  # many features, few points: training on overfits
    learner = ARML(2000, learning_rate=0.02, validation_fraction=0.3, patience=40, random_state=0).fit(X, y)
    held_out = learner.history_["held_out_loss"]
    assert learner.n_iter_ < 2000
    best = int(np.argmin(held_out))
    assert learner.n_iter_ <= best * 10 + 40 + 10
    stopped_there = ARML(best * 10, learning_rate=0.02, validation_fraction=0.3, patience=10**6, random_state=0)
    np.testing.assert_allclose(learner.components_, stopped_there.fit(X, y).components_, atol=1e-12)


def test_callback_sees_each_epoch_and_the_current_metric():
    X, y = blobs()
    seen = []

    def callback(done, total, info):
        seen.append((done, total, info["loss"], info["radius"], info["metric"]().matrix()))

    learner = ARML(7, random_state=0).fit(X, y, callback=callback)
    assert [entry[:2] for entry in seen] == [(i, 7) for i in range(1, 8)]
    np.testing.assert_array_equal([entry[2] for entry in seen], learner.history_["loss"])
    np.testing.assert_array_equal([entry[3] for entry in seen], learner.history_["radius"])
    assert not np.allclose(seen[0][4], seen[-1][4], rtol=1e-6)
    np.testing.assert_allclose(seen[-1][4], learner.get_mahalanobis_matrix(), rtol=1e-12)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"batch_size": 20}, {"validation_fraction": 0.3, "patience": 20}, {"objective": "unsampled"}],
    ids=["all points", "batches", "early stop", "unsampled"],
)
@pytest.mark.parametrize("at", [1, 10, 37])
def test_resumed_training_equals_an_unbroken_one(parameters, at):
    X, y = noisy()
    learner = ARML(60, learning_rate=0.02, random_state=0, **parameters)
    kept = {}

    def stop(done, total, info):
        if done == at:
            kept.update(info["state"]())
            raise arml.Cancelled

    with pytest.raises(arml.Cancelled):
        learner.fit(X, y, callback=stop)
    assert not any(value.dtype.hasobject for value in kept.values())
    learner.fit(X, y, resume=kept)
    unbroken = ARML(60, learning_rate=0.02, random_state=0, **parameters).fit(X, y)
    assert np.array_equal(learner.components_, unbroken.components_)
    assert learner.history_.keys() == unbroken.history_.keys()
    for name, values in unbroken.history_.items():
        np.testing.assert_array_equal(learner.history_[name], values)


def test_state_of_another_training_is_refused():
    X, y = blobs()
    kept = {}
    ARML(2, random_state=0).fit(X, y, callback=lambda done, total, info: kept.update(info["state"]()))
    with pytest.raises(ValueError, match="not one of this training"):
        ARML(2).fit(X[:, :3], y, resume=kept)
    with pytest.raises(ValueError, match="not one of this training"):
        ARML(2).fit(X, y, resume={"g": np.eye(5)})


def test_negative_loss_reports_the_radius_it_maximises():
    X, y = blobs(sizes=(30, 30), n_features=2)
    X += 100 * y[:, None]  # so far apart that every triplet radius is positive
    history = ARML(3, random_state=0).fit(X, y).history_
    np.testing.assert_allclose(history["loss"], -history["radius"], rtol=1e-12)


def test_exploding_loss_stops_with_the_reason_and_leaves_no_metric():
    X, y = blobs()
    learner = ARML(20, loss="exponential", random_state=0)
    y_scrambled = np.random.default_rng(0).permutation(y)
    with pytest.raises(FloatingPointError, match=r"the loss became inf in epoch 1\. Scale the features"):
        learner.fit(1e5 * X, y_scrambled)
    assert not hasattr(learner, "components_")


def test_nan_metric_stops_with_the_reason():
    X, y = blobs()
    with pytest.raises(FloatingPointError, match="lower the learning rate"):
        ARML(20, learning_rate=1e200, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_epochs": 0}, "n_epochs must be an integer at least 1; got 0"),
        ({"loss": "squared"}, "loss must be one of 'negative', 'hinge', 'exponential', 'logistic'; got 'squared'"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0; got 0.0"),
        ({"n_components": 6}, "n_components must be an integer from 1 to 5; got 6"),
        ({"init": np.eye(3)}, r"init must have shape \(n_components, n_features\) = \(5, 5\); got \(3, 3\)"),
        ({"objective": "unsampled", "objective_k": 2}, "objective_k must be odd"),
        ({"device": "toaster"}, "device 'toaster' cannot be used"),
        ({"validation_fraction": 0.01}, "holds out no point"),
    ],
)
def test_mistakes_are_named(parameters, message):
    X, y = blobs()
    with pytest.raises(ValueError, match=message):
        ARML(**parameters).fit(X, y)


def test_unsampled_objective_refuses_many_points():
    X, y = blobs(sizes=(1001, 1001), n_features=2)
    with pytest.raises(ValueError, match="up to 2000 points; there are 2002"):
        ARML(1, objective="unsampled").fit(X, y)


def test_no_tensor_is_made_on_another_device():
    """Every tensor made while training must be told the device of the data.

    The `meta` default device stands for a wrong one: a tensor made without a device would land there, and any
    operation that mixes it with the data's would fail.
    """
    X, y = blobs(sizes=(300, 200))
    with torch.device("meta"):
        for objective in ("sampled", "unsampled"):
            ARML(3, device="cpu", objective=objective, validation_fraction=0.2, random_state=0).fit(X, y)
        ARML(3, device="cpu", batch_size=50, refresh=1, random_state=0).fit(X, y)


def test_without_a_callback_nothing_is_copied_between_refreshes(monkeypatch):
    """On a GPU each of these calls would wait for the device."""
    X, y = blobs()
    copies = []
    for name in ("item", "tolist", "cpu", "numpy", "__float__", "__bool__", "nonzero"):
        original = getattr(torch.Tensor, name)

        def counted(self, *args, _original=original, **kwargs):
            # Adam counts its steps in a tensor on the CPU wherever the parameters are
            if "torch/optim" not in sys._getframe(1).f_code.co_filename:
                copies.append(1)
            return _original(self, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, name, counted)
    counts = []
    for n_epochs in (10, 30):
        copies.clear()
        ARML(n_epochs, refresh=100, random_state=0).fit(X, y)
        counts.append(len(copies))
    assert counts[0] == counts[1]


def test_an_update_is_adams() -> None:
    """Its function is called with numbers of our own: they have to be those of the class."""
    from arml_core.learners.arml import _Training

    gradients = torch.randn(6, 3, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    leaf = torch.eye(3, 2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([leaf], lr=0.01)
    run = _Training(torch.eye(3, 2, dtype=torch.float64), None, None, "negative", 6, 1, 0.01)  # type: ignore[arg-type]
    for gradient in gradients * 1e-6:
        leaf.grad = gradient.clone()
        optimizer.step()
        run.update(gradient)
    assert torch.equal(run.g, leaf.detach())


def test_the_history_counts_a_wrong_answer_as_radius_0() -> None:
    """Labels at random: half the triplets have a negative ε̃."""
    X, y = blobs()
    wrong = np.random.default_rng(0).permutation(y)
    history = ARML(3, random_state=0).fit(X, wrong).history_
    assert (history["radius"] > 0).all()
    assert (history["radius"] > -history["loss"] + 1e-3).all()
