"""One of the paper's sets that is not on this machine: it is part of the job."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from arml_core.datasets import dataset_info
from arml_core.jobs import Client
from arml_core.jobs.reporter import Reporter
from arml_core.jobs.store.queue import Queue

from ..job_requests import train
from .conftest import PATIENCE


@pytest.fixture
def nowhere(home, monkeypatch):
    """No dataset is here and no server can be reached."""
    folder = os.environ.get("ARML_DATA")
    monkeypatch.delenv("ARML_DATA", raising=False)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{closed.getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "")
        yield home, folder


@pytest.mark.more
def test_without_file_and_network_the_job_says_so_and_a_retry_takes_the_file(nowhere):
    home, folder = nowhere
    client = Client()
    asked = train(client, "splice", "euclidean")
    failed = client.wait(asked.id, PATIENCE)
    assert failed.state == "failed"
    assert failed.reason.startswith("Splice is not on this machine and there is no network. Put splice.npz into")
    if folder is None:
        pytest.skip("ARML_DATA is not set: the paper's datasets are not here")
    shutil.copy(Path(folder) / "splice.npz", home / "datasets" / "splice.npz")
    client.retry(asked.id)
    assert client.wait(asked.id, PATIENCE).state == "done"


def test_a_set_that_is_not_here_is_asked_for_by_its_known_fingerprint(client, monkeypatch):
    monkeypatch.delenv("ARML_DATA", raising=False)
    status = train(client, "mnist", "arml")
    assert status.state == "queued"
    assert status.dataset == dataset_info("mnist").fingerprint


def test_the_count_of_a_download_gives_way_to_that_of_the_training(client):
    job = train(client, "moons", "euclidean").id
    queue = Queue(client.store.database)
    reporter = Reporter(queue, job, queue.claim(devices_free=True).lease)
    seen = []
    for report, done, total in ((reporter.download, 10, 100), (reporter.download, 100, 100), (reporter.callback, 1, 5)):
        report(done, total, {})
        reporter.flush()
        row = client.store.requests.get(job)
        seen.append((row["phase"], row["done"], row["total"]))
    assert seen == [("downloading", 10, 100), ("loading", 0, 0), ("loading", 1, 5)]


def test_a_new_part_of_a_job_counts_from_the_beginning(client):
    job = train(client, "moons", "euclidean").id
    queue = Queue(client.store.database)
    reporter = Reporter(queue, job, queue.claim(devices_free=True).lease)
    reporter.part("training")
    reporter.callback(9, 10, {})
    reporter.part("certifying")
    reporter.flush()
    row = client.store.requests.get(job)
    assert (row["phase"], row["done"], row["total"], row["seconds_left"]) == ("certifying", 0, 0, None)
