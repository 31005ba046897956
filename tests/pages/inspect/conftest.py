"""A data folder and a task pool of its own for every test of the Inspect page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from arml_core.learners.storage import save_metric
from arml_core.metric import Metric
from pages.components.inspect import sources
from pages.components.inspect.study import study_of
from pages.components.store import open_store
from pages.components.task_pool import task_pool


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch) -> Iterator[None]:
    monkeypatch.setenv("ARML_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ARML_SHARED", raising=False)
    open_store.clear()
    yield
    open_store.clear()


@pytest.fixture(autouse=True)
def _fresh_task_pool() -> None:
    task_pool.clear()
    study_of.clear()


@pytest.fixture
def ships(tmp_path, monkeypatch) -> Any:
    """A function that makes a metric one that ships for a dataset."""
    folder = tmp_path / "metrics"
    folder.mkdir()
    monkeypatch.setattr(sources, "METRICS", folder)

    def put(dataset: str, learner: str, metric: Metric, fingerprint: str | None = None) -> None:
        save_metric(
            folder / f"{dataset}-{learner}.npz", metric, learner=learner, dataset=dataset, fingerprint=fingerprint
        )

    return put
