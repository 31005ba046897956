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

from .client import Client, Store
from .contents import Upload
from .errors import DamagedFile, NotReady, NotYours, StoreError, UnknownJob, WorkerRunning
from .owners import is_shared, new_key, upload_lifetime
from .radii import Radii
from .results import History, RunResult
from .spec import EvaluationSpec, PointsSpec, RunSpec
from .status import JobStatus

__all__ = [
    "Client",
    "DamagedFile",
    "EvaluationSpec",
    "History",
    "JobStatus",
    "NotReady",
    "NotYours",
    "PointsSpec",
    "Radii",
    "RunResult",
    "RunSpec",
    "Store",
    "StoreError",
    "UnknownJob",
    "Upload",
    "WorkerRunning",
    "is_shared",
    "new_key",
    "upload_lifetime",
]
