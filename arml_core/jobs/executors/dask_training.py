"""A training on a machine of the cluster that has a GPU (``dask worker --resources GPU=1``)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...datasets import Dataset
from ...errors import Cancelled
from ...numerics.arrays import FloatArray
from ...progress import Callback
from ..learners import new_learner
from ..model import LearnedModel
from ..spec import RunSpec
from .dask import TICK_SECONDS, StopCheck, connect, tell_to_stop

REPORT_SECONDS = 0.25
Learned = tuple[LearnedModel, dict[str, FloatArray], int]
"""The model, its history, the number of iterations."""


def train_on_gpu(address: str, spec: RunSpec, dataset: Dataset, callback: Callback) -> Learned | None:
    """Train on the cluster; None if none of its machines offers a GPU.

    If the machine is lost, dask starts the training anew on another; the seed makes it the same training.
    """
    client = connect(address)
    try:
        if not _has_gpu(client):
            return None
        topic = f"arml-progress-{uuid.uuid4().hex}"
        news: list[tuple[float, dict[str, Any]]] = []
        client.subscribe_topic(topic, news.append)
        data = client.scatter((dataset.X_train, dataset.y_train), hash=False)
        about = (dataset.n_features, dataset.n_classes, dataset.image_shape)
        future = client.submit(_train, data, about, spec, topic, resources={"GPU": 1}, pure=False)
        try:
            last = (0, 0)
            while not future.done():
                time.sleep(TICK_SECONDS)
                while news:
                    last = _pass_on(news.pop(0)[1], callback)
                callback(*last, {})  # a cancel is heard while nothing arrives
            learned: Learned = future.result()
            return learned
        except Cancelled:
            tell_to_stop(client, topic, [future])
            raise
    finally:
        client.close(timeout=2)


def _has_gpu(client: Any) -> bool:
    machines = client.scheduler_info(n_workers=-1)["workers"].values()
    return any(machine.get("resources", {}).get("GPU", 0) > 0 for machine in machines)


def _pass_on(report: Mapping[str, Any], callback: Callback) -> tuple[int, int]:
    info: dict[str, Any] = dict(report["numbers"])
    callback(report["done"], report["total"], info)
    return report["done"], report["total"]


def _train(
    data: tuple[NDArray[Any], NDArray[Any]],
    about: tuple[int, int, tuple[int, int] | None],
    spec: RunSpec,
    topic: str,
) -> Learned:
    """Runs on the machine with the GPU."""
    from distributed import get_worker

    stop, log = StopCheck(topic), get_worker().log_event
    due = 0.0

    def callback(done: int, total: int, info: Mapping[str, Any]) -> None:
        nonlocal due
        stop(done, total, info)
        if time.monotonic() >= due or done == total:
            due = time.monotonic() + REPORT_SECONDS
            numbers = {name: float(value) for name, value in info.items() if isinstance(value, int | float)}
            log(topic, {"done": done, "total": total, "numbers": numbers})

    n_features, n_classes, image_shape = about
    learner = new_learner(spec, spec.device, image_shape)
    learner.fit(*data, callback=callback)
    model = LearnedModel.of(learner, n_features, n_classes)
    return model, {name: np.asarray(values) for name, values in learner.history_.items()}, learner.n_iter_
