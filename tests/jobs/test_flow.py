"""From asking to a result with a living worker: progress, partial results, cancels, failures, damage."""

import os
import time

import numpy as np
import pytest

from arml_core import MahalanobisKNN, load_dataset
from arml_core.jobs import Client, DamagedFile, EvaluationSpec, PointsSpec
from arml_core.jobs.files import write_arrays
from arml_core.jobs.owners import DAY
from arml_core.learners.registry import get_learner

from ..job_requests import certify, train
from .conftest import PATIENCE, alive, child_of_job, eventually
from .learners import Steady

AT_REST_SECONDS = 3.0
SLACK = 2.0
"""The machine may be busy with other work: the bound of a cancel is stretched by this much."""


def slow_certification(client, n, **options):
    """Some seconds of certifying: many points, every one against all others."""
    run = client.wait(train(client, load_dataset("moons", n=n), "euclidean").id, PATIENCE)
    return certify(client, run.id, 11, "votes", points=PointsSpec("test"), **options)


def test_training_gives_what_fit_gives(warm):
    job = train(warm, "moons", "arml", {"n_epochs": 30}, seed=5)
    assert warm.wait(job.id, PATIENCE).state == "done"
    data = load_dataset("moons")
    expected = get_learner("arml").build({"n_epochs": 30}, random_state=5).fit(data.X_train, data.y_train)
    found = warm.run(job.id)
    assert np.allclose(found.components_, expected.components_, atol=1e-9)
    assert np.allclose(found.history_["loss"], expected.history_["loss"], atol=1e-9)
    assert (found.eigenvalue_steps[0], found.eigenvalue_steps[-1]) == (1, 30)
    assert np.allclose(found.eigenvalues[-1], np.linalg.eigvalsh(found.get_mahalanobis_matrix())[::-1])


def test_certification_gives_what_certify_gives(warm):
    job = slow_certification(warm, 300)
    assert warm.wait(job.id, PATIENCE).state == "done"
    data = load_dataset("moons", n=300)
    expected = MahalanobisKNN(11).fit(data.X_train, data.y_train).certify(data.X_test, data.y_test)
    found = warm.radii(job.id)
    assert np.allclose(found.lower, expected.lower, atol=1e-6)
    assert np.array_equal(found.correct, expected.correct)
    assert np.array_equal(found.predicted, expected.predicted)


def test_training_rows_are_certified_without_themselves(warm):
    run = train(warm, "moons", "euclidean")
    job = certify(warm, run.id, 1, "exact", points=PointsSpec("train", 40))
    assert warm.wait(job.id, PATIENCE).state == "done"
    data = load_dataset("moons")
    knn = MahalanobisKNN(1).fit(data.X_train, data.y_train)
    expected = knn.certify(data.X_train[:40], data.y_train[:40], method="exact", exclude=np.arange(40))
    assert np.allclose(warm.radii(job.id).lower, expected.lower, atol=1e-6)


def test_query_rows_without_labels_certify_the_answer_itself(warm):
    points = warm.add_points([[0.0, 0.5], [1.0, -0.5]])
    run = train(warm, "moons", "euclidean")
    job = certify(warm, run.id, 3, points=points)
    assert warm.wait(job.id, PATIENCE).state == "done"
    assert warm.radii(job.id).correct.all()


@pytest.mark.parametrize(("kind", "method"), [("certify", "search"), ("attack", "whitebox"), ("attack", "boundary")])
def test_search_and_attacks_give_what_they_give_at_once(warm, kind, method):
    run = train(warm, "moons", "euclidean")
    options = {"budget": 5.0} if method == "search" else {}
    if method == "boundary":
        options = {"seed": 4, "options": {"steps": 200}}
    job = warm.submit(EvaluationSpec(kind, run.id, 3, method, points=PointsSpec("test", 40), **options))
    assert warm.wait(job.id, PATIENCE).state == "done"
    data = load_dataset("moons")
    knn = MahalanobisKNN(3).fit(data.X_train, data.y_train)
    rows = data.X_test[:40], data.y_test[:40]
    if kind == "certify":
        expected = knn.certify(*rows, method="search", budget=5.0)
        assert np.allclose(warm.radii(job.id).lower, expected.lower, atol=1e-6)
    elif method == "boundary":
        expected = knn.attack(*rows, method="boundary", steps=200, random_state=4)
    else:
        expected = knn.attack(*rows)
    assert np.allclose(warm.radii(job.id).upper, expected.upper, atol=1e-6)


