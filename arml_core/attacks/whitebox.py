"""The white-box attack: find a small perturbation by choosing who is to be near, and projecting onto that choice.

A prediction changes when t points J of a rival class c are ahead of everybody but a few: the m positives I and the
o others O that are allowed inside, with ``t + m + o = K`` and t enough to beat m. For a fixed choice the smallest
such move is a projection (:mod:`.projection`). From several first choices the attack moves to the solution, chooses
again from what is nearest there, and repeats until the move gets no smaller; then it trades single points in and
out. Every point it returns has been given to ``predict``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..certificates.box import stretch_of_free
from ..certificates.triplet import Triplets
from ..neighbors.point_set import PointSet
from ..neighbors.vote import count_votes
from ..numerics.arrays import FloatArray, IntArray
from ..numerics.error_bounds import float32_error
from ..numerics.parallel import in_parallel
from ..progress import Callback, report
from .projection import Neighbourhood, Order

POOL = 128  # training points of each kind (positives, rivals) the search looks at
ANCHORS = 8
LINEAR_ANCHORS = 12  # in ℓ1 and ℓ∞ many moves are equally short, and which of them is found decides what comes next
RIVALS = 3  # classes whose nearest points make a first choice
TRADED = 2  # local optima that are improved by trading; in ℓ1 and ℓ∞ twice as many
CHOICES = 8
TRADES = 5
SMALL_POOL = 64  # with so few points around, every kind of first choice is affordable
STARTING_POINTS = 24
MOST_CHOICES = 400
MARGIN = 1e-9
RETRIES = 16
BISECTIONS = 40


@dataclass(frozen=True)
class Choice:
    """Who is to be inside: J of class c, positives I, others O (places within a neighbourhood)."""

    c: int
    j: IntArray
    i: IntArray
    o: IntArray

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for choices that ask for the same."""
        return (self.c, *(frozenset(places.tolist()) for places in (self.j, self.i, self.o)))


class TiedNeighbourhood(Neighbourhood):
    """The points where every order of equal distances counts: M-identical ones are ahead of each other."""

    def _settled(self, a: int, b: int) -> bool:
        return bool(self.twin[a] == self.twin[b])


def whitebox_attack(
    triplets: Triplets, points: PointSet, callback: Callback | None = None
) -> tuple[FloatArray, NDArray[np.floating]]:
    """Sizes of perturbations that change the prediction, and the perturbed points.

    Returns
    -------
    upper : (n,), +inf where nothing was found.
    adversarial : (n, D) in the points' dtype, NaN rows where nothing was found.
    """
    upper = np.full(len(points), np.inf)
    adversarial = np.full(points.points.shape, np.nan, dtype=points.points.dtype)
    for b, found in in_parallel(lambda b: attack_point(triplets, points, b), range(len(points)), points.threads):
        if found is not None:
            upper[b], adversarial[b] = found
        report(callback, b + 1, len(points))
    return upper, adversarial


def attack_point(
    triplets: Triplets, points: PointSet, member: int, start: FloatArray | None = None, traded: int = TRADED
) -> tuple[float, NDArray[np.floating]] | None:
    """The attack on one of the points: (size, perturbed point), or None where nothing was found."""
    return PointAttack(triplets, points, member, traded).run(start)


