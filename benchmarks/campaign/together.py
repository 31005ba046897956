"""Points certified together against each of them alone: what is shared between points must not reach their radii.

Points of a class share products, lists of candidates and chunks; classes share threads. None of it may be seen in a
radius, with one thread or with two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from arml_core import MahalanobisKNN, Radii

from .checks import ROUNDED, Violation
from .problems import ManyPoints, make_together, metric_kind
from .run import run_each
from .tally import Tally

SAME = 1e-9  # relative: sums may be taken in another order in other company
JOBS = (1, 2)
SEARCHED = 4  # points of methods that take their time
SEARCH_ROWS = 40
SEARCH_SECONDS = 20.0
BOUNDARY_STEPS = 20

Ask = Callable[[MahalanobisKNN, ManyPoints], Radii]


def run_together(seed: int, numbers: range, deadline: float) -> Tally:
    """Each problem's points together, with one thread and with two, and each of them alone."""
    return run_each(seed, numbers, deadline, make_together, _check, "make_together({}, {})")


def _check(tally: Tally, number: int, problem: ManyPoints) -> list[Violation]:
    kind, few = metric_kind(number), _few(problem)
    found = list(different_answers(problem))
    for method, ask, some in _questions(number, problem, few):
        started = time.monotonic()
        differences = list(different_radii(method, ask, some))
        if method == "search" and time.monotonic() - started > SEARCH_SECONDS:
            tally.kinds["a search that the clock may have ended"] += 1
            continue
        found += differences
        tally.answered[method, problem.threat.norm, kind] += len(some.points)
    tally.kinds.update(_kinds(problem))
    return found


def _questions(number: int, problem: ManyPoints, few: ManyPoints) -> Iterator[tuple[str, Ask, ManyPoints]]:
    """The quick methods that can answer and, in turn, a slow one: each with its question and whom it is put for."""
    yield "votes", _certify("votes"), problem
    if problem.k % 2:
        yield "theorem1", _certify("theorem1"), problem
    if problem.k == 1:
        yield "exact", _certify("exact"), problem
    if number % 2:
        yield "search", _certify("search"), few
    else:
        yield "boundary", _attack, problem.some(slice(SEARCHED))


def _certify(method: str) -> Ask:
    return lambda knn, asked: knn.certify(asked.points, method=method, budget=SEARCH_SECONDS, **asked.options)


def _attack(knn: MahalanobisKNN, asked: ManyPoints) -> Radii:
    return knn.attack(asked.points, method="boundary", steps=BOUNDARY_STEPS, **asked.options)


def different_answers(problem: ManyPoints) -> Iterator[Violation]:
    """Points that `predict` answers differently in company."""
    for jobs in JOBS:
        knn = problem.fitted(jobs)
        together = knn.predict(problem.points, exclude=problem.options["exclude"])
        for b in range(len(problem.points)):
            one = problem.alone(b)
            alone = knn.predict(one.points, exclude=one.options["exclude"])[0]
            if alone != together[b]:
                yield Violation("another answer alone", "predict", f"point {b}, {jobs} threads: {alone!r}")


def different_radii(method: str, ask: Ask, problem: ManyPoints) -> Iterator[Violation]:
    """Points with another radius alone than together."""
    knn = problem.fitted(1)
    alone = [ask(knn, problem.alone(b)) for b in range(len(problem.points))]
    for jobs in JOBS:
        together = ask(problem.fitted(jobs), problem)
        for side in ("lower", "upper"):
            for b, (one, value) in enumerate(zip(alone, getattr(together, side), strict=True)):
                if not agree(value, expected := getattr(one, side)[0], problem.size):
                    where = f"point {b}, {jobs} threads: {value!r} instead of {expected!r}"
                    yield Violation(f"another {side} side alone", method, where)


def agree(one: float, other: float, size: float) -> bool:
    """Whether two radii are the same but for rounding; `size` is the largest number in sight."""
    return bool(one == other or abs(one - other) <= SAME * min(one, other) + ROUNDED * size)


def _few(problem: ManyPoints) -> ManyPoints:
    """Some of the points and of the rows, so that a search comes to its end well before its time."""
    rows = np.linspace(0, len(problem.X) - 1, SEARCH_ROWS).astype(int)
    place = {int(row): at for at, row in enumerate(rows)}
    some = problem.some(slice(SEARCHED))
    left_out = [tuple(place[row] for row in gone if row in place) for gone in some.left_out]
    return replace(
        some,
        X=problem.X[rows],
        y=problem.y[rows],
        k=min(problem.k, 3),
        left_out=left_out,
    )


def _kinds(problem: ManyPoints) -> list[str]:
    marks = {
        "a box": problem.threat.box is not None,
        "a box for each row": problem.boxes is not None,
        "directions": bool(problem.threat.only_up or problem.threat.only_down),
        "free features": bool(problem.threat.at_no_cost),
        "more than 2 classes": len(set(problem.y.tolist())) > 2,
        "rows left out": any(problem.left_out),
        "different numbers of rows left out": len({len(gone) for gone in problem.left_out}) > 1,
        "even K": problem.k % 2 == 0,
    }
    return [name for name, holds in marks.items() if holds]