def test_same_work_is_not_done_twice(warm):
    job = warm.wait(train(warm, "moons", "steady", {"n_steps": 5}).id, PATIENCE)
    again = train(warm, "moons", "steady", {"n_steps": 5})
    assert (again.id, again.state, again.finished) == (job.id, "done", job.finished)


def test_progress_history_and_time_left_while_it_runs(warm):
    job = train(warm, "moons", "steady", {"n_steps": 400, "pause": 0.01}).id
    first = eventually(lambda: (s := warm.status(job)).done and s)
    assert (first.state, first.phase, first.total) == ("running", "training", 400)
    later = eventually(lambda: (s := warm.status(job)).seconds_left is not None and s)
    assert 0 < later.seconds_left < 60
    live = eventually(lambda: (h := warm.history(job)).last > 100 and h)
    assert np.array_equal(live.steps["loss"], np.arange(1, live.last + 1))
    more = eventually(lambda: (h := warm.history(job, after=live.last)).last > live.last and h)
    assert more.steps["loss"][0] == live.last + 1
    assert warm.wait(job, PATIENCE).state == "done"
    whole = warm.history(job)
    assert np.array_equal(whole.values["loss"][: live.last], live.values["loss"])


def test_partial_radii_appear_while_it_runs_and_are_final(warm):
    job = slow_certification(warm, 3000).id
    some = eventually(lambda: (r := warm.radii(job)) is not None and 0 < len(r) < 3000 and r)
    assert warm.wait(job, PATIENCE).state == "done"
    whole = warm.radii(job)
    assert np.array_equal(whole.lower[some.index], some.lower)
    eventually(lambda: not warm.store.paths.unfinished_of(job).exists())


def test_failure_has_a_reason_and_a_log(warm):
    job = warm.wait(train(warm, "moons", "broken").id, PATIENCE)
    assert (job.state, job.reason, job.attempt) == ("failed", "the third wheel is missing", 1)
    assert "Traceback" in warm.log(job.id)


def cancelled_in_time(client, job):
    before = time.monotonic()
    status = client.cancel(job)
    assert status.state in ("cancelling", "cancelled")
    assert time.monotonic() - before < 1.0 + SLACK
    client.wait(job, PATIENCE)
    assert time.monotonic() - before < AT_REST_SECONDS + SLACK
    assert client.status(job).state == "cancelled"


def test_cancel_while_queued(warm):
    blockers = [train(warm, "moons", "deaf", {"seconds": 30.0 + i}, priority=9).id for i in range(2)]
    job = train(warm, "moons", "steady", {"n_steps": 7}).id
    assert warm.status(job).state == "queued"
    cancelled_in_time(warm, job)
    for blocker in blockers:
        warm.cancel(blocker)
    assert all(warm.wait(blocker, PATIENCE).state == "cancelled" for blocker in blockers)
    assert warm.retry(job).state in ("queued", "running")
    assert warm.wait(job, PATIENCE).state == "done"


def test_cancel_while_loading(warm):
    wide = load_dataset("moons", n=100_000)
    job = train(warm, wide, "steady", {"n_steps": 10_000}).id
    eventually(lambda: warm.status(job).state == "running")
    cancelled_in_time(warm, job)


def test_cancel_while_training(warm):
    job = train(warm, "moons", "steady", {"n_steps": 10_000}).id
    eventually(lambda: warm.status(job).done)
    process = child_of_job(warm, job)
    cancelled_in_time(warm, job)
    assert alive(process)  # it stopped by itself and waits for the next job


def test_cancel_while_metric_learn_trains(warm):
    many = load_dataset("moons", n=4000, noise=0.4)  # each step takes long: it cannot end by itself in the grace time
    job = train(warm, many, "nca", {"backend": "metric-learn", "max_iter": 100_000, "tol": 1e-12}).id
    eventually(lambda: warm.status(job).phase == "training")
    process = child_of_job(warm, job)
    time.sleep(0.5)
    cancelled_in_time(warm, job)
    assert not alive(process)
    (line,) = [line for line in warm.store.paths.worker_log.read_text().splitlines() if f"job {job}: " in line]
    assert line.endswith("its process ended (it was told to stop); now cancelled")


