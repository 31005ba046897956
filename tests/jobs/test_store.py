"""The store without a worker: keys, files, order, schema, time left."""

import json
import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from arml_core import ThreatModel, load_dataset
from arml_core.jobs import Client, DamagedFile, NotReady, PointsSpec, RunSpec, StoreError, UnknownJob
from arml_core.jobs.capacity import Devices
from arml_core.jobs.eta import TimeLeft
from arml_core.jobs.files import read_arrays, set_aside, write_arrays
from arml_core.jobs.reporter import Reporter
from arml_core.jobs.run_job import JobContext, run_job
from arml_core.jobs.shards import shards
from arml_core.jobs.spec import EvaluationSpec, canonical, key_of, spec_from
from arml_core.jobs.store import schema
from arml_core.jobs.store.database import Database
from arml_core.jobs.store.queue import Queue
from arml_core.jobs.uploads import dataset_arrays, dataset_from
from arml_core.jobs.worker_lock import WorkerLock
from arml_core.jobs.workspace import Workspace
from arml_core.radii import Radii

from ..job_requests import attack, certify, train
from .conftest import run_python


def test_radii_of_a_search_belong_to_its_key_and_old_jobs_keep_theirs():
    spec = EvaluationSpec("certify", "r", 3, "search", budget=0.5)
    asked = replace(spec, at=(0.2, 0.1)).normalised()
    assert asked.at == (0.1, 0.2)
    assert spec_from(json.loads(canonical(asked.content()))) == asked
    assert key_of(asked, "") != key_of(spec.normalised(), "")
    assert "at" not in spec.normalised().content()
    assert replace(spec, method="votes", at=(0.1,)).normalised().at is None


@pytest.mark.parametrize("rule", [{"ties": "any"}, {"target": 2}, {"ties": "any", "target": "b"}])
def test_what_counts_as_another_answer_belongs_to_the_key_and_old_jobs_keep_theirs(rule):
    spec = EvaluationSpec("attack", "r", 3, "whitebox")
    asked = replace(spec, **rule).normalised()
    assert asked.rule() == rule
    assert spec_from(json.loads(canonical(asked.content()))) == asked
    assert key_of(asked, "") != key_of(spec.normalised(), "")
    assert not {"ties", "target"} & set(spec.normalised().content())


def test_a_target_that_a_method_does_not_know_is_refused_before_it_is_queued():
    with pytest.raises(ValueError, match="'theorem1' counts the rows of all other classes together"):
        EvaluationSpec("certify", "r", 3, "theorem1", target=1).normalised()
    with pytest.raises(ValueError, match="ties must be"):
        EvaluationSpec("certify", "r", 3, "votes", ties="some").normalised()


def test_equal_work_has_an_equal_key_whatever_was_left_out(client):
    first = train(client, "moons", "arml", {"n_epochs": 1000})
    same = train(client, load_dataset("moons"), "arml", {}, seed=0)
    other = train(client, "moons", "arml", {}, seed=1)
    assert first.id == same.id != other.id
    assert len(client.list()) == 2


def test_seed_of_a_learner_without_randomness_does_not_matter(client):
    assert train(client, "moons", "lfda", seed=1).id == train(client, "moons", "lfda", seed=2).id


