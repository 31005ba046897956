"""What the worker and its children do with the queue. A child writes only while it holds the job's lease."""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..states import CANCELLED, CANCELLING, DONE, FAILED, LOST, MAX_ATTEMPTS, QUEUED, RUNNING
from .database import Database, Row

_ANY_QUEUED = "SELECT 1 FROM jobs WHERE state = 'queued' LIMIT 1"


@dataclass(frozen=True)
class Claim:
    """A job given to a child; `attempt` counts from 1."""

    job: str
    lease: str
    attempt: int
    accelerated: bool


class Queue:
    """Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def recover(self) -> int:
        """At the start of a worker: jobs of a worker that died are queued once more, or given up.

        Returns how many were taken up again.
        """
        now = time.time()
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE jobs SET state = ?, lease = NULL, finished = ? WHERE state = ?", (CANCELLED, now, CANCELLING)
            )
            connection.execute(
                "UPDATE jobs SET state = ?, lease = NULL, finished = ?, reason = ? WHERE state = ? AND attempt >= ?",
                (LOST, now, "the worker ended twice during this job", RUNNING, MAX_ATTEMPTS),
            )
            again = connection.execute(
                "UPDATE jobs SET state = ?, lease = NULL, note = ? WHERE state = ?",
                (QUEUED, "the worker ended during this job; it was taken up again", RUNNING),
            )
            return again.rowcount

    def claim(self, devices_free: bool) -> Claim | None:
        """Take the first job in order of priority and turn whose run is done.

        Jobs that want a GPU are passed over while every device is busy.
        """
        with self._database.writing() as connection:
            _fail_orphans(connection)
            row = connection.execute(
                "SELECT jobs.id, jobs.attempt, jobs.accelerated FROM jobs LEFT JOIN jobs AS run ON run.id = jobs.needs "
                "WHERE jobs.state = 'queued' AND (jobs.needs IS NULL OR run.state = 'done') "
                "AND (jobs.accelerated = 0 OR ?) ORDER BY jobs.priority DESC, jobs.turn LIMIT 1",
                (int(devices_free),),
            ).fetchone()
            if row is None:
                return None
            lease, now = secrets.token_hex(8), time.time()
            connection.execute(
                "UPDATE jobs SET state = ?, lease = ?, attempt = attempt + 1, phase = 'starting', beat = ?, "
                "started = COALESCE(started, ?), seconds_left = NULL WHERE id = ?",
                (RUNNING, lease, now, now, row["id"]),
            )
        return Claim(row["id"], lease, row["attempt"] + 1, bool(row["accelerated"]))

    def claimable(self) -> bool:
        """Whether a look at the queue is worth a transaction."""
        return self._database.row(_ANY_QUEUED) is not None

    def if_empty(self, leave: Callable[[], None]) -> bool:
        """Call `leave` if no job waits; none can be added while it runs. Returns whether it was called."""
        with self._database.writing() as connection:
            if connection.execute(_ANY_QUEUED).fetchone() is not None:
                return False
            leave()
            return True

    def leases(self, jobs: Sequence[str]) -> dict[str, Row]:
        """State and lease of the jobs that run now."""
        marks = ", ".join("?" * len(jobs))
        rows = self._database.rows(f"SELECT id, state, lease FROM jobs WHERE id IN ({marks})", tuple(jobs))
        return {row["id"]: row for row in rows}

    def job(self, job: str, lease: str) -> Row | None:
        """The row of a job, if the lease still holds."""
        return self._database.row("SELECT * FROM jobs WHERE id = ? AND lease = ?", (job, lease))

    def result_sha256(self, job: str) -> str | None:
        """The checksum of a job's result file; None if the job is not done."""
        row = self._database.row("SELECT sha256 FROM jobs WHERE id = ? AND state = 'done'", (job,))
        return None if row is None else str(row["sha256"])

    def progress(
        self,
        job: str,
        lease: str,
        values: Mapping[str, Any],
        history: Iterable[tuple[int, Mapping[str, Any]]] = (),
    ) -> bool:
        """Write a sign of life with what is new; False if the job was taken from this child."""
        columns = {**values, "beat": time.time()}
        assignments = ", ".join(f"{name} = ?" for name in columns)
        entries = [(job, step, json.dumps(numbers)) for step, numbers in history]
        with self._database.writing() as connection:
            cursor = connection.execute(
                f"UPDATE jobs SET {assignments} WHERE id = ? AND lease = ?", (*columns.values(), job, lease)
            )
            if cursor.rowcount == 0:
                return False
            if entries:
                connection.executemany("INSERT OR REPLACE INTO history VALUES (?, ?, ?)", entries)
        return True

    def forget_history(self, job: str, lease: str, after: int) -> None:
        """A retry continues after step `after`; what a lost attempt recorded beyond is dropped."""
        with self._database.writing() as connection:
            if connection.execute("SELECT 1 FROM jobs WHERE id = ? AND lease = ?", (job, lease)).fetchone():
                connection.execute("DELETE FROM history WHERE job = ? AND step > ?", (job, after))

    def finish(self, job: str, lease: str, sha256: str, publish: Callable[[], None]) -> bool:
        """Done: `publish` puts the result file in its place. A cancel that came before wins.

        Without the lease nothing is put anywhere: a late child cannot overwrite the result of the next one.
        """
        with self._database.writing() as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = ?, lease = NULL, sha256 = ?, finished = ?, phase = '', seconds_left = NULL, "
                "done = total WHERE id = ? AND lease = ? AND state = ?",
                (DONE, sha256, time.time(), job, lease, RUNNING),
            )
            if cursor.rowcount == 0:
                return False
            connection.execute("DELETE FROM history WHERE job = ?", (job,))
            publish()
        return True

    def end(self, job: str, lease: str, state: str, reason: str = "") -> bool:
        """Cancelled or failed."""
        with self._database.writing() as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = CASE state WHEN 'cancelling' THEN 'cancelled' ELSE ? END, lease = NULL, "
                "reason = CASE state WHEN 'cancelling' THEN '' ELSE ? END, finished = ?, seconds_left = NULL "
                "WHERE id = ? AND lease = ?",
                (state, reason, time.time(), job, lease),
            )
        return cursor.rowcount > 0

    def requeue(self, job: str, lease: str, note: str, counts: bool) -> str:
        """The child is gone: queue the job again, unless it was cancelled or has had its second try.

        An end that was not the job's doing (`counts` false) does not use up a try. Returns the state after.
        """
        with self._database.writing() as connection:
            row = connection.execute(
                "SELECT state, attempt FROM jobs WHERE id = ? AND lease = ?", (job, lease)
            ).fetchone()
            if row is None:
                return ""
            state, reason, now = QUEUED, "", time.time()
            if row["state"] == CANCELLING:
                state = CANCELLED
            elif counts and row["attempt"] >= MAX_ATTEMPTS:
                state, reason = FAILED, f"{note}, twice"
            connection.execute(
                "UPDATE jobs SET state = ?, lease = NULL, note = ?, reason = ?, attempt = attempt - ?, "
                "finished = CASE ? WHEN 'queued' THEN NULL ELSE ? END WHERE id = ?",
                (
                    state,
                    f"{note}; it was taken up again" if state == QUEUED else "",
                    reason,
                    not counts,
                    state,
                    now,
                    job,
                ),
            )
        return state

    def wait_for_run(self, job: str, lease: str, run: str, note: str) -> None:
        """The run's file turned out to be damaged: compute the run again first, then this job.

        If a cancel came in between, the job ends with it, and nobody needs the run.
        """
        with self._database.writing() as connection:
            waits = connection.execute(
                "UPDATE jobs SET state = 'queued', lease = NULL, attempt = attempt - 1, note = ? "
                "WHERE id = ? AND lease = ? AND state = 'running'",
                (note, job, lease),
            )
            if waits.rowcount:
                connection.execute(
                    "UPDATE jobs SET state = 'queued', sha256 = NULL, attempt = 0, note = ?, finished = NULL "
                    "WHERE id = ? AND state = 'done'",
                    (note, run),
                )
            else:
                connection.execute(
                    "UPDATE jobs SET state = ?, lease = NULL, finished = ? WHERE id = ? AND lease = ? AND state = ?",
                    (CANCELLED, time.time(), job, lease, CANCELLING),
                )

    def held_leases(self) -> dict[str, str]:
        """The lease of every job that is running or being cancelled, with the job."""
        rows = self._database.rows(
            "SELECT id, lease FROM jobs WHERE state IN (?, ?) AND lease IS NOT NULL", (RUNNING, CANCELLING)
        )
        return {row["lease"]: row["id"] for row in rows}


def _fail_orphans(connection: sqlite3.Connection) -> None:
    """Evaluations whose run ended without a result, or is gone."""
    connection.execute(
        "UPDATE jobs SET state = 'failed', finished = ?, reason = 'the training it needs is not there: ' || COALESCE("
        "(SELECT CASE WHEN reason = '' THEN 'it was ' || state ELSE reason END FROM jobs AS run "
        "WHERE run.id = jobs.needs), "
        "'it was removed') WHERE state = 'queued' AND needs IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM jobs AS run WHERE run.id = jobs.needs AND run.state IN ('queued', 'running', 'done'))",
        (time.time(),),
    )
