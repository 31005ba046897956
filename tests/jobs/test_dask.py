"""A real dask scheduler with real workers on this machine: equal results, losses, wrong addresses."""

import os
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from arml_core import MahalanobisKNN, cross_fit, load_dataset
from arml_core.jobs import PointsSpec
from arml_core.references import KMeansPrototypes

from ..job_requests import certify, train
from .conftest import PATIENCE, ROOT, SETTINGS, eventually, kill
from .learners import Steady

pytest.importorskip("distributed")
N_POINTS = 2000


class Cluster:
    """A scheduler and workers as processes of their own."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address, self._folder = f"tcp://127.0.0.1:{port}", folder
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        self.workers = []

    def add_worker(self, *arguments):
        name = f"w{len(self.workers)}"
        options = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--name", name, *arguments)
        folder = ("--local-directory", str(self._folder / name))
        self.workers.append(self._start("worker", self.address, "--host", "127.0.0.1", *options, *folder))
        return self.workers[-1]

    def end(self):
        for process in [*self.workers, self.scheduler]:
            kill(process.pid)
            process.wait()

    def _start(self, *arguments):
        environment = {**os.environ, **SETTINGS, "PYTHONPATH": str(ROOT)}
        log = (self._folder / f"{arguments[0]}-{time.monotonic_ns()}.log").open("wb")
        return subprocess.Popen([sys.executable, "-m", "dask", *arguments], env=environment, stdout=log, stderr=log)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    found = Cluster(tmp_path_factory.mktemp("dask"))
    found.add_worker()
    found.add_worker("--resources", "GPU=1")
    yield found
    found.end()


@pytest.fixture
def remote(warm, cluster, monkeypatch):
    """A client whose jobs go to the cluster."""
    monkeypatch.setenv("ARML_DASK", cluster.address)
    return warm


def certification(client, seed):
    data = load_dataset("moons", n=N_POINTS, seed=seed)
    run = client.wait(train(client, data, "euclidean").id, PATIENCE)
    return certify(client, run.id, 5, points=PointsSpec("test")).id


def forget(client, job):
    """Remove a result, so that the same work is done again."""
    with client.store.database.writing() as connection:
        connection.execute("DELETE FROM jobs WHERE id = ?", (job,))
    client.store.paths.result(job).unlink()


def assert_equal_radii(one, other):
    assert np.array_equal(one.index, other.index)
    assert np.allclose(one.lower, other.lower, rtol=0, atol=1e-6)
    assert np.array_equal(one.upper, other.upper)
    assert np.array_equal(one.predicted, other.predicted)


def test_cluster_gives_what_one_process_gives(warm, remote, monkeypatch):
    job = certification(remote, seed=1)
    status = remote.wait(job, PATIENCE)
    assert (status.state, status.done) == ("done", N_POINTS), status.reason
    distributed = remote.radii(job)
    forget(remote, job)
    monkeypatch.delenv("ARML_DASK")
    assert certification(warm, seed=1) == job
    assert warm.wait(job, PATIENCE).state == "done"
    assert_equal_radii(distributed, warm.radii(job))


def test_lost_machine_costs_only_its_blocks(warm, remote, cluster, monkeypatch):
    job = certification(remote, seed=2)
    eventually(lambda: (s := remote.status(job)).done > 0 or s.is_at_rest)
    kill(cluster.workers[0].pid)
    status = remote.wait(job, PATIENCE)
    assert (status.state, status.attempt) == ("done", 1), status.reason
    distributed = remote.radii(job)
    forget(remote, job)
    monkeypatch.delenv("ARML_DASK")
    certification(warm, seed=2)
    assert warm.wait(job, PATIENCE).state == "done"
    assert_equal_radii(distributed, warm.radii(job))


def test_training_goes_to_a_machine_with_a_gpu(remote):
    job = train(remote, "moons", "steady", {"n_steps": 150}, seed=6).id
    eventually(lambda: remote.status(job).done)
    assert remote.wait(job, PATIENCE).state == "done"
    data = load_dataset("moons")
    expected = Steady(150, 0.0, random_state=6).fit(data.X_train, data.y_train)
    assert np.allclose(remote.run(job).components_, expected.components_, rtol=0, atol=1e-6)
    assert "checkpoint" not in remote.log(job)  # it was not computed here


def test_references_are_learned_and_cross_fitted_on_the_cluster(remote):
    run = train(remote, "moons", "kmeans_prototypes", {"n_prototypes": 3}, seed=2).id
    jobs = [certify(remote, run, 1, "exact", points=PointsSpec(part, 40)).id for part in ("test", "cross")]
    for job in (run, *jobs):
        assert remote.wait(job, PATIENCE).state == "done", remote.log(job)
    data = load_dataset("moons")
    learner = KMeansPrototypes(3, random_state=2).fit(data.X_train, data.y_train)
    assert np.array_equal(remote.run(run).references_, learner.references_)
    knn = MahalanobisKNN(references=learner).fit(data.X_train, data.y_train)
    expected = (
        knn.certify(data.X_test[:40], data.y_test[:40], method="exact"),
        cross_fit(learner, data.X_train, data.y_train).certify(range(40), method="exact"),
    )
    for job, wanted in zip(jobs, expected, strict=True):
        assert np.allclose(remote.radii(job).lower, wanted.lower, rtol=1e-9)


def test_cancel_on_the_cluster(remote):
    job = train(remote, "moons", "steady", {"n_steps": 100_000}).id
    eventually(lambda: remote.status(job).done)
    remote.cancel(job)
    assert remote.wait(job, 10).state == "cancelled"
    again = train(remote, "moons", "steady", {"n_steps": 2}, seed=77).id  # the machine is free again
    assert remote.wait(again, PATIENCE).state == "done"


def test_wrong_address_is_named_and_the_worker_goes_on(warm, monkeypatch):
    monkeypatch.setenv("ARML_DASK", "tcp://127.0.0.1:9")
    run = train(warm, "moons", "steady", {"n_steps": 2}).id
    assert warm.wait(run, PATIENCE).state == "done"  # a training needs no cluster
    assert "no dask scheduler answers at tcp://127.0.0.1:9" in warm.log(run)
    job = certify(warm, run, 3, points=PointsSpec("test"))
    status = warm.wait(job.id, PATIENCE)
    assert status.state == "failed"
    assert "no dask scheduler answers at tcp://127.0.0.1:9" in status.reason
    monkeypatch.delenv("ARML_DASK")
    assert warm.retry(job.id).state in ("queued", "running")
    assert warm.wait(job.id, PATIENCE).state == "done"
