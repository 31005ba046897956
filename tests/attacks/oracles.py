"""The true robust radius of a K-NN answer, by exhaustion, and small programs that prove their own answers.

At x + δ the neighbours are a set N of K training rows exactly where every a in N and every b outside satisfy

    d(x + δ, a) < d(x + δ, b),  or equal with a before b in training order:

a polyhedron some of whose faces are missing. ε* is the smallest, over every N that elects another label, of the
distance from x to that polyhedron, and a convex set lies as far away as its closure: so ε* is the optimum of the
*closed* program, over those N whose half-open polyhedron is not empty. Which sets count is thus a question of
emptiness alone, and there are three answers to it:

* ``closed``: all N whose closed polyhedron is not empty. Below this nobody flips anything, however ties fall.
* ``ruled``: N whose half-open polyhedron is not empty: training order decides between equal distances. This is ε*.
* ``open``: N whose polyhedron has an interior. Flips that need no ties.

They differ only where a tie cannot be broken (duplicates, M-identical rows, points in line with the grid). Then a
point on a face may or may not flip in floating-point arithmetic, so an attack is held to ``closed``, a certificate
to ``ruled``, and a promise that both sides meet only where ``closed`` and ``open`` agree.

With ``ties="any"`` every order of equal distances counts, so ε* is ``closed``, over every N whose votes *can* be broken
in favour of another label. With a target only the N that elect it count.
"""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, nnls

from tests import rational
from tests.oracles import EUCLIDEAN, Threat, plurality

FEASIBLE = 1e-9  # what a linear program may miss a normalised constraint by
STRICT = 1e-6  # the least slack of normalised constraints that counts as room


class Truth(NamedTuple):
    closed: float
    ruled: float
    open: float


