"""The row in which the worker says that it lives, and others that it was stopped on purpose."""

from __future__ import annotations

import os
import time

from .database import Database, Row


class WorkerRow:
    """There is at most one worker for a store, and so at most one row; each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> Row | None:
        """The row with `pid`, `started`, `beat` and `held`; None before the first worker."""
        return self._database.row("SELECT * FROM worker")

    def announce(self) -> None:
        """This process is the worker from now on."""
        now = time.time()
        with self._database.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO worker (one, pid, started, beat, held) VALUES (1, ?, ?, ?, 0)",
                (os.getpid(), now, now),
            )

    def beat(self) -> None:
        """A sign of life."""
        with self._database.writing() as connection:
            connection.execute("UPDATE worker SET beat = ?", (time.time(),))

    def hold(self) -> None:
        """The worker was stopped on purpose: looking at jobs does not start it again."""
        with self._database.writing() as connection:
            connection.execute("INSERT INTO worker VALUES (1, 0, 0, 0, 1) ON CONFLICT (one) DO UPDATE SET held = 1")

    def release(self) -> None:
        """Somebody wants work done: a worker that was stopped on purpose may be started again."""
        with self._database.writing() as connection:
            connection.execute("UPDATE worker SET held = 0")
