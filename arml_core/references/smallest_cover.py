"""The fewest rows to drop so that no two rows in conflict are left: a minimum vertex cover."""

from __future__ import annotations

import heapq

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_bipartite_matching

from ..numerics.arrays import BoolArray, IntArray


def smallest_cover(i: IntArray, j: IntArray, codes: IntArray) -> BoolArray:
    """Which rows to drop so that no pair (i, j) of rows of different classes is left.

    The fewest possible if the conflicts are between two classes; with more classes a greedy choice, of which no row
    could be taken back (the smallest cover is then NP-hard to find).
    """
    n = len(codes)
    if not len(i):
        return np.zeros(n, dtype=bool)
    ends = np.concatenate([i, j]), np.concatenate([j, i])
    graph = csr_array(coo_array((np.ones(2 * len(i), dtype=np.int8), ends), shape=(n, n)))
    classes = np.union1d(codes[i], codes[j])
    return _two_class_cover(graph, codes == classes[0]) if len(classes) == 2 else _greedy_cover(graph)


def _two_class_cover(graph: csr_array, first: BoolArray) -> BoolArray:
    """König's theorem: a maximum matching gives a cover of its own size, from either side.

    Where rows hang together, one of the two covers is taken as a whole, so that both classes lose about the same share
    of the rows over which the covers differ.
    """
    matched = np.full(len(first), -1, dtype=np.intp)
    one, two = np.flatnonzero(first), np.flatnonzero(~first)
    partner = maximum_bipartite_matching(graph[one][:, two], perm_type="column")
    matched[one[partner >= 0]] = two[partner[partner >= 0]]
    matched[two[partner[partner >= 0]]] = one[partner >= 0]
    covers = [_koenig(graph, matched, first), _koenig(graph, matched, ~first)]
    _, parts = connected_components(graph, directed=False)
    differs = covers[0] != covers[1]
    fewer_of_first = np.bincount(parts, weights=differs & first & covers[0])  # what each cover takes of its class
    fewer_of_second = np.bincount(parts, weights=differs & ~first & covers[1])
    taken, use_second = [0.0, 0.0], np.zeros(len(fewer_of_first), dtype=bool)
    for part in np.flatnonzero(fewer_of_first + fewer_of_second):
        use_second[part] = taken[0] > taken[1]
        taken[int(use_second[part])] += (fewer_of_second if use_second[part] else fewer_of_first)[part]
    chosen: BoolArray = np.where(use_second[parts], covers[1], covers[0])
    return chosen


def _koenig(graph: csr_array, matched: IntArray, left: BoolArray) -> BoolArray:
    """The cover (left \\ Z) ∪ (right ∩ Z), where alternating paths from the unmatched left rows lead to Z."""
    n = len(left)
    edges = coo_array(graph)
    there = left[edges.row] & (matched[edges.row] != edges.col)  # to the right by conflicts, back by the matching
    back = np.flatnonzero(~left & (matched >= 0))
    free = np.flatnonzero(left & (matched < 0))
    starts = np.concatenate([edges.row[there], back, np.full(len(free), n)])  # all paths start at one more node
    ends = np.concatenate([edges.col[there], matched[back], free])
    paths = csr_array(coo_array((np.ones(len(starts), dtype=np.int8), (starts, ends)), shape=(n + 1, n + 1)))
    reached = np.zeros(n + 1, dtype=bool)
    reached[breadth_first_order(paths, n, return_predecessors=False)] = True
    cover: BoolArray = np.where(left, ~reached[:n] & (matched >= 0), reached[:n])
    return cover


def _greedy_cover(graph: csr_array) -> BoolArray:
    """Drop the row with the most conflicts left, the first of several, until there are none; then take some back."""
    conflicts = np.diff(graph.indptr).astype(np.intp)
    dropped = np.zeros(len(conflicts), dtype=bool)
    queue = [(-int(conflicts[row]), int(row)) for row in np.flatnonzero(conflicts)]
    heapq.heapify(queue)
    order = []
    while queue:
        count, row = heapq.heappop(queue)
        if -count != conflicts[row]:  # some have gone since
            if conflicts[row]:
                heapq.heappush(queue, (-int(conflicts[row]), row))
            continue
        dropped[row] = True
        order.append(row)
        conflicts[graph.indices[graph.indptr[row] : graph.indptr[row + 1]]] -= 1
        conflicts[row] = 0
    for row in reversed(order):
        if dropped[graph.indices[graph.indptr[row] : graph.indptr[row + 1]]].all():
            dropped[row] = False
    return dropped
