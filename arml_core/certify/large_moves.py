"""Moves that are large against the data, after a search that allowed for predict's rounding at x only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..rounding import FloatArray, IntArray
from .agreement import sides_meet
from .bounds import triplet_bound
from .exact import Interval
from .rows import of_rows
from .triplet import Triplets


def allow_for_large_moves(
    triplets: Triplets,
    x: FloatArray,
    labels: IntArray,
    n_neighbors: int,
    found: Interval,
    votes: FloatArray,
    exclude: IntArray | None = None,
) -> Interval:
    """`found` with its lower side at most what `votes` proves when it allows for the rounding at moves of that size.

    Only where the move is so large that this matters; elsewhere, and where the search did not raise `votes`, nothing
    changes. Where at most two features move the search itself allows for all that (:mod:`.plane`).
    """
    if len(triplets.threat.movable) <= 2:
        return found
    raised = np.flatnonzero((found.lower > votes) & np.isfinite(found.lower))
    beside = [_nearest_negative(triplets, x[b], int(labels[b]), of_rows(exclude, b)) for b in raised.tolist()]
    large = raised[triplets.outgrown(x[raised], np.array(beside, dtype=np.intp), found.lower[raised])]
    if not len(large):
        return found
    reach = triplets.stretch * found.lower[large]
    left_out = of_rows(exclude, large)
    proved = triplet_bound(triplets, x[large], labels[large], n_neighbors, "votes", left_out, reach=reach)
    lower = found.lower.copy()
    lower[large] = np.minimum(lower[large], proved)
    meet = sides_meet(lower, found.upper, triplets, x, n_neighbors, exclude)
    return replace(found, lower=lower, exact=found.exact & meet)


def _nearest_negative(triplets: Triplets, x: FloatArray, label: int, exclude: IntArray | None) -> int:
    """The place of the nearest training point of another class than `label`."""
    reference = triplets.reference
    u, _ = reference.embed(x[None])
    difference = reference.u - u
    d = np.einsum("nr,nr->n", difference, difference)
    if exclude is not None:
        d[reference.rank[exclude[exclude >= 0]]] = np.inf
    d[reference.starts[label] : reference.starts[label + 1]] = np.inf
    return int(d.argmin())
