"""``worker``: run the worker here, or start, stop and look at the one in the background."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from ..jobs.capacity import Limits
from ..jobs.paths import Paths
from ..jobs.worker import IDLE_SECONDS, Worker

if TYPE_CHECKING:
    from ..jobs.client import Client

ACTIONS = ("run", "start", "stop", "status")
START_SECONDS = 30.0


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "worker",
        help="run, start, stop or look at the process that does background work",
        description="One worker serves one ARML_HOME. Without an action it runs here until Ctrl-C.",
    )
    parser.add_argument("action", nargs="?", default="run", choices=ACTIONS)
    parser.add_argument(
        "--idle", type=float, default=IDLE_SECONDS, metavar="SECONDS", help="end after so long without work; 0: never"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Do the action and say in one line what came of it."""
    if arguments.action == "run":
        Worker(Paths.default(), Limits.default(), arguments.idle).run()
        return
    from ..jobs.client import Client  # brings torch, which the worker itself does without

    client = Client(shared=False)
    if arguments.action == "start":
        client.start_worker()
        until = time.monotonic() + START_SECONDS
        while not client.worker().alive:
            if time.monotonic() > until:
                raise ValueError(f"the worker did not start; see {client.store.paths.worker_log}")
            time.sleep(0.1)
    elif arguments.action == "stop" and not client.stop_worker():
        print("no worker was running")
        return
    print(_describe(client))


def _describe(client: Client) -> str:
    status = client.worker()
    where = client.store.paths.root
    if not status.alive:
        return f"no worker serves {where}" + (" (stopped on purpose)" if status.held else "")
    active = client.list(("running", "cancelling"))
    queued = client.list(("queued",), limit=100_000)
    silent = "" if status.silent is None else f"; last sign of life {status.silent:.0f} s ago"
    return f"worker {status.pid} serves {where}: {len(active)} running, {len(queued)} queued{silent}"
