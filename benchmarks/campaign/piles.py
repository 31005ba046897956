"""Rows on top of each other where at most two features move: `predict` is asked wherever a radius can end."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from arml_core import MahalanobisKNN
from tests.attacks.oracles import Truth
from tests.attacks.problems import Problem
from tests.probing import places_to_probe

from .checks import Answers, Violation, ask, lower_of, squared_size, violations
from .problems import make_pile, make_ruled_pile
from .run import run_each
from .tally import Tally


def run_piles(seed: int, numbers: range, deadline: float) -> Tally:
    """No point that flips is nearer than any proved radius, with no tolerance at all."""
    return run_each(seed, numbers, deadline, make_pile, _check, "make_pile({}, {})")


def run_ruled_piles(seed: int, numbers: range, deadline: float) -> Tally:
    """The same with ties as sets and targets."""
    return run_each(seed, numbers, deadline, make_ruled_pile, _check, "make_ruled_pile({}, {})")


def _check(tally: Tally, number: int, problem: Problem) -> list[Violation]:
    knn = problem.fitted()
    answers = ask(problem, knn)
    nearest = nearest_flip(problem, knn)
    size = np.inf if nearest is None else float(squared_size(problem, nearest)) ** 0.5
    size = min(size, *(float(answer.upper[0]) for answer in answers.values()))  # the smallest flip seen by any
    tally.add(number, problem, "full", answers, Truth(size, size, size))
    found = list(violations(problem, knn, answers, Truth(0.0, np.inf, np.inf)))
    return found + ([] if nearest is None else beaten_by(problem, answers, nearest))


def nearest_flip(problem: Problem, knn: MahalanobisKNN) -> np.ndarray | None:
    """The nearest of the probed points whose answer is, or can be, another one than that of x."""
    points = places_to_probe(problem.M, problem.X, problem.x, problem.threat)
    exclude = [list(problem.exclude)] * len(points) if problem.exclude else None
    if not len(points):
        return None
    answer = knn.predict(problem.x[None], exclude=problem.options["exclude"])[0]
    if problem.ties == "any":
        possible = knn.possible_answers(points, exclude)
    else:
        possible = knn.predict(points, exclude=exclude)[:, None] == knn.classes_
    others = knn.classes_ != answer if problem.target is None else knn.classes_ == problem.target
    flipped = points[possible[:, others].any(axis=1)]
    if not len(flipped):
        return None
    sizes = [problem.threat.size(point.astype(float) - problem.x.astype(float)) for point in flipped]
    return flipped[int(np.argmin(sizes))]


def beaten_by(problem: Problem, answers: Answers, point: np.ndarray) -> list[Violation]:
    """The proved radii that a point which flips lies within, compared in rational numbers."""
    size = squared_size(problem, point)
    return [
        Violation("lower exceeds a flip", method, f"{lower!r} > {float(size) ** 0.5!r} at {point.tolist()}")
        for method, answer in answers.items()
        if (lower := lower_of(answer)) is not None and (np.isinf(lower) or Fraction(lower) ** 2 > size)
    ]
