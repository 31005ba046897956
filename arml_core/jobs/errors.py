"""What can go wrong around a job; the message of each says what to do."""

from __future__ import annotations

import errno


class StoreError(OSError):
    """The store cannot be read or written: a full or read-only disk, a damaged database, a newer schema, a limit."""


class DiskFull(StoreError):
    """There is no room for another entry."""


class StoreBusy(StoreError):
    """Another process or thread has been writing for longer than one waits."""


class UnknownJob(ValueError):
    """There is no such job, or it belongs to somebody else: the two are not told apart."""


class NotYours(ValueError):
    """The job may be seen but not changed by this visitor."""


class NotReady(ValueError):
    """The result was asked for before the job was done."""


class DamagedFile(ValueError):
    """A file of the store is missing or its content changed; it was set aside and will be computed again."""


class WorkerRunning(ValueError):
    """Another worker already serves this folder."""


def may_pass(error: OSError) -> bool:
    """Whether waiting helps: a full disk is emptied, a busy store becomes free."""
    return isinstance(error, DiskFull | StoreBusy) or error.errno in (errno.ENOSPC, errno.EDQUOT)
