"""Measure time and memory of every learner on the paper's datasets, beside the estimate made before.

    ARML_DATA=FOLDER python -m benchmarks.learners [--datasets A,B] [--learners A,B] [--cap ITERATIONS] [--append]

Each fit runs in a process of its own. `--cap` bounds the iterations of the long ones; the estimate is then for
that many. Run it with OMP_NUM_THREADS=1 on a busy machine: with one thread the processor's time, which is compared
with the estimate, does not depend on who else is working. The rates of the machine are kept with each line.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import arml_core as arml
from arml_core.learners.estimation import estimate, measure_rates
from arml_core.learners.registry import LEARNERS, get_learner

RESULTS = Path(__file__).parent / "results" / "learners.csv"
DATASETS = "splice,pendigits,satimage,usps,mnist,fashion_mnist"
CAPPED = {"arml": "n_epochs", "nca": "max_iter", "lmnn": "max_iter", "itml": "max_iter"}
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
    data = arml.load_dataset(dataset)
    rates = measure_rates(time.process_time)
    expected = estimate(learner, len(data.X_train), data.n_features, data.n_classes, parameters, rates)
    model = get_learner(learner).build(parameters, random_state=42)
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
    parser.add_argument("--datasets", default=DATASETS)
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--cap", type=int, help="the most iterations")
    parser.add_argument("--append", action="store_true", help="add to the file of results")
    parser.add_argument("--one", nargs=3, metavar=("DATASET", "LEARNER", "JSON"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        dataset, learner, text = arguments.one
        print(json.dumps(measure(dataset, learner, json.loads(text))))
        return
    with RESULTS.open("a" if arguments.append else "w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if not arguments.append:
            writer.writeheader()
        for dataset in arguments.datasets.split(","):
            for learner in arguments.learners.split(","):
                parameters = _capped(dataset, learner, arguments.cap)
                command = [sys.executable, "-W", "ignore", "-m", "benchmarks.learners", "--one", dataset, learner]
                done = subprocess.run([*command, json.dumps(parameters)], capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{dataset} {learner}: failed\n{done.stderr}", flush=True)
                    continue
                line = json.loads(done.stdout.splitlines()[-1])
                writer.writerow(line)
                stream.flush()
                seconds = f"{line['processor_seconds']:>8} s (estimated {line['estimated_seconds']})"
                print(
                    f"{dataset:14}{learner:10} {seconds}  "
                    f"{line['peak_mb']} MB (estimated {line['estimated_mb']})  {line['iterations']} iterations",
                    flush=True,
                )


def _capped(dataset: str, learner: str, cap: int | None) -> dict[str, int]:
    if cap is None or learner not in CAPPED:
        return {}
    stochastic = dataset in ("mnist", "fashion_mnist") and learner in ("nca", "lmnn")
    return {"n_steps" if stochastic else CAPPED[learner]: cap}


if __name__ == "__main__":
    main()