class PointAttack:
    """The attack on one of the points, `member`; `traded` local optima are improved by trading (see TRADED)."""

    def __init__(self, triplets: Triplets, points: PointSet, member: int, traded: int = TRADED) -> None:
        x: NDArray[np.floating] = points.points[member]
        self.triplets, self.points, self.member = triplets, points, member
        self.linear = triplets.threat.norm != 2
        self.traded = 2 * traded if self.linear else traded
        self.x, self.label, self.n_neighbors = x, int(points.labels[member]), points.n_neighbors
        self.rule, self.n_classes = points.rule, points.references.n_classes
        self.exact_x = x.astype(np.float64)
        references = triplets.references
        u, slack = references.embed(self.exact_x[None])
        self.u = u[0]
        # One product for all points, to choose a pool from; the pool's own distances are taken from differences.
        self.d: FloatArray = np.maximum(references.norms**2 - 2 * (references.u @ self.u) + self.u @ self.u, 0.0)
        self.d[references.rank[points.left_out(member)]] = np.inf
        self.class_of = references.label[references.order]
        self.rivals = self.rule.rivals(self.n_classes, self.label)
        self.is_rival = np.isin(self.class_of, self.rivals)
        self.margin = max(MARGIN * self._scale(), 16 * float(slack[0]) ** 2)
        if x.dtype == np.float32:
            spread = np.linalg.norm(triplets.whole_h, axis=1).max() * np.linalg.norm(self.exact_x)
            self.margin = max(self.margin, 4 * float32_error(float(spread)))
        self.pool = self._first_pool()
        self.ranges, self.room = points.ranges_of(member), triplets.threat.room(self.exact_x, points.ranges_of(member))
        self.stretch = self._stretch(triplets.references.spread(triplets.threat))

    def _stretch(self, size: float) -> FloatArray | None:
        """By what features are divided in ℓ2, where free ones have a small cost beside `size`; None without any."""
        free = self.triplets.threat.free
        if self.room is None or not free.any():
            return None
        return np.ones(len(free)) if self.linear else stretch_of_free(free, self.room, size)

    def _expanded(self, delta: FloatArray) -> FloatArray:
        """The full move of a δ of the search."""
        return self.triplets.threat.expand(delta if self.stretch is None else delta * self.stretch)

    def _reduced(self, move: FloatArray) -> FloatArray:
        """A full move as a δ of the search."""
        reduced = self.triplets.threat.reduce_move(move)
        return reduced if self.stretch is None else reduced / self.stretch

    def _scale(self) -> float:
        """A squared distance of those that decide: of as many rivals as can be neighbours, or of all points if less.

        Not of all points alone: to one in a small group far from the others they are all far.
        """
        known = np.isfinite(self.d)
        rivals = self.d[known & self.is_rival]
        all_points = float(np.median(self.d[known]))
        if not len(rivals):
            return all_points
        last = min(self.n_neighbors, len(rivals)) - 1
        return min(all_points, float(np.partition(rivals, last)[last]))

    def _first_pool(self) -> IntArray:
        """Places of the nearest positives, the nearest rivals, and some of every class."""
        per_class = max(4 * self.n_neighbors, POOL // 4)
        pool = []
        starts = self.triplets.references.starts
        for c in range(self.n_classes):
            places = np.arange(starts[c], starts[c + 1])
            pool.append(_nearest(self.d, places, POOL if c == self.label else per_class))
        pool.append(_nearest(self.d, np.flatnonzero(self.class_of != self.label), POOL))
        pool.append(_nearest(self.d, np.flatnonzero(self.is_rival), POOL))
        together = np.unique(np.concatenate(pool))
        return together[np.isfinite(self.d[together])]

    def run(self, start: FloatArray | None = None) -> tuple[float, NDArray[np.floating]] | None:
        """The best point found that `predict` gets wrong, with its size."""
        best = self._run(start)
        if best is None or self.stretch is None:
            return best
        best = min(best, self._by_free_features_alone(best[1]), key=lambda found: found[0])
        self.stretch = self._stretch(best[0])  # the first one was a guess
        again = self._run(best[1].astype(np.float64)) if best[0] > 0 and not self.linear else None
        return best if again is None or again[0] >= best[0] else again

    def _by_free_features_alone(self, point: NDArray[np.floating]) -> tuple[float, NDArray[np.floating]]:
        """A flipped point with what counts put back in its place, if that flips as well: its size is 0."""
        back, threat = point.copy(), self.triplets.threat
        counted = threat.movable[~threat.free]
        back[counted] = self.x[counted]
        return (0.0 if self.points.flips_one(back[None], self.member)[0] else np.inf), back

    def _run(self, start: FloatArray | None = None) -> tuple[float, NDArray[np.floating]] | None:
        """The same from one start; widens the pool where it was too small."""
        threat = self.triplets.threat
        best: tuple[float, NDArray[np.floating]] | None = None
        if start is not None:
            self._widen(self._reduced(start - self.exact_x))
        for _ in range(RETRIES):
            place = self._neighbourhood()
            deltas = self._search(place, start)
            if not deltas and start is None:
                start = self._misclassified()
                if start is not None:
                    self._widen(self._reduced(start - self.exact_x))
                    continue
            if not deltas:
                return best
            points = (self.exact_x + self._expanded(np.stack(deltas))).astype(self.x.dtype)
            points = threat.keep_within(points, self.x, self.ranges)
            flipped = self.points.flips_one(points, self.member)
            sizes = threat.size_rounded_up(points.astype(np.float64) - self.exact_x)
            for size, point in zip(sizes[flipped], points[flipped], strict=True):
                if best is None or size < best[0]:
                    best = (float(size), point)
            if flipped[0]:  # deltas are sorted: the smallest one worked
                return best
            if not self._widen(deltas[0]):
                self.margin *= 30
        return best or self.towards_misclassified()

    def towards_misclassified(self) -> tuple[float, NDArray[np.floating]] | None:
        """A point on the way to a misclassified one that flips as well, as near as bisecting brings it."""
        there = self._misclassified()
        if there is None:
            return None
        threat = self.triplets.threat
        low, high, best = 0.0, 1.0, there.astype(self.x.dtype)
        for _ in range(BISECTIONS):
            share = (low + high) / 2
            point = (self.exact_x + share * (there - self.exact_x)).astype(self.x.dtype)
            point = threat.keep_within(point[None], self.x[None], self.ranges)
            if self.points.flips_one(point, self.member)[0]:
                high, best = share, point[0]
            else:
                low = share
        return float(threat.size_rounded_up(best.astype(np.float64) - self.exact_x)), best

    def _misclassified(self) -> FloatArray | None:
        """The nearest of some training points of other classes that is really misclassified: a last resort."""
        references = self.triplets.references
        rivals = np.flatnonzero(self.is_rival & np.isfinite(self.d))
        rivals = rivals[np.argsort(self.d[rivals])]
        some = np.union1d(rivals[:POOL], rivals[:: max(1, len(rivals) // POOL)])
        points = references.points(references.order[some]).astype(self.x.dtype)
        points = self.triplets.threat.keep_within(points, self.x, self.ranges)
        flipped = np.flatnonzero(self.points.flips_one(points, self.member))
        if not len(flipped):
            return None
        found = points[flipped].astype(np.float64)
        return np.asarray(found[self.triplets.threat.size(found - self.exact_x).argmin()])

    def _neighbourhood(self) -> Neighbourhood:
        triplets = self.triplets
        h, room = triplets.whole_h[self.pool], self.room
        if self.stretch is not None and room is not None:
            h, room = h * self.stretch, (room[0] / self.stretch, room[1] / self.stretch)
        difference = triplets.references.u[self.pool] - self.u
        kind = TiedNeighbourhood if self.rule.any_order else Neighbourhood
        return kind(
            h,
            np.einsum("nr,nr->n", difference, difference),
            self.class_of[self.pool],
            triplets.references.order[self.pool],
            triplets.references.twin[triplets.references.order[self.pool]],
            room,
            triplets.threat.norm,
            triplets.threat.free if self.stretch is not None else None,
        )

    def _widen(self, delta: FloatArray) -> bool:
        """Add the points that are nearest at x + δ but were not in the pool."""
        keys = self.d - 2 * (self.triplets.whole_h @ (delta if self.stretch is None else delta * self.stretch))
        nearest = _nearest(keys, np.arange(len(keys)), 4 * self.n_neighbors + 16)
        wider = np.union1d(self.pool, nearest[np.isfinite(self.d[nearest])])
        grown = len(wider) > len(self.pool)
        self.pool = wider
        return grown

    def _search(self, place: Neighbourhood, start: FloatArray | None) -> list[FloatArray]:
        """Distinct local optima, smallest first."""
        found: list[tuple[float, FloatArray]] = []
        best = np.inf
        for choice in self._first_choices(place, start):
            delta = self._descend(place, choice, 1.25 * best)
            if delta is not None:
                size = place.size(delta)
                found.append((size, delta))
                best = min(best, size)
        if not found or len(place.d) <= SMALL_POOL:
            for choice in self._choices_at_training_points(place):
                delta = self._descend(place, choice, best)
                if delta is not None:
                    found.append((place.size(delta), delta))
                    best = min(best, place.size(delta))
        if not found and len(place.d) <= SMALL_POOL:
            tries = (self._descend(place, choice, np.inf) for choice in self._every_choice(place))
            found = [(place.size(delta), delta) for delta in tries if delta is not None]
        found.sort(key=lambda pair: pair[0])
        for size, delta in found[: self.traded]:
            better = self._trade(place, delta)
            if place.size(better) < size:
                found.append((place.size(better), better))
        found.sort(key=lambda pair: pair[0])
        return [delta for _, delta in found[:3]]

    def _first_choices(self, place: Neighbourhood, start: FloatArray | None) -> Iterator[Choice]:
        """Choices worth a descent, none of them twice."""
        seen = set()
        for choice in self._some_choices(place, start):
            if choice is not None and choice.key not in seen:
                seen.add(choice.key)
                yield choice

    def _some_choices(self, place: Neighbourhood, start: FloatArray | None) -> Iterator[Choice | None]:
        if start is not None:
            yield from self._choices_near(place, self._reduced(start - self.exact_x))
        still = np.zeros(place.h.shape[1])
        rivals = [c for c in self.rivals if (place.label == c).any()]
        reach = {c: np.sort(place.d[place.label == c])[: self.n_neighbors // 2 + 1].mean() for c in rivals}
        for c in sorted(rivals, key=lambda c: reach[c])[:RIVALS]:
            yield self._around(place, int(c), place.keys(still), still)
            yield self._tipping(place, int(c), place.keys(still))
        anchors = self._anchors(place)
        for anchor, to_anchor in zip(anchors, _squared_distances(place.h[anchors], place.h), strict=True):
            c = int(place.label[anchor])
            choice = self._around(place, c, to_anchor, still)
            if choice is None:
                continue
            yield choice
            reached = place.project([(np.array([anchor]), self._back(place, c, choice.i))], self.margin)
            if reached is not None:  # who is near once the anchor alone is ahead?
                yield self._around(place, c, place.keys(reached), reached)

    def _choices_near(self, place: Neighbourhood, delta: FloatArray) -> Iterator[Choice | None]:
        """What wins at x + δ; where that is the label itself, what its rivals need there: they may just miss it."""
        winning = self._choose(place, delta)
        yield winning
        if winning is None:
            keys = place.keys(delta)
            near = place.nearest(np.arange(len(keys)), keys, 2 * self.n_neighbors)
            for c in np.setdiff1d(place.label[near], [self.label]):
                yield self._tipping(place, int(c), keys)

    def _choices_at_training_points(self, place: Neighbourhood) -> Iterator[Choice]:
        """What wins at training points and halfway between them: first choices where no class has a majority."""
        threat = self.triplets.threat
        near = np.argsort(place.d)[:STARTING_POINTS]
        points = self.triplets.references.points(place.index[near])
        middles = [(points[a] + points[b]) / 2 for a in range(min(len(near), 12)) for b in range(a)]
        seen = set()
        for point in [*points, *middles]:
            inside = threat.keep_within(point, self.exact_x, self.ranges)
            choice = self._choose(place, self._reduced(inside - self.exact_x))
            if choice is not None and choice.key not in seen:
                seen.add(choice.key)
                yield choice

    def _every_choice(self, place: Neighbourhood) -> Iterator[Choice]:
        """Ways to choose J and I of a majority, nearest first, up to a limit: for regions no other start reaches."""
        nobody = np.empty(0, dtype=np.intp)
        positives = place.nearest(np.flatnonzero(place.label == self.label), place.d, len(place.d))
        for c in self.rivals:
            t, m = self._split(int(c), 0) or (0, 0)
            members = place.nearest(np.flatnonzero(place.label == c), place.d, len(place.d))
            if not 1 <= t <= len(members):
                continue
            pairs = itertools.product(itertools.combinations(members, t), itertools.combinations(positives, m))
            for j, i in itertools.islice(pairs, MOST_CHOICES):
                yield Choice(int(c), np.array(j, dtype=np.intp), np.array(i, dtype=np.intp), nobody)

    def _anchors(self, place: Neighbourhood) -> IntArray:
        """The rivals that are cheapest to bring ahead of the nearest positives."""
        positives = np.flatnonzero(place.label == self.label)
        rivals = np.flatnonzero(np.isin(place.label, self.rivals))
        k = self.n_neighbors // 2 + 1
        near = positives[np.argsort(place.d[positives])[: 4 * k]]
        ahead = (place.d[rivals][:, None] - place.d[near]) / self._lengths(place.h[rivals], place.h[near])
        cost = -np.sort(-ahead, axis=1)[:, min(k, len(near)) - 1]
        count = LINEAR_ANCHORS if self.linear else ANCHORS
        return rivals[np.argsort(cost)[: count if self.n_neighbors > 1 else 4 * count]]

    def _lengths(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Of the differences of all rows of a and b, in the norm that says how far a half-space is; never 0."""
        if not self.linear:
            return np.sqrt(np.maximum(_squared_distances(a, b), 1e-300))
        kind = "cityblock" if self.triplets.threat.dual_norm == 1 else "chebyshev"
        lengths: FloatArray = np.maximum(cdist(a, b, kind), 1e-150)
        return lengths

    def _split(self, c: int, others: int) -> tuple[int, int] | None:
        """(t, m) with t + m + others = K and t just enough to beat m positives; None if there is no such split."""
        slots = self.n_neighbors - others
        t = -(-self.rule.votes_to_beat(slots, c, self.label) // 2)  # the fewest that beat the slots they leave
        return (t, slots - t) if t >= 1 else None

    def _around(self, place: Neighbourhood, c: int, nearness: FloatArray, delta: FloatArray) -> Choice | None:
        """J: the points of class c that are nearest by `nearness`; I: the nearest positives at x + δ."""
        split = self._split(c, 0)
        members = np.flatnonzero(place.label == c)
        if split is None or len(members) < split[0]:
            return None
        j = members[np.argsort(nearness[members])[: split[0]]]
        positives = np.flatnonzero(place.label == self.label)
        i = positives[np.argsort(place.keys(delta)[positives])[: split[1]]]
        return Choice(c, j, i, np.empty(0, dtype=np.intp))

    def _choose(self, place: Neighbourhood, delta: FloatArray) -> Choice | None:
        """The cheapest choice that x + δ already fulfils: the winner there, and whom it may leave inside."""
        keys = place.keys(delta)
        inside = place.nearest(np.arange(len(keys)), keys, self.n_neighbors)
        votes = count_votes(place.label[None, inside], self.n_classes)[0]
        if not self.rule.flips(votes, self.label):
            return None
        return self._tipping(place, int(self.rivals[votes[self.rivals].argmax()]), keys)

    def _tipping(self, place: Neighbourhood, c: int, keys: FloatArray) -> Choice | None:
        """How class c wins with those inside who are of neither class: just enough of c, the nearest, by `keys`."""
        inside = place.nearest(np.arange(len(keys)), keys, self.n_neighbors)
        others = inside[(place.label[inside] != c) & (place.label[inside] != self.label)]
        split = self._split(c, len(others))
        if self.rule.target is not None:
            others, split = self._beaten_too(place, c, others)
        members, positives = (np.flatnonzero(place.label == kind) for kind in (c, self.label))
        if split is None or len(members) < split[0]:
            return None
        j = place.nearest(members, keys, split[0])
        i = place.nearest(positives, keys, split[1])
        return Choice(c, j, i, others)

    def _beaten_too(self, place: Neighbourhood, c: int, others: IntArray) -> tuple[IntArray, tuple[int, int] | None]:
        """As many of the `others`, nearest first, as leave none of their classes ahead of c, and the split then."""
        labels = place.label[others]
        earlier = np.array([np.count_nonzero(labels[:n] == label) for n, label in enumerate(labels)], dtype=np.intp)
        for t in range(1, self.n_neighbors + 1):
            beaten = [self.rule.votes_to_beat(int(e) + 1, c, int(k)) <= t for e, k in zip(earlier, labels, strict=True)]
            kept = others[np.array(beaten, dtype=bool)][: self.n_neighbors - t]
            m = self.n_neighbors - t - len(kept)
            if self.rule.votes_to_beat(m, c, self.label) <= t:
                return kept, (t, m)
        return others, None

    def _orders(self, place: Neighbourhood, choice: Choice) -> list[Order]:
        """What a choice asks for: J ahead of all who are not inside, and O ahead of the positives if they count."""
        outside = self._back(place, choice.c, np.concatenate([choice.i, choice.o]))
        orders: list[Order] = [(choice.j, outside)]
        slots = len(choice.i) + len(choice.o)
        if self.rule.target is not None:
            allowed = np.concatenate([choice.i, choice.o])
            for kind in np.unique(place.label[outside]):  # none of which may take so many of the places as to win
                rest = allowed[place.label[allowed] != kind]
                if len(rest) and self.rule.votes_to_beat(slots, choice.c, int(kind)) > len(choice.j):
                    orders.append((rest, outside[place.label[outside] == kind]))
        elif len(choice.o) and self.rule.votes_to_beat(slots, choice.c, self.label) > len(choice.j):
            orders.append((choice.o, outside[place.label[outside] == self.label]))
        return orders

    def _back(self, place: Neighbourhood, c: int, inside: IntArray) -> IntArray:
        """Everybody who is neither of class c nor allowed inside."""
        outside = place.label != c
        outside[inside] = False
        return np.flatnonzero(outside)

    def _descend(
        self, place: Neighbourhood, choice: Choice, limit: float, near: FloatArray | None = None
    ) -> FloatArray | None:
        """Project, choose again at the solution, and repeat while the move gets smaller."""
        best: FloatArray | None = None
        for _ in range(CHOICES):
            size = limit if best is None else place.size(best)
            delta = place.project(self._orders(place, choice), self.margin, size, near if best is None else best)
            if delta is None or (best is not None and place.size(delta) > size * (1 - 1e-7)):
                break
            best = delta
            again = self._choose(place, delta)
            if again is None:
                break
            choice = again
        return best

    def _trade(self, place: Neighbourhood, delta: FloatArray) -> FloatArray:
        """Try to swap one point that holds the move back against the next one in line, as long as that helps."""
        improved = True
        while improved:
            improved = False
            for choice in self._trades(place, delta):
                candidate = self._descend(place, choice, place.size(delta) * (1 - 1e-6), delta)
                if candidate is not None and place.size(candidate) < place.size(delta):
                    delta, improved = candidate, True
                    break
        return delta

    def _trades(self, place: Neighbourhood, delta: FloatArray) -> Iterator[Choice]:
        base = self._choose(place, delta)
        if base is None:
            return
        keys = place.keys(delta)
        positives = np.setdiff1d(np.flatnonzero(place.label == self.label), base.i)
        blocking = positives[np.argsort(keys[positives])[:TRADES]]
        for b in blocking:  # let a positive that blocks inside, in exchange for one that is inside
            for out in base.i[np.argsort(-keys[base.i])[:2]]:
                yield Choice(base.c, base.j, np.append(base.i[base.i != out], b), base.o)
        members = np.setdiff1d(np.flatnonzero(place.label == base.c), base.j)
        waiting = members[np.argsort(keys[members])[:TRADES]]
        last = base.j[np.argsort(-keys[base.j])[:2]]
        for a in waiting:  # take the next of the class in place of the one that is furthest
            for out in last:
                yield Choice(base.c, np.append(base.j[base.j != out], a), base.i, base.o)


def _nearest(values: FloatArray, places: IntArray, count: int) -> IntArray:
    if len(places) <= count:
        return places
    return places[np.argpartition(values[places], count - 1)[:count]]


def _squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    squares: FloatArray = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * (a @ b.T)
    return squares
