"""A user's file end to end: 10,000 rows of 30 columns from CSV text to verdicts and changed rows, as jobs do it.

    python -m benchmarks.certify_file [--rows 10000] [--columns 30]

The baseline is scikit-learn's brute-force search for each row's nearest other row on the same machine: what it costs
to predict at all, with no certificate.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.neighbors import NearestNeighbors

from arml_core import MahalanobisKNN
from arml_core.datasets.table import TableData, read_table, select, write_csv
from arml_core.jobs import Client, EvaluationSpec, PointsSpec, RunSpec, Store
from arml_core.jobs.paths import Paths
from arml_core.report import CertifiedTable, changed_csv, counterfactuals, html_report, verdict_csv

LIMIT_SECONDS = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=30)
    arguments = parser.parse_args()
    content = make_file(arguments.rows, arguments.columns)
    print(f"{arguments.rows:,} rows, {arguments.columns} columns, {len(content) / 2**20:.1f} MB")
    spent: dict[str, float] = {}
    with timed("read the file", spent):
        table, found = read_table(content)
    found.raise_if_blocking()
    assert table is not None
    with timed("choose and scale", spent):
        data, found = select(table, label="label")
    assert data is not None
    with tempfile.TemporaryDirectory() as folder:
        rows = certify(data, Path(folder), spent)
    export(data, rows, spent)
    with timed("scikit-learn, nearest other row", {}) as baseline:
        NearestNeighbors(n_neighbors=2, algorithm="brute").fit(data.X).kneighbors(data.X)
    total = sum(spent.values())
    words = "within" if total <= LIMIT_SECONDS else "OVER"
    print(f"{'all of it':34s} {total:7.2f} s, {words} {LIMIT_SECONDS:.0f} s; {total / baseline[0]:.1f} × the baseline")


def make_file(n_rows: int, n_columns: int) -> bytes:
    """Three overlapping classes in units of very different size, as CSV text."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, n_rows)
    centres = rng.normal(0, 1.0, (3, n_columns))
    scale = 10.0 ** rng.integers(-2, 4, n_columns)
    x = np.round((centres[y] + rng.normal(0, 1.0, (n_rows, n_columns))) * scale, 4)
    header = [*(f"feature_{k}" for k in range(n_columns)), "label"]
    return write_csv(header, ([*row, f"class {c}"] for row, c in zip(x.tolist(), y, strict=True))).encode()


@contextmanager
def timed(what: str, spent: dict[str, float]) -> Iterator[list[float]]:
    seconds: list[float] = []
    began = time.perf_counter()
    yield seconds
    seconds.append(time.perf_counter() - began)
    spent[what] = seconds[0]
    print(f"{what:34s} {seconds[0]:7.2f} s", flush=True)


def certify(data: TableData, folder: Path, spent: dict[str, float]) -> CertifiedTable:
    """Exact leave-one-out radii through the job queue, watching the progress as the page does."""
    client = Client(Store(Paths(folder / "jobs")))
    client.start_worker()
    dataset = data.dataset()
    warm = client.submit(RunSpec(client.add_dataset("moons"), "euclidean"))
    client.wait(warm.id, 120)
    try:
        with timed("certify, as jobs", spent):
            run = client.submit(RunSpec(client.add_dataset(dataset), "euclidean"))
            job = client.submit(EvaluationSpec("certify", run.id, 1, "exact", points=PointsSpec("train")))
            reports = watch(client, job.id)
        print(f"{'':34s} {reports} reports of progress on the way")
        radii = client.result(job.id)
    finally:
        client.stop_worker()
    return CertifiedTable(data.layout, data.X, data.raw, data.lines, data.y, radii)


def watch(client: Client, job: str) -> int:
    """Wait for a job; the number of different states of progress seen on the way."""
    seen = set()
    while not (status := client.status(job)).is_at_rest:
        seen.add((status.state, status.done))
        time.sleep(0.2)
    if status.state != "done":
        raise RuntimeError(f"the job ended as {status.state}: {status.reason}")
    return len(seen)


def export(data: TableData, rows: CertifiedTable, spent: dict[str, float]) -> None:
    assert data.y is not None
    knn = MahalanobisKNN(1).fit(data.X, data.y)
    with timed("changed rows, checked", spent):
        flips = counterfactuals(rows, lambda points, moved: knn.predict(points, exclude=moved))
    with timed("both CSV files and the report", spent):
        verdict_csv(rows, 0.1, flips)
        changed_csv(rows, flips)
        html_report("file.csv", rows, 0.1, flips, [])
    print(
        f"{'':34s} {int(flips.known.sum()):,} of {int(rows.correct.sum()):,} correct rows have a change that flips them"
    )


if __name__ == "__main__":
    main()
