"""Numbers under stress: single precision, other units, exact arithmetic."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tests import rational
from tests.attacks.oracles import Truth
from tests.attacks.problems import Problem
from tests.point_sets import references_of

from .checks import ORACLE_FAR, Answers, Violation, ask, lower_of, violations
from .problems import LineProblem, in_single_precision, in_units, make_apart, make_line, make_problem, metric_kind
from .run import run_each, true_radii
from .tally import Tally

DECIMAL_UNITS = (1e-6, 1e-3, 1e3, 1e6)
BINARY_UNITS = (2.0**-20, 2.0**-10, 2.0**10, 2.0**20)  # multiplying by these rounds nothing
SAME = 1e-9  # relative: radii of one problem in two units, or in two precisions of the same numbers


def run_precision(seed: int, numbers: range, deadline: float) -> Tally:
    """Problems rounded to float32: as sound as others, and with the radii of the same numbers in float64."""

    def make(seed: int, number: int) -> Problem:
        return in_single_precision(make_problem(seed, number))

    def check(tally: Tally, number: int, problem: Problem) -> list[Violation]:
        answers, found = _checked(tally, number, problem)
        double = in_units(problem, 1.0)
        double.X, double.x = double.X.astype(float), double.x.astype(float)
        return found + _differences(problem, answers, ask(double, double.fitted(), slow=()), 1.0)

    return run_each(seed, numbers, deadline, make, check, "make_problem({}, {}) in float32")


def _checked(tally: Tally, number: int, problem: Problem) -> tuple[Answers, list[Violation]]:
    """Ask, compare with the oracle, count."""
    knn = problem.fitted()
    answers = ask(problem, knn)
    real = true_radii(problem, answers)
    tally.add(number, problem, metric_kind(number), answers, real)
    return answers, list(violations(problem, knn, answers, real))


def run_units(seed: int, numbers: range, deadline: float) -> Tally:
    """Problems in other units: sound in any, and with radii in proportion where nothing is rounded."""
    units = (*DECIMAL_UNITS, *BINARY_UNITS)

    def make(seed: int, number: int) -> Problem:
        return in_units(make_problem(seed, number), units[number // 4 % 8])

    def check(tally: Tally, number: int, problem: Problem) -> list[Violation]:
        answers, found = _checked(tally, number, problem)
        factor = units[number // 4 % 8]
        if factor in BINARY_UNITS:
            plain = make_problem(seed, number)
            found += _differences(problem, answers, ask(plain, plain.fitted(), slow=()), factor)
        return found

    return run_each(seed, numbers, deadline, make, check, "make_problem({}, {}) in other units")


def run_lines(seed: int, numbers: range, deadline: float) -> Tally:
    """Problems on a line in units from 1e-6 to 1e6: `lower` is at most ε* in fractions, with no tolerance at all."""

    def make(seed: int, number: int) -> LineProblem:
        return make_line(seed, number, (1.0, *DECIMAL_UNITS)[number % 5])

    return run_each(seed, numbers, deadline, make, _check_line, "make_line({}, {}, …)")


def run_apart(seed: int, numbers: range, deadline: float) -> Tally:
    """The same with units, weights and costs up to 1e±40 apart: the engine may refuse, but not promise too much."""
    check = partial(_check_line, may_refuse=True)
    return run_each(seed, numbers, deadline, make_apart, check, "make_apart({}, {})")


def _check_line(tally: Tally, number: int, problem: LineProblem, may_refuse: bool = False) -> list[Violation]:
    try:
        knn = problem.fitted()
        answers = ask(problem, knn)
    except ValueError as error:
        if may_refuse and "Rescale" in str(error):
            return []
        raise
    one_place = references_of(knn).twin  # rows that G's rounding cannot tell apart, as the classifier says
    exact = exact_line_radius(replace(problem, X=problem.X[one_place]), answers)
    rounded = np.inf if exact is None else float(exact)
    tally.add(number, problem, "full", answers, Truth(rounded, rounded, rounded))
    found = list(violations(problem, knn, answers, Truth(0.0, np.inf, np.inf)))
    return found + _above(answers, exact)


def exact_line_radius(problem: LineProblem, answers: Answers) -> rational.Fraction | None:
    """ε* of a line problem, in fractions."""
    threat, at = problem.threat, problem.feature
    cost = 1.0 if threat.costs is None else threat.costs[at]
    endless = threat.box is None or not np.isfinite(threat.box[0][at])
    box = None if endless else (threat.box[0][at], threat.box[1][at])
    label = answers["votes"].predicted[0]
    return rational.line_radius(
        problem.G, problem.X, problem.y, problem.x, problem.k, at, cost, box, problem.exclude, label
    )


def _above(answers: Answers, exact: rational.Fraction | None) -> list[Violation]:
    found = []
    for method, answer in answers.items():
        lower = lower_of(answer)
        if exact is not None and lower is not None and (np.isinf(lower) or rational.Fraction(lower) > exact):
            found.append(Violation("lower exceeds the radius in fractions", method, f"{lower!r} > {float(exact)!r}"))
    return found


def _differences(problem: Problem, answers: Answers, others: Answers, factor: float) -> list[Violation]:
    """Methods whose bounds are not `factor` times those of another run; `search` is left to its clock.

    What cannot flip has a bound that only rounding keeps finite: beyond the oracle's reach all radii are the same.
    """
    found, far = [], ORACLE_FAR * problem.size
    for method in {"theorem1", "votes", "exact"} & answers.keys() & others.keys():
        here, there = min(lower_of(answers[method]), far), min(lower_of(others[method]) * factor, far)
        if not abs(here - there) <= SAME * max(here, there):
            found.append(Violation("lower is out of proportion", method, f"{here!r} instead of {there!r}"))
    return found
