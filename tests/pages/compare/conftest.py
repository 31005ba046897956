"""What ships, and a store with results, for the tests of the Compare page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import arml_core as arml
from arml_core.jobs import Client, PointsSpec
from arml_core.results import Evaluation, write_results
from arml_core.results import shipped as read_shipped
from pages.components.compare import catalogue
from pages.components.store import open_store
from tests.jobs.conftest import end_worker

from ...job_requests import attack, certify, train
from .compare_page import EVERY, PATIENCE


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch) -> Iterator[None]:
    monkeypatch.setenv("ARML_HOME", str(tmp_path / "home"))
    open_store.clear()
    yield
    open_store.clear()


@pytest.fixture
def ships(tmp_path, monkeypatch) -> Any:
    """A function that makes evaluations the ones that ship."""

    def put(evaluations: list[Evaluation]) -> None:
        folder = tmp_path / "results"
        write_results(folder / "all.npz", evaluations)
        read = read_shipped(folder)
        for place in (
            catalogue,
            arml.results,
        ):  # a page imported meanwhile keeps this one: other folders are as they are
            monkeypatch.setattr(place, "shipped", lambda other=None: read if other is None else read_shipped(other))

    return put


@pytest.fixture
def shipped_results(ships) -> None:
    ships(EVERY)


@pytest.fixture(scope="module")
def computed(tmp_path_factory) -> Iterator[dict[str, str]]:
    """A store with one metric on Iris, evaluated by a real worker: the ids of its jobs."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("compare")
        patch.setenv("ARML_HOME", str(home))
        patch.setenv("OMP_NUM_THREADS", "1")
        client = Client()
        run = train(client, "iris", "euclidean").id
        points = PointsSpec("evaluation", 24)
        jobs = {
            "run": run,
            "votes": certify(client, run, 3, "votes", points=points).id,
            "whitebox": attack(client, run, 3, "whitebox", points=PointsSpec("evaluation", 15)).id,
            "exact": certify(client, run, 1, "exact", points=points).id,
        }
        for job in jobs.values():
            assert client.wait(job, PATIENCE).state == "done"
        yield {"home": str(home), **jobs}
        end_worker(client.store.paths)


@pytest.fixture
def on_iris(computed, ships, monkeypatch) -> dict[str, str]:
    """The store of `computed`, and nothing that ships."""
    ships([])
    monkeypatch.setenv("ARML_HOME", computed["home"])
    open_store.clear()
    return computed
