"""In shared mode an upload and all that comes of it exist only for whoever has its key."""

import dataclasses
import time

import numpy as np
import pytest

from arml_core import load_dataset
from arml_core.jobs import Client, NotYours, PointsSpec, StoreError, UnknownJob, new_key, uploads
from arml_core.jobs.files import write_arrays
from arml_core.jobs.model import LearnedModel
from arml_core.jobs.store.queue import Queue
from arml_core.jobs.training import run_arrays

from ..job_requests import certify, train

KEYS = {name: new_key() for name in ("ann", "bob")}


@pytest.fixture
def visitors(home, monkeypatch):
    """Ann, Bob and somebody without a key, in a shared app."""
    monkeypatch.setenv("ARML_SHARED", "1")
    return [Client(owner=KEYS[name], start=False) for name in ("ann", "bob")] + [Client(start=False)]


@pytest.fixture
def upload():
    """A dataset as it comes from a user's file."""
    return dataclasses.replace(load_dataset("blobs", seed=9), group="file", name="file", title="patients.csv")


def finish(client, job):
    """Do the job by hand, with a result."""
    queue = Queue(client.store.database)
    while (claim := queue.claim(True)) is not None:
        sha256 = write_arrays(
            client.store.paths.result(claim.job), run_arrays(LearnedModel(components_=np.eye(2)), {}, 0)
        )
        assert queue.finish(claim.job, claim.lease, sha256, lambda: None)
    assert client.status(job).state == "done"


def test_what_comes_of_an_upload_is_seen_by_its_owner_alone(visitors, upload):
    ann, bob, nobody = visitors
    run = train(ann, upload, "lfda").id
    finish(ann, run)
    evaluation = certify(ann, run, 3).id
    assert {status.id for status in ann.list()} == {run, evaluation}
    assert ann.status(run).private
    assert ann.dataset(upload.fingerprint).title == "patients.csv"
    for other in (bob, nobody):
        assert other.list() == []
        assert other.uploads() == []
        for look in (other.status, other.result, other.run, other.radii, other.log, other.history, other.cancel):
            for job in (run, evaluation):
                with pytest.raises(UnknownJob, match="there is no job"):
                    look(job)
        with pytest.raises(UnknownJob):
            other.retry(run)
        with pytest.raises(UnknownJob):
            certify(other, run, 5)
        with pytest.raises(UnknownJob):
            other.dataset(upload.fingerprint)


def test_same_file_of_two_owners_is_two_pieces_of_work(visitors, upload):
    ann, bob, _ = visitors
    mine, yours = train(ann, upload, "lfda"), train(bob, upload, "lfda")
    assert mine.id != yours.id
    assert [status.id for status in ann.list()] == [mine.id]
    assert ann.cancel(mine.id).state == "cancelled"
    assert bob.status(yours.id).state == "queued"


def test_query_rows_are_private_even_with_a_public_run(visitors):
    ann, bob, _ = visitors
    run = train(ann, "moons", "euclidean").id
    points = ann.add_points([[0.1, 0.2]], title="secret.csv")
    job = certify(ann, run, 1, points=points)
    assert job.private
    with pytest.raises(UnknownJob):
        bob.status(job.id)
    with pytest.raises(UnknownJob, match="upload it again"):
        certify(bob, run, 1, points=points)  # knowing the hash is not enough
    assert [upload.title for upload in ann.uploads()] == ["secret.csv"]


def test_guessed_names_lead_nowhere(visitors, upload):
    ann, bob, _ = visitors
    run = train(ann, upload, "lfda").id
    for guess in (f"../results/{run}", f"{run}.npz", run.upper(), f"{run}/../{run}", "%2e%2e", "", "\0" * 32):
        with pytest.raises(UnknownJob):
            bob.log(guess)
        with pytest.raises(UnknownJob):
            ann.log(guess)
        with pytest.raises(ValueError, match="identifier"):
            bob.dataset(guess)


def test_public_work_is_seen_by_all_and_cancelled_by_whoever_asked(visitors):
    ann, bob, nobody = visitors
    run = train(ann, "moons", "arml").id
    assert ann.status(run).mine
    assert not bob.status(run).mine
    for other in (bob, nobody):
        with pytest.raises(NotYours, match="somebody else asked"):
            other.cancel(run)
    assert train(bob, "moons", "arml").id == run
    assert ann.cancel(run).state == "queued"  # Bob still waits for it
    assert bob.cancel(run).state == "cancelled"


def test_work_of_whoever_runs_the_app_is_cancelled_by_no_visitor(visitors):
    ann, _, nobody = visitors
    operator = Client(start=False, shared=False)
    run = train(operator, "moons", "arml").id
    entered = train(nobody, "moons", "lfda").id  # as an earlier command line did
    for visitor, job in ((ann, run), (nobody, run), (nobody, entered)):
        assert not visitor.status(job).mine
        assert not any(status.mine for status in visitor.list())
        with pytest.raises(NotYours, match="somebody else asked"):
            visitor.cancel(job)
    assert train(ann, "moons", "arml").id == run
    assert ann.cancel(run).state == "queued"  # it is still waited for
    assert {job: operator.cancel(job).state for job in (run, entered)} == {run: "cancelled", entered: "cancelled"}


