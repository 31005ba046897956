"""The rows to compare with, prepared for one metric: sorted by class, transformed, with bounds on rounding errors."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ..metric import Metric
from ..numerics.arrays import BoolArray, FloatArray, IntArray
from ..numerics.distance_bounds import BoundedRows, DistanceBounds
from ..numerics.error_bounds import LARGEST, TINY, difference_error, norm, transform_error
from ..numerics.exact_arithmetic import ExactDistances
from ..numerics.parallel import in_parallel
from ..numerics.selection import k_smallest
from ..progress import Callback, report
from ..threat import ResolvedThreat
from .vote import count_votes, winner

SAMPLE = 2048  # rows that stand for all where only the centre or the spread matters
EXTRA = 24  # candidates beyond K whose distances are computed exactly
DIRECT_BYTES = 64 * 2**20


class PreparedReferences:
    """Training points as every prediction, certificate and attack sees them.

    Points that the metric cannot tell apart ("M-identical": equal up to the rounding error of G x) are moved
    onto the first of them, so that their distances to any x tie to the last bit and training order decides,
    as it would in exact arithmetic.

    Attributes
    ----------
    x : (N, D) the training points in their own order and dtype, `label` their class codes 0 … C-1.
    order : training indices sorted by class; class c occupies ``starts[c]:starts[c+1]`` of it.
    twin : (N,) for each training index the first index that is M-identical to it.
    u : (N, r) = G(x - centre), in class order. `slack` bounds ‖error‖ of each row.
    widths : (D,) from the smallest to the largest value of each column, in a sample of the rows.
    """

    def __init__(
        self, x: NDArray[np.floating], label: IntArray, n_classes: int, metric: Metric, device: torch.device
    ) -> None:
        self.x, self.label, self.metric, self.n_classes = x, label, metric, n_classes
        self.device = device
        self.order = np.argsort(label, kind="stable")
        self.rank = np.empty_like(self.order)
        self.rank[self.order] = np.arange(len(label))
        self.counts = np.bincount(label, minlength=n_classes)
        self.starts = np.concatenate([[0], np.cumsum(self.counts)])
        sample = x[:: max(1, len(x) // SAMPLE)].astype(np.float64)
        self.centre: FloatArray = np.median(sample, axis=0)  # not the mean: one outlier must not move it
        self.widths: FloatArray = np.ptp(sample, axis=0)
        u, slack = self.embed(x)
        self.twin = _equal_rows(x, metric) if metric.is_diagonal else _near_twins(u, slack)
        self.u: FloatArray = u[self.twin[self.order]]
        self.slack: FloatArray = slack[self.twin[self.order]]
        del u  # as large as the data
        self.norms: FloatArray = np.linalg.norm(self.u, axis=1)
        self.distance_bounds = DistanceBounds(self.u, self.slack, self.device)
        g = metric.components
        self._exact_distances = ExactDistances(np.diag(g) if metric.is_diagonal else g)

    def __len__(self) -> int:
        return len(self.label)

    def spread(self, threat: ResolvedThreat) -> float:
        """How far training points typically lie from the centre, as an attacker measures it."""
        sample = self.x[:: max(1, len(self.x) // SAMPLE)].astype(np.float64) - self.centre
        distances = norm(threat.counted(threat.reduce_move(sample)), threat.norm)
        return float(np.median(distances) or distances.mean())  # most rows may share what can move

    def points(self, indices: IntArray) -> FloatArray:
        """Training points, as the classifier places them (M-identical ones on top of each other)."""
        return self.x[self.twin[indices]].astype(np.float64)

    def transform_error(self, magnitude: FloatArray) -> FloatArray:
        """How far G v may be off, given ‖|G||v|‖ (or its square for squared distances, or an entry of |G|ᵀ|G||v|)."""
        return transform_error(magnitude, self.metric.n_features, self.metric.rank)

    def embed(self, x: NDArray[np.floating]) -> tuple[FloatArray, FloatArray]:
        """u = G(x - centre) and a bound on its error, row by row."""
        u = np.empty((len(x), self.metric.rank))
        slack = np.empty(len(x))
        for start in range(0, len(x), 8192):
            part = slice(start, start + 8192)
            shifted = x[part].astype(np.float64) - self.centre
            with np.errstate(over="ignore", invalid="ignore"):  # refused below
                u[part] = self.metric.transform(shifted)
                slack[part] = self.transform_error(self.metric.magnitude(shifted))
        largest = float(np.abs(u).max(initial=0.0))
        if not largest <= LARGEST:  # or not a number
            raise ValueError(f"distances overflow: a transformed value is {largest:.3g}. Rescale the features")
        return u, slack

    def predict(
        self,
        x: NDArray[np.floating],
        k: int,
        exclude: IntArray | None = None,
        callback: Callback | None = None,
        threads: int = 1,
    ) -> IntArray:
        """The class code that the k nearest rows elect for each row of x; the rest is as in :meth:`nearest`."""
        return winner(self.votes(x, k, exclude, callback, threads))

    def votes(
        self,
        x: NDArray[np.floating],
        k: int,
        exclude: IntArray | None = None,
        callback: Callback | None = None,
        threads: int = 1,
    ) -> IntArray:
        """How many of the k nearest rows are of each class, (n, n_classes); the rest is as in :meth:`nearest`."""
        points = x.astype(np.float64)
        if exclude is not None:
            _, neighbours = self.nearest(points, k, exclude, callback, threads)
        else:
            neighbours, decided = self.nearest_sets(points, k, callback, threads)
            open_rows = np.flatnonzero(~decided)
            if len(open_rows):
                neighbours[open_rows] = self.nearest(points[open_rows], k, None, callback, threads)[1]
        return count_votes(self.label[neighbours], self.n_classes)

    def nearest_of(
        self, x: FloatArray, indices: IntArray, k: int, exclude: IntArray | None = None
    ) -> tuple[FloatArray, IntArray]:
        """The k nearest of each row's own training `indices`, which ascend: squared distances, ties by training order.

        This is what decides, and it decides as exact arithmetic does, however far out x is: where rounding could
        carry rows of different classes across the k-th distance, they are compared without rounding.
        """
        points = self.points(indices)
        d = self._with_twins_tied(self.metric.squared_distances(x[:, None, :], points), self.twin[indices])
        if exclude is not None:
            d[(indices[:, :, None] == exclude[:, None, :]).any(axis=2)] = np.inf
        inside, doubt = self._in_doubt(d, x, points, k)
        best = np.argsort(d, axis=1, kind="stable")[:, :k]
        for b in np.flatnonzero(self._matters(doubt, indices)):
            best[b] = self._settled(x[b], indices[b], d[b], inside[b], doubt[b], k)
        return np.take_along_axis(d, best, axis=1), np.take_along_axis(indices, best, axis=1)

    def _with_twins_tied(self, d: FloatArray, twin: IntArray) -> FloatArray:
        """A matrix product may round equal rows differently; twins must tie to the last bit."""
        if self.metric.is_steady:
            return d
        by_twin = np.argsort(twin, axis=1, kind="stable")
        sorted_d = np.take_along_axis(d, by_twin, axis=1)
        sorted_twin = np.take_along_axis(twin, by_twin, axis=1)
        for column in range(1, d.shape[1]):
            same = sorted_twin[:, column] == sorted_twin[:, column - 1]
            sorted_d[:, column] = np.where(same, sorted_d[:, column - 1], sorted_d[:, column])
        np.put_along_axis(d, by_twin, sorted_d, axis=1)
        return d

    def _in_doubt(self, d: FloatArray, x: FloatArray, points: FloatArray, k: int) -> tuple[BoolArray, BoolArray]:
        """Which are among the k nearest for certain, and which may be or not be, but for rounding."""
        inside, doubt = k_smallest(d, self._coarse_error(d, x[:, None, :], points), k)
        rows = np.flatnonzero(doubt.any(axis=1))
        if len(rows) and not self.metric.is_diagonal:  # a bound of their own is much closer; it costs a product
            error = self.transform_error(self.metric.magnitude(x[rows, None, :] - points[rows]) ** 2)
            inside[rows], doubt[rows] = k_smallest(d[rows], error, k)
        return inside, doubt

    def _coarse_error(self, d: FloatArray, x: FloatArray, points: FloatArray) -> FloatArray:
        """How far off the squared distances d(x, points) may be."""
        if self.metric.is_diagonal:
            return self.transform_error(d)
        with np.errstate(over="ignore"):  # infinite: nothing is known
            apart = self.metric.operator_magnitude() * np.linalg.norm(x - points, axis=-1)
            return self.transform_error(apart**2)

    def _matters(self, doubt: BoolArray, indices: IntArray) -> BoolArray:
        """Where those in doubt are of different classes, and not all in one place."""
        mixed = np.zeros(len(doubt), dtype=bool)
        rows = np.flatnonzero(doubt.any(axis=1))
        for values in (self.label, self.twin):
            found = values[indices[rows]]
            low = np.where(doubt[rows], found, len(self)).min(axis=1)
            high = np.where(doubt[rows], found, -1).max(axis=1)
            rows = rows[low < high]
        mixed[rows] = True
        return mixed

    def _settled(
        self, x: FloatArray, indices: IntArray, d: FloatArray, inside: BoolArray, doubt: BoolArray, k: int
    ) -> IntArray:
        """The places of the k nearest, nearest first, with those in doubt ranked without rounding."""
        (certain,), (places,) = np.nonzero(inside), np.nonzero(doubt)
        ranked = sorted(zip(self._exact_distances(x, self.points(indices[places])), places.tolist(), strict=True))
        chosen = np.array([*certain, *(place for _, place in ranked[: k - len(certain)])], dtype=np.intp)
        return np.asarray(chosen[np.lexsort((chosen, d[chosen]))])

    def in_order(self, x: FloatArray, indices: IntArray) -> IntArray:
        """Training `indices`, which ascend, from the nearest to the farthest of one x, ties by training order.

        As in exact arithmetic wherever the order of rows of different classes depends on it.
        """
        label = self.label[indices]
        if not len(indices) or (label == label[0]).all():
            return indices
        d, error = self._distances_and_errors(x, indices)
        order, runs = _overlapping_runs(d, error)
        if not self.metric.is_diagonal and any(len(set(label[run])) > 1 for run in runs):  # closer, but it costs
            close = np.concatenate(runs)
            apart = x - self.points(indices[close])
            error[close] = np.minimum(error[close], self.transform_error(self.metric.magnitude(apart) ** 2))
            order, runs = _overlapping_runs(d, error)
        place = np.argsort(order)
        for run in (np.sort(run) for run in runs if len(set(label[run])) > 1):
            spots, spot = np.unique(self.twin[indices[run]], return_inverse=True)
            exact = self._exact_distances(x, self.x[spots].astype(np.float64)) if len(spots) > 1 else [0]
            ranked = sorted(range(len(run)), key=lambda i, at=spot, d=exact: (d[at[i]], i))  # type: ignore[misc]
            order[np.sort(place[run])] = run[ranked]
        return np.asarray(indices[order])

    def nearest(
        self,
        x: FloatArray,
        k: int,
        exclude: IntArray | None = None,
        callback: Callback | None = None,
        threads: int = 1,
    ) -> tuple[FloatArray, IntArray]:
        """The k nearest training points of each row: squared distances and indices, ties by training order.

        `exclude` is an (n, e) array of training indices to leave out per row, padded with -1.
        """
        distances = np.empty((len(x), k))
        neighbours = np.empty((len(x), k), dtype=np.intp)
        n_candidates, step = self._chunks(k, exclude)

        def find(start: int) -> None:
            part = slice(start, start + step)
            left_out = None if exclude is None else exclude[part]
            distances[part], neighbours[part] = self._nearest_chunk(x[part], k, n_candidates, left_out)

        for start, _ in in_parallel(find, range(0, len(x), step), threads):
            report(callback, min(start + step, len(x)), len(x))
        return distances, neighbours

    def _chunks(self, k: int, exclude: IntArray | None) -> tuple[int, int]:
        """How many candidates for the k nearest are looked at closely, and for how many rows at a time."""
        n_candidates = min(len(self), k + EXTRA + (0 if exclude is None else exclude.shape[1]))
        direct = DIRECT_BYTES // (8 * n_candidates * self.metric.n_features)
        return n_candidates, min(self.distance_bounds.chunk_rows(), max(1, direct))

    def nearest_sets(
        self, x: FloatArray, k: int, callback: Callback | None = None, threads: int = 1
    ) -> tuple[IntArray, BoolArray]:
        """The k nearest training points of each row in no order, and whether that is certain.

        It is where upper bounds for k points lie below lower bounds for all others: first the screen's, then, for
        rows the screen leaves open, those of the transformed points in float64. Other rows have some k candidates.
        """
        sets = np.zeros((len(x), k), dtype=np.intp)
        decided = np.zeros(len(x), dtype=bool)
        if k >= len(self):
            return sets, decided
        step = self.distance_bounds.chunk_rows()

        def find(start: int) -> None:
            part = slice(start, start + step)
            u, slack = self.embed(x[part])
            rows = self.distance_bounds.query(u, slack)
            top = torch.topk(rows.lower, k + 1, dim=1, largest=False)
            inside = top.indices[:, :k]
            upper = (top.values[:, :k] + rows.width(inside)).amax(dim=1)
            certain = (upper < top.values[:, k]).cpu().numpy()
            found = inside.cpu().numpy()
            still_open = np.flatnonzero(~certain)
            if len(still_open):
                found[still_open], certain[still_open] = self._sets_of_open(rows, still_open, u, slack, k)
            sets[part], decided[part] = self.order[found], certain

        for start, _ in in_parallel(find, range(0, len(x), step), threads):
            report(callback, min(start + step, len(x)), len(x))
        return sets, decided

    def _sets_of_open(
        self, rows: BoundedRows, which: IntArray, u: FloatArray, slack: FloatArray, k: int
    ) -> tuple[IntArray, BoolArray]:
        """The k nearest, in class order, of the query points `which`, and whether that is certain.

        ‖u - u_i‖ is off by at most both slacks and its own rounding: far less than the screen is, and it costs one
        subtraction where the distances that decide cost a product with G.
        """
        n_candidates = min(len(self), k + EXTRA)
        lower = rows.lower[torch.from_numpy(which).to(rows.lower.device)]
        top = torch.topk(lower, n_candidates, dim=1, largest=False)
        candidates = top.indices.cpu().numpy()
        apart = np.linalg.norm(u[which, None, :] - self.u[candidates], axis=2)
        error = slack[which, None] + self.slack[candidates] + difference_error(apart, self.metric.rank)
        inside = np.argsort(apart, axis=1)[:, :k]
        farthest = np.take_along_axis(apart + error, inside, axis=1).max(axis=1)
        certain = np.asarray(~k_smallest(apart, error, k)[1].any(axis=1))
        if n_candidates < len(self):
            constant = rows.constant[torch.from_numpy(which).to(rows.constant.device)]
            beyond = (top.values[:, -1] + constant).double().cpu().numpy() * rows.side.scale**2
            certain &= farthest**2 < beyond
        return np.take_along_axis(candidates, inside, axis=1), certain

    def _nearest_chunk(
        self, x: FloatArray, k: int, n_candidates: int, exclude: IntArray | None
    ) -> tuple[FloatArray, IntArray]:
        u, slack = self.embed(x)
        rows = self.distance_bounds.query(u, slack)
        top = torch.topk(rows.lower, n_candidates, dim=1, largest=False)
        candidates = np.sort(self.order[top.indices.cpu().numpy()], axis=1)
        distances, neighbours = self.nearest_of(x, candidates, k, exclude)
        if n_candidates < len(self):
            beyond = (top.values[:, -1] + rows.constant).double().cpu().numpy() * rows.side.scale**2
            for b in np.flatnonzero(~(distances[:, -1] < beyond)):
                distances[b], neighbours[b] = self._nearest_of_all(x[b], k, None if exclude is None else exclude[b])
        return distances, neighbours

    def _nearest_of_all(self, x: FloatArray, k: int, exclude: IntArray | None) -> tuple[FloatArray, IntArray]:
        """The same by computing every distance, for rows where the screen leaves doubt (many ties, far points)."""
        distances, nearest = self.nearest_of(x[None], self._possible_of_all(x, k, exclude)[None], k)
        return distances[0], nearest[0]

    def _possible_of_all(self, x: FloatArray, k: int, exclude: IntArray | None) -> IntArray:
        """Training indices, ascending, of all that may be among the k nearest of one x, but for rounding."""
        d, error = self._distances_and_errors(x, np.arange(len(self)))
        if exclude is not None:
            d[exclude[exclude >= 0]] = np.inf
        inside, doubt = k_smallest(d[None], error[None], k)
        return np.flatnonzero(inside[0] | doubt[0])

    def _distances_and_errors(self, x: FloatArray, indices: IntArray) -> tuple[FloatArray, FloatArray]:
        """Squared distances from one x to some training rows, and how far off they may be, in bounded memory."""
        step = max(1, DIRECT_BYTES // (8 * len(x)))
        d, error = np.empty(len(indices)), np.empty(len(indices))
        for start in range(0, len(indices), step):
            part = slice(start, start + step)
            points = self.points(indices[part])
            d[part] = self.metric.squared_distances(x, points)
            error[part] = self._coarse_error(d[part], x, points)
        return d, error

    def tied_votes(
        self,
        x: NDArray[np.floating],
        k: int,
        exclude: IntArray | None = None,
        callback: Callback | None = None,
        threads: int = 1,
    ) -> tuple[IntArray, IntArray]:
        """Per class, (n, n_classes): the votes of rows nearer than the k-th distance, and the rows at that distance.

        Of the latter as many vote as complete the k; which ones, the order of equal distances decides. Distances count
        as equal if they are without rounding (M-identical rows are in one place). Where no order changes the votes, all
        k votes may be in the first.
        """
        points = x.astype(np.float64)
        certain = np.zeros((len(x), self.n_classes), dtype=np.intp)
        tied = np.zeros_like(certain)
        open_rows = np.arange(len(x))
        if exclude is None:
            neighbours, decided = self.nearest_sets(points, k, callback, threads)
            certain[decided] = count_votes(self.label[neighbours[decided]], self.n_classes)
            open_rows = np.flatnonzero(~decided)
        n_candidates, step = self._chunks(k, exclude)

        def find(start: int) -> None:
            part = open_rows[start : start + step]
            left_out = None if exclude is None else exclude[part]
            certain[part], tied[part] = self._tied_votes_chunk(points[part], k, n_candidates, left_out)

        for start, _ in in_parallel(find, range(0, len(open_rows), step), threads):
            report(callback, min(start + step, len(open_rows)), len(open_rows))
        return certain, tied

    def _tied_votes_chunk(
        self, x: FloatArray, k: int, n_candidates: int, exclude: IntArray | None
    ) -> tuple[IntArray, IntArray]:
        rows = self.distance_bounds.query(*self.embed(x))
        top = torch.topk(rows.lower, n_candidates, dim=1, largest=False)
        candidates = np.sort(self.order[top.indices.cpu().numpy()], axis=1)
        certain, tied, reach = self._tied_votes_of(x, candidates, k, exclude)
        if n_candidates < len(self):
            beyond = (top.values[:, -1] + rows.constant).double().cpu().numpy() * rows.side.scale**2
            for b in np.flatnonzero(~(reach < beyond)):
                few = self._possible_of_all(x[b], k, None if exclude is None else exclude[b])
                found = self._tied_votes_of(x[b : b + 1], few[None], k)
                certain[b], tied[b] = found[0][0], found[1][0]
        return certain, tied

    def _tied_votes_of(
        self, x: FloatArray, indices: IntArray, k: int, exclude: IntArray | None = None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """The same among each row's own training `indices`, and a squared distance that none of the k is beyond."""
        points, label = self.points(indices), self.label[indices]
        d = self.metric.squared_distances(x[:, None, :], points)
        reach = d + self._coarse_error(d, x[:, None, :], points)
        if exclude is not None:
            d[(indices[:, :, None] == exclude[:, None, :]).any(axis=2)] = np.inf
        inside, doubt = self._in_doubt(d, x, points, k)
        reach = np.where(inside | doubt, reach, -np.inf).max(axis=1)
        certain, tied = (np.zeros((len(x), self.n_classes), dtype=np.intp) for _ in range(2))
        for b in range(len(x)):
            certain[b] = np.bincount(label[b, inside[b]], minlength=self.n_classes)
            places = np.flatnonzero(doubt[b])
            slots, found = k - int(certain[b].sum()), label[b, places]
            if len(places) and (found == found[0]).all():
                certain[b, found[0]] += slots
            elif len(places):
                exact = np.array(self._exact_distances(x[b], points[b, places]), dtype=object)
                last = np.sort(exact)[slots - 1]
                certain[b] += np.bincount(found[exact < last], minlength=self.n_classes)
                tied[b] = np.bincount(found[exact == last], minlength=self.n_classes)
        return certain, tied, reach


