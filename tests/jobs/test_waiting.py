"""A store that is locked by another process, or on a disk that is full or read-only: nothing is stuck, nothing lost."""

import errno
import os
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from arml_core.datasets import Dataset, fit_scaling
from arml_core.jobs import Client, DiskFull, Store, StoreBusy, StoreError
from arml_core.jobs.child import PATIENCE_SECONDS
from arml_core.jobs.disk_reserve import keep_room, with_room
from arml_core.jobs.paths import Paths
from arml_core.jobs.run_job import RunDamaged
from arml_core.jobs.store.database import Database
from arml_core.jobs.store.queue import Queue
from arml_core.jobs.worker_process import worker_pid
from arml_core.jobs.workspace import Workspace
from arml_core.radii import Radii

from ..job_requests import certify, train
from .conftest import PATIENCE, child_of_job, end_worker, eventually, kill, run_python
from .locks import write_lock
from .test_disk import disk, fill, mount  # noqa: F401

SHORT_TEMPERED = """
from arml_core.jobs.capacity import Limits
from arml_core.jobs.paths import Paths
from arml_core.jobs.worker import Worker
Worker(Paths.default(), Limits.default(), patience=0.3).run()
"""


@pytest.fixture
def impatient(client):
    """A client and a real worker that waits 0.3 s for the store, not 30."""
    run_python(SHORT_TEMPERED, ARML_JOBS="1")
    eventually(lambda: worker_pid(client.store.paths))
    first = train(client, "moons", "euclidean").id
    assert client.wait(first, PATIENCE).state == "done"
    return client


@pytest.mark.more
def test_job_of_a_child_that_dies_while_the_store_is_locked_is_taken_up_again(impatient):
    job = train(impatient, "moons", "steady", {"n_steps": 40, "pause": 0.05}).id
    child = eventually(lambda: impatient.status(job).done and child_of_job(impatient, job))
    with write_lock(impatient.store.paths.database):
        kill(child)
        time.sleep(1.5)  # several beats of the worker, each of which is refused
        assert impatient.status(job).state == "running"
    status = impatient.wait(job, PATIENCE)
    assert (status.state, status.attempt) == ("done", 2)
    assert "its process ended (SIGKILL" in status.note


@pytest.mark.more
def test_cancelled_job_of_a_child_that_dies_while_the_store_is_locked_ends_cancelled(impatient):
    job = train(impatient, "moons", "deaf", {"seconds": 60.0}).id
    child = eventually(lambda: child_of_job(impatient, job))
    cancel = f"UPDATE jobs SET state = 'cancelling' WHERE id = '{job}'"
    with write_lock(impatient.store.paths.database, cancel):
        kill(child)
        time.sleep(1.5)
    assert impatient.wait(job, PATIENCE).state == "cancelled"


@pytest.mark.more
def test_a_claim_that_is_refused_is_tried_again_without_being_asked(impatient):
    (done,) = impatient.list()
    again = f"UPDATE jobs SET state = 'queued', attempt = 0 WHERE id = '{done.id}'"
    with write_lock(impatient.store.paths.database, again):
        time.sleep(1.5)
        assert impatient.status(done.id).state == "queued"
    assert impatient.wait(done.id, PATIENCE).state == "done"


def test_reading_waits_for_no_writer(client):
    job = train(client, "moons", "steady").id
    waiting, ended = threading.Event(), threading.Event()

    @contextmanager
    def say():
        waiting.set()
        yield

    store = Store(patience=60.0, waiting=say)
    visitor = Client(store, start=False)

    def write():
        visitor.cancel(job)
        ended.set()

    with write_lock(store.paths.database):
        thread = threading.Thread(target=write)
        thread.start()
        assert waiting.wait(PATIENCE)
        assert visitor.status(job).state == "queued"
        assert len(visitor.list()) == 1
        assert not ended.is_set()
    thread.join()
    assert visitor.status(job).state == "cancelled"


