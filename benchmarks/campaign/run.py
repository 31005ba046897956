"""The random problems against the exhaustive oracle."""

from __future__ import annotations

import sys
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.attacks.oracles import Truth
from tests.attacks.problems import Problem

from .checks import Answers, Violation, ask, violations
from .problems import (
    LAYOUTS,
    METRICS,
    NORMS,
    ReferenceProblem,
    make_chosen,
    make_crowd,
    make_problem,
    make_ruled,
    make_switched,
    metric_kind,
)
from .tally import Tally

ROUND = len(METRICS) * len(NORMS) * len(LAYOUTS)  # after this many problems all combinations have come

SLOW = ("search", "whitebox", "search", "boundary")  # one of them for each problem; `search` has an attack in it

Make = Callable[[int, int], Problem]
Check = Callable[[Tally, int, Any], list[Violation]]
"""Counts the answers to a problem with this number and gives what is wrong with them."""


def run_crowds(seed: int, numbers: range, deadline: float) -> Tally:
    """The same with many rows, where lists of candidates and float32 products come in."""
    return run_problems(seed, numbers, deadline, make_crowd)


def run_ruled(seed: int, numbers: range, deadline: float) -> Tally:
    """The random problems with ties as sets and targets."""
    return run_problems(seed, numbers, deadline, make_ruled)


def run_chosen(seed: int, numbers: range, deadline: float) -> Tally:
    """References that are no training rows, kept rows, and learned points with a learned metric."""
    return run_problems(seed, numbers, deadline, make_chosen)


def run_switched(seed: int, numbers: range, deadline: float) -> Tally:
    """Features that are exchanged whole, with everything else in random combination."""
    return run_problems(seed, numbers, deadline, make_switched)


def run_problems(seed: int, numbers: range, deadline: float, make: Make = make_problem) -> Tally:
    """Ask and check problem after problem, until the deadline at most."""
    return run_each(seed, numbers, deadline, make, _check, f"{make.__name__}({{}}, {{}})")


def run_each(seed: int, numbers: range, deadline: float, make: Make, check: Check, name: str) -> Tally:
    """Make and check one problem after the other; `name` is Python that makes a problem of a seed and a number."""
    tally = Tally()
    for number in numbers:
        if time.monotonic() > deadline:
            print(f"stopped by the time limit after {tally.problems:,} of {len(numbers):,} problems")
            break
        problem = make(seed, number)
        tally.report(guarded(partial(check, tally, number, problem)), name.format(seed, number), problem)
        if tally.problems % 1000 == 0:
            print(f"{tally.problems:,} problems, {tally.violations} violations", file=sys.stderr, flush=True)
    return tally


def _check(tally: Tally, number: int, problem: Problem) -> list[Violation]:
    knn = problem.fitted()
    answers = ask(problem, knn, slow=[SLOW[number // ROUND % len(SLOW)]])
    real = true_radii(problem, answers)
    if isinstance(problem, ReferenceProblem):
        tally.kinds[problem.kind] += 1
        tally.add(number, problem, "full", answers, real)
    else:
        tally.add(number, problem, metric_kind(number), answers, real)
    return list(violations(problem, knn, answers, real))


def true_radii(problem: Problem, answers: Answers) -> Truth:
    """The oracle's radii for the label that the classifier gives."""
    return problem.truth(answers["votes"].predicted[0])


def guarded(work: Callable[[], list[Violation]]) -> list[Violation]:
    """What `work` finds; an error, or a warning about numbers, is a violation as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return work()
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            return [Violation(f"{type(error).__name__}: {error}", "engine", f"{last.name}, line {last.lineno}")]
