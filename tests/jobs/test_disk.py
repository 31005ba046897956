"""A disk that is full or read-only: the job says so, and the store stays readable."""

import os
import shutil
import subprocess

import numpy as np
import pytest

from arml_core import load_dataset
from arml_core.jobs import Client

from ..job_requests import train
from .conftest import PATIENCE, end_worker

pytestmark = pytest.mark.more

MOUNT = shutil.which("mount")


def mount(*arguments):
    """Run mount; without the right to do so the test is skipped."""
    if MOUNT is None or os.geteuid() != 0:
        pytest.skip("needs root to mount a file system")
    found = subprocess.run([MOUNT, *arguments], capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip(f"cannot mount here: {found.stderr.strip()}")


@pytest.fixture
def disk(home):
    """``ARML_HOME`` on a disk of its own with 8 MB."""
    home.mkdir()
    mount("-t", "tmpfs", "-o", "size=8m", "tmpfs", str(home))
    yield home
    client = Client(start=False)
    end_worker(client.store.paths)
    client.store.database.close()
    subprocess.run(["umount", "--lazy", str(home)], check=False)


def fill(folder):
    """Use every byte that is left."""
    path = folder / "ballast"
    with path.open("ab", buffering=0) as stream:
        for size in (2**16, 2**12):
            try:
                while True:
                    stream.write(b"x" * size)
            except OSError:
                continue
    return path


def test_asking_on_a_full_disk_is_refused_in_words(disk):
    client = Client(start=False)
    train(client, "moons", "steady")
    fill(disk)
    with pytest.raises(OSError, match=r"disk is full|No space left"):
        train(client, load_dataset("moons", n=5000), "steady")
    assert len(client.list()) == 1


def test_read_only_disk_can_be_read(disk):
    client = Client(start=False)
    run = client.add_metric("moons", np.eye(2)).id
    client.store.database.close()
    mount("-o", "remount,ro", str(disk))
    try:
        reader = Client()
        assert reader.status(run).state == "done"
        assert np.array_equal(reader.run(run).components_, np.eye(2))
        with pytest.raises(OSError, match=r"cannot be written|Read-only"):
            train(reader, "moons", "steady")
        reader.store.database.close()
    finally:
        mount("-o", "remount,rw", str(disk))


def test_result_folder_that_cannot_be_written_fails_the_job(disk):
    client = Client()
    job = train(client, "moons", "steady", {"n_steps": 20}).id
    results = str(client.store.paths.results)
    mount("--bind", results, results)
    try:
        mount("-o", "remount,bind,ro", results)
        status = client.wait(job, PATIENCE)
        assert (status.state, status.reason.split(":")[0]) == ("failed", "Read-only file system")
    finally:
        subprocess.run(["umount", results], check=True)
    client.retry(job)
    assert client.wait(job, PATIENCE).state == "done"
