"""One training: a fresh learner, or one that continues from its last checkpoint."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets import Dataset
from ..progress import Callback
from .executors.dask import ClusterError
from .executors.dask_training import train_on_gpu
from .files import Arrays
from .job_log import log_line
from .learners import new_learner
from .model import LearnedModel
from .reporter import Paused, Reporter
from .spec import RunSpec
from .workspace import LiveReferences, Workspace

HISTORY_PREFIX = "history_"


def train(
    spec: RunSpec,
    dataset: Dataset,
    device: str,
    executor: str,
    workspace: Workspace,
    reporter: Reporter,
    forget_after: Callable[[int], None],
) -> Arrays:
    """The arrays of a run's result: the model and its history.

    A learner whose `fit` takes `resume` and whose callback gets ``info["state"]`` (a function that returns plain
    arrays) is checkpointed and continues after a loss; any other starts over with the same seed.
    """
    reporter.phase("training")
    if executor:
        learned = _try_cluster(spec, dataset, executor, reporter)
        if learned is not None:
            return learned
    learner = new_learner(spec, device, dataset.image_shape)
    can_resume = "resume" in inspect.signature(learner.fit).parameters
    found = workspace.load_checkpoint() if can_resume else None
    callback = _with_checkpoints(workspace, reporter, np.unique(dataset.y_train))
    step = 0
    if found is not None:
        step, state = found
        try:
            forget_after(step)
            log_line(f"continues after step {step}")
            learner.fit(dataset.X_train, dataset.y_train, callback=callback, resume=state)
        except ValueError as error:
            log_line(f"the checkpoint cannot be used, starting over: {error}")
            found = None
    if found is None:
        forget_after(0)
        learner.fit(dataset.X_train, dataset.y_train, callback=callback)
    model = LearnedModel.of(learner, dataset.n_features, dataset.n_classes)
    return run_arrays(model, learner.history_, learner.n_iter_)


def run_arrays(model: LearnedModel, history: Mapping[str, Any], n_iter: int) -> Arrays:
    """How a run is stored."""
    arrays = {**model.arrays(), "n_iter": np.array(n_iter)}
    arrays.update({HISTORY_PREFIX + name: np.asarray(values) for name, values in history.items()})
    return arrays


def _try_cluster(spec: RunSpec, dataset: Dataset, executor: str, reporter: Reporter) -> Arrays | None:
    """On the cluster if it has a GPU; None if it has none or does not answer, and the training runs here."""
    try:
        learned = train_on_gpu(executor, spec, dataset, reporter.callback)
    except ClusterError as error:
        log_line(f"training here: {error}")
        return None
    return None if learned is None else run_arrays(*learned)


def _with_checkpoints(workspace: Workspace, reporter: Reporter, classes: NDArray[Any]) -> Callback:
    """Progress, checkpoints, and now and then the points that are being learned, for whoever looks on."""

    def callback(done: int, total: int, info: Mapping[str, Any]) -> None:
        has_state = callable(info.get("state"))
        if callable(info.get("references")) and workspace.references_due():
            points, codes, _ = info["references"]()
            workspace.save_references(LiveReferences(done, points, classes[codes]))
        try:
            reporter.callback(done, total, info)
        except Paused:
            if has_state:
                workspace.save_checkpoint(done, info["state"]())
            raise
        if has_state and done < total and workspace.checkpoint_due():
            workspace.save_checkpoint(done, info["state"]())

    return callback
