"""Processes that die: nothing is stuck, nothing half is read, and the retried result is the undisturbed one."""

import os
import signal
import subprocess

import numpy as np
import pytest

from arml_core import MahalanobisKNN, load_dataset
from arml_core.jobs import Client
from arml_core.jobs.paths import Paths
from arml_core.jobs.worker_process import start_worker, worker_pid
from arml_core.learners.arml import ARML

from ..job_requests import train
from .busy import N_POINTS, SEED, TRAINING, in_the_middle
from .conftest import PATIENCE, alive, child_of_job, children_of, eventually, kill, run_python
from .learners import Steady

pytestmark = pytest.mark.more


@pytest.fixture
def busy(home):
    """A client whose worker is in the middle of a training and a certification."""
    client = Client()
    return client, *in_the_middle(client)


def assert_undisturbed(client, training, certification):
    """Both jobs end, and as if nothing had happened; the training did not start over."""
    assert client.wait(training, PATIENCE).state == "done"
    assert client.wait(certification, PATIENCE).state == "done"
    assert not client.list(("running", "cancelling", "queued"))
    data = load_dataset("moons")
    learner = Steady(TRAINING["n_steps"], 0.0, random_state=SEED).fit(data.X_train, data.y_train)
    found = client.run(training)
    assert np.allclose(found.components_, learner.components_, rtol=0, atol=1e-6)
    assert np.allclose(found.history_["loss"], learner.history_["loss"], rtol=0, atol=1e-6)
    wide = load_dataset("moons", n=N_POINTS)
    radii = client.radii(certification)
    some = np.arange(0, N_POINTS, 40)
    expected = MahalanobisKNN(11).fit(wide.X_train, wide.y_train).certify(wide.X_test[some], wide.y_test[some])
    assert np.array_equal(radii.index, np.arange(N_POINTS))
    assert np.allclose(radii.lower[some], expected.lower, rtol=0, atol=1e-6)
    assert not list(client.store.paths.root.rglob("*.tmp"))


def test_worker_killed_during_training_and_certification(busy):
    client, training, certification = busy
    worker = worker_pid(client.store.paths)
    family = children_of(worker)
    kill(worker)
    eventually(lambda: not any(alive(pid) for pid in family), 5.0)
    watcher = Client(start=False)
    eventually(lambda: {watcher.status(training).state, watcher.status(certification).state} == {"lost"})
    assert client.status(training).state in ("lost", "queued", "running")  # looking is enough to bring it back
    assert_undisturbed(client, training, certification)
    assert client.status(training).attempt == client.status(certification).attempt == 2
    assert "continues after step" in client.log(training)


def test_children_killed_during_training_and_certification(busy):
    client, training, certification = busy
    worker = worker_pid(client.store.paths)
    for job in (training, certification):
        kill(child_of_job(client, job))
    eventually(lambda: client.status(training).attempt == client.status(certification).attempt == 2)
    assert_undisturbed(client, training, certification)
    assert worker_pid(client.store.paths) == worker
    assert "continues after step" in client.log(training)
    assert "SIGKILL" in client.status(training).note


def test_arml_learns_the_same_metric_when_its_process_is_killed(home):
    client = Client()
    job = train(client, "iris", "arml", {"n_epochs": 2500}, seed=2).id
    eventually(lambda: "checkpoint" in client.log(job))
    kill(child_of_job(client, job))
    status = client.wait(job, PATIENCE)
    assert (status.state, status.attempt) == ("done", 2)
    assert "continues after step" in client.log(job)
    data = load_dataset("iris")
    expected = ARML(2500, random_state=2).fit(data.X_train, data.y_train)
    assert np.allclose(client.run(job).components_, expected.components_, rtol=0, atol=1e-6)
    assert np.allclose(client.run(job).history_["loss"], expected.history_["loss"], rtol=0, atol=1e-6)


def test_everything_killed_at_once(home):
    code = """
import time
from arml_core.jobs import Client
from tests.jobs.busy import in_the_middle
print(*in_the_middle(Client()), flush=True)
time.sleep(600)
"""
    server = run_python(code)
    training, certification = server.stdout.readline().split()
    worker = worker_pid(Paths.default())
    for pid in [server.pid, *children_of(worker), worker]:
        kill(pid)
    server.wait()
    eventually(lambda: worker_pid(Paths.default()) is None)
    assert_undisturbed(Client(), training, certification)


def test_server_killed_while_its_job_runs(home):
    code = """
import time
from arml_core.jobs import Client
from tests.job_requests import train
client = Client()
job = train(client, "moons", "steady", {"n_steps": 300}).id
while not client.status(job).done:
    time.sleep(0.02)
print(job, flush=True)
time.sleep(600)
"""
    server = run_python(code)
    job = server.stdout.readline().strip()
    worker = worker_pid(Paths.default())
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    client = Client(start=False)
    status = client.wait(job, PATIENCE)
    assert (status.state, status.attempt) == ("done", 1)
    assert worker_pid(client.store.paths) == worker


def test_worker_that_is_stopped_gives_its_jobs_back_and_stays_stopped(home):
    client = Client()
    job = train(client, "moons", "steady", {"n_steps": 200}, seed=1).id
    eventually(lambda: client.status(job).done > 5)
    assert client.stop_worker()
    assert not client.worker().alive
    assert client.worker().held
    status = client.status(job)
    assert (status.state, status.attempt) == ("queued", 0)
    assert not client.worker().alive  # looking does not start it against somebody's will
    client.start_worker()
    assert client.wait(job, PATIENCE).state == "done"
    assert "continues after step" in client.log(job)


def test_worker_that_has_only_just_been_started_is_stopped_too(home):
    client = Client()
    others = set(children_of(os.getpid()))
    client.start_worker()
    (started,) = set(children_of(os.getpid())) - others
    assert client.stop_worker()
    assert not alive(started)
    assert client.worker().held
    assert not client.stop_worker()


def test_two_workers_at_the_same_moment_one_wins(home):
    paths = Paths.default()
    code = "from arml_core.cli import worker; import argparse; worker.run(argparse.Namespace(action='run', idle=0.0))"
    both = [run_python(code, PYTHONUNBUFFERED="1") for _ in range(2)]
    try:
        pid = eventually(lambda: worker_pid(paths))
        loser = next(process for process in both if process.pid != pid)
        assert loser.wait(PATIENCE) != 0
        winner = next(process for process in both if process.pid == pid)
        assert winner.poll() is None
        start_worker(paths)  # a third is not even started
        assert worker_pid(paths) == pid
        with pytest.raises(subprocess.TimeoutExpired):
            winner.wait(0.5)
    finally:
        for process in both:
            process.kill()
            process.wait()
