"""``jobs``: list, look at, cancel and retry background work, and clean up."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from ..jobs.states import STATES
from ..vocabulary import duration

if TYPE_CHECKING:
    from ..jobs.client import Client
    from ..jobs.status import JobStatus

SHORT = 10


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("jobs", help="list, show, cancel, retry or clean up background work")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="one line per job")
    listing.add_argument("--state", choices=STATES, help="only jobs in this state")
    listing.add_argument("--limit", type=int, default=50, help="default: 50")
    for name, text in (
        ("show", "everything about a job, with the end of its log"),
        ("cancel", "stop a job"),
        ("retry", "queue a job again that was cancelled, failed or lost"),
    ):
        actions.add_parser(name, help=text).add_argument("job", help="its id, or the beginning of it")
    cleaning = actions.add_parser("gc", help="throw away what is no longer needed")
    cleaning.add_argument("--dry-run", action="store_true", help="only say what would go")
    cleaning.add_argument("--older-than", type=float, metavar="DAYS", help="give up results older than this, too")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Do the action and print what came of it."""
    from ..jobs.client import Client  # brings torch: not needed to show the help of another command

    client = Client(shared=False)
    if arguments.action == "list":
        states = STATES if arguments.state is None else (arguments.state,)
        _print_list(client.list(states, arguments.limit))
    elif arguments.action == "gc":
        _collect(client, arguments.dry_run, arguments.older_than)
    else:
        job = _find(client, arguments.job)
        if arguments.action == "show":
            _show(client, client.status(job))
        else:
            _print_list([getattr(client, arguments.action)(job)])


def _find(client: Client, prefix: str) -> str:
    found = [status.id for status in client.list(limit=1_000_000) if status.id.startswith(prefix)]
    if not found:
        raise ValueError(f"there is no job {prefix!r}; see 'jobs list'")
    if len(found) > 1:
        raise ValueError(f"{len(found)} jobs begin with {prefix!r}; give more of the id")
    return found[0]


def _print_list(jobs: list[JobStatus]) -> None:
    if not jobs:
        print("no jobs")
    for job in jobs:
        print(f"{job.id[:SHORT]}  {job.state:<10}  {_progress(job):<24}  {job.title}{_why(job)}")


def _progress(job: JobStatus) -> str:
    if job.position is not None:
        return f"place {job.position}"
    if not job.is_active or not job.total:
        return f"{job.finished - job.started:.1f} s" if job.finished and job.started else job.phase
    left = "" if job.seconds_left is None else f", {duration(job.seconds_left)} left"
    return f"{job.done}/{job.total}{left}"


def _why(job: JobStatus) -> str:
    text = job.reason or job.note
    return f"\n            {text}" if text else ""


def _show(client: Client, job: JobStatus) -> None:
    print(f"{job.title}\nid       {job.id}\nstate    {job.state}  {_progress(job)}")
    for name, text in (("reason", job.reason), ("note", job.note), ("needs", job.needs)):
        if text:
            print(f"{name:<8} {text}")
    print(f"asked    {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(job.created))}, attempt {job.attempt}")
    for name, value in job.content.items():
        print(f"  {name} = {value}")
    log = client.log(job.id)
    if log:
        print(f"log\n{log.rstrip()}")


def _collect(client: Client, dry_run: bool, older_than: float | None) -> None:
    garbage = client.gc(dry_run, older_than)
    for item in garbage:
        print(f"{item.kind:<6}  {item.bytes:>12,} bytes  {item.name}  ({item.reason})")
    total = sum(item.bytes for item in garbage)
    print(f"{'would free' if dry_run else 'freed'} {total:,} bytes in {len(garbage)} entries")
