"""What can be said about a job at one moment."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from .spec import Spec, spec_from
from .states import ACTIVE, AT_REST, CANCELLED, CANCELLING, DONE, LOST, RUNNING
from .store.database import Row


@dataclass(frozen=True)
class JobStatus:
    """One job: where it stands, how far it is, and what it computes.

    `position` counts from 1 among the queued jobs; `seconds_left` is None while it cannot be told;
    `done` of `total` are epochs or points. `reason` says why a job failed, `note` what happened to it on the way
    (a retry, a damaged file), `mine` whether this visitor asked for it. `silent` is the time since its process
    last gave a sign of life.
    """

    id: str
    kind: str
    state: str
    title: str
    phase: str
    done: int
    total: int
    seconds_left: float | None
    position: int | None
    attempt: int
    reason: str
    note: str
    needs: str | None
    dataset: str
    private: bool
    mine: bool
    created: float
    started: float | None
    finished: float | None
    silent: float | None
    content: dict[str, Any]

    @property
    def fraction(self) -> float:
        """Progress from 0 to 1."""
        if self.state == DONE:
            return 1.0
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE

    @property
    def is_at_rest(self) -> bool:
        """Nothing will change by itself any more."""
        return self.state in AT_REST

    @property
    def spec(self) -> Spec:
        return spec_from(self.content)


def status_from(row: Row, position: int | None, mine: bool, worker_alive: bool) -> JobStatus:
    """A row as a status. A job that claims to run while no worker lives is lost; the next worker takes it up."""
    state, note, now = row["state"], row["note"], time.time()
    if state == RUNNING and not worker_alive:
        state, note = LOST, "the worker ended; the job goes on when it is back"
    elif state == CANCELLING and not worker_alive:
        state = CANCELLED
    running = state in (RUNNING, CANCELLING)
    left = row["seconds_left"]
    if left is not None and row["beat"] is not None:
        left = max(0.0, left - (now - row["beat"]))
    return JobStatus(
        id=row["id"],
        kind=row["kind"],
        state=state,
        title=row["title"],
        phase=row["phase"] if running else "",
        done=row["done"],
        total=row["total"],
        seconds_left=left if running else None,
        position=position,
        attempt=row["attempt"],
        reason=row["reason"],
        note=note,
        needs=row["needs"],
        dataset=row["dataset"],
        private=row["scope"] != "",
        mine=mine,
        created=row["created"],
        started=row["started"],
        finished=row["finished"],
        silent=now - row["beat"] if running and row["beat"] is not None else None,
        content=json.loads(row["spec"]),
    )
