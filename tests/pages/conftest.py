"""Pages start workers that outlive them; those of a test end with it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from arml_core.jobs import Client, Store
from arml_core.jobs.paths import Paths
from arml_core.jobs.worker_process import worker_pid
from tests.browser.dashboard import stop_worker

UNDER_WAY = ("queued", "running", "cancelling")
STARTING_SECONDS = 5.0


@pytest.fixture(autouse=True)
def _nobody_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no browser to wait for."""
    monkeypatch.setattr("pages.components.chart.FIRST_SECONDS", 0.05)
    monkeypatch.setattr("pages.components.chart.AGAIN_SECONDS", 0.02)


@pytest.fixture(autouse=True)
def _no_worker_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield
    home = Path(os.environ.get("ARML_HOME", "/nonexistent"))
    if not home.is_relative_to(tmp_path):  # a folder that several tests share is cleaned up by its own fixture
        return
    paths = Paths(home / "jobs")
    if paths.database.exists() and Client(Store(paths), start=False).list(UNDER_WAY):
        until = time.monotonic() + STARTING_SECONDS
        while worker_pid(paths) is None and time.monotonic() < until:  # a page may have started it just now
            time.sleep(0.05)
    stop_worker(home)