def test_a_training_goes_on_for_whoever_waits_for_its_evaluation(visitors):
    ann, bob, _ = visitors
    run = train(ann, "moons", "lfda").id
    waiting = certify(bob, run, 3).id
    assert ann.cancel(run).state == "queued"
    assert not ann.status(run).mine
    assert bob.status(waiting).state == "queued"


def test_key_is_not_kept(visitors, upload):
    ann = visitors[0]
    train(ann, upload, "lfda")
    ann.store.database.truncate_log()
    content = b"".join(path.read_bytes() for path in ann.store.paths.root.rglob("*") if path.is_file())
    assert KEYS["ann"].encode() not in content
    assert all(not path.stat().st_mode & 0o077 for path in [ann.store.paths.root, ann.store.paths.inputs])


def test_short_key_is_refused(visitors):
    with pytest.raises(ValueError, match="at least 16 characters"):
        Client(visitors[0].store, owner="ann")


def test_upload_without_a_key_is_refused(visitors, upload):
    with pytest.raises(ValueError, match="needs an owner key"):
        train(visitors[2], upload, "lfda")
    assert visitors[2].store.database.row("SELECT COUNT(*) FROM contents")[0] == 0


def test_expired_upload_is_gone_with_all_that_came_of_it(visitors, upload, monkeypatch):
    monkeypatch.setenv("ARML_UPLOAD_DAYS", "0.00001")  # 0.9 s: longer than it takes to ask for what is asked here
    ann = visitors[0]
    run = train(ann, upload, "lfda").id
    finish(ann, run)
    metric = ann.add_metric("moons", np.eye(2)).id
    evaluation = certify(ann, metric, 3).id
    time.sleep(1.0)
    with pytest.raises(UnknownJob, match="its time is over"):
        ann.dataset(upload.fingerprint)
    assert ann.uploads() == []
    for visitor in visitors:
        with pytest.raises(NotYours, match="only whoever runs the app"):
            visitor.gc()
    operator = Client(start=False, shared=False)
    assert {item.reason for item in operator.gc(dry_run=False)} == {"its upload has expired", "expired"}
    for job in (run, metric, evaluation):
        with pytest.raises(UnknownJob):
            ann.status(job)
        assert not ann.store.paths.result(job).exists()
    assert not [path for path in ann.store.paths.inputs.rglob("*.npz") if path.parent != ann.store.paths.inputs]


def test_uploads_are_kept_seven_days_by_default(visitors, upload):
    ann = visitors[0]
    ann.store.uploads.put_dataset(upload, ann.visitor)
    (kept,) = ann.uploads()
    assert kept.expires - kept.created == pytest.approx(7 * 86_400)


def test_local_uploads_stay_hidden_when_sharing_begins(home, upload, monkeypatch):
    local = Client(start=False)
    run = train(local, upload, "lfda").id
    assert Client(start=False).status(run).mine
    assert local.uploads()[0].expires is None
    monkeypatch.setenv("ARML_SHARED", "1")
    visitor = Client(owner=KEYS["bob"], start=False)
    assert visitor.list() == []
    with pytest.raises(UnknownJob):
        visitor.status(run)


def test_points_of_a_run_are_checked_against_its_dataset(visitors):
    with pytest.raises(ValueError, match="a digest goes with given points"):
        PointsSpec("given")


def test_an_uploaded_file_comes_back_as_it_was_and_only_to_its_owner(visitors, monkeypatch):
    ann, bob, nobody = visitors
    digest = ann.add_file(b"x,label\n1,a\n", "../../etc/passwd")
    assert ann.file(digest) == ("../../etc/passwd", b"x,label\n1,a\n")
    assert ann.file_title(digest) == "../../etc/passwd"
    assert ann.uploads()[0].kind == "file"
    for other in (bob, nobody):
        for look in (other.file, other.file_title):
            with pytest.raises(UnknownJob):
                look(digest)
    with pytest.raises(ValueError, match="needs an owner key"):
        nobody.add_file(b"x")
    later = time.time() + 8 * 86_400
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(UnknownJob, match="its time is over"):
        ann.file(digest)


def test_the_same_content_under_another_name_has_that_name_for_its_owner(visitors):
    ann, bob, _ = visitors
    digest = ann.add_file(b"x,label\n1,a\n", "first.csv")
    assert bob.add_file(b"x,label\n1,a\n", "bob.csv") == digest
    assert ann.add_file(b"x,label\n1,a\n", "second.csv") == digest
    assert (ann.file_title(digest), bob.file_title(digest)) == ("second.csv", "bob.csv")
    assert [upload.title for upload in ann.uploads()] == ["second.csv"]


def test_a_key_keeps_only_so_many_bytes_and_is_told_both_numbers(visitors, monkeypatch):
    monkeypatch.setattr(uploads, "UPLOADS_PER_KEY", 3 * 2**20)
    ann, bob, _ = visitors
    first = ann.add_file(b"a" * 2**21, "a.csv")
    with pytest.raises(StoreError, match=r"take 2\.0 MB and this would add 1\.5 MB; the limit is 3 MB\. .* 7 days"):
        ann.add_file(b"b" * (2**20 + 2**19), "b.csv")
    assert [upload.title for upload in ann.uploads()] == ["a.csv"]
    assert ann.add_file(b"a" * 2**21, "again.csv") == first  # takes no room
    assert bob.add_file(b"b" * 2**21)
    assert Client(start=False, shared=False).add_file(b"c" * 2**22)  # whoever runs the app has their own disk