@pytest.mark.parametrize(
    "threat",
    [
        ThreatModel(),
        ThreatModel(np.inf, costs=[1.0, 2.5], frozen=[1], box=(0.0, [1.0, 2.0])),
        ThreatModel("l1", frozen=[]),
    ],
)
def test_spec_survives_the_way_through_json(threat):
    spec = EvaluationSpec("certify", "0" * 32, 3, "votes", threat, PointsSpec("train", 7), None, 0, {}).normalised()
    again = spec_from(json.loads(canonical(spec.content())))
    assert again == spec
    assert key_of(again, "") == key_of(spec, "") != key_of(spec, "local")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c, r: train(c, "moons", "perceptron"), "there is no learner 'perceptron'"),
        (lambda c, r: train(c, "moons", "arml", {"n_epochs": 0}), "n_epochs must be an integer"),
        (lambda c, r: train(c, "moons", "arml", {"speed": 1}), "no parameter 'speed'"),
        (lambda c, r: certify(c, r, 2, "theorem1"), "needs odd K"),
        (lambda c, r: attack(c, r, 1, "prayer"), "attack must be one of"),
        (lambda c, r: attack(c, r, 1, "whitebox", options={"steps": 5}), "whitebox has no option 'steps'"),
        (lambda c, r: certify(c, r, 3, "search", budget=-1.0), "budget must be a number of seconds"),
        (lambda c, r: certify(c, r, 0), "n_neighbors must be an integer of at least 1"),
        (lambda c, r: c.status("../../etc/passwd"), "there is no job"),
        (lambda c, r: c.result("f" * 32), "there is no job"),
    ],
)
def test_what_cannot_work_is_refused_before_it_is_queued(client, ask, message):
    run = train(client, "moons", "euclidean").id
    with pytest.raises(ValueError, match=message):
        ask(client, run)
    assert len(client.list()) == 1


def test_queue_goes_by_priority_then_by_turn(client):
    asked = [(train(client, "moons", "arml", seed=seed, priority=p).id, p) for seed, p in enumerate([0, 5, 0, 5, -1])]
    expected = [job for job, _ in sorted(asked, key=lambda pair: -pair[1])]
    assert [status.id for status in client.list(("queued",))] == expected
    assert [client.status(job).position for job in expected] == [1, 2, 3, 4, 5]
    queue = Queue(client.store.database)
    assert [queue.claim(True).job for _ in asked] == expected
    assert queue.claim(True) is None


def test_evaluation_waits_for_its_training_and_fails_with_it(client):
    run = train(client, "moons", "arml")
    evaluation = certify(client, run.id, 3)
    queue = Queue(client.store.database)
    claim = queue.claim(True)
    assert claim.job == run.id
    assert queue.claim(True) is None
    assert queue.end(claim.job, claim.lease, "failed", "no luck")
    assert queue.claim(True) is None
    status = client.status(evaluation.id)
    assert (status.state, status.reason) == ("failed", "the training it needs is not there: no luck")
    retried = client.retry(evaluation.id)
    assert retried.state == client.status(run.id).state == "queued"


def test_jobs_for_a_gpu_take_turns_and_let_others_pass(client):
    gpu = train(client, "moons", "arml")
    cpu = train(client, "moons", "lfda")
    queue, devices = Queue(client.store.database), Devices()
    devices.found(["cuda:0"])
    assert devices.take(True) == "cuda:0"
    assert not devices.available()
    assert queue.claim(devices.available()).job == cpu.id
    devices.give("cuda:0")
    assert queue.claim(devices.available()).job == gpu.id


def test_only_the_holder_of_the_lease_writes(client):
    job = train(client, "moons", "arml").id
    queue = Queue(client.store.database)
    old = queue.claim(True)
    assert queue.recover() == 1
    new = queue.claim(True)
    assert (new.job, new.attempt) == (job, 2)
    assert not queue.progress(job, old.lease, {"done": 9})
    published = []
    assert not queue.finish(job, old.lease, "0" * 64, lambda: published.append("old"))
    assert not queue.end(job, old.lease, "failed", "late")
    assert queue.progress(job, new.lease, {"done": 3})
    assert client.store.requests.get(job)["done"] == 3
    assert queue.finish(job, new.lease, "0" * 64, lambda: published.append("new"))
    assert published == ["new"]


def test_job_lost_twice_is_given_up_and_can_be_retried(client):
    job = train(client, "moons", "arml").id
    queue = Queue(client.store.database)
    for again in (1, 0):
        assert queue.claim(True).job == job
        assert client.status(job).state == "lost"  # it claims to run and no worker lives
        assert queue.recover() == again
    assert (client.status(job).state, client.status(job).reason) == ("lost", "the worker ended twice during this job")
    assert client.retry(job).state == "queued"


