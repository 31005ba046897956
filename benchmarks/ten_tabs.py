"""What ten open tabs that watch a training cost the server: text every second, charts every two.

    python -m benchmarks.ten_tabs [--tabs 10] [--seconds 20]

Real Chromium tabs on the Train page of a running job; only the server's own processor time is counted.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from arml_core.jobs import Client, RunSpec, Store
from arml_core.jobs.paths import Paths
from benchmarks.processes import processor_seconds
from tests.browser.dashboard import chromium, serve, settle, stop_worker

LIMIT = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tabs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        client = Client(Store(Paths(home / "jobs")))
        try:
            job = client.submit(RunSpec(client.add_dataset("wine"), "arml", {"n_epochs": 1_000_000})).id
            with serve(home) as address, chromium() as browser:
                pages = [browser.new_context().new_page() for _ in range(options.tabs)]
                for page in pages:
                    page.goto(f"{address}/train?job={job}")
                for page in pages:
                    settle(page, seconds=120)
                time.sleep(5)
                pid, done = _server(address), client.status(job).done
                spent, began = processor_seconds(pid), time.monotonic()
                time.sleep(options.seconds)
                cores = (processor_seconds(pid) - spent) / (time.monotonic() - began)
                moved = client.status(job).done - done
            words = "within" if cores < LIMIT else "OVER"
            print(f"{options.tabs} tabs on a training ({moved:,} epochs meanwhile): {cores:.2f} cores, {words} {LIMIT}")
            client.cancel(job)
        finally:
            stop_worker(home)


def _server(address: str) -> int:
    """The process that was started to listen on this address."""
    port = address.rsplit(":", 1)[1]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and f"--server.port={port}" in (entry / "cmdline").read_text(errors="replace"):
            return int(entry.name)
    raise RuntimeError("the server is not running")


if __name__ == "__main__":
    main()
