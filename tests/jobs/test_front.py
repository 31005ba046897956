"""The price of robustness as ordinary jobs: what is asked, when, and what comes of it."""

import numpy as np
import pytest

from arml_core import MahalanobisKNN, ThreatModel, cross_fit, load_dataset, robust_error
from arml_core.jobs import PointsSpec, RunSpec
from arml_core.jobs.front import (
    FrontJobs,
    FrontModel,
    ask_front,
    front,
    front_learners,
    front_points,
    front_runs,
    multiples_of,
)
from arml_core.jobs.model import LearnedModel
from arml_core.jobs.uploads import model_digest
from arml_core.references import AdversarialPruning

from .in_process import compute_all

POINTS = PointsSpec("evaluation", 30)


@pytest.fixture
def moons(client):
    return load_dataset("moons", n=80)


def base_of(client, moons):
    return RunSpec(client.add_dataset(moons), "adversarial_pruning")


def test_multiples_of_the_automatic_radius_are_asked_once_it_is_known(client, moons):
    base = base_of(client, moons)
    jobs = ask_front(client, base, POINTS, multiples=(0.5, 1, 2))
    assert (len(jobs.models), jobs.all_asked, jobs.at_rest, front(client, jobs, 0.1)) == (1, False, False, ())
    compute_all(client)
    jobs = ask_front(client, base, POINTS, multiples=(0.5, 1, 2))
    assert (len(jobs.models), jobs.all_asked, jobs.done) == (3, True, False)
    compute_all(client)
    jobs = ask_front(client, base, POINTS, multiples=(0.5, 1, 2))
    assert jobs.done
    assert jobs.at_rest
    automatic = AdversarialPruning().fit(moons.X_train, moons.y_train).radius_
    found = front(client, jobs, 0.1)
    radii = [point.target_radius for point in found]
    np.testing.assert_allclose(radii, [0.5 * automatic, automatic, 2 * automatic], rtol=1e-3)
    assert len(client.list()) == 6  # asking again was free
    x, y = moons.evaluation(30)
    for point in found:
        learner = AdversarialPruning(point.target_radius).fit(moons.X_train, moons.y_train)
        knn = MahalanobisKNN(references=learner).fit(moons.X_train, moons.y_train)
        expected = knn.certify(x, y, method="exact")
        assert point.size == len(learner.references_)
        assert point.clean_error == np.mean(~expected.correct)
        assert point.robust_error == robust_error(expected.lower, 0.1)
        assert (point.label, point.n_points) == ("Adversarial pruning", 30)


def test_given_radii_and_other_models_are_asked_at_once(client, moons):
    base = base_of(client, moons)
    threat = ThreatModel("linf")
    jobs = ask_front(client, base, POINTS, threat, [0.3, 0.1], beside=[RunSpec(base.dataset, "euclidean")])
    assert jobs.all_asked
    assert all(model.evaluation.spec.threat == threat for model in jobs.models)
    compute_all(client)
    found = front(
        client, ask_front(client, base, POINTS, threat, [0.3, 0.1], beside=[RunSpec(base.dataset, "euclidean")]), 0
    )
    assert [(p.label, p.target_radius) for p in found] == [
        ("Adversarial pruning", 0.1),
        ("Adversarial pruning", 0.3),
        ("Euclidean", None),
    ]
    assert found[-1].size == len(moons.X_train)


def test_without_test_rows_every_model_is_cross_fitted(client, moons):
    assert front_points(9, 5) == PointsSpec("evaluation", 5)
    points = front_points(0, 20)
    assert points == PointsSpec("cross", 20)
    base = base_of(client, moons)
    asked = {"radii": [0.2], "beside": [RunSpec(base.dataset, "euclidean")]}
    ask_front(client, base, points, **asked)
    compute_all(client)
    pruned, euclidean = front(client, ask_front(client, base, points, **asked), 0.1)
    for point, learner in ((pruned, AdversarialPruning(0.2)), (euclidean, None)):
        expected = cross_fit(learner, moons.X_train, moons.y_train).certify(range(20), method="exact")
        assert point.robust_error == robust_error(expected.lower, 0.1)


def test_a_front_whose_first_training_was_cancelled_is_at_rest(client, moons):
    asked = ask_front(client, base_of(client, moons), POINTS)
    for job in (asked.models[0].evaluation.id, asked.models[0].run.id):
        client.cancel(job)
    model = FrontModel(client.status(asked.models[0].run.id), client.status(asked.models[0].evaluation.id))
    stopped = FrontJobs((model,), all_asked=False)
    assert (stopped.at_rest, stopped.done) == (True, False)
    assert front(client, stopped, 0.1) == ()


def test_radii_are_checked_before_anything_is_asked(client):
    with pytest.raises(ValueError, match="radius must be above 0"):
        front_runs(RunSpec("", "robust_prototypes"), [0.5, 0.0])
    with pytest.raises(ValueError, match="ARML has no parameter 'radius'"):
        front_runs(RunSpec("", "arml"), [0.5])
    assert front_learners()[:2] == ["robust_prototypes", "adversarial_pruning"]


def test_the_automatic_radius_stays_automatic_and_others_have_four_digits():
    assert multiples_of(1 / 3, (0.5, 1, 2)) == [0.1667, "auto", 0.6667]


def test_the_radius_a_model_was_trained_for_is_no_part_of_what_it_is():
    model = LearnedModel.of(AdversarialPruning().fit([[0.0], [1.0], [5.0]], [0, 1, 1]), 1, 2)
    other = LearnedModel(**{**vars(model), "radius_": None})
    assert model.radius_ is not None
    assert LearnedModel.from_arrays(model.arrays()).radius_ == model.radius_
    assert model_digest(model) == model_digest(other)
