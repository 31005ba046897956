"""The smallest move that puts some points ahead of others: a projection onto order constraints.

Moving x by δ changes ``d(x+δ, x_a) - d(x+δ, x_b)`` linearly: the key ``d(x, x_a) - 2 h_aᵀδ`` of a point, with
``h = M x``, orders all points by their distance to x + δ. "a ahead of b" is therefore a half-space, and the smallest
δ that puts every point of a set `front` ahead of every point of a set `back` is a quadratic program (ℓ2) or a linear
one (ℓ1, ℓ∞). It is solved by constraint generation: only the pairs that get in the way are ever written down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..certificates.least_distance import least_distance, least_distance_by_program
from ..numerics.arrays import BoolArray, FloatArray, IntArray

ROUNDS = 60
NEW_PAIRS = 6
TIGHT = 2.0  # margins: a pair whose keys differ by less binds
GROSS = 1e-6  # of the largest key: a pair out of order by more is no matter of rounding

Order = tuple[IntArray, IntArray]
"""(front, back): every point of the first is to be ahead of every point of the second."""


@dataclass
class Neighbourhood:
    """The training points around one test point, as far as an attack on it needs them.

    Attributes
    ----------
    h : (n, D') their h vectors; `d` (n,) their squared distances to x; `label` (n,) their classes.
    room : how far each scaled movable feature may fall and rise, or None.
    norm : 1, 2 or inf.
    free : which features do not count in the size of a move, or None. In ℓ2 they are given a small cost: `h` and
        `room` are in units in which all of their room is little.
    """

    h: FloatArray
    d: FloatArray
    label: IntArray
    index: IntArray  # of the training points, and the first of those M-identical to each
    twin: IntArray
    room: tuple[FloatArray, FloatArray] | None
    norm: float
    free: BoolArray | None = None
    _last: tuple[FloatArray, FloatArray] | None = None

    def __post_init__(self) -> None:
        self._has_twins = bool((self.twin != self.index).any())

    def keys(self, delta: FloatArray) -> FloatArray:
        """Numbers that order the points by their distance to x + δ; those of the last δ are remembered."""
        if self._last is None or self._last[0] is not delta:
            self._last = (delta, self.d - 2 * (self.h @ delta))
        return self._last[1]

    def size(self, delta: FloatArray) -> float:
        delta = delta if self.free is None else delta[~self.free]
        if self.norm != 2:
            return float(np.linalg.norm(delta, ord=self.norm))
        with np.errstate(over="ignore"):  # infinite: as good as none
            return math.sqrt(delta @ delta)

    def project(
        self, orders: list[Order], margin: float, limit: float = np.inf, near: FloatArray | None = None
    ) -> FloatArray | None:
        """The smallest δ that fulfils all `orders` with `margin` to spare; None if there is none below `limit`.

        `margin` is the least difference of squared distances between a front and a back point. What binds at `near`,
        the solution for similar orders, is where to begin.
        """
        solver = _solver(self)
        delta = np.zeros(self.h.shape[1])
        pairs: list[tuple[int, int]] = []
        fresh = [] if near is None else self._pairs(orders, near, -TIGHT * margin)
        fresh = fresh or self._pairs(orders, delta, -0.5 * margin)
        for _ in range(ROUNDS):
            if not fresh and not solver.leaves_box(delta):
                return delta
            pairs += fresh
            front, back = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
            normals = self.h[front] - self.h[back]
            offsets = (self.d[front] - self.d[back] + margin) / 2
            found = solver.solve(normals, offsets, limit)
            if found is None or self.size(found[0]) > limit:
                return None
            delta, binding = found
            pairs = [pair for pair, needed in zip(pairs, binding, strict=True) if needed]
            violated = self._pairs(orders, delta, -0.5 * margin)
            fresh = [pair for pair in violated if pair not in pairs]
            if violated and not fresh and self._pairs(orders, delta, GROSS * float(np.abs(self.keys(delta)).max())):
                return None  # orders that nearly contradict each other: the solver went astray
        return None

    def _pairs(self, orders: list[Order], delta: FloatArray, above: float) -> list[tuple[int, int]]:
        """The worst pairs of a front and a back point whose keys at x + δ differ by more than `above`."""
        keys = self.keys(delta)
        found: dict[tuple[int, int], None] = {}
        for front, back in orders:
            if not len(front) or not len(back):
                continue
            worst = _smallest(-keys, front).tolist()
            nearest = _smallest(keys, back).tolist()
            last, first = keys[worst].tolist(), keys[nearest].tolist()
            candidates = [(worst[0], b, last[0] - key) for b, key in zip(nearest, first, strict=True)]
            candidates += [(a, nearest[0], key - first[0]) for a, key in zip(worst[1:], last[1:], strict=True)]
            found |= {(a, b): None for a, b, gap in candidates if gap > above and not self._settled(a, b)}
        return list(found)

    def _settled(self, a: int, b: int) -> bool:
        """Whether training order alone keeps a ahead of b: they are M-identical, and a comes first."""
        return self._has_twins and bool(self.twin[a] == self.twin[b] and self.index[a] < self.index[b])

    def nearest(self, places: IntArray, values: FloatArray, count: int) -> IntArray:
        """The first `count` of `places` by rising `values` (one per point here), ties by training order."""
        if len(places) > 2 * count > 0:
            own = values[places]
            places = places[own <= np.partition(own, count - 1)[count - 1]]
        return places[np.lexsort([self.index[places], values[places]])[:count]]


def _smallest(keys: FloatArray, places: IntArray) -> IntArray:
    """The few places with the smallest keys, in their order."""
    values = keys[places]
    if len(places) > 64:
        some = values.argpartition(NEW_PAIRS)[:NEW_PAIRS]
        places, values = places[some], values[some]
    return places[values.argsort()[:NEW_PAIRS]]


class _Quadratic:
    """ℓ2: least distance; sides of the box join as constraints where the solution leaves it."""

    def __init__(self, room: tuple[FloatArray, FloatArray] | None, width: int) -> None:
        self.room, self.width = room, width
        self.sides: list[tuple[int, float]] = []

    def leaves_box(self, delta: FloatArray) -> bool:
        if self.room is None:
            return False
        down, up = self.room
        beyond = np.maximum(delta - up, -down - delta)
        worst = np.flatnonzero(beyond > 1e-12 * (1 + np.abs(delta)))
        worst = worst[np.argsort(-beyond[worst])[: 4 * NEW_PAIRS]]
        fresh = [(int(k), 1.0 if delta[k] > 0 else -1.0) for k in worst]
        fresh = [side for side in fresh if side not in self.sides]
        self.sides += fresh
        return bool(fresh)

    def solve(self, normals: FloatArray, offsets: FloatArray, limit: float) -> tuple[FloatArray, BoolArray] | None:
        n_pairs = len(offsets)
        if self.sides and self.room is not None:
            down, up = self.room
            rows = np.zeros((len(self.sides), self.width))
            for row, (k, sign) in zip(rows, self.sides, strict=True):
                row[k] = -sign
            limits = [-(up[k] if sign > 0 else down[k]) for k, sign in self.sides]
            normals, offsets = np.vstack([normals, rows]), np.concatenate([offsets, limits])
        lengths = np.sqrt(np.einsum("nd,nd->n", normals, normals))
        if ((lengths == 0) & (offsets > 0)).any():
            return None
        if float(offsets.max(initial=-np.inf)) <= 0:
            return np.zeros(self.width), np.ones(n_pairs, dtype=bool)
        lengths[lengths == 0] = 1.0
        delta, multipliers, feasible = least_distance(normals / lengths[:, None], offsets / lengths)
        if not feasible:
            return None
        return delta, multipliers[:n_pairs] > 0


class _Linear:
    """ℓ1 and ℓ∞: a linear program; the box is part of it."""

    def __init__(self, room: tuple[FloatArray, FloatArray] | None, norm: float, free: BoolArray | None) -> None:
        self.room, self.norm, self.free = room, norm, free

    def leaves_box(self, delta: FloatArray) -> bool:
        return False

    def solve(self, normals: FloatArray, offsets: FloatArray, limit: float) -> tuple[FloatArray, BoolArray] | None:
        lengths = np.abs(normals).max(axis=1, initial=0.0)
        lengths[lengths == 0] = 1.0
        delta, _, feasible = least_distance_by_program(
            normals / lengths[:, None], offsets / lengths, self.norm, self.room, limit, self.free
        )
        return (delta, np.ones(len(offsets), dtype=bool)) if feasible else None


def _solver(place: Neighbourhood) -> _Quadratic | _Linear:
    width = place.h.shape[1]
    return _Quadratic(place.room, width) if place.norm == 2 else _Linear(place.room, place.norm, place.free)
