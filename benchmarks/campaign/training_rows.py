"""Wrong training rows: the engine's counts against all ways to be wrong, with distances in fractions."""

from __future__ import annotations

import numpy as np

from arml_core.certificates.training_rows import KINDS
from tests.attacks.problems import Problem
from tests.point_sets import references_of
from tests.training_row_oracles import exact_distances, fewest_added, fewest_relabelled, fewest_removed, vote

from .checks import Violation
from .problems import make_problem
from .run import run_each
from .tally import Tally


def run_training_rows(seed: int, numbers: range, deadline: float) -> Tally:
    """How many rows must be removed, added or relabelled, exactly."""
    return run_each(seed, numbers, deadline, make_problem, _check, "make_problem({}, {})")


def _check(tally: Tally, number: int, problem: Problem) -> list[Violation]:
    knn = problem.fitted()
    found = knn.certify_training(problem.x[None], exclude=problem.options["exclude"])
    seen = np.setdiff1d(np.arange(len(problem.X)), problem.exclude)
    places = problem.X[references_of(knn).twin[seen]]  # rows that the metric cannot tell apart are in one place
    distances = exact_distances(knn.metric_.components, places, problem.x)
    labels, classes = problem.y[seen].tolist(), knn.classes_.tolist()
    true = {
        "removed": fewest_removed(distances, labels, problem.k),
        "added": fewest_added(distances, labels, problem.k, classes),
        "relabelled": fewest_relabelled(distances, labels, problem.k, classes),
    }
    wrong = [
        Violation("another number of rows", f"training rows {kind}", f"{getattr(found, kind)[0]!r}, not {true[kind]!r}")
        for kind in KINDS
        if getattr(found, kind)[0] != true[kind]
    ]
    if found.predicted[0] != vote(distances, labels, problem.k):
        wrong.append(Violation("another answer", "training rows", f"{found.predicted[0]!r}"))
    tally.kinds.update(f"{kind} {_size(count)}" for kind, count in true.items())
    return wrong


def _size(count: float) -> str:
    return "never" if np.isinf(count) else "once" if count == 1 else "2 or 3 times" if count < 4 else "more often"