def test_file_is_whole_or_absent(tmp_path):
    path = tmp_path / "a.npz"
    sha256 = write_arrays(path, {"x": np.arange(5), "names": np.array(["ä", "b"])})
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]
    assert read_arrays(path, sha256)["names"].tolist() == ["ä", "b"]
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DamagedFile, match=r"a\.npz is damaged"):
        read_arrays(path)
    path.write_bytes(content[:-30] + b"?" + content[-29:])
    with pytest.raises(DamagedFile, match="not what was written"):
        read_arrays(path, sha256)
    path.unlink()
    with pytest.raises(DamagedFile, match=r"a\.npz is missing"):
        read_arrays(path)


def test_objects_are_neither_written_nor_read(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle"):
        write_arrays(tmp_path / "a.npz", {"x": np.array([{}], dtype=object)})
    assert not list(tmp_path.iterdir())
    np.savez(tmp_path / "b.npz", x=np.array([{}], dtype=object))
    with pytest.raises(DamagedFile, match="damaged"):
        read_arrays(tmp_path / "b.npz")


def test_damaged_checkpoint_means_starting_over(tmp_path):
    workspace = Workspace(tmp_path / "work")
    assert workspace.load_checkpoint() is None
    workspace.save_checkpoint(7, {"g": np.eye(2)})
    step, state = workspace.load_checkpoint()
    assert step == 7
    assert np.array_equal(state["g"], np.eye(2))
    (tmp_path / "work" / "checkpoint.npz").write_bytes(b"PK\x03\x04 half")
    assert workspace.load_checkpoint() is None


@pytest.mark.parametrize("name", ["moons", "iris"])
def test_dataset_survives_storage(name):
    dataset = load_dataset(name)
    again = dataset_from(dataset_arrays(dataset))
    assert again.fingerprint == dataset.fingerprint
    assert (again.class_names, again.title, again.group) == (dataset.class_names, dataset.title, dataset.group)
    assert np.array_equal(again.scaling.scale, dataset.scaling.scale)


@pytest.mark.parametrize("method", ["votes", "search", "boundary"])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 100, 1000, 12_345])
def test_blocks_cover_every_row_once_and_are_always_the_same(n, method):
    blocks = shards(n, method)
    assert np.array_equal(np.concatenate(blocks), np.arange(n))
    assert all(len(block) <= 768 for block in blocks)
    assert len(blocks[0]) == (min(n, 512) if method == "boundary" else min(n, 2 if method == "search" else 8))
    assert [b.tolist() for b in blocks] == [b.tolist() for b in shards(n, method)]


def test_time_left_forgets_a_slow_first_step():
    left = TimeLeft()
    left.add(0.0, 0)
    left.add(60.0, 1)  # a slow first step
    for step in range(2, 122):
        left.add(60.0 + step - 1, step)  # then one a second
    assert left.left(1000) == pytest.approx(1000 - 121, rel=0.05)


def test_time_left_is_unknown_at_first_and_after_a_standstill():
    left = TimeLeft()
    assert left.left(10) is None
    left.add(0.0, 3)
    assert left.left(10) is None
    left.add(5.0, 3)
    assert left.left(10) is None
    left.add(10.0, 5)
    assert left.left(5) == 0.0


def test_lock_is_free_after_a_violent_end(tmp_path):
    path = tmp_path / "lock"
    code = f"""
from pathlib import Path; import time
from arml_core.jobs.worker_lock import WorkerLock
lock = WorkerLock(Path({str(path)!r})); lock.acquire()
print('held', flush=True); time.sleep(60)"""
    process = run_python(code)
    assert process.stdout.readline() == "held\n"
    lock = WorkerLock(path)
    assert lock.holder() == process.pid
    assert not lock.acquire()
    process.kill()
    process.wait()
    assert lock.holder() is None
    assert lock.acquire()


def test_a_lock_that_is_released_twice_leaves_the_next_holder_its_name(tmp_path):
    first, second = WorkerLock(tmp_path / "lock"), WorkerLock(tmp_path / "lock")
    assert first.acquire()
    first.release()
    assert second.acquire()
    first.release()
    assert WorkerLock(tmp_path / "lock").holder() == os.getpid()
    assert not first.acquire()


