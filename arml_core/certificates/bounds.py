"""Lower bounds on the robust radius from triplets alone: the paper's Theorem 1, and counting votes.

Both are order statistics of ``S_m(j)``, the (m+1)-th largest ε̃₊(i, j) over the positives i: the negative j can be
among the neighbours while all but m positives are further away only if ‖δ‖ ≥ S_m(j).

`theorem1` (odd K, k = (K+1)/2): a flip needs at least k negatives among the K neighbours and at most k-1
positives, so ‖δ‖ is at least the k-th smallest S_{k-1}.

`votes` looks at how a flip can come about. With exactly m positives among the K neighbours and class c the
winner, all K-m negatives satisfy S_m(j) ≤ ‖δ‖, and so do the at least t of class c, with
``t = max(m + [c loses a tie against y], ⌈(K-m)/(C-1)⌉, 1)``. The bound is the smallest, over all such cases
(m, c), of the larger of the two order statistics. It holds for every K and every number of classes and is
never below `theorem1`. Where it is 0 and there are more than two classes, the rows of all other classes together may
still hold every winner back (:mod:`.many_classes`); elsewhere that is not asked, because it would take longer than all
the rest.

Both hold as well where every order of equal distances and every way of breaking equal votes counts (`FlipRule`): ε̃ is
the least move after which j is *at least* as near as i, so it is 0 for M-identical rows, and c needs no more votes than
y has, so that t is at least m. With odd K that still means at most k-1 positives. A target leaves the cases in which
that class wins; `theorem1` has no class in its one case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..neighbors.point_set import PointSet
from ..neighbors.vote import TRAINING_ORDER, FlipRule
from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.parallel import in_parallel
from ..progress import Callback, report
from .candidates import Candidates, Screening, by_length
from .many_classes import against_all_others
from .screening_kernels import Stop
from .triplet import Triplets
from .triplet_rows import TripletRows

WIDTH = 32  # negatives in a list
GUESS = 1.05  # negatives are listed up to this many times the guess
MORE_ROWS = 8


@dataclass(frozen=True)
class Case:
    """One way to flip a prediction: m positives stay among the neighbours, and t members of class c come in."""

    m: int
    c: int | None  # None: any class (Theorem 1 counts negatives only)
    t: int
    negatives: int  # how many negatives must come in altogether


def theorem1_cases(k: int) -> list[Case]:
    """Theorem 1 as a single case: K = 2k - 1."""
    return [Case(m=k - 1, c=None, t=k, negatives=k)]


def votes_cases(y: int, n_neighbors: int, counts: IntArray, rule: FlipRule = TRAINING_ORDER) -> list[Case]:
    """Every case of another answer that can happen with `counts` training points per class."""
    positives, negatives = int(counts[y]), int(counts.sum() - counts[y])
    rivals = int(np.count_nonzero(counts)) - int(positives > 0)
    cases = []
    for m in range(min(n_neighbors - 1, positives) + 1):
        incoming = n_neighbors - m
        if incoming > negatives:
            continue
        for c in rule.rivals(len(counts), y):
            t = max(rule.votes_to_beat(m, int(c), y), -(-incoming // rivals), 1)
            if t <= min(incoming, int(counts[c])):
                cases.append(Case(m=m, c=int(c), t=t, negatives=incoming))
    return cases


@dataclass(frozen=True)
class Group:
    """Test points that share a label and the number of training points of each class."""

    members: IntArray
    label: int
    counts: IntArray


def groups(points: PointSet, chunk: int) -> Iterator[Group]:
    """Split test points into groups of at most `chunk`."""
    references, exclude = points.references, points.exclude
    counts = np.tile(references.counts, (len(points), 1))
    if exclude is not None:
        b, e = np.nonzero(exclude >= 0)
        np.subtract.at(counts, (b, references.label[exclude[b, e]]), 1)
    keys, which = np.unique(np.column_stack([points.labels, counts]), axis=0, return_inverse=True)
    for g, key in enumerate(keys):
        members = np.flatnonzero(which.ravel() == g)
        for start in range(0, len(members), chunk):
            yield Group(members[start : start + chunk], int(key[0]), key[1:])


def triplet_bound(triplets: Triplets, points: PointSet, method: str, callback: Callback | None = None) -> FloatArray:
    """`theorem1` or `votes` for test points that the classifier gets right, rounded down."""
    lower = np.empty(len(points))

    def bound(group: Group) -> FloatArray:
        return _group_bound(triplets, points.take(group.members), group, method)

    done = 0
    chunks = groups(points, points.references.distance_bounds.chunk_rows())
    for group, found in in_parallel(bound, chunks, points.threads):
        lower[group.members] = found
        done += len(group.members)
        report(callback, done, len(points))
    return lower


def _group_bound(triplets: Triplets, points: PointSet, group: Group, method: str) -> FloatArray:
    k = points.n_neighbors
    theorem1 = method == "theorem1"
    cases = theorem1_cases((k + 1) // 2) if theorem1 else votes_cases(group.label, k, group.counts, points.rule)
    if not cases:
        return np.full(len(points), np.inf)  # no training set of this size can outvote the label
    if any(case.m >= group.counts[group.label] for case in cases):
        bound = np.zeros(len(points))  # with every positive inside, no positive holds the negatives back
    else:
        bound = _bound_with_lists(triplets, points, group.label, cases)
    weak = np.flatnonzero(bound == 0)
    if len(weak) and not theorem1 and np.count_nonzero(group.counts) > 2:
        fewest = {case.c: min(other.t for other in cases if other.c == case.c) for case in cases if case.c is not None}
        bound[weak] = against_all_others(triplets, points.take(weak), group.label, fewest)
    return bound


def _bound_with_lists(triplets: Triplets, points: PointSet, label: int, cases: list[Case]) -> FloatArray:
    """The bound from short lists of negatives, and from longer ones where these leave it open."""
    x, exclude = points.exact_points(), points.places_left_out()
    rows = TripletRows(triplets, x, label, exclude, points.rule.any_order, points.ranges)
    screening = Screening(triplets, rows, max(case.m for case in cases), exclude)
    stop = _stop(cases, triplets.references.n_classes)
    bound = np.full(len(x), np.inf)
    waiting: list[tuple[IntArray, int, FloatArray | None]] = [(np.arange(len(x)), max(WIDTH, 4 * stop.negatives), None)]
    while waiting:
        members, width, below = waiting.pop()
        candidates = screening.candidates(members, width, stop, below)
        bound[members], enough = _screened_bound(rows, members, candidates, cases)
        short = np.flatnonzero(~enough)
        if len(short):
            guess = candidates.guess[short] * (1 + 1e-9) if below is None else np.inf
            limit = np.where(np.isfinite(bound[members[short]]), bound[members[short]], guess)
            needed = screening.promising(members[short], limit)
            waiting += [(members[short[part]], length, limit[part]) for part, length in by_length(needed, width)]
    return bound


def _stop(cases: list[Case], n_classes: int) -> Stop:
    """The guess is made for the cases in which most positives stay."""
    deepest = max(case.m for case in cases)
    some = [case for case in cases if case.m == deepest]
    t = np.zeros(0 if some[0].c is None else n_classes, dtype=np.intp)
    for case in some:
        if case.c is not None:
            t[case.c] = case.t
    return Stop(GUESS, some[0].negatives, t)


def _screened_bound(
    rows: TripletRows, members: IntArray, candidates: Candidates, cases: list[Case]
) -> tuple[FloatArray, BoolArray]:
    """The bound of `members` from full rows of their most promising negatives, and for which of them these were enough.

    Rows are added in rising order of their lower bounds, first those up to the guess, until the order statistics over
    the rows so far are no larger than any remaining bound: the rest cannot change them.
    """
    deepest = max(case.m for case in cases)
    references = rows.triplets.references
    place, n_test = candidates.place, len(candidates.place)
    limit = np.column_stack([candidates.bound, candidates.rest])
    classes = references.label[references.order[place]]
    values = np.full((*place.shape, deepest + 1), np.inf)
    used = np.zeros(n_test, dtype=np.intp)
    bound = np.full(n_test, np.inf)
    active = np.arange(n_test)
    below = np.where(np.isfinite(candidates.guess), np.nextafter(candidates.guess, np.inf), np.inf)
    step = place.shape[1]
    while len(active):
        columns = used[active, None] + np.arange(step)
        wanted = (columns < place.shape[1]) & (
            np.take_along_axis(limit[active], np.minimum(columns, place.shape[1]), axis=1) < below[active, None]
        )
        b, offset = np.nonzero(wanted)
        b, column = active[b], columns[b, offset]
        values[b, column] = rows.largest(members[b], place[b, column], deepest + 1)
        used[active] += wanted.sum(axis=1)
        far = int(used.max())
        bound[active] = order_statistics(values[active, :far], classes[active, :far], cases)
        below[active] = bound[active]
        more = (used[active] < place.shape[1]) & (limit[active, used[active]] < bound[active])
        active, step = active[more], MORE_ROWS
    open_limit = np.minimum(limit[np.arange(n_test), used], candidates.rest)  # a listed bound may exceed the rest's
    return bound, ~(open_limit < bound)


def order_statistics(values: FloatArray, classes: IntArray, cases: list[Case]) -> FloatArray:
    """The smallest over `cases` of the larger of its two order statistics.

    `values` is (n, J, m+1): S_0 … S_m of J negatives, +inf where unknown; `classes` (n, J) their classes.
    """
    best = np.full(len(values), np.inf)
    n_columns = values.shape[1]
    for m in sorted({case.m for case in cases}):
        here = [case for case in cases if case.m == m and max(case.negatives, case.t) <= n_columns]
        if not here:
            continue
        order = np.argsort(values[:, :, m], axis=1)
        sorted_values = np.take_along_axis(values[:, :, m], order, axis=1)
        overall = sorted_values[:, here[0].negatives - 1]
        if here[0].c is None:
            best = np.minimum(best, overall)
            continue
        sorted_classes = np.take_along_axis(classes, order, axis=1)
        member = sorted_classes[:, :, None] == np.array([case.c for case in here])
        count = np.cumsum(member, axis=1)
        short = (count < np.array([case.t for case in here])).sum(axis=1)  # columns before the t-th member
        padded = np.column_stack([sorted_values, np.full(len(values), np.inf)])
        in_class = np.take_along_axis(padded, short, axis=1)
        best = np.minimum(best, np.maximum(in_class, overall[:, None]).min(axis=1))
    return best
