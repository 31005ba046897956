"""Measure time and memory of the learners on the paper's datasets, beside the estimate made before.

    ARML_DATA=FOLDER OMP_NUM_THREADS=1 python -m benchmarks.learners [DATASET:LEARNER[:ITERATIONS] ...]

Each fit runs in a process of its own; ITERATIONS bounds the long ones, and the estimate is then for that many. With
one thread the processor's time, which is compared with the estimate, does not depend on who else uses the machine.
The rates of the machine are kept with each line, so that a test can hold the estimate to these measurements.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import resource
import time
import warnings
from dataclasses import asdict
from pathlib import Path

import arml_core as arml
from arml_core.jobs.learners import entry_of
from arml_core.learners.estimation import estimate, measure_rates

RESULTS = Path(__file__).parent / "results" / "learners.csv"
PLAN = (
    "splice:nca",
    "splice:lfda",
    "splice:itml",
    "splice:arml",
    "splice:lmnn",
    "satimage:arml",
    "satimage:nca",
    "satimage:lfda",
    "satimage:itml",
    "pendigits:arml",
    "pendigits:nca",
    "pendigits:lfda",
    "pendigits:itml",
    "usps:lfda",
    "usps:arml",
    "mnist:lfda",
    "mnist:itml:5",
    "mnist:nca:4",
    "mnist:lmnn:4",
    "mnist:arml:20",
    "fashion_mnist:arml:20",
    "fashion_mnist:nca:4",
    "fashion_mnist:lmnn:4",
    "fashion_mnist:itml:5",
    "fashion_mnist:lfda",
    "satimage:lmnn",
    "pendigits:lmnn",
    "usps:itml",
    "usps:nca:10",
    "usps:lmnn:40",
    "splice:robust_prototypes",
    "pendigits:robust_prototypes",
    "satimage:robust_prototypes",
    "usps:robust_prototypes:10",
    "mnist:robust_prototypes:1",
    "mnist:kmeans_prototypes",
    "splice:gmlvq",
    "usps:gmlvq:10",
    "pendigits:adversarial_pruning",
    "usps:adversarial_pruning",
)
CAPPED = {
    "arml": "n_epochs",
    "gmlvq": "n_epochs",
    "itml": "max_iter",
    "lmnn": "max_iter",
    "nca": "max_iter",
    "robust_prototypes": "n_epochs",
}
BATCHED = ("mnist", "fashion_mnist")
COLUMNS = (
    "dataset",
    "learner",
    "parameters",
    "iterations",
    "seconds",
    "processor_seconds",
    "estimated_seconds",
    "peak_mb",
    "estimated_mb",
    "float32",
    "float64",
    "values",
)


def measure(dataset: str, learner: str, parameters: dict[str, int]) -> dict[str, object]:
    """Fit once in this process."""
    warnings.simplefilter("ignore")
    data = arml.load_dataset(dataset)
    rates = measure_rates(time.process_time)
    entry = entry_of(learner)
    expected = estimate(entry, len(data.X_train), data.n_features, data.n_classes, parameters, rates)
    model = entry.build(parameters, random_state=42)
    started, worked = time.perf_counter(), time.process_time()
    model.fit(data.X_train, data.y_train)
    seconds, processor = time.perf_counter() - started, time.process_time() - worked
    return {
        "dataset": dataset,
        "learner": learner,
        "parameters": json.dumps(parameters),
        "iterations": model.n_iter_,
        "seconds": f"{seconds:.2f}",
        "processor_seconds": f"{processor:.2f}",
        "estimated_seconds": f"{expected.seconds:.2f}",
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "estimated_mb": expected.memory // 2**20,
        **{name: f"{rate:.3g}" for name, rate in asdict(rates).items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fits", nargs="*", default=PLAN, metavar="DATASET:LEARNER[:ITERATIONS]")
    parser.add_argument("--append", action="store_true", help="add to the file of results")
    arguments = parser.parse_args()
    # this process imports and never computes, so that its children may be forked and need not import again
    context = multiprocessing.get_context("fork")
    with RESULTS.open("a" if arguments.append else "w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if not arguments.append:
            writer.writeheader()
        for fit in arguments.fits:
            dataset, learner, *cap = fit.split(":")
            with context.Pool(1) as pool:
                line = pool.apply(measure, (dataset, learner, _capped(dataset, learner, cap)))
            writer.writerow(line)
            stream.flush()
            seconds = f"{line['processor_seconds']:>8} s (estimated {line['estimated_seconds']})"
            memory = f"{line['peak_mb']} MB (estimated {line['estimated_mb']})"
            print(f"{dataset:14}{learner:10} {seconds}  {memory}  {line['iterations']} iterations", flush=True)


def _capped(dataset: str, learner: str, cap: list[str]) -> dict[str, int]:
    if not cap:
        return {}
    batched = dataset in BATCHED and learner in ("nca", "lmnn")
    return {"n_steps" if batched else CAPPED[learner]: int(cap[0])}


if __name__ == "__main__":
    main()
