"""What must hold for every problem: each check compares answers with the truth, or with each other.

`lower` is held to ε* where training order decides between equal distances (or, with ``ties="any"``, nothing does),
`upper` to the closed regions (see :mod:`tests.attacks.oracles`). Only these two comparisons have a tolerance, the
oracle's own: its programs are solved in float64. Everything else is compared as it is: no proved radius may exceed the
size of any point that was seen to flip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from arml_core import MahalanobisKNN, Radii
from arml_core.certificates import METHODS
from tests.attacks.oracles import Truth
from tests.attacks.problems import Problem, changes_answer, is_whole

ORACLE_RELATIVE = 1e-7
ORACLE_ABSOLUTE = 1e-8  # of the largest number in sight
ORACLE_FAR = 1e6  # of it: what needs a longer move than this counts as impossible
ROUNDED = 1e-12  # how far a stated size may lie above the size of its point
SEARCH_SECONDS = 0.2
BOUNDARY_STEPS = 20
SLOW = ("search", "whitebox", "boundary")

Answers = dict[str, Radii]


@dataclass(frozen=True)
class Violation:
    what: str
    method: str
    details: str

    def __str__(self) -> str:
        return f"{self.method}: {self.what} ({self.details})"


def ask(problem: Problem, knn: MahalanobisKNN, slow: Iterable[str] = SLOW) -> Answers:
    """Every quick certificate that can answer this problem, and those slow methods that are wanted."""
    x, options = problem.x[None], problem.options
    answers: Answers = {"votes": knn.certify(x, method="votes", **options)}
    if problem.k % 2 and problem.target is None and _enough_of_each(problem, answers["votes"].predicted[0]):
        answers["theorem1"] = knn.certify(x, method="theorem1", **options)
    if problem.k == 1:
        answers["exact"] = knn.certify(x, method="exact", **options)
    for method in slow:
        if method == "search":
            answers[method] = knn.certify(x, method=method, budget=SEARCH_SECONDS, **options)
            answers["search at"] = _verdicts(answers[method], x, knn, options)
        else:
            answers[method] = knn.attack(x, method=method, steps=BOUNDARY_STEPS, **options)
    return answers


def _verdicts(whole: Radii, x: np.ndarray, knn: MahalanobisKNN, options: dict[str, Any]) -> Radii:
    """The search once more, for verdicts at radii on both sides of what it has proved, and at that very radius."""
    lower = float(whole.lower[0])
    middle = lower if np.isinf(lower) else min(2 * lower, (lower + min(float(whole.upper[0]), 3 * lower)) / 2)
    at = [radius for radius in (0.9 * lower, lower, middle) if np.isfinite(radius)] or [1.0]
    return knn.certify(x, method="search", budget=SEARCH_SECONDS, at=at, **options)


def violations(problem: Problem, knn: MahalanobisKNN, answers: Answers, real: Truth) -> Iterator[Violation]:
    """Everything that is wrong with the answers to one problem."""
    for method, answer in answers.items():
        lower, upper = lower_of(answer), float(answer.upper[0])
        if lower is not None:
            if not lower >= 0:
                yield Violation("lower is not a radius", method, f"{lower!r}")
            if used(lower, real.ruled, problem) > 1:
                yield Violation("lower exceeds the true radius", method, f"{lower!r} > {real.ruled!r}")
        if used(real.closed, upper, problem) > 1:
            yield Violation("upper is below the true radius", method, f"{upper!r} < {real.closed!r}")
        for fault in adversarial_faults(problem, knn, upper, answer.adversarial[0]):
            yield Violation(fault, method, f"upper {upper!r}, point {answer.adversarial[0].tolist()}")
        if fault := switch_fault(problem, answer):
            yield Violation(fault, method, f"switched {answer.switched[0].tolist()}")
    yield from _between_methods(answers)
    yield from _wrong_label(problem, knn, answers)


def _between_methods(answers: Answers) -> Iterator[Violation]:
    lowers = {method: low for method, answer in answers.items() if (low := lower_of(answer)) is not None}
    for method, lower in lowers.items():
        for other, answer in answers.items():
            if lower > answer.upper[0]:
                yield Violation(f"beaten by {other}", method, f"{lower!r} > {answer.upper[0]!r}")
    if lowers.get("theorem1", 0.0) > lowers["votes"] * (1 + ROUNDED):
        yield Violation("theorem1 exceeds votes", "theorem1", f"{lowers['theorem1']!r} > {lowers['votes']!r}")
    if lowers["votes"] > lowers.get("search", np.inf):
        yield Violation("search is below votes", "search", f"{lowers['search']!r} < {lowers['votes']!r}")


def _wrong_label(problem: Problem, knn: MahalanobisKNN, answers: Answers) -> Iterator[Violation]:
    """Where the answer is already wrong the radius is 0, or, with a target, what it is without a label."""
    predicted = answers["votes"].predicted[0]
    other = next(label for label in knn.classes_ if label != predicted)
    wrong = knn.certify(problem.x[None], [other], **problem.options)
    if problem.target is not None:
        if wrong.lower[0] != answers["votes"].lower[0] or wrong.correct[0]:
            yield Violation("the label changes the way to a target", "votes", f"{wrong.lower[0]!r}")
    elif wrong.lower[0] != 0 or wrong.upper[0] != 0 or wrong.correct[0]:
        yield Violation("a wrong answer has a radius", "votes", f"{wrong.lower[0]!r}, {wrong.upper[0]!r}")


def adversarial_faults(problem: Problem, knn: MahalanobisKNN, upper: float, point: np.ndarray) -> Iterator[str]:
    """What is wrong with a perturbed point as proof of `upper`; sizes are compared in rational numbers."""
    if np.isposinf(upper):
        if not np.isnan(point).all():
            yield "a point without a size"
        return
    if not np.isfinite(point).all():
        yield "a size without a point"
        return
    threat, x = problem.threat, problem.x
    clean = knn.predict(x[None], exclude=problem.options["exclude"])[0]
    if not changes_answer(problem, knn, point, clean):
        yield "the point does not change the answer"
    if not is_whole(problem, point):
        yield "the point has a part of a switch, or too many switches"
    point = problem.unswitched(point)
    frozen = list(threat.frozen)
    if not np.array_equal(point[frozen], x[frozen]):
        yield "a frozen feature moved"
    limits = threat.limits(x.astype(float))
    if limits is not None and (np.any(point < limits[0]) or np.any(point > limits[1])):
        yield "the point leaves the box, or goes the wrong way"
    stated, size = Fraction(upper) ** 2, squared_size(problem, point)
    if not size <= stated <= size * Fraction(1 + ROUNDED) ** 2:
        yield f"the point has size {float(size) ** 0.5!r}"


def switch_fault(problem: Problem, answer: Radii) -> str | None:
    """What is wrong with the values that an answer says were switched."""
    codes, point = answer.switched[0].tolist(), answer.adversarial[0]
    if len(codes) != len(problem.threat.switches):
        return "another number of groups is switched"
    for (at, _), values, code in zip(problem.threat.switches, problem.patterns(), codes, strict=True):
        own = problem.x[list(at)]
        if code >= len(values) or (np.isposinf(answer.upper[0]) and code != -1):
            return "a switch to nothing"
        if code >= 0 and np.array_equal(values[code], own):
            return "a value is switched to itself"
        if np.isfinite(answer.upper[0]) and not np.array_equal(point[list(at)], own if code < 0 else values[code]):
            return "the point has other values than those that are said to be switched"
    return None


def squared_size(problem: Problem, point: np.ndarray) -> Fraction:
    """The square of ‖costs ∘ (point - x)‖ without rounding."""
    costs = np.ones(len(point)) if problem.threat.costs is None else problem.threat.costs
    moves = [
        abs(Fraction(float(w)) * (Fraction(float(p)) - Fraction(float(c))))
        for k, (w, p, c) in enumerate(zip(costs, point, problem.x, strict=True))
        if k not in problem.threat.at_no_cost
    ]
    if problem.threat.norm == 2:
        return sum((move * move for move in moves), Fraction(0))
    return (max(moves) if np.isinf(problem.threat.norm) else sum(moves, Fraction(0))) ** 2


def lower_of(answer: Any) -> float | None:
    return float(answer.lower[0]) if answer.method in METHODS else None


def used(smaller: float, larger: float, problem: Problem) -> float:
    """By how much of the oracle's tolerance `smaller` exceeds `larger`; above 1 is a violation."""
    far = ORACLE_FAR * problem.size
    if min(smaller, far) <= min(larger, far):
        return min(0.0, (min(smaller, far) - min(larger, far)) / tolerance(min(larger, far), problem))
    return (min(smaller, far) - larger) / tolerance(larger, problem)


def tolerance(radius: float, problem: Problem) -> float:
    """How far the oracle's radius may be off."""
    return ORACLE_RELATIVE * radius + ORACLE_ABSOLUTE * problem.size


def _enough_of_each(problem: Problem, label: Any) -> bool:
    """Theorem 1 takes the k-th positive and the k-th negative: there must be that many."""
    kept = np.delete(problem.y, list(problem.exclude))
    own = int(np.count_nonzero(kept == label))
    return min(own, len(kept) - own) >= (problem.k + 1) // 2
