"""Rigorous bounds on many squared distances at once, from one float32 matrix product.

``‖u - u_i‖² = ‖u‖² + ‖u_i‖² - 2 u·u_i`` is the fastest way to many distances and the least accurate one: its
error is relative to ``(‖u‖ + ‖u_i‖)²``, not to the distance. Here that error is bounded and moved to one side,
so the result can rule candidates out but never decides anything by itself.

The bound is ``γ (s + s_i)²`` with ``s = ‖u‖ + slack/γ``, where `slack` is how far the stored u may be from the
true one. Being a square of a sum it is folded into the matrix product as one more coordinate.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from .arrays import FloatArray, IntArray
from .distance_kernels import Vectors, lower_to_upper, nearest_by_upper
from .error_bounds import LARGEST, TINY, gamma, gram_error

CHUNK_BYTES = 40 * 2**20  # of one screened block; four such blocks are alive at a time
FAR = 1e6  # points further out, or less certain, than this many data radii are screened in float64
SMALLEST = 1e-14  # in data radii; its square times γ covers what underflow can do in float32


class DistanceBounds:
    """Points prepared for one-sided bounds on their squared distances to query points.

    Parameters
    ----------
    points : (N, r) array; the bounds hold for distances to these points moved by up to `slack`.
    slack : (N,) array, how far each point may be off.
    """

    def __init__(self, points: FloatArray, slack: FloatArray, device: torch.device) -> None:
        norms = np.linalg.norm(points, axis=1)
        self.device = device
        self.scale = power_of_two(float(norms.max()))
        self.gamma = gamma(points.shape[1] + 64, np.float32)
        self._points = (points, norms, slack)
        self._farthest = float(_magnitude(norms, slack, self.scale, self.gamma).max())
        self.single = _Side(points, norms, slack, self.scale, self.gamma, torch.float32, device)
        self._double: _Side | None = None

    def __len__(self) -> int:
        return len(self._points[1])

    def chunk_rows(self) -> int:
        """How many query points fit into one chunk."""
        return max(1, CHUNK_BYTES // (4 * max(1, len(self))))

    def vectors(self) -> Vectors:
        """For upper bounds on the distances between a few of the points, in units of `scale`."""
        side = self.single
        points, squares, slack = (t.cpu().numpy() for t in (side.matrix[:, :-1], side.squares, side.magnitude))
        return Vectors(points, squares, slack, side.gamma, 2.0)

    def query(self, u: FloatArray, slack: FloatArray) -> BoundedRows:
        """Lower bounds for the query points `u`, each of which may be off by `slack`."""
        norms = np.linalg.norm(u, axis=1)
        farthest = float(norms.max(initial=0.0)) / self.scale
        if farthest > LARGEST:
            raise ValueError(
                f"a point lies {farthest:.3g} times as far out as the training data: squares of that overflow. "
                "Rescale its features as those of the training data"
            )
        own = float(_magnitude(norms, slack, self.scale, self.gamma).max(initial=0.0))
        if max(own, self._farthest) > FAR or torch.get_float32_matmul_precision() != "highest":
            if self._double is None:
                points, own, own_slack = self._points
                self._double = _Side(points, own, own_slack, self.scale, self.gamma, torch.float64, self.device)
            return BoundedRows(self._double, u, norms, slack)
        return BoundedRows(self.single, u, norms, slack)


class _Side:
    """The points in one precision: [u_i, γ s_i] and ‖u_i‖² - γ s_i², all divided by the scale."""

    def __init__(
        self,
        points: FloatArray,
        norms: FloatArray,
        slack: FloatArray,
        scale: float,
        gamma: float,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.scale, self.gamma, self.dtype, self.device = scale, gamma, dtype, device
        magnitude = _magnitude(norms, slack, scale, gamma)
        matrix = torch.empty((len(norms), points.shape[1] + 1), dtype=dtype)
        for start in range(0, len(norms), 8192):  # by chunks: no second float64 copy of the points
            part = slice(start, start + 8192)
            matrix[part, :-1] = torch.from_numpy(points[part] / scale)
        matrix[:, -1] = torch.from_numpy(gamma * magnitude)
        self.matrix = matrix.to(device)
        self.squares = torch.from_numpy((norms / scale) ** 2).to(device, dtype)
        self.bias = torch.from_numpy((norms / scale) ** 2 - gamma * magnitude**2).to(device, dtype)
        self.magnitude = torch.from_numpy(magnitude).to(device, dtype)


class BoundedRows:
    """Lower bounds on squared distances of some query points to all points, in units of ``scale²``.

    ``lower[b, i]`` lacks a constant per row (`constant`), which cancels in differences.
    """

    def __init__(self, side: _Side, u: FloatArray, norms: FloatArray, slack: FloatArray) -> None:
        magnitude = _magnitude(norms, slack, side.scale, side.gamma)
        query = torch.from_numpy(np.column_stack([u / side.scale, magnitude])).to(side.device, side.dtype)
        self.side = side
        self.magnitude = torch.from_numpy(magnitude).to(side.device, side.dtype)
        self.constant = torch.from_numpy((norms / side.scale) ** 2 - side.gamma * magnitude**2).to(
            side.device, side.dtype
        )
        self.lower = torch.addmm(side.bias, query, side.matrix.T, alpha=-2)

    def width(self, columns: torch.Tensor | slice) -> torch.Tensor:
        """What to add to `lower` at `columns` (a slice, or an index per row) to get upper bounds."""
        at = self.side.magnitude[columns]
        return (self.magnitude[:, None] + at).square_().mul_(2 * self.side.gamma)

    def nearest(self, columns: slice, count: int) -> tuple[NDArray[np.floating], IntArray]:
        """The smallest upper bounds at `columns` of each row, ascending, and where they are; at most `count`."""
        count = min(count, columns.stop - columns.start)
        lower, own, slack = (t.cpu().numpy() for t in (self.lower, self.magnitude, self.side.magnitude))
        values, places = np.empty((len(lower), count), lower.dtype), np.empty((len(lower), count), dtype=np.intp)
        twice = lower.dtype.type(2 * self.side.gamma)
        nearest_by_upper(lower, own, slack[columns], twice, columns.start, values, places)
        return values, places

    def squared_upper(self) -> NDArray[np.floating]:
        """Upper bounds on the squared distances, constant included; `lower` is lost."""
        squares, constant, own, slack = (
            t.cpu().numpy() for t in (self.lower, self.constant, self.magnitude, self.side.magnitude)
        )
        lower_to_upper(squares, constant, own, slack, squares.dtype.type(2 * self.side.gamma))
        return squares


class PairwiseBounds:
    """Points of which each may be off by `slack`, in float64: upper bounds on the distances between pairs of them.

    Parameters
    ----------
    points : (N, r), `slack` (N,) in the same norm.
    order : the norm, 1, 2 or inf. In ℓ2 distances come from matrix products.
    """

    def __init__(self, points: FloatArray, slack: FloatArray, order: float, device: torch.device) -> None:
        self.points, self.slack, self.order, self.device = points, slack, order, device
        self.norms: FloatArray = np.linalg.norm(points, axis=1)

    def upper(self, rows: IntArray, columns: slice) -> torch.Tensor:
        """Upper bounds on the distances of the points `rows` to the points `columns`."""
        width = self.points.shape[1]
        left, right = (torch.from_numpy(self.points[s]).to(self.device) for s in (rows, columns))
        if self.order == 2:
            norms = [torch.from_numpy(self.norms[s]).to(self.device) for s in (rows, columns)]
            squares = torch.addmm(norms[1].square(), left, right.T, alpha=-2)
            squares += norms[0].square()[:, None]
            squares += (norms[0][:, None] + norms[1]).square_().mul_(gamma(width + 16))
            result = squares.clamp_(min=0).sqrt_()
        else:
            result = torch.cdist(left, right, p=self.order).mul_(1 + gamma(width + 16))
        slack = [torch.from_numpy(self.slack[s]).to(self.device) for s in (rows, columns)]
        result += slack[1]
        result += slack[0][:, None]
        return result

    def error_share(self, i: IntArray, j: IntArray, upper: FloatArray) -> FloatArray:
        """How much of an upper bound for a pair (i, j) may be error, relative to it."""
        error = self.slack[i] + self.slack[j]
        if self.order == 2:
            spread = self.norms[i] + self.norms[j]
            error = error + gram_error(spread, self.points.shape[1]) / np.maximum(upper, TINY)
        return error / np.maximum(upper, TINY)


def _magnitude(norms: FloatArray, slack: FloatArray, scale: float, gamma: float) -> FloatArray:
    """s = ‖u‖ + slack/γ, in units of the scale."""
    return (norms + slack / gamma) / scale + SMALLEST


def power_of_two(value: float) -> float:
    """The smallest power of two that is at least `value` (1 for 0): scaling by it is exact."""
    return float(2.0 ** np.ceil(np.log2(value))) if value > 0 else 1.0
