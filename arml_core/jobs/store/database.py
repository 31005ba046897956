"""A SQLite file in WAL mode that threads share: reads wait for nobody, writes for each other; errors in plain words."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ..errors import DiskFull, StoreBusy, StoreError
from .schema import migrate

PATIENCE_SECONDS = 30.0
SOON_SECONDS = 0.3
"""A write that has its turn within this time did not wait."""
PAUSE_SECONDS = 0.005
REOPEN_SECONDS = 1.0
MOST_IDLE = 8
FULL_BYTES = 2**16
Row = sqlite3.Row


class Database:
    """Short reads and short transactions.

    SQLite's WAL mode needs all processes on one machine: ``ARML_HOME`` on a network drive is for one host only.
    On a read-only or full disk the database can still be read; it can be written again as soon as the disk can.

    Parameters
    ----------
    patience : seconds a write waits for those of other processes and threads.
    waiting : entered while a write waits for its turn, for whoever wants to say so.
    """

    def __init__(
        self,
        path: Path,
        patience: float = PATIENCE_SECONDS,
        waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._path, self._patience, self._waiting = path, patience, waiting
        self._turn = threading.RLock()  # around the one connection that writes
        self._writer: sqlite3.Connection | None = None
        self._guard = threading.Lock()  # around the list of connections that read
        self._idle: list[sqlite3.Connection] = []
        self._age, self._closed, self._next_try = 0, False, 0.0
        with self._explained():
            self._open()

    def close(self) -> None:
        with self._turn:
            self._closed = True
            self._drop_readers()
            if self._writer is not None:
                self._writer.close()

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written now; where it could not, it is tried again now and then."""
        if self._writer is None and not self._closed and time.monotonic() >= self._next_try:
            self._next_try = time.monotonic() + REOPEN_SECONDS
            with self._turn:
                try:
                    self._open_writer()
                except (sqlite3.Error, StoreError):
                    return True
        return self._writer is None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        with self._explained(), self._reader() as connection:
            return connection.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """The first row of a query, or None."""
        with self._explained(), self._reader() as connection:
            first: Row | None = connection.execute(sql, values).fetchone()
            return first

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its start; an exception undoes it."""
        with self._explained():
            connection = self._begin()
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._turn.release()

    def truncate_log(self) -> None:
        """Move what the write-ahead log holds into the database file and give its room back."""
        with self._explained(), self._turn:
            self._open_writer().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def integrity(self) -> str:
        """SQLite's own check of the whole file: "ok", or what is wrong."""
        return "; ".join(str(row[0]) for row in self.rows("PRAGMA integrity_check"))

    def data_version(self) -> int:
        """A number that changes when anybody else has written; asking costs next to nothing."""
        with self._explained(), self._turn:
            return int(self._open_writer().execute("PRAGMA data_version").fetchone()[0])

    def _begin(self) -> sqlite3.Connection:
        """The connection that writes, in a transaction; `_turn` is held until that ends."""
        connection = self._try_to_begin(min(SOON_SECONDS, self._patience))
        if connection is None:
            with self._waiting():
                connection = self._try_to_begin(self._patience - SOON_SECONDS)
        if connection is None:
            raise self._busy()
        return connection

    def _try_to_begin(self, seconds: float) -> sqlite3.Connection | None:
        """None if the turn did not come in time."""
        until = time.monotonic() + seconds
        if not self._turn.acquire(timeout=max(0.0, seconds)):
            return None
        try:
            connection = self._open_writer()
            left = max(0, int(1000 * (until - time.monotonic())))
            connection.execute(f"PRAGMA busy_timeout = {left}")
            connection.execute("BEGIN IMMEDIATE")
            return connection
        except BaseException as error:
            self._turn.release()
            if _is_busy(error):
                return None
            raise

    def _open(self) -> None:
        """For writing; where that cannot be, at least for reading."""
        until = time.monotonic() + self._patience
        while True:
            try:
                self._open_writer()
                return
            except sqlite3.OperationalError as error:
                if _is_busy(error):
                    # A file that becomes WAL is locked for a moment, and SQLite does not wait for that lock by itself.
                    if time.monotonic() > until:
                        raise
                    time.sleep(PAUSE_SECONDS)
                elif self._can_be_read():
                    return
                else:
                    raise

    def _can_be_read(self) -> bool:
        try:
            with self._reader():
                return True
        except sqlite3.Error:
            return False

    def _open_writer(self) -> sqlite3.Connection:
        """The connection that writes, opened if it could not be until now; `_turn` is to be held."""
        if self._writer is None:
            connection = self._connect("mode=rwc")
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                migrate(connection)
            except BaseException:
                connection.close()
                raise
            self._writer = connection
            self._drop_readers()  # they may have been opened for a file that nobody could change
        return self._writer

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """A connection that nobody else uses meanwhile."""
        with self._guard:
            age = self._age
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._connect("mode=rw") if self._writer is not None else self._connect_for_reading_only()
        try:
            yield connection
        finally:
            with self._guard:
                keep = age == self._age and not self._closed and len(self._idle) < MOST_IDLE
                if keep:
                    self._idle.append(connection)
            if not keep:
                connection.close()

    def _drop_readers(self) -> None:
        with self._guard:
            idle, self._idle = self._idle, []
            self._age += 1
        for connection in idle:
            connection.close()

    def _connect_for_reading_only(self) -> sqlite3.Connection:
        """`immutable` lets SQLite read where it cannot make its shared-memory file.

        It does not look into a write-ahead log: beside one it would show the store as it was long ago, or empty.
        """
        try:
            return self._readable("mode=ro")
        except sqlite3.OperationalError:
            log = self._path.with_name(f"{self._path.name}-wal")
            if log.exists() and log.stat().st_size:
                raise
            return self._readable("mode=ro&immutable=1")

    def _readable(self, flags: str) -> sqlite3.Connection:
        connection = self._connect(flags)
        try:
            connection.execute("SELECT COUNT(*) FROM jobs").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self, flags: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?{flags}",
            uri=True,
            timeout=self._patience,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.row_factory = sqlite3.Row
        return connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def _explain(self, error: sqlite3.Error) -> StoreError:
        code = _name(error)
        folder = self._path.parent
        if code.startswith("SQLITE_FULL") or (code.startswith("SQLITE_IOERR") and _is_full(folder)):
            return DiskFull(f"the disk is full: {folder} cannot take another entry. Free some space and try again")
        if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
            return StoreError(f"{folder} cannot be written. Make it writable, or set ARML_HOME to another folder")
        if _is_busy(error):
            return self._busy()
        if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return StoreError(f"the job store {self._path} is damaged ({error}). Move it away to start a new one")
        return StoreError(f"the job store {self._path} failed: {error}")

    def _busy(self) -> StoreBusy:
        return StoreBusy(
            f"the job store in {self._path.parent} has been busy for {self._patience:g} s: another process is writing "
            "to it. Try again"
        )


def _name(error: BaseException) -> str:
    return getattr(error, "sqlite_errorname", "") or ""


def _is_busy(error: BaseException) -> bool:
    return _name(error).startswith("SQLITE_BUSY")


def _is_full(folder: Path) -> bool:
    """SQLite calls some failures on a full disk an I/O error."""
    try:
        return shutil.disk_usage(folder).free < FULL_BYTES
    except OSError:
        return False
