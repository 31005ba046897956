"""What a campaign has seen: counts per method, norm and kind of metric, how close it came, and what was wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tests.attacks.oracles import Truth
from tests.attacks.problems import Problem

from .checks import Answers, Violation, lower_of, tolerance
from .problems import METRICS, NORMS, as_code

METHODS = ("theorem1", "votes", "exact", "search", "search at", "whitebox", "boundary")
NAMES = {1.0: "l1", 2.0: "l2", np.inf: "linf"}
MET = 1e-6  # a bound this close to the truth, relative or against the data, meets it


@dataclass
class Tally:
    answered: Counter[tuple[str, float, str]] = field(default_factory=Counter)
    met: Counter[tuple[str, str]] = field(default_factory=Counter)
    sides: Counter[tuple[str, str]] = field(default_factory=Counter)
    closest: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    problems: int = 0
    violations: int = 0

    def add(self, number: int, problem: Problem, metric: str, answers: Answers, real: Truth) -> None:
        """Count the answers to a problem, and how close they come to the truth."""
        for method, answer in answers.items():
            self.answered[method, problem.threat.norm, metric] += 1
            lower, upper = lower_of(answer), float(answer.upper[0])
            if lower is not None:
                self._side((method, "lower"), number, problem, lower, real.ruled)
            if np.isfinite(upper):
                self._side((method, "upper"), number, problem, real.closed, upper)
        self.kinds.update(_kinds(problem, real))

    def _side(self, side: tuple[str, str], number: int, problem: Problem, small: float, large: float) -> None:
        if not (0 < large < np.inf and small < np.inf):
            return  # nothing to come close to
        self.sides[side] += 1
        self.met[side] += large - small <= MET * max(large, problem.size)
        margin = ((large - small) / tolerance(large, problem), number)
        self.closest[side] = min(margin, self.closest.get(side, margin))

    def report(self, found: list[Violation], where: str, problem: Problem) -> None:
        """Count a problem, and print what was found wrong with it and how to see it again."""
        self.problems += 1
        self.violations += len(found)
        if found:
            print(f"\nVIOLATION in {where}")
            for violation in found:
                print(f"  {violation}")
            print("\n".join(f"    {line}" for line in as_code(problem).splitlines()), flush=True)

    def table(self) -> str:
        lines = [f"{'method':10s}{'norm':6s}" + "".join(f"{kind:>10s}" for kind in METRICS)]
        for method in METHODS:
            for norm in NORMS:
                counts = [self.answered[method, norm, kind] for kind in METRICS]
                if any(counts):
                    lines.append(f"{method:10s}{NAMES[norm]:6s}" + "".join(f"{count:10,d}" for count in counts))
        lines.append("\nbound               0 < ε* < ∞   meets ε*   least margin, in tolerances (-1 is too much)")
        for method in METHODS:
            for side in ("lower", "upper"):
                n = self.sides[method, side]
                if n:
                    margin, number = self.closest[method, side]
                    share = self.met[method, side] / n
                    lines.append(f"{method:10s}{side:8s}{n:12,d}{share:11.1%}{margin:15.1e} in problem {number}")
        kinds = ", ".join(f"{name} {count:,}" for name, count in sorted(self.kinds.items()))
        lines.append(f"\nproblems with: {kinds}")
        return "\n".join(lines)


def _kinds(problem: Problem, real: Truth) -> list[str]:
    threat = problem.threat
    marks = {
        "K = 1": problem.k == 1,
        "odd K > 1": problem.k > 1 and problem.k % 2 == 1,
        "even K": problem.k % 2 == 0,
        "more than 2 classes": len(set(problem.y.tolist())) > 2,
        "a box": threat.box is not None,
        "a box for each row": threat.by_row,
        "directions": bool(threat.only_up or threat.only_down),
        "free features": bool(threat.at_no_cost),
        "switches": bool(threat.switches),
        "a limit of switches at once": threat.most is not None,
        "nothing but switches": bool(threat.switches) and not threat.after_switches().free(len(problem.x)),
        "costs": threat.costs is not None,
        "frozen features": bool(threat.frozen),
        "rows left out": bool(problem.exclude),
        "ties as sets": problem.ties == "any",
        "a target": problem.target is not None,
        "duplicates": len(np.unique(problem.X, axis=0)) < len(problem.X),
        "ties that no move can break": not real.closed == real.ruled == real.open,
        "no way to flip": bool(np.isposinf(real.ruled)),
        "a radius of 0": real.ruled == 0,
    }
    return [name for name, holds in marks.items() if holds]
