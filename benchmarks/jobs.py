"""How quick background work is, each number beside its target.

    python -m benchmarks.jobs [--quick] [--only-dask]

Everything is real: a worker and its children as processes, SQLite on this disk, a dask scheduler with two workers on
this machine. The store is a temporary folder. `--quick` takes a shorter certification for the comparison with dask.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from arml_core import load_dataset
from arml_core.datasets import Dataset
from arml_core.jobs import Client, EvaluationSpec, JobStatus, PointsSpec, RunSpec
from arml_core.jobs.child_process import import_path
from arml_core.jobs.store.queue import Queue
from benchmarks.processes import processor_seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a short certification for the comparison with dask")
    parser.add_argument("--only-dask", action="store_true", help="only the comparison with dask")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="arml-bench-") as folder:
        os.environ["ARML_HOME"] = folder
        os.environ.pop("ARML_DASK", None)
        client = Client()
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        try:
            start_up(client)
            if not arguments.only_dask:
                first_progress(client)
                progress_write()
                cancels(client)
            dask_against_local(client, 6_000 if arguments.quick else 12_000)
        finally:
            client.stop_worker()


def line(what: str, value: float, unit: str, target: str) -> None:
    print(f"{what:<58} {value:10.3f} {unit:<6} target {target}", flush=True)


def wait_for(condition: Callable[[], object], every: float = 0.002) -> float:
    """Seconds until the condition holds."""
    began = time.perf_counter()
    while not condition():
        time.sleep(every)
    return time.perf_counter() - began


def train(
    client: Client, dataset: Dataset | str, learner: str, parameters: dict[str, Any] | None = None, seed: int = 0
) -> JobStatus:
    return client.submit(RunSpec(client.add_dataset(dataset), learner, parameters or {}, seed))


def start_up(client: Client) -> None:
    began = time.perf_counter()
    job = train(client, "moons", "euclidean").id
    client.wait(job, 300)
    line("first job of all, worker not running", time.perf_counter() - began, "s", "-")
    began = time.perf_counter()
    train(client, "moons", "euclidean")
    line("asking for work that is done", 1000 * (time.perf_counter() - began), "ms", "at once")


def first_progress(client: Client) -> None:
    """From the request to the first step seen by a client, as a page would see it."""
    times = []
    for seed in range(15):
        began = time.perf_counter()
        job = train(client, "moons", "arml", {"n_epochs": 200}, seed=seed).id
        wait_for(lambda job=job: (s := client.status(job)).done or s.is_at_rest)  # type: ignore[misc]
        times.append(time.perf_counter() - began)
        client.wait(job, 300)
    line("request to first progress, warm worker, median of 15", statistics.median(times), "s", "< 0.5")
    line("  slowest of 15", max(times), "s", "< 0.5")


def progress_write() -> None:
    """A write of progress with one entry of history, in a store that holds other jobs."""
    with tempfile.TemporaryDirectory(prefix="arml-bench-") as folder:
        before, os.environ["ARML_HOME"] = os.environ["ARML_HOME"], folder
        client = Client(start=False)
        os.environ["ARML_HOME"] = before
        for seed in range(200):
            train(client, "moons", "arml", seed=seed)
        queue = Queue(client.store.database)
        claim = queue.claim(True)
        assert claim is not None
        times = []
        for step in range(2000):
            began = time.perf_counter()
            queue.progress(claim.job, claim.lease, {"done": step, "total": 2000}, [(step, {"loss": 0.5})])
            times.append(1000 * (time.perf_counter() - began))
    line("one progress write, median of 2000", statistics.median(times), "ms", "< 1")
    line("  95th percentile", statistics.quantiles(times, n=20)[-1], "ms", "-")


def cancels(client: Client) -> None:
    """From the click until the state says so, and until the job is at rest."""
    run = train(client, load_dataset("moons", n=20_000), "euclidean").id
    client.wait(run, 300)
    by_theorem = EvaluationSpec("certify", run, 11, "theorem1", points=PointsSpec("test"))
    phases = {
        "training": lambda: train(client, "digits", "arml", {"n_epochs": 99_999}).id,
        "certifying": lambda: client.submit(by_theorem).id,
        "metric-learn": lambda: train(client, "digits", "nca", {"backend": "metric-learn", "max_iter": 10**6}).id,
    }
    for name, ask in phases.items():
        job = ask()
        wait_for(lambda job=job: client.status(job).phase in ("training", "certifying"), 0.02)  # type: ignore[misc]
        time.sleep(1.0)
        began = time.perf_counter()
        assert client.cancel(job).state in ("cancelling", "cancelled")
        line(f"cancel while {name}: on screen", time.perf_counter() - began, "s", "< 1")
        client.wait(job, 60)
        line(f"cancel while {name}: at rest", time.perf_counter() - began, "s", "< 3")


def dask_against_local(client: Client, n: int) -> None:
    """The same amount of certifying here (one child, one thread) and on a cluster of two single threads.

    Processor time is what other work on the machine does not change.
    """
    seconds, processor = {}, {}
    for seed, where in enumerate(("local", "dask")):
        run = train(client, load_dataset("moons", n=n, seed=seed), "euclidean").id
        client.wait(run, 300)
        with _cluster() if where == "dask" else nullcontext("") as address:
            os.environ["ARML_DASK"] = address
            if address:
                _warm_cluster(client)
            began, spent = time.perf_counter(), _processor_seconds(client)
            job = client.submit(EvaluationSpec("certify", run, 11, points=PointsSpec("test"))).id
            status = client.wait(job, 3600)
            assert status.state == "done", status.reason
            seconds[where] = time.perf_counter() - began
            processor[where] = _processor_seconds(client) - spent
            line(f"certify {n:,} points of {n:,}, {where}", seconds[where], "s", "-")
    os.environ.pop("ARML_DASK", None)
    line("processor time, local", processor["local"], "s", "-")
    line("processor time, dask: machines, scheduler and child", processor["dask"], "s", "-")
    line("processor time, dask ÷ local", processor["dask"] / processor["local"], "×", "-")
    line("dask with two workers ÷ local", seconds["dask"] / seconds["local"], "×", "< 1.3")


def _warm_cluster(client: Client) -> None:
    """A machine of the cluster imports this package with its first block; that happens once in its life."""
    began = time.perf_counter()
    run = train(client, load_dataset("moons", n=300), "euclidean").id
    status = client.wait(client.submit(EvaluationSpec("certify", run, 3, points=PointsSpec("test"))).id, 600)
    assert status.state == "done", status.reason
    line("first small job on a fresh cluster", time.perf_counter() - began, "s", "-")


def _processor_seconds(client: Client) -> float:
    """What the worker's children and the processes this one started have used so far."""
    return sum(processor_seconds(pid) for parent in (client.worker().pid, os.getpid()) for pid in _children(parent))


def _children(pid: int | None) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def _cluster() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    environment = {**os.environ, "PYTHONPATH": import_path(), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="arml-dask-") as folder:
        log = (Path(folder) / "log").open("wb")

        def start(*arguments: str) -> subprocess.Popen[bytes]:
            # the same low priority as the worker's children: other work on the machine slows both alike
            command = ["nice", "-n", "10", sys.executable, "-m", "dask", *arguments]
            command += ["--host", "127.0.0.1", "--no-dashboard"]
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log)

        processes = [start("scheduler", "--port", str(port))]
        for number in range(2):
            options = ("--nthreads", "1", "--no-nanny", "--local-directory", f"{folder}/{number}")
            processes.append(start("worker", address, *options))
        try:
            _wait_for_machines(address, 2)
            yield address
        finally:
            for process in processes:
                process.kill()
                process.wait()
            log.close()


def _wait_for_machines(address: str, n: int) -> None:
    from distributed import Client as DaskClient

    with DaskClient(address, timeout=60, set_as_default=False) as cluster:
        cluster.wait_for_workers(n, timeout=120)


if __name__ == "__main__":
    main()
