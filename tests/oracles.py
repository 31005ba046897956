"""Plain, slow, independent answers to check the engine against: loops, float64, one formula at a time.

Written from the paper and from the definitions alone. Nothing here imports the engine, screens anything, or is
rounded to the safe side. Three levels, each independent of the one before:

* :func:`triplet`, :func:`theorem1`, :func:`votes`: the closed forms over all pairs.
* :func:`exact_1nn`: the smallest optimum of one small program per negative.
* :func:`true_radius`: ε* itself, from every set of K neighbours that would answer anything but y.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog, minimize

ZERO = 1e-9  # below this, relative to its own scale, a difference counts as none


@dataclass(frozen=True)
class Threat:
    """δ has size ‖costs ∘ δ‖ in `norm`, does not touch `frozen`, and x + δ stays in the hull of `box` and x.

    Some features may only grow or only fall; `at_no_cost` are features that do not count in the size. `by_row` says
    that the engine is given the box as a line for the one row in question. `switches` are features that are exchanged
    together for one of some values, or of those in the data where they are None, at most `most` of them at once.
    """

    norm: float = 2.0
    costs: np.ndarray | None = None
    frozen: tuple[int, ...] = ()
    box: tuple[float, float] | None = None
    only_up: tuple[int, ...] = ()
    only_down: tuple[int, ...] = ()
    at_no_cost: tuple[int, ...] = ()
    by_row: bool = False
    switches: tuple[tuple[tuple[int, ...], tuple[tuple[float, ...], ...] | None], ...] = ()
    most: int | None = None

    @property
    def switched(self) -> tuple[int, ...]:
        return tuple(feature for features, _ in self.switches for feature in features)

    def after_switches(self) -> Threat:
        """What may still move after a combination: the switched features stay."""
        return replace(self, frozen=(*self.frozen, *self.switched), switches=(), most=None)

    def free(self, n_features: int) -> list[int]:
        return [f for f in range(n_features) if f not in self.frozen]

    def weights(self, n_features: int) -> np.ndarray:
        costs = np.ones(n_features) if self.costs is None else np.asarray(self.costs, dtype=float)
        return costs[self.free(n_features)]

    def size(self, delta: np.ndarray) -> float:
        costs = np.ones(len(delta)) if self.costs is None else np.asarray(self.costs, dtype=float)
        return float(np.linalg.norm(np.delete(costs * delta, list(self.at_no_cost)), self.norm))

    def limits(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The smallest and largest value of each feature of x + δ; None where nothing limits them."""
        if self.box is None and not self.only_up and not self.only_down:
            return None
        box = (-np.inf, np.inf) if self.box is None else self.box
        low, high = (np.broadcast_to(np.asarray(side, dtype=float), len(x)) for side in box)
        low, high = np.minimum(low, x), np.maximum(high, x)
        low[list(self.only_up)] = x[list(self.only_up)]
        high[list(self.only_down)] = x[list(self.only_down)]
        return low, high


EUCLIDEAN = Threat()