class Programs:
    """All the half-spaces "x + δ is at least as near to a as to b", for z = costs ∘ δ on the free features."""

    def __init__(self, M, X, x, threat: Threat = EUCLIDEAN) -> None:
        free = threat.free(len(x))
        weights = threat.weights(len(x))
        difference = X[:, None] - X[None]  # [a, b] = x_a - x_b
        pull = 2 * (difference @ M)[:, :, free] / weights
        size = 2 * (np.abs(difference) @ np.abs(M))[:, :, free] / weights
        pull[np.abs(pull) <= 1e-13 * size] = 0.0
        moved = X - x
        d = np.einsum("nd,de,ne->n", moved, M, moved)
        self.normals = pull
        self.offsets = np.einsum("abd,de,abe->ab", -difference, M, 2 * x - X[:, None] - X[None])  # d(x, a) - d(x, b)
        self.offsets[np.abs(self.offsets) <= 1e-13 * (d[:, None] + d[None])] = 0.0
        self.norm = threat.norm
        self.room = None
        limits = threat.limits(x)
        if limits is not None:
            low, high = limits
            self.room = np.stack([weights * (low - x)[free], weights * (high - x)[free]], axis=1)
        dual = {1.0: np.inf, 2.0: 2, np.inf: 1}[threat.norm]
        self.counted = ~np.isin(free, threat.at_no_cost)
        given = sum(  # what features at no cost give to each half-space
            (pull[:, :, [k]] * self.room[k]).max(axis=2) for k in np.flatnonzero(~self.counted)
        )
        missing = self.offsets - given
        lengths = np.linalg.norm(pull[:, :, self.counted], dual, axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = missing / lengths
        self.alone = np.where(missing <= 1e-12 * (d[:, None] + d[None]), 0.0, np.where(lengths == 0, np.inf, alone))

    def of(self, near, far) -> tuple[np.ndarray, np.ndarray]:
        """A z ≥ b: each of `near` at least as near as each of `far`; rows scaled to length 1."""
        A = self.normals[np.ix_(near, far)].reshape(len(near) * len(far), self.normals.shape[2])
        b = self.offsets[np.ix_(near, far)].ravel()
        return normalised(A, b)

    def radius(self, A, b) -> float:
        """The size of the smallest z with A z ≥ b, by what counts of it."""
        if self.counted.all():
            return least(A, b, self.norm, self.room)
        for k in np.flatnonzero(~self.counted):
            A, b = eliminated(A, b, k, self.room[k])
        impossible = np.linalg.norm(A[:, self.counted], axis=1) <= 1e-12
        if np.any(b[impossible] > FEASIBLE):
            return np.inf
        return least(*normalised(A[~impossible][:, self.counted], b[~impossible]), self.norm, self.room[self.counted])


def eliminated(A, b, k: int, room) -> tuple[np.ndarray, np.ndarray]:
    """A z ≥ b without feature k, which may be anything in its room (Fourier and Motzkin): no z is lost or added."""
    eye = np.eye(A.shape[1])[k]
    A, b = np.vstack([A, eye, -eye]), np.append(b, [room[0], -room[1]])
    entry = np.where(np.abs(A[:, k]) <= 1e-13, 0.0, A[:, k])
    up, down, still = (np.flatnonzero(sign) for sign in (entry > 0, entry < 0, entry == 0))
    pairs = [(p, q) for p in up for q in down]
    rows = [A[p] * -entry[q] + A[q] * entry[p] for p, q in pairs]
    sides = [b[p] * -entry[q] + b[q] * entry[p] for p, q in pairs]
    rows, sides = np.vstack([A[still], *rows]), np.append(b[still], sides)
    rows[:, k] = 0.0
    return rows, sides


def normalised(A, b) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.linalg.norm(A, axis=1)
    scale = np.where(lengths > 0, lengths, 1.0)
    return A / scale[:, None], b / scale


def flips(labels, label, ties: str = "order", target=None) -> bool:
    """Whether neighbours with these labels give another answer than `label`: the target, if there is one."""
    votes = Counter(labels)
    most = max(votes.values())
    winners = {c for c, n in votes.items() if n == most} if ties == "any" else {plurality(labels)}
    return bool(winners - {label}) if target is None else target in winners


def winners_at(G, X, y, point, k, exclude=(), slack=0) -> set:
    """Every class that some order of equal distances and some way of breaking equal votes elects, in fractions.

    Distances count as equal that differ by about `slack` of themselves, or of the numbers they are computed from.
    """
    kept = [r for r in range(len(X)) if r not in set(exclude)]
    exact = [[Fraction(float(v)) for v in row] for row in np.vstack([np.asarray(point, dtype=float)[None], X[kept]])]
    whole = [[Fraction(float(v)) for v in row] for row in G]
    distances = []
    for row in exact[1:]:
        apart = [p - q for p, q in zip(exact[0], row, strict=True)]
        distances.append(sum(sum(g * a for g, a in zip(line, apart, strict=True)) ** 2 for line in whole))
    reach = np.abs(X[kept] - np.asarray(point, dtype=float)) @ np.abs(G).T
    last, blur = sorted(distances)[k - 1], Fraction(slack) ** 2 * Fraction(float((reach**2).sum(axis=1).max()))
    near, far = last * (1 - Fraction(slack)) - blur, last * (1 + Fraction(slack)) + blur
    labels = np.asarray(y)[kept].tolist()
    inside = Counter(c for c, d in zip(labels, distances, strict=True) if d < near)
    tied = Counter(c for c, d in zip(labels, distances, strict=True) if near <= d <= far)
    found = set()
    for taken in itertools.product(*(range(n + 1) for n in tied.values())):
        if sum(taken) == k - sum(inside.values()):
            votes = inside + Counter(dict(zip(tied, taken, strict=True)))
            found |= {c for c, n in votes.items() if n == max(votes.values())}
    return found


def truth(
    M, X, y, x, label, k, threat: Threat = EUCLIDEAN, exclude=(), prune: bool = True, ties: str = "order", target=None
) -> Truth:
    """The three radii of the module's docstring, over every set of k rows that flips the answer.

    A set whose hardest single half-space is already farther than every answer so far needs no program; `prune=False`
    solves them all.
    """
    kept = [r for r in range(len(X)) if r not in set(exclude)]
    X, y = X[kept], np.asarray(y)[kept]
    programs = Programs(M, X, x, threat)
    everyone = np.arange(len(X))
    labels = y.tolist()
    every = itertools.combinations(everyone, k)
    sets = [np.array(c) for c in every if flips([labels[r] for r in c], label, ties, target)]
    others = [np.setdiff1d(everyone, c) for c in sets]
    hardest = [programs.alone[np.ix_(c, o)].max(initial=0.0) for c, o in zip(sets, others, strict=True)]
    best = dict.fromkeys(Truth._fields, np.inf)
    for s in np.argsort(hardest, kind="stable"):
        near, far = sets[s], others[s]
        if prune and hardest[s] >= max(best.values()):
            break
        A, b = programs.of(near, far)
        ruled = np.array([a > o for a in near for o in far], dtype=bool)  # a needs to be strictly nearer
        everything = np.ones(len(A), dtype=bool)
        radius = programs.radius(A, b)
        if prune and radius >= max(best.values()):
            continue
        has_interior = slack(A, b, everything, programs.room) > STRICT
        if has_interior:
            best = {name: min(so_far, radius) for name, so_far in best.items()}
        elif slack(A, b, ~everything, programs.room) >= -FEASIBLE:
            best["closed"] = min(best["closed"], radius)
            if not ruled.any() or slack(A, b, ruled, programs.room) > STRICT:
                best["ruled"] = min(best["ruled"], radius)
    return Truth(**best) if ties == "order" else Truth(best["closed"], best["closed"], best["open"])


def slack(A, b, strict, room=None) -> float:
    """The largest t ≤ 1 with A z ≥ b, more by t where `strict`; without strict rows, how feasible A z ≥ b is (≤ 0)."""
    if len(A) == 0:
        return 1.0
    if not strict.any():  # min of the worst violation
        column, bound = np.ones(len(A)), (None, 0.0)
    else:
        column, bound = strict.astype(float), (None, 1.0)
    n = A.shape[1]
    rows = np.hstack([-A, column[:, None]])
    free = [(None, None)] * n if room is None else [tuple(r) for r in room]
    unit = max(1.0, float(np.abs(b).max()))
    free = [tuple(None if v is None else v / unit for v in r) for r in free]
    found = linprog(np.append(np.zeros(n), -1.0), A_ub=rows, b_ub=-b / unit, bounds=[*free, bound], options=_TIGHT)
    if found.status == 2:
        return -np.inf
    assert found.status == 0, found.message
    return float(found.x[-1])


_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def least(A, b, norm: float, room=None) -> float:
    """min ‖z‖ with A z ≥ b and z in `room`; +inf where nothing satisfies that."""
    z = least_point(A, b, norm, room)
    return np.inf if z is None else float(np.linalg.norm(z, norm))


def least_point(A, b, norm: float, room=None) -> np.ndarray | None:
    A, b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
    if np.all(b <= 0):
        return np.zeros(A.shape[1])
    if norm == 2:
        return _least_l2(A, b, room)
    return _least_linear(A, b, norm, room)


def _least_linear(A, b, norm, room) -> np.ndarray | None:
    n = A.shape[1]
    unit = float(np.abs(b).max())
    eye = np.eye(n)
    top = np.ones((n, 1)) if norm == np.inf else eye
    rows = np.block([[-A, np.zeros((len(A), top.shape[1]))], [eye, -top], [-eye, -top]])
    bounds = [(None, None)] * n if room is None else [tuple(r / unit) for r in room]
    found = linprog(
        np.concatenate([np.zeros(n), np.ones(top.shape[1])]),
        A_ub=rows,
        b_ub=np.concatenate([-b / unit, np.zeros(2 * n)]),
        bounds=bounds + [(0, None)] * top.shape[1],
        options=_TIGHT,
    )
    if found.status == 2:
        return None
    assert found.status == 0, found.message
    return unit * found.x[:n]


def _least_l2(A, b, room) -> np.ndarray | None:
    """Least distance programming (Lawson and Hanson, chapter 23); the answer is checked by its multipliers.

    Where it does not pass, as for constraints that are all but parallel, the program is solved in fractions.
    """
    if room is not None:
        eye = np.eye(A.shape[1])
        finite = np.isfinite(room)
        A = np.vstack([A, eye[finite[:, 0]], -eye[finite[:, 1]]])
        b = np.concatenate([b, room[finite[:, 0], 0], -room[finite[:, 1], 1]])
    unit = float(np.abs(b).max())
    E = np.vstack([A.T, b / unit])
    multipliers, _ = nnls(E, np.append(np.zeros(A.shape[1]), 1.0), maxiter=1000 + 10 * len(A))
    rest = 1.0 - float(b @ multipliers) / unit
    if rest <= 1e-12:
        return None
    z = A.T @ multipliers / rest
    gap = A @ z - b / unit
    complementary = float(multipliers @ gap) / rest
    if gap.min() < -1e-8 or abs(complementary) > 1e-8 * max(1.0, float(z @ z)):
        return rational.least_distance(A, b)
    return unit * z
