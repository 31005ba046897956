"""Background work: ask, watch, cancel, come back later. :class:`Client` is the door.

A job is named by the hash of what it computes, so the same work is never done twice: the second request gets the
first one's result. A worker process runs jobs in child processes it can end; everything about a job is in the store
under ``ARML_HOME``, and nothing is lost when a process dies.

State          meaning
=============  ====================================================================================
queued         waits; `position` counts from 1
running        a child computes; `phase`, `done` of `total`, `seconds_left`
cancelling     was told to stop
cancelled      stopped on request
failed         `reason` says why, the log has the rest
lost           its worker died; it is tried once more from the last checkpoint, the second time it stays lost
done           the result is there
=============  ====================================================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import Client
    from .errors import DamagedFile, DiskFull, NotReady, NotYours, StoreBusy, StoreError, UnknownJob, WorkerRunning
    from .open_store import Store
    from .owners import is_shared, new_key, upload_lifetime
    from .results import History, RunResult
    from .spec import EvaluationSpec, NetworkSpec, PointsSpec, RunSpec
    from .status import JobStatus
    from .uploads import Upload

_MODULES = {
    "client": ("Client",),
    "open_store": ("Store",),
    "uploads": ("Upload",),
    "errors": (
        "DamagedFile",
        "DiskFull",
        "NotReady",
        "NotYours",
        "StoreBusy",
        "StoreError",
        "UnknownJob",
        "WorkerRunning",
    ),
    "owners": ("is_shared", "new_key", "upload_lifetime"),
    "results": ("History", "RunResult"),
    "spec": ("EvaluationSpec", "NetworkSpec", "PointsSpec", "RunSpec"),
    "status": ("JobStatus",),
}

__all__ = [
    "Client",
    "DamagedFile",
    "DiskFull",
    "EvaluationSpec",
    "History",
    "JobStatus",
    "NetworkSpec",
    "NotReady",
    "NotYours",
    "PointsSpec",
    "RunResult",
    "RunSpec",
    "Store",
    "StoreBusy",
    "StoreError",
    "UnknownJob",
    "Upload",
    "WorkerRunning",
    "is_shared",
    "new_key",
    "upload_lifetime",
]


def __getattr__(name: str) -> Any:
    """Import on first use: the worker lives here too and must start without torch."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
