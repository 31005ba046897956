"""The entries of the datasets, query rows, metrics and files that jobs refer to by content."""

from __future__ import annotations

import time

from ..owners import PUBLIC, Visitor
from ..paths import checked
from .database import Database, Row
from .visibility import visible_to

_ALIVE = "(expires IS NULL OR expires > ?)"


class ContentTable:
    """Each method is one transaction; an entry whose time is over is not found, even before it is removed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, digest: str, scope: str, kind: str) -> Row | None:
        return self._database.row(
            f"SELECT * FROM contents WHERE digest = ? AND scope = ? AND kind = ? AND {_ALIVE}",
            (checked(digest), scope, kind, time.time()),
        )

    def find_scope(self, digest: str, visitor: Visitor) -> str | None:
        """Where this visitor finds a content: their own copy first, then the public one."""
        where, values = visible_to(visitor)
        row = self._database.row(
            f"SELECT scope FROM contents WHERE digest = ? AND {where} AND {_ALIVE} ORDER BY scope != ?, scope != ?",
            (checked(digest), *values, time.time(), visitor.tag, PUBLIC),
        )
        return None if row is None else str(row["scope"])

    def uploads(self, visitor: Visitor) -> list[Row]:
        """What this visitor uploaded, newest first."""
        if visitor.shared and visitor.tag == PUBLIC:
            return []
        where, values = ("scope != ''", ()) if not visitor.shared else ("scope = ?", (visitor.tag,))
        return self._database.rows(
            f"SELECT * FROM contents WHERE {where} AND {_ALIVE} ORDER BY created DESC", (*values, time.time())
        )

    def is_entered(self, digest: str, scope: str) -> bool:
        """Whether there is an entry, expired or not."""
        row = self._database.row("SELECT 1 FROM contents WHERE digest = ? AND scope = ?", (digest, scope))
        return row is not None

    def enter(
        self, digest: str, scope: str, kind: str, name: str, title: str, sha256: str | None, expires: float | None
    ) -> None:
        with self._database.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO contents VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (digest, scope, kind, name, title, sha256, time.time(), expires),
            )

    def renew(self, digest: str, scope: str, title: str, expires: float | None) -> None:
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE contents SET title = ?, expires = ? WHERE digest = ? AND scope = ?",
                (title, expires, digest, scope),
            )
