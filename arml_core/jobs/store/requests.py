"""What visitors ask of the queue: add a job, cancel it, take it up again, look at it."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

from ..owners import Visitor
from ..spec import Spec, canonical, key_of
from ..states import CANCELLED, CANCELLING, DONE, FAILED, QUEUED, RUNNING
from .database import Database, Row
from .visibility import visible_to

_REVIVE = (
    "state = 'queued', attempt = 0, reason = '', note = '', phase = '', done = 0, total = 0, seconds_left = NULL, "
    "started = NULL, finished = NULL, lease = NULL, turn = (SELECT COALESCE(MAX(turn), 0) + 1 FROM jobs)"
)


@dataclass(frozen=True)
class Request:
    """A job as it is asked for."""

    spec: Spec
    scope: str
    title: str
    dataset: str
    dataset_scope: str
    points: str | None = None
    needs: str | None = None
    executor: str = ""
    accelerated: bool = False
    priority: int = 0

    @property
    def id(self) -> str:
        return key_of(self.spec, self.scope)


class Requests:
    """Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, request: Request, visitor: Visitor) -> str:
        """Queue the job unless it is queued, running or done already; returns its id.

        What failed or was cancelled is queued anew at the end. A higher priority than before counts.
        """
        with self._database.writing() as connection:
            row = connection.execute("SELECT state, priority FROM jobs WHERE id = ?", (request.id,)).fetchone()
            if row is None:
                self._insert(connection, request)
            elif row["state"] not in (QUEUED, RUNNING, DONE):
                connection.execute(
                    f"UPDATE jobs SET {_REVIVE}, priority = ?, executor = ? WHERE id = ?",
                    (request.priority, request.executor, request.id),
                )
            elif row["state"] == QUEUED and request.priority > row["priority"]:
                connection.execute("UPDATE jobs SET priority = ? WHERE id = ?", (request.priority, request.id))
            connection.execute("INSERT OR IGNORE INTO owners VALUES (?, ?)", (request.id, visitor.tag))
        return request.id

    def add_done(self, request: Request, visitor: Visitor, sha256: str) -> str:
        """Enter a result that came from elsewhere; its file is already in place."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM jobs WHERE id = ?", (request.id,))
            self._insert(connection, request)
            connection.execute(
                "UPDATE jobs SET state = 'done', sha256 = ?, finished = ? WHERE id = ?",
                (sha256, time.time(), request.id),
            )
            connection.execute("INSERT OR IGNORE INTO owners VALUES (?, ?)", (request.id, visitor.tag))
        return request.id

    def cancel(self, job: str, visitor: Visitor) -> bool:
        """Stop the job, or only this visitor's interest in it if others wait for it too (then False).

        Who waits for an evaluation of a run waits for the run.
        A queued job is cancelled at once, a running one is told to end.
        """
        now = time.time()
        with self._database.writing() as connection:
            if visitor.shared:
                others = connection.execute(
                    "SELECT COUNT(*) FROM owners WHERE owner != ? AND (job = ? OR job IN "
                    "(SELECT id FROM jobs WHERE needs = ? AND state = ?))",
                    (visitor.tag, job, job, QUEUED),
                ).fetchone()[0]
                if others:
                    connection.execute("DELETE FROM owners WHERE job = ? AND owner = ?", (job, visitor.tag))
                    return False
            waiting = connection.execute(
                "UPDATE jobs SET state = ?, finished = ? WHERE id = ? AND state = ?", (CANCELLED, now, job, QUEUED)
            )
            running = connection.execute(
                "UPDATE jobs SET state = ? WHERE id = ? AND state = ?", (CANCELLING, job, RUNNING)
            )
            if waiting.rowcount or running.rowcount:  # evaluations cannot wait for a run that will not come
                connection.execute(
                    "UPDATE jobs SET state = ?, reason = ?, finished = ? WHERE needs = ? AND state = ?",
                    (FAILED, "the training it needs was cancelled", now, job, QUEUED),
                )
        return True

    def retry(self, job: str, executor: str) -> None:
        """Queue a job that is at rest without a result, and the run it needs."""
        with self._database.writing() as connection:
            self._revive(connection, job, executor)

    def recompute(self, job: str, note: str) -> None:
        """Queue a done job again because its result file was lost."""
        with self._database.writing() as connection:
            connection.execute(
                f"UPDATE jobs SET {_REVIVE}, sha256 = NULL WHERE id = ? AND state = 'done'",
                (job,),
            )
            connection.execute("UPDATE jobs SET note = ? WHERE id = ? AND state = 'queued'", (note, job))

    def get(self, job: str) -> Row | None:
        return self._database.row("SELECT * FROM jobs WHERE id = ?", (job,))

    def owned(self, job: str, visitor: Visitor) -> bool:
        row = self._database.row("SELECT 1 FROM owners WHERE job = ? AND owner = ?", (job, visitor.tag))
        return visitor.owns(row is not None)

    def position(self, row: Row) -> int:
        """The place of a queued job, from 1."""
        ahead = self._database.row(
            "SELECT COUNT(*) FROM jobs WHERE state = 'queued' AND (priority > ? OR (priority = ? AND turn < ?))",
            (row["priority"], row["priority"], row["turn"]),
        )
        return 1 + (int(ahead[0]) if ahead else 0)

    def positions(self) -> dict[str, int]:
        """The place of every queued job, from 1."""
        rows = self._database.rows("SELECT id FROM jobs WHERE state = 'queued' ORDER BY priority DESC, turn")
        return {row["id"]: place for place, row in enumerate(rows, start=1)}

    def listed(self, visitor: Visitor, states: tuple[str, ...], limit: int, kind: str | None = None) -> list[Row]:
        """Jobs this visitor may see, of one kind or of all: the queue in its order, then the rest, newest first."""
        where, values = visible_to(visitor)
        marks = ", ".join("?" * len(states))
        return self._database.rows(
            f"SELECT jobs.*, EXISTS (SELECT 1 FROM owners WHERE job = jobs.id AND owner = ?) AS asked FROM jobs "
            f"WHERE {where} AND state IN ({marks}) AND kind = COALESCE(?, kind) "
            "ORDER BY state != 'running', state != 'queued', CASE state WHEN 'queued' THEN -priority END, "
            "CASE state WHEN 'queued' THEN turn END, COALESCE(finished, created) DESC LIMIT ?",
            (visitor.tag, *values, *states, kind, limit),
        )

    def history(self, job: str, after: int = -1) -> list[Row]:
        """What a training has reported after a step, by default all of it."""
        return self._database.rows(
            "SELECT step, numbers FROM history WHERE job = ? AND step > ? ORDER BY step", (job, after)
        )

    def _insert(self, connection: sqlite3.Connection, request: Request) -> None:
        connection.execute(
            "INSERT INTO jobs (id, kind, spec, scope, title, dataset, dataset_scope, points, needs, executor, "
            "accelerated, priority, turn, state, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "(SELECT COALESCE(MAX(turn), 0) + 1 FROM jobs), 'queued', ?)",
            (
                request.id,
                request.spec.kind,
                canonical(request.spec.content()),
                request.scope,
                request.title,
                request.dataset,
                request.dataset_scope,
                request.points,
                request.needs,
                request.executor,
                int(request.accelerated),
                request.priority,
                time.time(),
            ),
        )

    def _revive(self, connection: sqlite3.Connection, job: str, executor: str) -> None:
        row = connection.execute("SELECT needs FROM jobs WHERE id = ?", (job,)).fetchone()
        if row is not None and row["needs"] is not None:
            self._revive(connection, row["needs"], executor)
        connection.execute(
            f"UPDATE jobs SET {_REVIVE}, executor = ? WHERE id = ? AND state IN ('cancelled', 'failed', 'lost')",
            (executor, job),
        )
