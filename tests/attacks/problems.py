"""Small problems of every awkward kind for the exhaustive oracle, and what a result must satisfy on them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from arml_core import MahalanobisKNN
from tests import oracles
from tests.certificates.cases import engine_threat

from .oracles import Truth, truth, winners_at

NORMS = (1.0, 2.0, np.inf)


@dataclass
class Problem:
    M: np.ndarray
    X: np.ndarray
    y: np.ndarray
    x: np.ndarray
    k: int
    threat: oracles.Threat
    exclude: tuple[int, ...] = ()
    ties: str = field(default="order", kw_only=True)
    target: Any = field(default=None, kw_only=True)

    def fitted(self) -> MahalanobisKNN:
        return MahalanobisKNN(self.k, self.M).fit(self.X, self.y)

    @property
    def options(self) -> dict:
        options = {"threat": engine_threat(self.threat), "exclude": [list(self.exclude)] if self.exclude else None}
        options |= {"ties": self.ties} if self.ties != "order" else {}
        return options | ({"target": self.target} if self.target is not None else {})

    @property
    def label(self):
        return oracles.predict(self.M, self.X, self.y, self.x, self.k, self.exclude)

    def truth(self, label: Any = None) -> Truth:
        """The radii of the row, for a label that need not be computed again: the least over all its versions."""
        label = self.label if label is None else label
        found = [self._truth_of(point, label) for _, point in self.versions()]
        return Truth(*(min(radii) for radii in zip(*found, strict=True)))

    def _truth_of(self, x: np.ndarray, label: Any) -> Truth:
        threat = self.threat.after_switches()
        if threat.free(len(x)):
            rule = {"ties": self.ties, "target": self.target}
            X, x = self.X.astype(float), x.astype(float)
            return truth(self.M, X, self.y, x, label, self.k, threat, self.exclude, **rule)
        knn = self.fitted()  # nothing is left to move: the answer itself decides
        closed, ruled = (np.inf if not changes_answer(self, knn, x, label, slack) else 0.0 for slack in (1e-12, 0))
        return Truth(closed, ruled, ruled)

    @property
    def value_rows(self) -> np.ndarray:
        """The rows whose patterns are the values of a switch that has none."""
        return self.X

    def patterns(self) -> list[np.ndarray]:
        """The values of each switch, in the precision of the row in question."""
        given = [
            np.unique(self.value_rows[:, list(at)].astype(float), axis=0) if values is None else np.array(values)
            for at, values in self.threat.switches
        ]
        return [values.astype(self.x.dtype) for values in given]

    def versions(self) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """The row after every combination of switches, with the place of each value, -1 where a group keeps its own."""
        found = []
        for codes in itertools.product(*(range(-1, len(values)) for values in self.patterns())):
            point, switched = self.x.copy(), 0
            for (at, _), values, code in zip(self.threat.switches, self.patterns(), codes, strict=True):
                if code >= 0:
                    point[list(at)] = values[code]
                    switched += not np.array_equal(values[code], self.x[list(at)])
            if self.threat.most is None or switched <= self.threat.most:
                found.append((codes, point))
        return found

    def unswitched(self, point: np.ndarray) -> np.ndarray:
        """A moved point with the switched features of the row itself: what is left is the move that has a size."""
        moved, switched = point.copy(), list(self.threat.switched)
        moved[switched] = self.x[switched]
        return moved

    @property
    def spread(self) -> float:
        """How far apart the training rows lie along one feature, in units of cost."""
        free = self.threat.free(len(self.x))
        return float(np.ptp(self.X[:, free] * self.threat.weights(len(self.x)), axis=0).max())

    @property
    def size(self) -> float:
        """The largest number in sight, in units of cost: what rounding is compared with."""
        weights = self.threat.weights(len(self.x))
        return float(np.abs(np.vstack([self.X, self.x])).max() * max(1.0, weights.max()))


def changes_answer(problem: Problem, knn: MahalanobisKNN, point: np.ndarray, label: Any, slack: float = 1e-12) -> bool:
    """Whether a point's answer is another one than `label`: by ``predict``, or by fractions where every order counts.

    Rows that a metric cannot tell apart but for rounding are one place to the engine. Only one that is not diagonal has
    such rows: there squared distances that differ by `slack` may tie.
    """
    if problem.ties == "any":
        slack = 0 if knn.metric_.is_diagonal else slack
        G = knn.metric_.components
        winners = winners_at(G, problem.X, problem.y, point, problem.k, problem.exclude, slack)
    else:
        winners = {knn.predict(point[None], exclude=problem.options["exclude"])[0]}
    return bool(winners - {label}) if problem.target is None else problem.target in winners


def check_adversarial(problem: Problem, knn: MahalanobisKNN, upper: float, point: np.ndarray) -> None:
    """`upper` is +inf with a row of NaN, or the size of an allowed move that `predict` answers differently."""
    if np.isposinf(upper):
        assert np.isnan(point).all()
        return
    threat, x = problem.threat, problem.x
    assert changes_answer(problem, knn, point, problem.label)
    assert is_whole(problem, point)
    point = problem.unswitched(point)
    np.testing.assert_array_equal(point[list(threat.frozen)], x[list(threat.frozen)])
    limits = threat.limits(x)
    if limits is not None:
        assert np.all(point >= limits[0])
        assert np.all(point <= limits[1])
    size = threat.size(point - x)
    assert upper == size or abs(upper - size) <= 1e-12 * max(problem.size, size)


def is_whole(problem: Problem, point: np.ndarray) -> bool:
    """Whether the switched features of a point are those of one of the row's versions."""
    at = list(problem.threat.switched)
    return any(np.array_equal(point[at], version[at]) for _, version in problem.versions())


