"""What may be thrown away: expired uploads with all that came of them, leftovers, and on request old results."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from ..atomic_write import TEMPORARY
from .files import remove_tree
from .owners import DAY
from .paths import Paths
from .store.database import Database
from .store.removal import Removal

FRESH_SECONDS = 3600.0
"""Files younger than this may belong to a job that is about to enter them."""
KEEP_ENDED_SECONDS = 30 * DAY
"""Jobs that were cancelled or failed are forgotten after this time, and so are files that were set aside."""


@dataclass(frozen=True)
class Garbage:
    """Something that can go: a job, an upload or a file, with the reason and its size on disk."""

    kind: str
    name: str
    reason: str
    bytes: int


def collect_garbage(
    paths: Paths, database: Database, dry_run: bool = True, older_than: float | None = None
) -> list[Garbage]:
    """Remove garbage, or with `dry_run` only say what it is. `older_than` (seconds) also gives up older results."""
    found = [
        *remove_expired(paths, database, dry_run),
        *_ended_jobs(paths, database, dry_run),
        *_old_results(paths, database, dry_run, older_than),
        *_leftovers(paths, database, dry_run),
        *_damaged(paths, dry_run),
    ]
    if not dry_run:
        database.truncate_log()
    return found


def collect_unneeded(paths: Paths, database: Database) -> None:
    """What the worker removes by itself: everything that nobody can ask for any more, or that is kept long enough."""
    remove_expired(paths, database)
    _ended_jobs(paths, database, dry_run=False)
    _leftovers(paths, database, dry_run=False)
    _damaged(paths, dry_run=False, kept_seconds=KEEP_ENDED_SECONDS)


def remove_expired(paths: Paths, database: Database, dry_run: bool = False) -> list[Garbage]:
    """Uploads whose time is over, with every job that used them."""
    found = []
    removal = Removal(database)
    for row in removal.expired_uploads():
        for job in removal.jobs_of_upload(row["digest"], row["scope"]):
            found.append(_forget_job(paths, database, job["id"], job["title"], "its upload has expired", dry_run))
        path = paths.content(row["scope"], row["digest"])
        found.append(Garbage("upload", row["title"], "expired", _size(path)))
        if not dry_run:
            path.unlink(missing_ok=True)
            removal.remove_upload(row["digest"], row["scope"])
    return found


def _leftovers(paths: Paths, database: Database, dry_run: bool) -> list[Garbage]:
    """Files that no entry of the store names: interrupted writes, work of jobs that are gone or done."""
    removal = Removal(database)
    known, contents = removal.job_states(), removal.content_keys()
    found = []
    for path in _files(paths):
        if _age(path) < FRESH_SECONDS:
            continue
        if path.name.endswith(TEMPORARY):
            reason = "an interrupted write"
        elif paths.inputs in path.parents:
            scope = "" if path.parent == paths.inputs else path.parent.name
            reason = "" if (scope, path.stem) in contents else "belongs to nothing"
        elif paths.unfinished in path.parents:
            reason = "" if known.get(path.parent.name, "done") != "done" else "its job is done or gone"
        else:
            reason = "" if path.stem in known else "its job is gone"
        if reason:
            found.append(Garbage("file", str(path.relative_to(paths.root)), reason, _size(path)))
            if not dry_run:
                path.unlink(missing_ok=True)
    if not dry_run:
        _remove_empty_folders(paths)
    return found


def _ended_jobs(paths: Paths, database: Database, dry_run: bool) -> list[Garbage]:
    rows = Removal(database).ended_jobs(time.time() - KEEP_ENDED_SECONDS)
    return [_forget_job(paths, database, row["id"], row["title"], f"{row['state']} long ago", dry_run) for row in rows]


def _old_results(paths: Paths, database: Database, dry_run: bool, older_than: float | None) -> list[Garbage]:
    if older_than is None:
        return []
    rows = Removal(database).done_jobs(time.time() - older_than)
    return [_forget_job(paths, database, row["id"], row["title"], "an old result", dry_run) for row in rows]


def _damaged(paths: Paths, dry_run: bool, kept_seconds: float = 0.0) -> list[Garbage]:
    files = [path for path in _in(paths.damaged) if _age(path) >= kept_seconds]
    found = [Garbage("file", f"damaged/{path.name}", "was set aside", _size(path)) for path in files]
    if not dry_run:
        for path in files:
            path.unlink(missing_ok=True)
    return found


def _forget_job(paths: Paths, database: Database, job: str, title: str, reason: str, dry_run: bool) -> Garbage:
    files = [paths.result(job), paths.log(job), *_in(paths.unfinished_of(job))]
    garbage = Garbage("job", f"{job} {title}", reason, sum(_size(path) for path in files))
    if not dry_run:
        Removal(database).remove_job(job)  # first the entry, so that nobody is led to a file that is gone
        for path in files:
            path.unlink(missing_ok=True)
        remove_tree(paths.unfinished_of(job))
    return garbage


def _files(paths: Paths) -> list[Path]:
    folders = [paths.results, paths.logs, paths.inputs]
    folders += [path for path in _in(paths.inputs) if path.is_dir()]
    folders += [path for path in _in(paths.unfinished) if path.is_dir()]
    return [path for folder in folders for path in _in(folder) if path.is_file()]


def _remove_empty_folders(paths: Paths) -> None:
    for folder in [*_in(paths.unfinished), *_in(paths.inputs)]:
        if folder.is_dir() and not _in(folder) and _age(folder) > FRESH_SECONDS:
            remove_tree(folder)


def _in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
