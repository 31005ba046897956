"""The Inspect page, read without a browser, and a small dataset for it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

import arml_core as arml
from arml_core.datasets import Dataset, fit_scaling
from arml_core.jobs import Client
from arml_core.metric import Metric
from pages.components.inspect.study import PreparedSource

from ..app import alone

PATIENCE = 60.0
RNG = np.random.default_rng(5)


def uploaded(data: Dataset) -> str:
    """Keep a dataset as this visitor's upload; returns its fingerprint."""
    client = Client(start=False)
    client.store.uploads.put_dataset(data, client.visitor)
    return data.fingerprint


def page(wait: bool = True, **query: str) -> AppTest:
    app = alone("pages/inspect.py", **query)
    return settled(app) if wait else app


def settled(app: AppTest) -> AppTest:
    """Run again, as the page does by itself, until nothing is being worked out any more."""
    until = time.monotonic() + PATIENCE
    while any(found.value.startswith("⏳") for found in app.caption):
        assert time.monotonic() < until, [found.value for found in app.caption]
        time.sleep(0.1)
        app.run()
    assert not app.exception
    return app


def words(app: AppTest) -> str:
    kinds = (app.caption, app.info, app.markdown, app.warning, app.error)
    return "\n".join(found.value for kind in kinds for found in kind).replace("\\", "")


def tile(app: AppTest, label: str) -> str:
    return next(found.value for found in app.metric if found.label.startswith(label))


def charts(app: AppTest) -> set[str]:
    return {found.proto.id.rsplit("-", 1)[-1] for found in app.get("bidi_component")}


def knn_of(name: str, k: int, metric: Any = None) -> tuple[Dataset, arml.MahalanobisKNN]:
    data = arml.load_dataset(name)
    return data, arml.MahalanobisKNN(k, metric=metric).fit(data.X_train, data.y_train)


def blobs(apart: float = 9.0, scale: float = 1.0) -> PreparedSource:
    """Two classes of twelve points, far apart: every answer is right."""
    x = np.concatenate([RNG.normal(size=(12, 3)), RNG.normal(size=(12, 3)) + apart])
    y = np.repeat([0, 1], 12)
    scaling = fit_scaling(x * scale, "standard")
    names = ("a", "b", "c")
    data = Dataset(
        "", "Blobs", "file", scaling.transform(x * scale), y, np.empty((0, 3)), y[:0], names, ("no", "yes"), scaling
    )
    return PreparedSource(data, Metric.identity(3))


def quiet(_: str) -> None:
    """Nobody listens."""
