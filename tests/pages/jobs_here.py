"""Jobs that a page asked for, done in the test's own process."""

from __future__ import annotations

import os

import pytest

from arml_core.jobs import Client
from arml_core.jobs.files import write_arrays
from arml_core.jobs.reporter import Reporter
from arml_core.jobs.run_job import JobContext, run_job
from arml_core.jobs.store.queue import Queue


def no_worker(patch: pytest.MonkeyPatch) -> None:
    """Pages ask for work as ever, but nobody is started to do it."""
    patch.setattr("arml_core.jobs.client.start_worker", lambda paths: None)


def work_off() -> None:
    """Do everything that waits, one job after the other; what fails is the test's own error."""
    store = Client(start=False).store
    queue, context = Queue(store.database), JobContext(store.paths, store.database)
    while claim := queue.claim(True):
        row = queue.job(claim.job, claim.lease)
        assert row is not None
        with Reporter(queue, claim.job, claim.lease) as reporter:
            arrays = run_job(context, row, claim.lease, "cpu", reporter)
        draft, result = store.paths.draft(claim.job, claim.lease), store.paths.result(claim.job)
        sha256 = write_arrays(draft, arrays)
        queue.finish(claim.job, claim.lease, sha256, lambda draft=draft, result=result: os.replace(draft, result))