def test_cancel_while_certifying(warm):
    job = slow_certification(warm, 6000).id
    eventually(lambda: warm.status(job).done)
    cancelled_in_time(warm, job)


def test_asking_again_while_it_is_being_cancelled_starts_it_anew(warm):
    job = train(warm, "moons", "deaf", {"seconds": 3.0}).id
    eventually(lambda: warm.status(job).phase == "training")
    first = child_of_job(warm, job)
    assert warm.cancel(job).state == "cancelling"
    assert train(warm, "moons", "deaf", {"seconds": 3.0}).id == job
    assert warm.wait(job, PATIENCE).state == "done"
    assert child_of_job(warm, job) != first


def test_cancelled_training_continues_where_it_was(warm):
    parameters = {"n_steps": 300, "pause": 0.005}
    job = train(warm, "moons", "steady", parameters, seed=8).id
    eventually(lambda: "checkpoint" in warm.log(job))
    cancelled_in_time(warm, job)
    assert train(warm, "moons", "steady", parameters, seed=8).id == job
    assert warm.wait(job, PATIENCE).state == "done"
    assert "continues after step" in warm.log(job)
    data = load_dataset("moons")
    expected = Steady(**{**parameters, "pause": 0.0}, random_state=8).fit(data.X_train, data.y_train)
    assert np.allclose(warm.run(job).components_, expected.components_, atol=1e-6)
    assert np.allclose(warm.run(job).history_["loss"], expected.history_["loss"], atol=1e-6)


def test_damaged_result_is_named_set_aside_and_recomputed(warm):
    job = warm.wait(train(warm, "moons", "steady", {"n_steps": 6}).id, PATIENCE).id
    expected = warm.run(job).components_
    path = warm.store.paths.result(job)
    write_arrays(path, {"components": np.zeros((2, 2))})
    with pytest.raises(DamagedFile, match=f"{job}.npz is damaged.* set aside"):
        warm.result(job)
    assert list(warm.store.paths.damaged.glob(f"{job}.npz.*"))
    assert warm.wait(job, PATIENCE).state == "done"
    assert np.array_equal(warm.run(job).components_, expected)


def test_evaluation_of_a_damaged_run_computes_the_run_first(warm):
    run = warm.wait(train(warm, "moons", "steady", {"n_steps": 9}).id, PATIENCE).id
    warm.store.paths.result(run).write_bytes(b"nothing")
    job = certify(warm, run, 3, points=PointsSpec("test"))
    assert warm.wait(job.id, PATIENCE).state == "done"
    assert warm.status(run).state == "done"
    assert "set aside" in warm.status(run).note
    assert len(warm.radii(job.id)) == 100


def test_missing_result_is_computed_again_on_request(warm):
    job = warm.wait(train(warm, "moons", "steady", {"n_steps": 4}).id, PATIENCE).id
    warm.store.paths.result(job).unlink()
    assert train(warm, "moons", "steady", {"n_steps": 4}).id == job
    assert warm.wait(job, PATIENCE).state == "done"
    assert warm.run(job).n_iter_ == 4


@pytest.mark.more
def test_the_worker_forgets_what_ended_or_was_set_aside_long_ago(client):
    now, left = time.time(), {}
    for days in (29, 31):
        job = train(client, "moons", "steady", seed=days).id
        client.cancel(job)
        with client.store.database.writing() as connection:
            connection.execute("UPDATE jobs SET finished = ? WHERE id = ?", (now - days * DAY, job))
        left[days] = [client.store.paths.unfinished_of(job) / "part.npz", client.store.paths.damaged / f"{job}.npz.1"]
        for path in left[days]:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"x")
            os.utime(path, (now - days * DAY, now - days * DAY))
    Client().start_worker()
    eventually(lambda: not any(path.exists() for path in left[31]))
    assert all(path.exists() for path in left[29])
    assert [status.content["seed"] for status in client.list()] == [29]