def _overlapping_runs(d: FloatArray, error: FloatArray) -> tuple[IntArray, list[IntArray]]:
    """The order of `d`, and the runs in it, of two or more, within which the errors leave the order open."""
    order = np.argsort(d, kind="stable")
    lower, upper = (d - error - TINY)[order], (d + error + TINY)[order]
    nearest_of_rest = np.minimum.accumulate(lower[::-1])[::-1]
    parted = np.flatnonzero(np.maximum.accumulate(upper)[:-1] < nearest_of_rest[1:]) + 1
    return order, [run for run in np.split(order, parted) if len(run) > 1]


def _equal_rows(x: NDArray[np.floating], metric: Metric) -> IntArray:
    """For each row the index of the first that is equal where a diagonal metric has weight."""
    weighed = x + x.dtype.type(0)  # -0 becomes 0
    weighed[:, np.diag(metric.components) == 0] = 0
    keys = np.ascontiguousarray(weighed).view(np.dtype((np.void, x.dtype.itemsize * x.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.intp)


def _near_twins(u: FloatArray, slack: FloatArray) -> IntArray:
    """For each row the index of the first row that lies within both rows' rounding errors.

    Sorted along one direction, rows that close are neighbours; only runs of those are compared in full.
    """
    twin = np.arange(len(u))
    direction = np.random.default_rng(0).standard_normal(u.shape[1])
    along = u @ (direction / np.linalg.norm(direction))
    by_place = np.argsort(along, kind="stable")
    reach = 2 * float(slack.max()) + 1e-15 * float(np.abs(along).max())
    runs = np.split(by_place, np.flatnonzero(np.diff(along[by_place]) > reach) + 1)
    for run in (np.sort(r) for r in runs if len(r) > 1):
        rest = run
        while len(rest) > 1:
            first = rest[0]
            close = np.linalg.norm(u[rest] - u[first], axis=1) <= slack[rest] + slack[first]
            twin[rest[close]] = first
            rest = rest[~close]
    return twin
