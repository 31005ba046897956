"""Every number of the paper beside ours, a row each: for the dashboard and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..curves import robust_error
from ..numerics.arrays import FloatArray
from ..results import Evaluation
from . import measurements, published
from .plan import COLUMNS
from .published import METHODS, TITLES
from .tables import PAPER_COLUMN, Tables

TABLE_1: dict[published.Column, tuple[str, ...]] = {"exact": ("exact",)}
TABLE_2: dict[published.Column, tuple[str, ...]] = {
    "certified": ("theorem1", "votes", "search"),
    "empirical": ("boundary-box", "boundary", "whitebox"),
}
"""The columns of ours that belong to each one of the paper's."""
SPACE, BOX = "ℝᴰ", "[0, 1]ᴰ"
PAPER_ATTACKER = {"exact": SPACE, "certified": SPACE, "empirical": BOX}
"""Where the paper's attacker may go: its certificates hold everywhere, its attack stays in the box."""
_FIELDS = [
    "table",
    "dataset",
    "metric",
    "paper column",
    "radius",
    "paper",
    "paper attacker",
    "ours",
    "our method",
    "our attacker",
    "points",
    "difference",
]


def attacker_of(evaluation: Evaluation) -> str:
    """Where the attacker may go, as a symbol."""
    return SPACE if evaluation.spec.threat.box is None else BOX


def comparison_rows(tables: Tables, datasets: Iterable[str] = tuple(TITLES)) -> pd.DataFrame:
    """One row for each number of Tables 1 and 2 and each result of ours that belongs to it.

    Where we have none yet, the paper's number stands alone. The difference is ours less the paper's; it is there for
    the columns that the paper has too.
    """
    found = [row for dataset in datasets for row in _rows_of(tables, dataset)]
    return pd.DataFrame(found, columns=_FIELDS).astype({"points": "Int64"})


def _rows_of(tables: Tables, dataset: str) -> Iterator[dict[str, Any]]:
    for table, halves in (("Table 1", TABLE_1), ("Table 2", TABLE_2)):
        for half, columns in halves.items():
            for learner in METHODS:
                paper = published.errors(dataset, learner, half)
                about = {"table": table, "dataset": TITLES[dataset], "metric": METHODS[learner], "paper column": half}
                series = [found for column in columns if (found := _ours(tables, dataset, learner, column))]
                for ours in series or [[{}] * len(paper)]:
                    for radius, error, number in zip(published.radii(dataset), paper, ours, strict=True):
                        theirs = {"radius": float(radius), "paper": float(error)}
                        yield {**about, **theirs, "paper attacker": PAPER_ATTACKER[half], **number}


def _ours(tables: Tables, dataset: str, learner: str, column: str) -> list[dict[str, Any]]:
    """Our numbers of one column, one for each radius; none if it is not computed."""
    evaluation, errors = tables.get(dataset, learner, column), tables.errors(dataset, learner, column)
    if evaluation is None or errors is None:
        return []
    difference = tables.difference(dataset, learner, column)
    differences = np.full(len(errors), np.nan) if difference is None else difference
    about = {
        "our method": evaluation.describe_method(),
        "our attacker": attacker_of(evaluation),
        "points": len(evaluation),
    }
    return [
        {"ours": float(error), **about, "difference": float(less)}
        for error, less in zip(errors, differences, strict=True)
    ]


def spread(evaluations: Sequence[Evaluation], at: FloatArray) -> float:
    """How far the robust errors of several results lie apart, at the radius where they do most."""
    errors = np.array([robust_error(evaluation.bound, at) for evaluation in evaluations])
    return float(np.ptp(errors, axis=0).max())


@dataclass(frozen=True)
class RerunComparison:
    """A result computed anew beside the kept one, over the points both have.

    `then` and `now` are the robust errors at the asked radii, `n_same` counts the points with the same radius up to
    rounding, `largest` is the largest difference of any radius; `n_alike` counts the points that are on the same side
    of every asked radius.
    """

    then: FloatArray
    now: FloatArray
    n: int
    n_same: int
    largest: float
    n_alike: int


def compare_rerun(kept: Evaluation, fresh: Evaluation, at: FloatArray) -> RerunComparison:
    """Compare point by point; `fresh` may still be under way."""
    both = fresh.radii.index < len(kept)
    then, now = kept.bound[fresh.radii.index[both]], fresh.bound[both]
    same = (then == now) | np.isclose(then, now, rtol=1e-6, atol=1e-9)
    with np.errstate(invalid="ignore"):
        largest = float(np.abs(then - now)[~same].max(initial=0.0))
    alike = ((then[:, None] <= at) == (now[:, None] <= at)).all(axis=1)
    errors = robust_error(then, at), robust_error(now, at)
    return RerunComparison(*errors, len(then), int(same.sum()), largest, int(alike.sum()))


def coverage(tables: Tables) -> tuple[int, int, int, int]:
    """Series of six numbers: how many the paper has, how many of those we have, how many must agree, how many do.

    Where the paper's column has two of ours (the attack inside the box and outside), the one with its own attacker
    counts.
    """
    wanted = [column for column, paper in PAPER_COLUMN.items() if _same_attacker(column, paper)]
    series = [(dataset, learner, column) for dataset in TITLES for learner in METHODS for column in wanted]
    there = [one for one in series if tables.get(*one) is not None]
    verdicts = [tables.within(*one) for one in there]
    return len(series), len(there), sum(v is not None for v in verdicts), sum(v is True for v in verdicts)


def _same_attacker(column: str, paper: published.Column) -> bool:
    return (BOX if COLUMNS[column].box else SPACE) == PAPER_ATTACKER[paper]


def dataset_rows(folder: Path) -> pd.DataFrame:
    """Sizes, and the Euclidean errors on all test points; ours are NaN where they are not computed."""
    ours = measurements.read_measurements(folder, measurements.DATASETS_FILE)
    found = []
    for name, title in TITLES.items():
        paper, here = published.dataset_facts(name), ours.get(name, {})
        for k, key in ((1, "error_1nn"), (published.K, "error_11nn")):
            error = float(here.get(key, float("nan")))
            found.append(
                {
                    "dataset": title,
                    **{size: int(paper[size]) for size in ("features", "classes", "train", "test")},
                    "same sizes": all(here[size] == paper[size] for size in ("features", "classes", "train", "test"))
                    if here
                    else None,
                    "K": k,
                    "paper": float(paper[key]),
                    "ours": error,
                    "difference": error - float(paper[key]),
                }
            )
    return pd.DataFrame(found)


def runtime_rows(folder: Path) -> pd.DataFrame:
    """Seconds for 100 iterations on USPS; ours are NaN where they were not measured.

    The `ratio` is of seconds an iteration: a training that has converged before the hundredth stops there.
    """
    ours, theirs = measurements.read_measurements(folder, measurements.RUNTIME_FILE), published.runtime_seconds()
    found = []
    for learner in measurements.RUNTIME_PARAMETERS:
        paper = float(theirs["ARML_cpu" if learner == "arml" else METHODS[learner]])
        here = ours.get(learner, {})
        seconds = float(here.get("seconds", float("nan")))
        found.append(
            {
                "metric": METHODS[learner],
                "paper seconds": paper,
                "our seconds": seconds,
                "ratio": (seconds / here.get("iterations", measurements.ITERATIONS))
                / (paper / measurements.ITERATIONS),
                "iterations": here.get("iterations"),
                "machine": here.get("machine", ""),
                "threads": here.get("threads"),
                "date": here.get("date", ""),
            }
        )
    return pd.DataFrame(found)
