"""Blocks on the machines of a dask.distributed cluster: the training set is sent once, results stream back.

dask is an optional extra (``requirements-dask.txt``) and the cluster's machines need this package too. Whoever sets
``ARML_DASK`` trusts the cluster: dask's own protocol carries Python objects.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from ...errors import Cancelled
from ...knn import MahalanobisKNN
from ...numerics.arrays import IntArray
from ...progress import Callback
from ...radii import Radii
from ..evaluation import EvaluationRows, PendingEvaluation, ReferenceData, classifier, evaluate_block
from ..spec import EvaluationSpec

CONNECT_SECONDS = 5.0
WITHOUT_WORKERS_SECONDS = 60.0
TICK_SECONDS = 0.1
STOP_CHECK_SECONDS = 0.5
ROUNDS = 3
"""How often the training set is sent anew when every machine that held it is gone."""


class ClusterError(ValueError):
    """The cluster cannot be used; the message says why and what to do."""


def connect(address: str) -> Any:
    """A client of the scheduler at `address`, or :class:`ClusterError`."""
    try:
        distributed = _distributed()
    except ImportError as error:
        raise ClusterError(
            f"ARML_DASK is {address}, but dask is not installed: pip install -r requirements-dask.txt"
        ) from error
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"no dask scheduler answers at {address}. Start one with 'dask scheduler', correct ARML_DASK, "
            f"or unset it to compute here ({type(error).__name__})"
        ) from error


def _distributed() -> Any:
    """dask is imported only where it is used, because it is optional."""
    return import_module("distributed")


class DaskExecutor:
    """One evaluation on the cluster at `address`."""

    def __init__(self, address: str) -> None:
        self._address = address

    def evaluate(self, pending: PendingEvaluation, keep: Callable[[Radii], None], callback: Callback) -> None:
        client = connect(self._address)
        try:
            for _ in range(ROUNDS):
                _wait_for_workers(client, partial(callback, pending.done, len(pending.rows), {}))
                pending = _round(client, pending, keep, callback)
                if not pending.blocks:
                    return
            raise ClusterError(
                f"the cluster lost its machines {ROUNDS} times; {len(pending.blocks)} blocks are not computed"
            )
        finally:
            client.close(timeout=2)


def _round(
    client: Any, pending: PendingEvaluation, keep: Callable[[Radii], None], callback: Callback
) -> PendingEvaluation:
    """Send all blocks and take results as they come; returns what is left: blocks whose data was lost."""
    spec, rows, done = pending.spec, pending.rows, pending.done
    left = dict(enumerate(pending.blocks))
    distributed = _distributed()
    lost = (distributed.client.FutureCancelledError, distributed.KilledWorker)
    stop = f"arml-stop-{uuid.uuid4().hex}"
    shared = client.scatter(pending.reference, broadcast=True, hash=False)
    futures = {
        client.submit(_block, shared, spec, rows.take(index), index, stop, pure=False): number
        for number, index in left.items()
    }
    finished = distributed.as_completed(futures.keys(), loop=client.loop, raise_errors=False)
    try:
        while left and not finished.is_empty():
            callback(done, len(rows), {})  # a cancel is heard while nothing arrives
            for future in _next_batch(finished):
                number = futures[future]
                try:
                    keep(future.result())
                except lost:
                    continue  # the training set or the machine was lost: the next round
                done += len(left.pop(number))
                callback(done, len(rows), {})
    except Cancelled:
        tell_to_stop(client, stop, list(futures))
        raise
    return replace(pending, blocks=list(left.values()), done=done)


def tell_to_stop(client: Any, stop: str, futures: list[Any]) -> None:
    """Forget what waits, and let what runs notice at its next :class:`StopCheck`."""
    _distributed().Event(stop, client=client).set()
    client.cancel(futures, force=True)


class StopCheck:
    """A callback for a task on the cluster: asks the scheduler now and then whether to stop."""

    def __init__(self, stop: str) -> None:
        self._event, self._next = _distributed().Event(stop), time.monotonic() + STOP_CHECK_SECONDS

    def __call__(self, done: int, total: int, info: Mapping[str, Any]) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + STOP_CHECK_SECONDS
            if self._event.is_set():
                raise Cancelled


def _next_batch(finished: Any) -> list[Any]:
    """Futures that are done, waiting at most a moment for the first."""
    until = time.monotonic() + TICK_SECONDS
    while not finished.has_ready() and time.monotonic() < until:
        time.sleep(TICK_SECONDS / 10)
    return list(finished.next_batch(block=False))


def _wait_for_workers(client: Any, check: Callable[[], None]) -> None:
    until = time.monotonic() + WITHOUT_WORKERS_SECONDS
    while not client.scheduler_info(n_workers=-1)["workers"]:
        check()
        if time.monotonic() > until:
            raise ClusterError(
                f"the dask scheduler has had no workers for {WITHOUT_WORKERS_SECONDS:.0f} s. "
                "Start some with 'dask worker', or unset ARML_DASK to compute here"
            )
        time.sleep(TICK_SECONDS)


_fitted: tuple[tuple[str, int], MahalanobisKNN] | None = None
_fitting = threading.Lock()


def _block(reference: ReferenceData, spec: EvaluationSpec, rows: EvaluationRows, index: IntArray, stop: str) -> Radii:
    """Runs on a machine of the cluster; the classifier is made once per machine and metric."""
    global _fitted
    key = (reference.key, spec.n_neighbors)
    with _fitting:
        if _fitted is None or _fitted[0] != key:
            _fitted = (key, classifier(reference, spec.n_neighbors))
        knn = _fitted[1]
    return evaluate_block(knn, spec, rows, index, StopCheck(stop))
