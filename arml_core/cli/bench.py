"""``bench``: how fast, as ratios against named baselines measured in the same run."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.neighbors import KNeighborsClassifier

from ..datasets import Dataset, load_dataset
from ..knn import MahalanobisKNN
from ..learners.storage import load_metric
from ..metric import Metric, as_metric
from ..numerics.arrays import FloatArray
from ..numerics.threads import cores


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "bench",
        help="measure speed as ratios",
        description="Measure how long certificates take, each as a ratio to a baseline in the same run: scikit-learn's "
        "brute-force prediction of the same points, a vectorised brute force over all pairs, and the same work on a "
        "machine whose cores are all busy.",
    )
    parser.add_argument("what", choices=("certify",))
    parser.add_argument("--datasets", nargs="+", default=["usps", "mnist"], help="default: usps mnist")
    parser.add_argument("--points", type=int, default=1000, help="default: 1000")
    parser.add_argument("--pairs-points", type=int, default=4, help="points for the all-pairs baseline (default: 4)")
    parser.add_argument("--metric", help="a metric saved by 'train' (default: a random full-rank one)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print one table per dataset."""
    for name in arguments.datasets:
        data = load_dataset(name)
        metric = _metric(data, arguments.metric)
        _bench_dataset(data, metric, arguments.points, arguments.pairs_points)
    _print_peak_memory()


def _print_peak_memory() -> None:
    try:
        import resource  # not on Windows, where nothing is printed
    except ImportError:
        return
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30:.2f} GB")


def _metric(data: Dataset, file: str | None) -> Metric:
    if file is not None:
        return as_metric(load_metric(file, data.n_features).metric, data.n_features)
    noise = np.random.default_rng(0).standard_normal((data.n_features, data.n_features))
    return Metric.from_components(np.eye(data.n_features) + 0.3 * noise / np.sqrt(data.n_features))


def _bench_dataset(data: Dataset, metric: Metric, n_points: int, n_pairs_points: int) -> None:
    x, y = data.evaluation(n_points)
    print(f"\n{data.title}: {len(x)} points against {len(data.X_train)}, {data.n_features} features")
    transformed = metric.transform(data.X_train), metric.transform(x)
    for k, methods in ((11, ("theorem1", "votes")), (1, ("exact",))):
        baseline = KNeighborsClassifier(k, algorithm="brute").fit(transformed[0], data.y_train)
        predict = _seconds(lambda baseline=baseline: baseline.predict(transformed[1]))  # type: ignore[misc]
        knn = MahalanobisKNN(k, metric=metric).fit(data.X_train, data.y_train)
        knn.certify(x[:2], y[:2], method=methods[0])  # h is prepared once, as the baseline's transformed data is
        for method in methods:
            spent = _seconds(lambda knn=knn, method=method: knn.certify(x, y, method=method))  # type: ignore[misc]
            print(
                f"  {method:9s} K={k:<2d} {1e3 * spent / len(x):8.3f} ms a point  "
                f"{spent / predict:6.1f} x scikit-learn's predict"
            )
            if method == "theorem1":
                pairs = _seconds(lambda: _all_pairs(data, metric, x[:n_pairs_points], y[:n_pairs_points], 6))
                slow, fast = pairs / n_pairs_points, spent / len(x)
                print(f"  all pairs K=11 {1e3 * slow:8.1f} ms a point: theorem1 is {slow / fast:.0f} x faster")
    _bench_busy(data, metric, x, y)
    _bench_growth(data, metric, x[:200], y[:200])


def _bench_busy(data: Dataset, metric: Metric, x: FloatArray, y: Any) -> None:
    """Processor time of the same work on a quiet machine and beside processes that want every core."""
    knn = MahalanobisKNN(11, metric=metric).fit(data.X_train, data.y_train)
    knn.certify(x[:2], y[:2])
    quiet = _seconds(lambda: knn.certify(x, y), time.process_time)
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores())]
    try:
        busy = _seconds(lambda: knn.certify(x, y), time.process_time)
    finally:
        for other in others:
            other.kill()
            other.wait()
    print(f"  votes     K=11 beside {len(others)} busy processes: {busy / quiet:.2f} x the processor time")


def _bench_growth(data: Dataset, metric: Metric, x: FloatArray, y: Any) -> None:
    """Cost per point as the training set grows, on stratified prefixes of a shuffled training part."""
    order = np.random.default_rng(0).permutation(len(data.X_train))
    size = len(data.X_train) // 8
    while size <= len(data.X_train):
        part = order[:size]
        knn = MahalanobisKNN(11, metric=metric).fit(data.X_train[part], data.y_train[part])
        knn.certify(x[:2], y[:2], method="theorem1")
        spent = _seconds(lambda knn=knn: knn.certify(x, y, method="theorem1"))  # type: ignore[misc]
        print(f"  theorem1  K=11 {1e3 * spent / len(x):8.3f} ms a point with {size} training points")
        size *= 2


def _all_pairs(data: Dataset, metric: Metric, x: FloatArray, y: Any, k: int) -> FloatArray:
    """Theorem 1 without screening: every pair, by matrix products in float32, one test point at a time."""
    train = torch.from_numpy(metric.transform(data.X_train)).float()
    h = torch.from_numpy(metric.apply(data.X_train)).float()
    squares = h.square().sum(dim=1)
    labels = torch.from_numpy(data.y_train)
    result = np.zeros(len(x))
    for b in range(len(x)):
        d = (train - torch.from_numpy(metric.transform(x[b])).float()).square().sum(dim=1)
        positive, negative = labels == int(y[b]), labels != int(y[b])
        rows = []
        for block in torch.split(torch.nonzero(negative).ravel(), 4096):
            below = (
                (squares[block][:, None] + squares[positive] - 2 * h[block] @ h[positive].T).clamp_(min=1e-12).sqrt_()
            )
            epsilon = (d[block][:, None] - d[positive]) / (2 * below)
            rows.append(torch.topk(epsilon, k, dim=1).values[:, -1])
        result[b] = float(torch.kthvalue(torch.cat(rows).clamp_(min=0), k).values)
    return result


def _seconds(work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    started = clock()
    work()
    return clock() - started