def distance(M: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """The squared distance (a - b)ᵀM(a - b)."""
    return float((a - b) @ M @ (a - b))


def neighbours(M, X, x, k, exclude=()) -> list[int]:
    """The k nearest training rows; equal distances go to the lower index."""
    ranked = sorted((distance(M, x, X[i]), i) for i in range(len(X)) if i not in set(exclude))
    return [i for _, i in ranked[:k]]


def plurality(labels) -> object:
    """The most frequent label, the smallest of them where several are."""
    labels = list(labels)
    return min(set(labels), key=lambda c: (-labels.count(c), c))


def predict(M, X, y, x, k, exclude=()):
    return plurality(y[i] for i in neighbours(M, X, x, k, exclude))


# ---------------------------------------------------------------------------------------------------------------
# the closed forms


def twins(M, a, b) -> bool:
    """M cannot tell a from b: their distances to any x tie, and training order alone decides between them."""
    return bool(np.all(np.abs(M @ (a - b)) <= ZERO * (np.abs(M) @ np.abs(a - b))))


def triplet(M, x, xi, xj, threat: Threat = EUCLIDEAN, allowance: float = 0.0) -> float:
    """ε̃₊(i, j): the size of the smallest δ that brings x as close to x_j as to x_i.

    With an `allowance` the answer of somebody who knows both distances only up to that share of their size.
    """
    gap = float((xi - xj) @ M @ (2 * x - xi - xj))  # d(x, x_j) - d(x, x_i)
    gap -= allowance * sum(_size(M, x - z) for z in (xi, xj)) if allowance else 0.0
    size = float(np.abs(xi - xj) @ np.abs(M) @ (np.abs(x - xi) + np.abs(x - xj)))
    if gap <= 0:
        return 0.0
    free = threat.free(len(x))
    pull = (M @ (xi - xj))[free]
    pull_size = (np.abs(M) @ np.abs(xi - xj))[free]
    if np.all(np.abs(pull) <= ZERO * pull_size):
        return np.inf if gap > ZERO * size else 0.0
    if threat.box is None:
        dual = {1.0: np.inf, 2.0: 2, np.inf: 1}[threat.norm]
        return gap / (2 * float(np.linalg.norm(pull / threat.weights(len(x)), dual)))
    rows, bounds = [-2 * pull / threat.weights(len(x))], [gap]
    return least_norm(np.array(rows), np.array(bounds), threat.norm, _room(x, threat))


def _size(M, v) -> float:
    """What the rounding errors of vᵀMv are measured against."""
    if np.count_nonzero(M - np.diag(np.diag(M))) == 0:
        return float(v @ M @ v)
    return float(np.trace(M)) * float(v @ v)  # the trace is ‖G‖²


def triplets(M, X, y, x, label, threat: Threat = EUCLIDEAN, exclude=(), allowance=0.0) -> tuple[np.ndarray, list]:
    """All ε̃₊(i, j), positives × negatives, and the label of each negative.

    Of two twins the earlier one is nearer everywhere: a positive before its twin j can never be overtaken by it.
    """
    kept = [r for r in range(len(X)) if r not in set(exclude)]
    positives = [r for r in kept if y[r] == label]
    negatives = [r for r in kept if y[r] != label]
    table = [
        [
            (np.inf if i < j else 0.0) if twins(M, X[i], X[j]) else triplet(M, x, X[i], X[j], threat, allowance)
            for j in negatives
        ]
        for i in positives
    ]
    return np.array(table).reshape(len(positives), len(negatives)), [y[j] for j in negatives]


def theorem1(M, X, y, x, label, k, threat: Threat = EUCLIDEAN, exclude=(), allowance=0.0) -> float:
    """Theorem 1 of the paper: kth-min over negatives of kth-max over positives, k = (K+1)/2."""
    assert k % 2 == 1
    order = (k + 1) // 2
    table, _ = triplets(M, X, y, x, label, threat, exclude, allowance)
    largest_first = np.sort(table, axis=0)[::-1]
    return float(np.sort(largest_first[order - 1])[order - 1])


def votes(M, X, y, x, label, k, threat: Threat = EUCLIDEAN, exclude=(), allowance=0.0) -> float:
    """What positives prove, or, where that is nothing, what all other classes together do."""
    arguments = (M, X, y, x, label, k, threat, exclude, allowance)
    proved = votes_by_positives(*arguments)
    return proved if proved > 1e-12 else votes_by_all_others(*arguments)


def votes_by_all_others(M, X, y, x, label, k, threat: Threat = EUCLIDEAN, exclude=(), allowance=0.0) -> float:
    """The smallest, over winners c with t places, of t rows of c ahead of all but K-t of all other rows."""
    kept = [r for r in range(len(X)) if r not in set(exclude)]
    sizes = {c: sum(y[r] == c for r in kept) for c in sorted(set(y))}
    rivals = [c for c, n in sizes.items() if n and c != label]
    if len(rivals) + bool(sizes[label]) < 3:
        return 0.0
    best = np.inf
    for c in rivals:
        needs = [
            max(m + (c > label), -(-(k - m) // len(rivals)), 1)
            for m in range(min(k - 1, sizes[label]) + 1)
            if k - m <= len(kept) - sizes[label]
        ]
        needs = [t for m, t in enumerate(needs, max(0, k - len(kept) + sizes[label])) if t + m <= k and t <= sizes[c]]
        if not needs:
            continue
        t = min(needs)
        held_back = []
        for j in (r for r in kept if y[r] == c):
            others = [
                0.0 if twins(M, X[i], X[j]) else triplet(M, x, X[i], X[j], threat, allowance) for i in kept if y[i] != c
            ]
            held_back.append(sorted(others)[::-1][k - t] if len(others) > k - t else 0.0)
        best = min(best, sorted(held_back)[t - 1])
    return best


def votes_by_positives(M, X, y, x, label, k, threat: Threat = EUCLIDEAN, exclude=(), allowance=0.0) -> float:
    """The smallest, over m positives among the neighbours and a winner c, of what that needs."""
    classes = sorted(set(y))
    table, negative_labels = triplets(M, X, y, x, label, threat, exclude, allowance)
    n_rivals = len(set(negative_labels))
    n_positives, n_negatives = table.shape
    best = np.inf
    for m in range(min(k - 1, n_positives) + 1):
        for c in classes:
            if c == label:
                continue
            loses_tie = 1 if c > label else 0
            t = max(m + loses_tie, -(-(k - m) // max(n_rivals, 1)), 1)
            members = [n for n in range(n_negatives) if negative_labels[n] == c]
            if t + m > k or len(members) < t or n_negatives < k - m:
                continue
            s = [0.0 if m == n_positives else float(np.sort(table[:, n])[::-1][m]) for n in range(n_negatives)]
            needed_by_all = sorted(s)[k - m - 1]
            needed_by_c = sorted(s[n] for n in members)[t - 1]
            best = min(best, max(needed_by_all, needed_by_c))
    return best


# ---------------------------------------------------------------------------------------------------------------
# small programs


def _room(x, threat: Threat) -> np.ndarray | None:
    """How far z = costs ∘ δ may go down and up, free features only: (n, 2), or None without a box."""
    limits = threat.limits(x)
    if limits is None:
        return None
    free, w = threat.free(len(x)), threat.weights(len(x))
    low, high = limits
    return np.stack([w * (low - x)[free], w * (high - x)[free]], axis=1)


def least_norm(A: np.ndarray, b: np.ndarray, norm: float, room: np.ndarray | None = None) -> float:
    """min ‖z‖ subject to A z ≥ b and room[:, 0] ≤ z ≤ room[:, 1]; +inf where nothing satisfies that."""
    A, b = np.atleast_2d(np.asarray(A, dtype=float)), np.asarray(b, dtype=float)
    if A.shape[1] == 0:
        return 0.0 if np.all(b <= 0) else np.inf
    if norm == 2:
        if room is not None and len(A) == 1:
            return _boxed_halfspace(A[0], float(b[0]), room)
        if room is not None:
            eye = np.eye(A.shape[1])
            A, b = np.vstack([A, eye, -eye]), np.concatenate([b, room[:, 0], -room[:, 1]])
        return _least_l2_by_active_sets(A, b) if A.shape[1] <= 3 else _least_l2_by_slsqp(A, b)
    return _least_by_linprog(A, b, norm, room)


def _least_by_linprog(A, b, norm, room) -> float:
    scale = np.maximum(np.abs(A).max(axis=1), 1e-300)
    A, b = A / scale[:, None], b / scale
    n = A.shape[1]
    eye = np.eye(n)
    extra = np.ones((n, 1)) if norm == np.inf else eye  # z ≤ t and -z ≤ t; t is shared for ℓ∞
    rows = np.block([[-A, np.zeros((len(A), extra.shape[1]))], [eye, -extra], [-eye, -extra]])
    bounds = [(None, None)] * n if room is None else [tuple(r) for r in room]
    cost = np.concatenate([np.zeros(n), np.ones(extra.shape[1])])
    found = linprog(
        cost,
        A_ub=rows,
        b_ub=np.concatenate([-b, np.zeros(2 * n)]),
        bounds=bounds + [(0, None)] * extra.shape[1],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status == 2:
        return np.inf
    assert found.status == 0, found.message
    return float(found.fun)


def _boxed_halfspace(a, b, room) -> float:
    """One half-space and a box in ℓ2: z = clip(λa) for the λ that just reaches b, by bisection."""
    if b <= 0:
        return 0.0
    reach = [a_f * (high if a_f > 0 else low) for a_f, (low, high) in zip(a, room, strict=True) if a_f != 0]
    if sum(reach) < b:
        return np.inf
    low, high = 0.0, 1.0
    while a @ np.clip(high * a, room[:, 0], room[:, 1]) < b * (1 - 1e-14):
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if a @ np.clip(middle * a, room[:, 0], room[:, 1]) < b else (low, middle)
    return float(np.linalg.norm(np.clip(high * a, room[:, 0], room[:, 1])))


def _least_l2_by_active_sets(A, b) -> float:
    """The optimum is the least-norm point of its at most D active constraints: try them all."""
    lengths = np.linalg.norm(A, axis=1)
    vacuous = lengths <= 1e-12 * max(1.0, lengths.max())
    if np.any(b[vacuous] > 1e-12 * max(1.0, np.abs(b).max())):
        return np.inf
    A, b = A[~vacuous] / lengths[~vacuous, None], b[~vacuous] / lengths[~vacuous]
    if np.all(b <= 0):
        return 0.0
    slack = 1e-9 * max(1e-9, np.abs(b).max())
    best = np.inf
    for size in range(1, min(A.shape[1], len(A)) + 1):
        sets = np.array(list(itertools.combinations(range(len(A)), size)))
        z = np.einsum("sdk,sk->sd", np.linalg.pinv(A[sets], rcond=1e-10), b[sets])
        feasible = np.all(z @ A.T >= b - slack, axis=1)
        if feasible.any():
            best = min(best, float(np.linalg.norm(z[feasible], axis=1).min()))
    return best


def _least_l2_by_slsqp(A, b) -> float:
    lengths = np.linalg.norm(A, axis=1)
    assert lengths.min() > 1e-12 * lengths.max(), "zero normals are for the active-set oracle"
    A, b = A / lengths[:, None], b / lengths
    if np.all(b <= 0):
        return 0.0
    unit = float(np.abs(b).max())
    b = b / unit
    found = minimize(
        lambda z: z @ z,
        np.zeros(A.shape[1]),
        jac=lambda z: 2 * z,
        constraints={"type": "ineq", "fun": lambda z: A @ z - b, "jac": lambda z: A},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    assert np.min(A @ found.x - b) > -1e-8, found.message
    return unit * float(np.linalg.norm(found.x))


def _closer_than(M, x, near, far, threat: Threat) -> tuple[np.ndarray, np.ndarray]:
    """A z ≥ b saying that x + δ is at least as close to each of `near` as to each of `far`, z = costs ∘ δ."""
    free, w = threat.free(len(x)), threat.weights(len(x))
    rows, bounds = [], []
    for a in near:
        for c in far:
            rows.append(2 * (M @ (a - c))[free] / w)
            bounds.append(float((c - a) @ M @ (2 * x - a - c)))  # d(x, a) - d(x, c)
    return np.array(rows).reshape(len(rows), len(free)), np.array(bounds)


def exact_1nn(M, X, y, x, label, threat: Threat = EUCLIDEAN, exclude=()) -> float:
    """ε* for K = 1: the smallest, over negatives j, of how far x must go to be at least as close to j as to any i."""
    kept = [r for r in range(len(X)) if r not in set(exclude)]
    positives = [r for r in kept if y[r] == label]
    best = np.inf
    for j in kept:
        if y[j] != label and not any(i < j and twins(M, X[i], X[j]) for i in positives):
            rivals = [X[i] for i in positives if not twins(M, X[i], X[j])]
            A, b = _closer_than(M, x, [X[j]], rivals, threat)
            best = min(best, least_norm(A, b, threat.norm, _room(x, threat)))
    return best


def true_radius(M, X, y, x, label, k, threat: Threat = EUCLIDEAN, exclude=()) -> float:
    """ε* for any K: the smallest δ for which some set of K rows that does not elect `label` is nearest."""
    kept = [r for r in range(len(X)) if r not in set(exclude)]
    best = np.inf
    for chosen in itertools.combinations(kept, k):
        others = [r for r in kept if r not in chosen]
        overtaken = any(o < r and twins(M, X[o], X[r]) for o in others for r in chosen)
        if plurality(y[r] for r in chosen) != label and not overtaken:
            A, b = _closer_than(M, x, [X[r] for r in chosen], [X[o] for o in others], threat)
            best = min(best, least_norm(A, b, threat.norm, _room(x, threat)) if len(A) else 0.0)
    return best
