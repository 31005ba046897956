"""A data folder and a worker for the tests of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from arml_core.jobs import Client
from pages.components.store import open_store
from tests.browser.dashboard import stop_worker

from ...job_requests import train
from .train_page import PATIENCE


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """One data folder with one worker for all tests here."""
    folder = tmp_path_factory.mktemp("home")
    yield folder
    stop_worker(folder)


@pytest.fixture(autouse=True)
def _own_home(home, monkeypatch) -> None:
    for name in ("ARML_DASK", "ARML_SHARED", "ARML_JOBS", "ARML_LEARNERS", "ARML_UPLOAD_DAYS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ARML_HOME", str(home))
    open_store.clear()


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture(scope="module")
def run(home) -> str:
    """A finished training on wine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARML_HOME", str(home))
        client = Client()
        asked = train(client, "wine", "arml", {"n_epochs": 30}, seed=3, device="cpu")
        assert client.wait(asked.id, PATIENCE).state == "done"
    return asked.id