def whole(low: int, high: int, n: int):
    return st.lists(st.integers(low, high), min_size=n, max_size=n).map(lambda v: np.array(v, dtype=float))


@st.composite
def problems(draw, max_n=9, max_d=3, max_k=5, max_classes=4, norms=NORMS, ties=None, min_d=1) -> Problem:
    """Whole numbers (ties, duplicates, singular M, everything exact in floats) or shifted off the grid."""
    d = draw(st.integers(min_d, max_d))
    n = draw(st.integers(3, max_n))
    X = draw(whole(-3, 3, n * d)).reshape(n, d)
    n_classes = draw(st.integers(2, max_classes))
    y = draw(whole(0, n_classes - 1, n)).astype(int)
    if len(set(y)) < 2:
        y[0] = 1 - min(y[0], 1)
    x = draw(whole(-6, 6, d)) / 2
    if not (draw(st.booleans()) if ties is None else ties):
        rng = np.random.default_rng(draw(st.integers(0, 10_000)))
        X, x = X + rng.uniform(-0.4, 0.4, X.shape), x + rng.uniform(-0.2, 0.2, d)
    if draw(st.booleans()):
        M = np.diag(draw(whole(0, 2, d)) ** 2)
    else:
        G = draw(whole(-1, 2, d * d)).reshape(d, d)
        M = G.T @ G
    if not M.any():
        M = np.eye(d)
    gone: tuple[int, ...] = ()
    if draw(st.integers(0, 3)) == 0:
        gone = tuple(sorted(draw(st.sets(st.integers(0, n - 1), max_size=min(2, n - 2)))))
    k = draw(st.integers(1, min(max_k, n - len(gone))))
    costs = 2.0 ** draw(whole(-1, 2, d)) if draw(st.integers(0, 3)) == 0 else None
    frozen = tuple(sorted(draw(st.sets(st.integers(0, d - 1), max_size=d - 1)))) if draw(st.integers(0, 3)) == 0 else ()
    box = None
    if draw(st.integers(0, 2)) == 0:
        low = draw(whole(-4, 0, d))
        box = (low, low + draw(whole(0, 6, d)))
    return Problem(M, X, y, x, k, oracles.Threat(draw(st.sampled_from(norms)), costs, frozen, box), gone)