def test_a_holder_that_could_not_write_its_name_holds_the_lock_all_the_same(tmp_path):
    (tmp_path / "lock.pid").mkdir()  # cannot be written, like a file on a full disk
    lock = WorkerLock(tmp_path / "lock")
    assert lock.acquire()
    assert WorkerLock(tmp_path / "lock").holder() == os.getpid(), "its name stands in the lock, too"
    (tmp_path / "lock").write_text("")
    assert WorkerLock(tmp_path / "lock").holder() == 0
    assert not WorkerLock(tmp_path / "lock").acquire()
    lock.release()
    assert lock.holder() is None


def test_a_worker_of_an_older_version_is_found_by_the_name_in_its_lock(tmp_path):
    """It wrote its number into the lock and no file beside it; what a dead one left there is overwritten."""
    path = tmp_path / "lock"
    code = f"""
import fcntl, json, os, time
handle = os.open({str(path)!r}, os.O_RDWR | os.O_CREAT)
fcntl.flock(handle, fcntl.LOCK_EX)
os.pwrite(handle, json.dumps({{"pid": os.getpid()}}).encode(), 0)
print('held', flush=True); time.sleep(60)"""
    process = run_python(code)
    assert process.stdout.readline() == "held\n"
    assert WorkerLock(path).holder() == process.pid
    process.kill()
    process.wait()
    lock = WorkerLock(path)
    assert lock.holder() is None
    assert lock.acquire()
    assert json.loads(path.read_text()) == {"pid": os.getpid()}


def test_newer_schema_is_refused_in_words(client):
    path = client.store.paths.database
    client.store.database.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="version 99"):
        Client(start=False)


def test_older_schema_is_brought_up_to_date_with_its_jobs(client, monkeypatch):
    job = train(client, "moons", "arml").id
    client.store.database.close()
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "ALTER TABLE jobs ADD COLUMN colour TEXT;"))
    newer = Client(start=False)
    assert newer.status(job).state == "queued"
    row = newer.store.database.row("SELECT colour FROM jobs")
    assert row["colour"] is None
    assert newer.store.database.row("PRAGMA user_version")[0] == len(schema.MIGRATIONS)


def test_equal_arrays_are_equal_files(tmp_path):
    arrays = {"x": np.arange(4.0), "name": np.array("ä")}
    assert write_arrays(tmp_path / "a.npz", arrays) == write_arrays(tmp_path / "b.npz", arrays)


def test_database_that_is_none_is_refused_in_words(client):
    path = client.store.paths.database
    client.store.database.close()
    for extra in path.parent.glob("store.sqlite-*"):
        extra.unlink()
    path.write_bytes(b"not a database at all, " * 100)
    with pytest.raises(StoreError, match="is damaged"):
        Client(start=False)


@pytest.mark.more
def test_two_processes_may_create_the_store_at_once(home):
    code = """
from arml_core.jobs import Client
from tests.job_requests import train
train(Client(start=False), "moons", "euclidean")
print("ok")
"""
    processes = [run_python(code) for _ in range(2)]
    assert [process.communicate(timeout=90)[0] for process in processes] == ["ok\n"] * 2
    assert len(Client(start=False).list()) == 1


def test_everybody_who_opens_a_new_store_at_once_can_write(tmp_path):
    """Making the file WAL locks it without waiting: whoever comes second must not take it for a read-only disk."""
    for turn in range(20):
        path, together = tmp_path / f"{turn}.sqlite", threading.Barrier(8)

        def open_it(_, path=path, together=together):
            together.wait()
            database = Database(path)
            database.close()
            return database.read_only

        with ThreadPoolExecutor(8) as pool:
            assert not any(pool.map(open_it, range(8)))


def test_a_moment_of_somebody_elses_lock_is_waited_for(tmp_path, monkeypatch):
    """SQLite's own error, met twice before the file is free."""
    holder, other = (sqlite3.connect(tmp_path / "held", isolation_level=None, timeout=0) for _ in range(2))
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError) as busy:
        other.execute("BEGIN EXCLUSIVE")
    errors, connect = [busy.value, busy.value], sqlite3.connect

    def sometimes(*args, **kwargs):
        if errors:
            raise errors.pop()
        return connect(*args, **kwargs)

    monkeypatch.setattr(sqlite3, "connect", sometimes)
    (tmp_path / "store.sqlite").touch()
    assert not Database(tmp_path / "store.sqlite").read_only
    assert errors == []


