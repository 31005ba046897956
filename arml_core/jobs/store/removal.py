"""Which rows may go, and removing them; the files that belong to them are the caller's."""

from __future__ import annotations

import time

from ..owners import PUBLIC
from .database import Database, Row


class Removal:
    """Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def expired_uploads(self) -> list[Row]:
        return self._database.rows(
            "SELECT digest, scope, title FROM contents WHERE scope != ? AND expires IS NOT NULL AND expires <= ?",
            (PUBLIC, time.time()),
        )

    def jobs_of_upload(self, digest: str, scope: str) -> list[Row]:
        """Every job of the upload's owner that used it, or a metric made of it."""
        return self._database.rows(
            "SELECT id, title FROM jobs WHERE scope = ?1 AND (dataset = ?2 OR points = ?2 OR needs IN "
            "(SELECT id FROM jobs WHERE scope = ?1 AND points = ?2))",
            (scope, digest),
        )

    def ended_jobs(self, before: float) -> list[Row]:
        """Jobs that ended without a result before a time."""
        return self._database.rows(
            "SELECT id, title, state FROM jobs WHERE state IN ('cancelled', 'failed', 'lost') AND finished < ?",
            (before,),
        )

    def done_jobs(self, before: float) -> list[Row]:
        """Jobs that were done before a time and that no active job needs."""
        return self._database.rows(
            "SELECT id, title FROM jobs WHERE state = 'done' AND finished < ? AND NOT EXISTS "
            "(SELECT 1 FROM jobs AS user WHERE user.needs = jobs.id "
            "AND user.state IN ('queued', 'running', 'cancelling'))",
            (before,),
        )

    def job_states(self) -> dict[str, str]:
        """The state of every job."""
        return {row["id"]: row["state"] for row in self._database.rows("SELECT id, state FROM jobs")}

    def content_keys(self) -> set[tuple[str, str]]:
        """Scope and digest of every content."""
        return {(row["scope"], row["digest"]) for row in self._database.rows("SELECT scope, digest FROM contents")}

    def remove_job(self, job: str) -> None:
        with self._database.writing() as connection:
            connection.execute("DELETE FROM jobs WHERE id = ?", (job,))

    def remove_upload(self, digest: str, scope: str) -> None:
        with self._database.writing() as connection:
            connection.execute("DELETE FROM contents WHERE digest = ? AND scope = ?", (digest, scope))
