"""Jobs computed in this process, as a child would: quick, and what goes wrong is seen where it happens."""

from arml_core.jobs.files import write_arrays
from arml_core.jobs.reporter import Reporter
from arml_core.jobs.run_job import JobContext, run_job
from arml_core.jobs.store.queue import Queue
from arml_core.jobs.workspace import Workspace


def compute_all(client, interrupt=None):
    """Compute every job that waits; `interrupt` may raise in a callback, and then the job goes back to the queue."""
    store, queue = client.store, Queue(client.store.database)
    context = JobContext(store.paths, store.database)
    while (claim := queue.claim(True)) is not None:
        reporter = Reporter(queue, claim.job, claim.lease)
        if interrupt is not None:
            plain = reporter.callback

            def callback(done, total, info, plain=plain):
                plain(done, total, info)
                interrupt(done, total, info)

            reporter.callback = callback
        try:
            with reporter:
                arrays = run_job(context, queue.job(claim.job, claim.lease), claim.lease, "cpu", reporter)
        except BaseException:
            queue.requeue(claim.job, claim.lease, "interrupted", counts=False)
            raise
        sha256 = write_arrays(store.paths.result(claim.job), arrays)
        assert queue.finish(claim.job, claim.lease, sha256, lambda: None)
        Workspace(store.paths.unfinished_of(claim.job)).remove()
