"""Where the store keeps what: one folder under ``ARML_HOME``, readable by its owner only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..atomic_write import TEMPORARY
from ..home import home

_IDENTIFIER = re.compile(r"[0-9a-f]{32}(?:[0-9a-f]{32})?\Z")


@dataclass(frozen=True)
class Paths:
    """The layout of the store's folder; names are built from checked identifiers only."""

    root: Path

    @classmethod
    def default(cls) -> Paths:
        return cls(home() / "jobs")

    def create(self) -> None:
        """Make the folders that are missing."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.results, self.inputs, self.unfinished, self.logs, self.damaged):
            folder.mkdir(mode=0o700, exist_ok=True)

    @property
    def database(self) -> Path:
        return self.root / "store.sqlite"

    @property
    def lock(self) -> Path:
        return self.root / "worker.lock"

    @property
    def worker_log(self) -> Path:
        return self.root / "worker.log"

    @property
    def spare_room(self) -> Path:
        """Some room that is given up when the disk is full, so that the reason can still be written down."""
        return self.root / "reserve"

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def inputs(self) -> Path:
        """Datasets and query points by content, a folder per owner."""
        return self.root / "contents"

    @property
    def unfinished(self) -> Path:
        """Checkpoints and partial results of jobs that are not done."""
        return self.root / "work"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def damaged(self) -> Path:
        return self.root / "damaged"

    def result(self, job: str) -> Path:
        return self.results / f"{checked(job)}.npz"

    def draft(self, job: str, lease: str) -> Path:
        """A result that is written but not yet entered; its name is a temporary one."""
        return self.results / f"{checked(job)}.npz.{lease}{TEMPORARY}"

    def drafts(self, job: str) -> list[Path]:
        """The drafts of a job, also those that an earlier attempt could not enter."""
        name = re.compile(rf"{checked(job)}\.npz\.[0-9a-f]+{re.escape(TEMPORARY)}\Z")
        return [path for path in self.results.iterdir() if name.match(path.name)]

    def log(self, job: str) -> Path:
        return self.logs / f"{checked(job)}.log"

    def unfinished_of(self, job: str) -> Path:
        return self.unfinished / checked(job)

    def content(self, scope: str, digest: str) -> Path:
        """`scope` is an owner's tag, or empty for what everybody may see."""
        return self.inputs / (scope if scope in ("", "local") else checked(scope)) / f"{checked(digest)}.npz"


def checked(identifier: str) -> str:
    """`identifier` if it is made of 32 or 64 hexadecimal digits: no name from outside becomes a path."""
    if not _IDENTIFIER.match(identifier):
        raise ValueError(f"{identifier[:80]!r} is not an identifier of this store")
    return identifier
