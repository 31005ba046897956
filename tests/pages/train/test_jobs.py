"""The jobs of the Train page and what comes of them, computed by a real worker."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from arml_core.datasets import read_dataset
from arml_core.jobs import Client, NetworkSpec, PointsSpec, new_key
from arml_core.learners.registry import LEARNERS
from arml_core.learners.storage import load_metric
from arml_core.neural import NetworkCurve
from pages.components.job_words import BADGES, progress_words, seed_words, state_words, under_way
from pages.components.metric_file import LARGEST_MB, read_metric
from pages.components.train import detail, queue
from pages.components.train.choices import TrainView
from pages.components.train.detail import file_name, metric_file
from pages.components.train.queue import selected_job
from pages.components.train.snippet import training_lines

from ...job_requests import certify, train
from ..app import address
from .train_page import PATIENCE, TABLE, drawn, offer, page, status, texts


@pytest.mark.more
def test_start_queues_the_work_shows_it_and_keeps_it_in_the_address(client) -> None:
    app = page(datasets="iris", methods="arml~euclidean", settings="arml:n_epochs:15", seeds="0~1")
    app.button(key="train_start").click().run()
    assert not app.exception
    assert [toast.value for toast in app.toast] == ["3 trainings are in the queue."]
    assert "in the queue." not in texts(app)  # nothing says so when they have left it
    job = address(app)["job"]
    assert client.status(job).title == "ARML on Iris"
    for asked in client.list():
        if "Iris" in asked.title:
            assert client.wait(asked.id, PATIENCE).state == "done"
    again = page(datasets="iris", methods="arml", settings="arml:n_epochs:15", seeds="0", job=job)
    again.button(key="train_start").click().run()
    assert "It was trained before; here is the result." in texts(again)
    assert "finished in" in texts(again)


@pytest.mark.more
def test_a_failed_job_says_why_and_can_be_retried(client) -> None:
    app = page(datasets="moons", settings="arml:n_components:5")
    app.button(key="train_start").click().run()
    job = address(app)["job"]
    failed = client.wait(job, PATIENCE)
    assert failed.state == "failed"
    app.run()
    assert not app.exception
    shown = " ".join(error.value for error in app.error)
    assert r"This training failed: n\_components must be" in shown
    assert "Retry" in shown
    before = client.status(job).started
    app.button(key="train_retry").click().run()
    assert not app.exception
    assert client.wait(job, PATIENCE).started != before


def test_a_retry_that_has_failed_before_anybody_looks_draws_the_whole_page_again(monkeypatch) -> None:
    """A child that is warm refuses a bad setting in milliseconds; the log has to show the new attempt all the same."""

    class Redrawn(Exception):
        pass

    def rerun() -> None:
        raise Redrawn

    class Store:
        def status(self, job: str):
            return status("failed", finished=23.0)

    monkeypatch.setattr(detail, "read_client", Store)
    monkeypatch.setattr(detail.st, "fragment", lambda part, run_every: part)
    monkeypatch.setattr(detail.st, "rerun", rerun)
    with pytest.raises(Redrawn):
        detail.show_training(status("failed", finished=22.0), TrainView(), None)


@pytest.mark.parametrize("state", BADGES)
def test_every_state_has_its_own_words_and_a_next_step(state: str) -> None:
    finished = None if state in ("queued", "running", "cancelling") else 22.0
    job = status(state, position=2 if state == "queued" else None, reason="the disk is full", finished=finished)
    words = state_words(job)
    expected = {
        "queued": "place 2 in the queue: it starts by itself",
        "running": "You may close this page",
        "cancelling": "Stopping",
        "cancelled": "Stopped on request at epoch 312 of 1,000. “Retry” goes on",
        "failed": r"failed: the disk is full\. Change the setting",
        "lost": "“Retry” takes it up again",
        "done": "Finished in 12 s. Evaluate it below or download the metric. Once evaluated, it can be compared",
    }[state]
    assert expected in words
    assert len({state_words(status(other, position=1, finished=22.0)) for other in BADGES}) == len(BADGES)


def test_progress_says_where_how_far_and_how_long() -> None:
    assert progress_words(status("running")) == "epoch 312 of 1,000, about 12 s left"
    assert progress_words(
        status("running", phase="downloading", done=3_100_000, total=11_600_000, seconds_left=None)
    ) == ("downloading, 3.1 of 11.6 MB")
    assert progress_words(status("running", phase="loading", done=0, total=0)) == "loading the data"
    assert progress_words(status("queued", position=3)) == "waiting, place 3 in the queue"
    gone = status("lost")
    assert under_way(gone)
    assert progress_words(gone) == "interrupted, it goes on by itself"
    assert "worker was stopped on purpose" in state_words(status("queued", position=1), held=True)


@pytest.mark.more
def test_without_a_choice_the_running_training_is_shown(client, run: str) -> None:
    assert selected_job([status("done"), status("queued")], client, "") == (status("done"), None)
    shown, notice = selected_job([], client, run)
    assert (shown.id, notice) == (run, None)
    assert selected_job([], client, "f" * 32)[0] is None


@pytest.mark.more
def test_the_eigenvalues_stand_beside_those_of_the_epoch_the_chart_names(client, run: str) -> None:
    steps = client.run(run).eigenvalue_steps
    assert f"after epoch {steps[0]}" in drawn(page(job=run))
    assert steps[0] == 1


@pytest.mark.more
def test_a_finished_training_leads_to_compare(run: str) -> None:
    links = [link.proto for link in page(job=run).get("page_link")]
    assert [link.label for link in links if link.page == "compare"] == ["Go to Compare"]


@pytest.mark.more
def test_a_network_of_the_paper_is_no_training_of_a_metric(client, run: str, monkeypatch) -> None:
    network = client.submit(NetworkSpec.of(client.add_dataset("iris"), 5, NetworkCurve(hidden=(4,), epochs=1)))
    monkeypatch.setattr(queue, "read_client", lambda: client)
    assert network.id in [job.id for job in client.list()]
    assert network.id not in [job.id for job in queue.listed()]
    shown, notice = selected_job([], client, network.id)
    assert shown is None
    assert notice.startswith(f"The address has job={network.id[:8]}")
    assert progress_words(replace(network, state="running", phase="training", done=2, total=5)).startswith("epoch 2")
    assert progress_words(replace(network, state="running", phase="certifying", done=2, total=5)).startswith("point 2")


@pytest.mark.more
def test_a_downloaded_metric_is_the_learned_one_and_says_how_it_was_made(client, run: str, tmp_path) -> None:
    (tmp_path / "m.npz").write_bytes(metric_file(client, client.status(run)))
    saved = load_metric(tmp_path / "m.npz", n_features=13)
    np.testing.assert_array_equal(saved.components_, client.run(run).components_)
    assert saved.info["learner"] == "arml"
    assert saved.info["dataset"] == "wine"
    assert saved.info["parameters"]["n_epochs"] == 30
    assert saved.info["seed"] == 3
    assert file_name(client.status(run), "npz") == "arml-wine-3.npz"


@pytest.mark.more
def test_the_python_lines_train_the_same_metric(client, run: str) -> None:
    lines = training_lines(client.status(run).spec, offer())
    found: dict = {}
    exec(lines.replace("print(metric", "M = (metric"), found)
    np.testing.assert_allclose(found["M"], client.run(run).get_mahalanobis_matrix(), rtol=1e-6, atol=1e-8)


def test_an_uploaded_matrix_becomes_a_run_that_can_be_shown(client) -> None:
    metric = read_metric("mine.csv", b"2,0\n0,1\n", n_features=2)
    added = client.add_metric("moons", metric, "Mine")
    app = page(job=added.id)
    assert any("Mine for Two moons" in heading.value for heading in app.subheader)
    assert "A metric from elsewhere" in texts(app)


@pytest.mark.more
def test_a_metric_is_called_by_its_own_name_whatever_the_files_is(client) -> None:
    data = replace(read_dataset(TABLE.encode(), label="label", name="x.csv"), title="data for me.csv")
    added = client.add_metric(data, np.eye(2), "Mine")
    asked = certify(client, added.id, 1, "exact", points=PointsSpec("train", 5))
    assert client.wait(asked.id, PATIENCE).state == "done"
    assert client.evaluation(asked.id).learner_title == "Mine"
    assert "Mine, certified" in drawn(page(job=added.id))


@pytest.mark.more
def test_a_training_whose_method_is_offered_no_longer_is_still_shown(client, run: str, monkeypatch) -> None:
    asked = certify(client, run, 3, "votes", points=PointsSpec("evaluation", 5))
    assert client.wait(asked.id, PATIENCE).state == "done"
    monkeypatch.delitem(LEARNERS, "arml")
    app = page(job=run, methods="nca", curve=asked.id)
    assert "arml is offered here no longer" in texts(app)
    assert "arml, certified" in drawn(app)
    assert "random_state=3" in training_lines(client.status(run).spec, offer())


def test_a_seed_is_named_where_one_is_drawn_from(monkeypatch) -> None:
    monkeypatch.setitem(LEARNERS, "sober", replace(LEARNERS["arml"], name="sober", seeded=False))
    for learner, words in (("arml", " · seed 3"), ("lfda", ""), ("sober", "")):
        assert seed_words(status("done", content={"kind": "train", "learner": learner, "seed": 3})) == words


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.csv", b"1,2\n0,1\n", "m.csv: a metric must be symmetric"),
        ("m.csv", b"1,0\n0,-1\n", "m.csv: .*positive semi-definite"),
        ("m.csv", b"1,0,0\n0,1,0\n0,0,1\n", "m.csv: it has 3 lines"),
        ("m.csv", b"", "m.csv: the file is empty"),
        ("m.npz", b"no archive", "m.npz: it is not a .npz file, or it is damaged"),
        ("m.csv", b"1" * (LARGEST_MB * 2**20 + 1), "the limit is 50 MB"),
    ],
)
def test_a_file_that_is_no_metric_is_named_with_what_is_wrong(name: str, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_metric(name, content, n_features=2)


@pytest.mark.parametrize("name", ["m.csv", "m.npz", "m"])
@pytest.mark.parametrize("packed", [True, False])
def test_an_uploaded_matrix_is_read_by_what_it_holds(name: str, packed: bool) -> None:
    stream = io.BytesIO()
    np.savez(stream, M=np.diag([2.0, 1.0]))
    metric = read_metric(name, stream.getvalue() if packed else b"2,0\n0,1\n", n_features=2)
    assert np.allclose(metric.matrix(), np.diag([2.0, 1.0]))


def test_an_uploaded_matrix_is_never_unpickled() -> None:
    stream = io.BytesIO()
    np.savez(stream, M=np.array([[1, None], [None, 1]], dtype=object))
    with pytest.raises(ValueError, match=r"m\.csv: "):
        read_metric("m.csv", stream.getvalue(), n_features=2)


@pytest.mark.more
def test_two_visitors_of_a_shared_app_see_what_they_may_and_no_more(monkeypatch, client) -> None:
    public = train(client, "circles", "arml", {"n_epochs": 12}, seed=1, device="cpu")
    client.wait(public.id, PATIENCE)
    monkeypatch.setenv("ARML_SHARED", "1")
    ann, bob = new_key(), new_key()
    secret = read_dataset(TABLE.encode(), label="label", name="patients.csv")
    hers = Client(owner=ann)
    hers.store.uploads.put_dataset(secret, hers.visitor)
    digest = secret.fingerprint
    app = page(key=ann, datasets=digest, settings="arml:n_epochs:12")
    assert "This address is private" in texts(app)
    assert "deleted on" in texts(app)
    app.button(key="train_start").click().run()
    assert not app.exception
    job = address(app)["job"]
    assert address(app)["key"] == ann
    assert hers.status(job).private
    assert hers.wait(job, PATIENCE).state == "done"
    assert "ARML on Your file" in texts(page(key=ann, job=job))
    for other in (page(key=bob, job=job, datasets=digest), page(job=job, datasets=digest)):
        assert "Your file" not in texts(other)
        assert "no such job, or it is somebody else's" in texts(other)
        assert "ARML on Circles" in texts(other)
    shown = page(key=bob, job=public.id)
    assert "Somebody else asked for this job; only they can cancel it" in texts(shown)


def test_a_visitor_gets_a_key_with_the_first_job(monkeypatch) -> None:
    monkeypatch.setenv("ARML_SHARED", "1")
    app = page(datasets="wine", methods="euclidean")
    assert "key" not in address(app)
    app.button(key="train_start").click().run()
    assert len(address(app)["key"]) >= 16
    assert "This address is private" in texts(app)