def test_threads_that_wait_for_one_lock_do_not_wait_for_each_other_first(client):
    """The patience counts from when a writer asks, not from when the writers before it have given up."""
    store = Store(patience=1.0)
    job = train(client, "moons", "steady").id
    refusals = []

    def write():
        try:
            Client(store, start=False).cancel(job)
        except StoreBusy as reason:
            refusals.append((time.monotonic(), str(reason)))

    with write_lock(store.paths.database):
        threads = [threading.Thread(target=write) for _ in range(6)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(refusals) == 6
    assert max(when for when, _ in refusals) - began < 5.0  # one after the other they would take six
    assert all("busy for 1 s: another process is writing" in words for _, words in refusals)


def test_a_write_that_has_its_turn_at_once_says_nothing(client):
    said = []

    @contextmanager
    def say():
        said.append(True)
        yield

    visitor = Client(Store(waiting=say), start=False)
    visitor.cancel(train(visitor, "moons", "steady").id)
    assert said == []


def test_looking_at_the_list_does_not_wait_to_tidy(client):
    train(client, "moons", "steady")
    store = Store(patience=0.3)
    upload = client.add_file(b"1,2", "old")
    with store.database.writing() as connection:
        connection.execute("UPDATE contents SET expires = 1 WHERE digest = ?", (upload,))
    with write_lock(store.paths.database):
        assert len(Client(store, start=False).list()) == 1


@pytest.mark.more
def test_store_opened_on_a_read_only_disk_is_written_as_soon_as_it_can_be(disk):  # noqa: F811
    writer = Client(start=False)
    run = writer.add_metric("moons", np.eye(2)).id
    writer.store.database.close()
    mount("-o", "remount,ro", str(disk))
    try:
        visitor = Client(start=False)
        assert visitor.store.database.read_only
        assert visitor.status(run).state == "done"
        with pytest.raises(StoreError, match="cannot be written"):
            visitor.store.requests.recompute(run, "")
    finally:
        mount("-o", "remount,rw", str(disk))
    job = train(visitor, "moons", "steady").id
    assert not visitor.store.database.read_only
    assert visitor.status(job).state == "queued"
    assert Client(start=False).status(job).state == "queued"


@pytest.mark.more
def test_store_opened_on_a_full_disk_is_written_as_soon_as_there_is_room(disk):  # noqa: F811
    writer = Client(start=False)
    run = writer.add_metric("moons", np.eye(2)).id
    writer.store.database.close()
    ballast = fill(disk)
    visitor = Client(start=False)
    assert visitor.status(run).state == "done"
    with pytest.raises(OSError, match=r"full|No space left"):
        train(visitor, "moons", "steady")
    ballast.unlink()
    eventually(lambda: not visitor.store.database.read_only)
    assert visitor.status(train(visitor, "moons", "steady").id).state == "queued"


CRASH = """
import os
from arml_core.jobs import Client
import numpy as np
print(Client(start=False).add_metric("moons", np.eye(2)).id, flush=True)
os._exit(0)
"""


@pytest.mark.more
@pytest.mark.parametrize("indexed", [True, False])
def test_what_stands_in_the_log_of_a_crashed_store_is_read_or_refused_but_never_left_out(disk, indexed):  # noqa: F811
    """Without its index (the -shm file) SQLite cannot read the log where it may not write."""
    before = Client(start=False)
    train(before, "moons", "steady")
    before.store.database.close()  # that one stands in the file itself
    run = run_python(CRASH).communicate()[0].strip()
    database = Paths.default().database
    assert database.with_name("store.sqlite-wal").stat().st_size
    if not indexed:
        database.with_name("store.sqlite-shm").unlink()
    mount("-o", "remount,ro", str(disk))
    try:
        if indexed:
            visitor = Client(start=False)
            assert visitor.status(run).state == "done"
            visitor.store.database.close()
        else:
            with pytest.raises(StoreError, match="cannot be written"):
                Client(start=False)
    finally:
        mount("-o", "remount,rw", str(disk))
    assert Client(start=False).status(run).state == "done"


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_cancel_during_the_wait_for_a_damaged_run_ends_the_job(client, cancelled):
    run = client.add_metric("moons", np.eye(2)).id
    job = certify(client, run, 1).id
    queue = Queue(client.store.database)
    claim = queue.claim(True)
    assert claim.job == job
    if cancelled:
        client.cancel(job)
    damage = RunDamaged(run, "the file is damaged")
    queue.wait_for_run(job, claim.lease, damage.run, damage.note)
    assert client.status(job).state == ("cancelled" if cancelled else "queued")
    assert client.status(run).state == ("done" if cancelled else "queued")
    assert queue.held_leases() == {}


def wide_dataset(n_features=300):
    """One whose metric takes more room than the store keeps in reserve."""
    x = np.random.default_rng(5).random((40, n_features))
    return Dataset(
        name="wide",
        title="Wide",
        group="file",
        X_train=x,
        y_train=np.arange(40) % 2,
        X_test=x[:0],
        y_test=np.empty(0, dtype=np.int64),
        feature_names=tuple(f"f{j}" for j in range(n_features)),
        class_names=("0", "1"),
        scaling=fit_scaling(x, "none"),
    )


@pytest.mark.more
def test_training_goes_on_without_room_and_its_result_waits_for_it(disk):  # noqa: F811
    client = Client()
    job = train(client, wide_dataset(), "steady", {"n_steps": 60, "pause": 0.05}).id
    eventually(lambda: "checkpoint after step" in client.log(job))
    ballast = fill(disk)
    eventually(lambda: client.status(job).phase == "waiting to save")
    assert client.status(job).state == "running"
    ballast.unlink()
    status = client.wait(job, PATIENCE)
    assert (status.state, status.attempt) == ("done", 1)
    assert client.run(job).components_.shape == (300, 300)
    assert not list(client.store.paths.root.rglob("*.tmp"))


@pytest.mark.more
def test_a_result_that_waits_for_a_locked_store_outlives_the_worker(home):
    client = Client()
    job = train(client, "moons", "steady", {"n_steps": 40, "pause": 0.05}).id
    eventually(lambda: client.status(job).done)
    with write_lock(client.store.paths.database):
        eventually(lambda: client.store.paths.drafts(job))
        end_worker(client.store.paths)
        assert client.store.paths.drafts(job)
    assert client.wait(job, PATIENCE).state == "done"
    assert "only its entry is missing" in client.log(job)
    assert client.run(job).n_iter_ == 40
    assert not client.store.paths.drafts(job)


@pytest.mark.more
def test_a_result_is_entered_after_a_lock_of_longer_than_the_patience(home):
    client = Client()
    job = train(client, "moons", "steady", {"n_steps": 40, "pause": 0.05}).id
    eventually(lambda: client.status(job).done)
    with write_lock(client.store.paths.database):
        time.sleep(PATIENCE_SECONDS + 4.0)
        assert client.status(job).state == "running"
    status = client.wait(job, PATIENCE)
    assert (status.state, status.attempt) == ("done", 1)


def test_rows_that_find_no_room_are_kept_in_memory(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path / "job")

    def rows(index):
        index = np.array(index)
        flat = np.zeros(len(index))
        truth = np.ones(len(index), dtype=bool)
        return Radii(
            index=index,
            lower=flat,
            upper=flat + 1,
            exact=~truth,
            correct=truth,
            predicted=np.zeros(len(index), dtype=np.int64),
            adversarial=np.zeros((len(index), 2)),
        )

    workspace.add(rows([0, 1]))
    workspace.flush()
    with monkeypatch.context() as full:

        def no_room(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        full.setattr(os, "fsync", no_room)
        workspace.add(rows([2]))
        workspace.flush()
        workspace.save_checkpoint(3, {"g": np.eye(2)})
        assert workspace.load_parts().index.tolist() == [0, 1, 2]
    assert workspace.load_checkpoint() is None
    workspace.add(rows([3]))
    workspace.flush()
    assert Workspace(tmp_path / "job").load_parts().index.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("reason", "kept"), [(StoreBusy("busy"), True), (StoreError("damaged"), True), (DiskFull("full"), False)]
)
def test_the_spare_room_is_given_up_for_a_full_disk_only(tmp_path, reason, kept):
    path = tmp_path / "reserve"
    keep_room(path)
    calls = []

    def write():
        calls.append(1)
        if len(calls) == 1:
            raise reason
        return "written"

    if kept:
        with pytest.raises(StoreError):
            with_room(path, write)
    else:
        assert with_room(path, write) == "written"
    assert path.exists() == kept


@pytest.mark.more
def test_a_full_disk_is_told_from_other_errors(disk):  # noqa: F811
    database = Database(disk / "store.sqlite")
    ballast = fill(disk)
    with pytest.raises(DiskFull, match="the disk is full"):
        Database(disk / "new.sqlite")
    with pytest.raises(DiskFull):  # noqa: SIM117
        with database.writing() as connection:
            connection.executemany(
                "INSERT INTO contents VALUES (?, '', 'file', '', ?, NULL, 0, NULL)",
                [(f"{i:064x}", "x" * 1000) for i in range(2000)],
            )
    database.close()
    ballast.unlink()
