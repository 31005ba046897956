"""Figure 2: the certified robust error of ARML's 1-NN beside neural networks, on MNIST and Fashion-MNIST.

An ordinary ReLU network is certified with CROWN, networks trained under Gaussian noise by randomized smoothing. The
paper does not describe its networks; ours are small and fully connected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..datasets import dataset_info
from ..jobs.client import Client
from ..jobs.results import NETWORK
from ..jobs.spec import NetworkSpec
from ..jobs.status import JobStatus
from ..neural.curve import EPOCHS, NetworkCurve
from ..neural.smoothing import N
from ..results import read_results
from .plan import SEED
from .published import POINTS
from .result_files import add_result, result_path, with_provenance
from .run import Display, Progress, TrackedJob, fingerprint_of, track

DATASETS = ("mnist", "fashion_mnist")
SIGMAS = (0.2, 1.0)
"""The paper's."""
SMOOTHING_POINTS = 500
"""Each takes thousands of evaluations of the network."""


@dataclass(frozen=True)
class NetworkRequest:
    """One curve of the figure that a network makes, over the first `points` points of the evaluation."""

    network: NetworkCurve
    points: int

    @property
    def title(self) -> str:
        return self.network.title

    def submit(self, client: Client, dataset: str) -> JobStatus:
        """Have it computed as a job; what was computed before is done at once."""
        return client.submit(self._spec(client.add_dataset(dataset)))

    def find_job(self, client: Client, dataset: str) -> JobStatus | None:
        """The same job where somebody has asked for it already."""
        return client.find(self._spec(fingerprint_of(dataset)))

    def deviations(self) -> tuple[str, ...]:
        """Where it departs from the paper's protocol, a clause each."""
        few = [f"{self.points} points instead of {POINTS:,}"] if self.points < POINTS else []
        return ("the paper does not describe its networks", *few)

    def _spec(self, fingerprint: str) -> NetworkSpec:
        return NetworkSpec.of(fingerprint, self.points, self.network)


def curves(points: int | None = None, quick: bool = False) -> list[NetworkRequest]:
    """CROWN on all points, smoothing on fewer; with `quick` a few of each and one epoch."""
    few, samples, epochs = (10, 200, 1) if quick else (None, N, EPOCHS)
    wanted = [(None, points or few or POINTS), *((sigma, points or few or SMOOTHING_POINTS) for sigma in SIGMAS)]
    return [NetworkRequest(NetworkCurve(sigma, epochs=epochs, samples=samples, seed=SEED), n) for sigma, n in wanted]


def compute(
    client: Client, folder: Path, datasets: Iterable[str], wanted: Sequence[NetworkRequest], display: Display
) -> list[str]:
    """Train and certify what is not in `folder` yet; the reasons of those that failed are returned."""
    progress, submitted = Progress(), {}
    for name in datasets:
        for curve in wanted:
            title = f"{dataset_info(name).title}, {curve.title}"
            if _is_kept(folder, name, curve):
                display.print_line(f"{title}: kept already")
                continue
            job = curve.submit(client, name).id
            progress.jobs[job], submitted[job] = TrackedJob(title, 1.0), curve

    def finish(status: JobStatus) -> None:
        tracked = progress.jobs[status.id]
        if tracked.has_failed(status, display):
            return
        evaluation = client.evaluation(status.id)
        assert evaluation is not None
        add_result(folder, with_provenance(evaluation, submitted[status.id].deviations()))
        error, mean = 1 - evaluation.radii.correct.mean(), evaluation.radii.lower.mean()
        display.print_line(
            f"{tracked.title}: {len(evaluation)} points, clean error {error:.3f}, mean radius {mean:.3f}"
        )

    track(client, progress, display, finish)
    return progress.failures


def _is_kept(folder: Path, dataset: str, curve: NetworkRequest) -> bool:
    path = result_path(folder, dataset, NETWORK)
    return path.exists() and any(
        (found.spec.method, dict(found.spec.options)) == (curve.network.method, curve.network.options)
        and len(found) >= curve.points
        for found in read_results(path)
    )
