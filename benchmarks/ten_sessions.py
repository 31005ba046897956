"""How quick the playground stays with ten visitors while a training runs in the background.

    python -m benchmarks.ten_sessions [--seconds 60]

One browser is measured; nine others click about in the playground with five seconds to think. A training of ARML on the
largest bundled set runs all the time. Any error on any page counts.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from arml_core.jobs import Client, RunSpec, Store
from arml_core.jobs.paths import Paths
from benchmarks.ui_bench import redraw_ms, watched
from tests.browser.dashboard import chromium, click_place, serve, stop_worker

VISITORS = 9
THINK_SECONDS = 5.0
LIMIT_MS = 2000.0


def visit(visits: ExitStack, browser: Any, base: str, problems: list[str]) -> Any:
    page = visits.enter_context(watched(browser, f"{base}/playground"))
    page.on("pageerror", lambda error: problems.append(str(error)))
    return page


def measure(browser: Any, base: str, seconds: float) -> tuple[list[float], list[str], int]:
    problems: list[str] = []
    with ExitStack() as visits:
        mine, *others = (visit(visits, browser, base, problems) for _ in range(1 + VISITORS))
        rng = np.random.default_rng(0)
        due = time.monotonic() + THINK_SECONDS * rng.random(VISITORS)
        times: list[float] = []
        clicks = 0
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for i in np.flatnonzero(due <= time.monotonic()):
                click_place(others[i], 0, *rng.uniform(-0.5, 1.5, size=2).tolist())
                due[i] = time.monotonic() + THINK_SECONDS
                clicks += 1
            place = rng.uniform(-0.5, 1.5, size=2).tolist()
            times.append(redraw_ms(mine, lambda place=place: click_place(mine, 0, *place)))
    return times, problems, clicks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["ARML_HOME"] = home
        with serve(Path(home)) as base, chromium() as browser:
            client = Client(Store(Paths.default()))
            job = client.submit(RunSpec(client.add_dataset("digits"), "arml", {"n_epochs": 1_000_000}))
            while client.status(job.id).state != "running":
                time.sleep(0.1)
            try:
                times, problems, clicks = measure(browser, base, options.seconds)
                running = client.status(job.id)
            finally:
                client.cancel(job.id)
                stop_worker(Path(home))
    p95 = float(np.percentile(times, 95))
    print(f"{len(times)} measured clicks, {clicks} by {VISITORS} others; training at {running.done:,}, {running.state}")
    print(f"median {median(times):.0f} ms, p95 {p95:.0f} ms (limit {LIMIT_MS:.0f}); {len(problems)} errors")
    for problem in problems:
        print(f"  {problem}")


if __name__ == "__main__":
    main()
