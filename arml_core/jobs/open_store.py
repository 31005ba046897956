"""The open store: its folder, its database, and what is kept in both."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress

from .errors import StoreError, UnknownJob
from .garbage_collection import remove_expired
from .owners import Visitor
from .paths import Paths, checked
from .store.database import PATIENCE_SECONDS, Database, Row
from .store.requests import Requests
from .uploads import Uploads

TIDY_SECONDS = 600.0


class Store:
    """One is enough for a process; threads may share it. `patience` and `waiting` are those of the database."""

    def __init__(
        self,
        paths: Paths | None = None,
        patience: float = PATIENCE_SECONDS,
        waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.paths = Paths.default() if paths is None else paths
        try:
            self.paths.create()
        except OSError as error:
            if not self.paths.database.exists():
                raise StoreError(
                    f"{self.paths.root} cannot be made ({error.strerror}). Set ARML_HOME to a folder you can write to"
                ) from error
        self.database = Database(self.paths.database, patience, waiting)
        self.uploads = Uploads(self.paths, self.database)
        self.requests = Requests(self.database)
        self._next_tidying = 0.0

    def job(self, job: str, visitor: Visitor) -> Row:
        """The row of a job; :class:`UnknownJob` if there is none that this visitor may see."""
        try:
            row = self.requests.get(checked(job))
        except ValueError:
            row = None
        if row is None or not visitor.sees(row["scope"]):
            raise UnknownJob(f"there is no job {job[:80]!r}")
        return row

    def tidy(self) -> None:
        """Now and then throw away uploads whose time is over; the worker does so too, but it may not live."""
        if time.monotonic() >= self._next_tidying and not self.database.read_only:
            self._next_tidying = time.monotonic() + TIDY_SECONDS
            with suppress(StoreError):  # whoever only looks does not suffer from a busy store: the next one tidies
                remove_expired(self.paths, self.database)