def test_store_that_stays_locked_is_said_to_be_busy(tmp_path):
    holder = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="busy"):
        Database(tmp_path / "store.sqlite", patience=0.05)
    holder.close()


def test_result_of_an_unfinished_job_is_not_ready(client):
    job = train(client, "moons", "arml").id
    with pytest.raises(NotReady, match="is queued"):
        client.result(job)


def test_given_metric_is_a_finished_run(client):
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    run = client.add_metric("moons", matrix, "Mine")
    assert (run.state, run.title) == ("done", "Mine for Two moons")
    assert np.allclose(client.run(run.id).get_mahalanobis_matrix(), matrix)
    with pytest.raises(ValueError, match="the metric is for 3 features"):
        client.add_metric("moons", np.eye(3))


def compute(client):
    """Do the first job of the queue as a child does, and put it back; returns its arrays."""
    queue = Queue(client.store.database)
    claim = queue.claim(True)
    row = queue.job(claim.job, claim.lease)
    with Reporter(queue, claim.job, claim.lease) as reporter:
        arrays = run_job(JobContext(client.store.paths, client.store.database), row, claim.lease, "cpu", reporter)
    queue.requeue(claim.job, claim.lease, "", counts=False)
    return arrays


def test_given_metric_whose_file_is_lost_is_put_back(client):
    run = client.add_metric("moons", np.diag([2.0, 1.0]), "Mine")
    client.store.paths.result(run.id).unlink()
    with pytest.raises(DamagedFile, match="is computed again"):
        client.run(run.id)
    np.testing.assert_array_equal(compute(client)["components"], np.diag(np.sqrt([2.0, 1.0])))


def test_rows_finished_in_other_blocks_are_taken_over(client):
    """An interrupted evaluation may go on in a version that cuts the rows elsewhere."""
    job = certify(client, client.add_metric("moons", np.eye(2)).id, 3).id
    workspace = Workspace(client.store.paths.unfinished_of(job))
    whole = compute(client)
    workspace.remove()
    for rows in (np.arange(0, 11), np.arange(9, 13)):
        workspace.add(Radii.from_arrays(whole).take(rows))
    workspace.flush()
    again = compute(client)
    assert again.keys() == whole.keys()
    np.testing.assert_array_equal(again["question"], whole["question"])
    for name in whole.keys() - {"question"}:
        np.testing.assert_allclose(again[name], whole[name], rtol=1e-12)  # other blocks may differ in a last bit
    np.testing.assert_array_equal(again["lower"][:13], whole["lower"][:13])  # taken over as they were


def test_garbage_is_listed_before_it_is_removed(client):
    run = client.add_metric("moons", np.eye(2))
    paths = client.store.paths
    stray = paths.results / f"{'a' * 32}.npz"
    half = paths.results / f"{run.id}.npz.123.tmp"
    for path in (stray, half):
        path.write_bytes(b"x" * 100)
        os.utime(path, (0, 0))
    listed = client.gc(dry_run=True)
    assert {item.reason for item in listed} == {"its job is gone", "an interrupted write"}
    assert stray.exists()
    assert [item.name for item in client.gc(dry_run=False)] == [item.name for item in listed]
    assert not stray.exists()
    assert not half.exists()
    assert client.status(run.id).state == "done"
    assert client.gc(dry_run=False, older_than_days=1) == []
    assert len(client.gc(dry_run=False, older_than_days=0)) == 1
    with pytest.raises(UnknownJob):
        client.status(run.id)


def test_a_file_is_as_old_as_its_damage_once_it_was_set_aside(tmp_path):
    path = tmp_path / "result.npz"
    path.write_bytes(b"cut off")
    os.utime(path, (0, 0))
    aside = set_aside(path, tmp_path)
    assert time.time() - aside.stat().st_mtime < 60


def test_run_spec_says_what_it_computes(client):
    status = train(client, "moons", "steady", {"n_steps": 5}, seed=3)
    assert status.spec == RunSpec(load_dataset("moons").fingerprint, "steady", {"n_steps": 5, "pause": 0.01}, 3, "cpu")
