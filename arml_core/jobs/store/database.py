"""One SQLite connection in WAL mode that threads may share, with errors in plain words."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import StoreError
from .schema import migrate

BUSY_MS = 30_000
BUSY_PAUSE = 0.005
Row = sqlite3.Row


class Database:
    """Short reads and short transactions; writers of several processes wait for each other.

    SQLite's WAL mode needs all processes on one machine: ``ARML_HOME`` on a network drive is for one host only.
    On a read-only disk the database can still be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self.read_only = False
        try:
            self._connection = self._open()
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        with self._lock, self._explained():
            return self._connection.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """The first row of a query, or None."""
        with self._lock, self._explained():
            first: Row | None = self._connection.execute(sql, values).fetchone()
            return first

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its start; an exception undoes it."""
        with self._lock, self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def truncate_log(self) -> None:
        """Move what the write-ahead log holds into the database file and give its room back."""
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def integrity(self) -> str:
        """SQLite's own check of the whole file: "ok", or what is wrong."""
        return "; ".join(str(row[0]) for row in self.rows("PRAGMA integrity_check"))

    def data_version(self) -> int:
        """A number that changes when another connection has written; asking costs next to nothing."""
        row = self.row("PRAGMA data_version")
        return int(row[0]) if row else 0

    def _open(self) -> sqlite3.Connection:
        until = time.monotonic() + BUSY_MS / 1000
        while True:
            try:
                return self._open_for_writing()
            except sqlite3.OperationalError as error:
                if _is_busy(error):
                    # A file that becomes WAL is locked for a moment, and SQLite does not wait for that lock by itself.
                    if time.monotonic() > until:
                        raise
                    time.sleep(BUSY_PAUSE)
                elif self._path.exists():
                    connection = self._open_read_only()
                    self.read_only = True
                    return connection
                else:
                    raise

    def _open_for_writing(self) -> sqlite3.Connection:
        connection = _connect(f"{self._path.absolute().as_uri()}?mode=rwc")
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_read_only(self) -> sqlite3.Connection:
        """`immutable` lets SQLite read where it cannot make its shared-memory file: on a read-only disk."""
        last: sqlite3.Error | None = None
        for flags in ("mode=ro", "mode=ro&immutable=1"):
            try:
                connection = _connect(f"{self._path.absolute().as_uri()}?{flags}")
                connection.execute("SELECT COUNT(*) FROM jobs").fetchone()
                return connection
            except sqlite3.Error as error:
                last = error
        assert last is not None
        raise last

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def _explain(self, error: sqlite3.Error) -> StoreError:
        code = _name(error)
        folder = self._path.parent
        if code.startswith("SQLITE_FULL"):
            return StoreError(f"the disk is full: {folder} cannot take another entry. Free some space and try again")
        if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
            return StoreError(f"{folder} cannot be written. Make it writable, or set ARML_HOME to another folder")
        if _is_busy(error):
            return StoreError(f"the job store in {folder} has been busy for {BUSY_MS // 1000} s; try again")
        if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return StoreError(f"the job store {self._path} is damaged ({error}). Move it away to start a new one")
        return StoreError(f"the job store {self._path} failed: {error}")


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "") or ""


def _is_busy(error: sqlite3.Error) -> bool:
    return _name(error).startswith("SQLITE_BUSY")


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    return connection
