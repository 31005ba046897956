"""The states of a job. No heavy imports: the worker needs them and computes nothing itself."""

QUEUED, RUNNING, CANCELLING = "queued", "running", "cancelling"
CANCELLED, FAILED, LOST, DONE = "cancelled", "failed", "lost", "done"
STATES = (QUEUED, RUNNING, CANCELLING, CANCELLED, FAILED, LOST, DONE)
ACTIVE = (QUEUED, RUNNING, CANCELLING)
AT_REST = (CANCELLED, FAILED, LOST, DONE)
MAX_ATTEMPTS = 2
"""A job whose process died is tried once more."""
