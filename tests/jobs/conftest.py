"""Real processes on a store of their own; whatever a test starts is ended with it."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from arml_core.jobs import Client
from arml_core.jobs.paths import Paths
from arml_core.jobs.worker_process import worker_pid

from ..job_requests import train
from .learners import EVERY

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 90.0
"""Seconds until a test gives up; the machine may be busy."""

SETTINGS = {"ARML_LEARNERS": EVERY, "ARML_CHECKPOINT_SECONDS": "0.2", "OMP_NUM_THREADS": "1", "ARML_NICE": "0"}
UNSET = ("ARML_DASK", "ARML_SHARED", "ARML_JOBS", "ARML_UPLOAD_DAYS")


def eventually(condition, patience=PATIENCE, every=0.02):
    """The first true value of `condition`; a failure if there is none in time."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(every)
    raise AssertionError(f"not within {patience:g} s: {condition}")


def kill(pid):
    """kill -9, as an out-of-memory killer or a power cut would."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def alive(pid):
    """Whether a process runs; one that has ended and waits to be looked at does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_of(pid):
    """The child processes of `pid`."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def child_of_job(client, job):
    """The process that computes a job, from the job's log."""
    lines = [line for line in client.log(job).splitlines() if ", process " in line]
    return int(lines[-1].rsplit(" ", 1)[1]) if lines else None


def end_worker(paths):
    """Kill the worker of a store, if there is one; its children end with it."""
    pid = worker_pid(paths)
    if pid:
        family = children_of(pid)
        kill(pid)
        eventually(lambda: worker_pid(paths) is None)
        eventually(lambda: not any(alive(child) for child in family))


def pytest_collection_modifyitems(items):
    """What the warm worker computes takes too long for `make test`; `test_road.py` is there for it."""
    for item in items:
        if "shared_home" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.more)


_started = []


def run_python(code, **settings):
    """A Python process with the store of this test, not waited for."""
    environment = {**os.environ, **settings, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    _started.append(process)
    return process


def _enter(patch, folder):
    for name in UNSET:
        patch.delenv(name, raising=False)
    for name, value in SETTINGS.items():
        patch.setenv(name, value)
    patch.setenv("ARML_HOME", str(folder))


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An ``ARML_HOME`` for one test, with no worker yet."""
    _enter(monkeypatch, tmp_path / "home")
    yield tmp_path / "home"
    while _started:
        process = _started.pop()
        process.kill()
        process.wait()
    end_worker(Paths.default())


@pytest.fixture
def client(home):
    """A client that starts no worker by itself."""
    return Client(start=False)


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory):
    """An ``ARML_HOME`` with a warm worker for a whole module."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("home")
        _enter(patch, folder)
        client = Client()
        client.start_worker()
        first = train(client, "moons", "euclidean")
        assert client.wait(first.id, PATIENCE).state == "done"
        yield folder
        end_worker(client.store.paths)


@pytest.fixture
def warm(shared_home, monkeypatch):
    """A client of the warm worker."""
    _enter(monkeypatch, shared_home)
    return Client()
