"""A Mahalanobis metric M = GᵀG, validated, with distances that do not cancel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import NotPSDError
from .numerics.arrays import FloatArray

PSD_TOLERANCE = 1e-8
SMALL_PRODUCT = 64 * 64  # below this many entries of G, plain loops beat BLAS and repeat to the last bit


class Metric:
    """The squared distance ``d(x, x') = ‖G(x - x')‖²`` with ``G`` of shape (rank, n_features).

    Build one with :meth:`identity`, :meth:`from_matrix` or :meth:`from_components`, or with
    :func:`as_metric` from anything a user may hand over. A diagonal G is kept as a vector: products with
    it are then correctly rounded, feature by feature.
    """

    def __init__(self, components: FloatArray) -> None:
        self._g = components  # (rank, D), or (D,) for a diagonal G
        self._g.setflags(write=False)  # classifiers have computed with it

    @classmethod
    def identity(cls, n_features: int) -> Metric:
        """The Euclidean metric."""
        return cls(np.ones(n_features))

    @classmethod
    def from_components(cls, components: ArrayLike) -> Metric:
        """The metric GᵀG for a given G, low rank if G has fewer rows than columns."""
        _require_real(components, "components")
        g = np.array(components, dtype=np.float64)
        if g.ndim != 2 or g.size == 0:
            raise ValueError(f"components must be a matrix of shape (rank, n_features); got shape {g.shape}")
        _require_finite(g, "components")
        if g.shape[0] == g.shape[1] and _is_diagonal(g):
            return cls(np.diag(g).copy())
        return cls(g)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, tolerance: float = PSD_TOLERANCE) -> Metric:
        """The metric of a symmetric positive semi-definite M.

        Asymmetry and negative eigenvalues up to `tolerance` times the largest entry or eigenvalue count as
        rounding noise and are removed; anything beyond raises an error, :class:`~arml_core.NotPSDError` for
        the eigenvalues. Directions whose eigenvalue eigh cannot tell from 0 are dropped: a singular M gives
        a low-rank G.
        """
        _require_real(matrix, "the metric")
        m = np.array(matrix, dtype=np.float64)
        if m.ndim != 2 or m.shape[0] != m.shape[1] or m.size == 0:
            raise ValueError(f"a metric must be a square matrix; got shape {m.shape}")
        _require_finite(m, "the metric")
        largest = float(np.abs(m).max())
        asymmetry = float(np.abs(m - m.T).max())
        if asymmetry > tolerance * largest:
            raise ValueError(
                f"a metric must be symmetric; M and its transpose differ by up to {asymmetry:.3g}. "
                "Pass (M + M.T) / 2 if that is what you mean"
            )
        if _is_diagonal(m):
            _require_psd(np.diag(m), tolerance)
            return cls(np.sqrt(np.maximum(np.diag(m), 0.0)))
        m = (m + m.T) / 2
        _require_psd(np.linalg.eigvalsh(m).astype(np.float64), tolerance)
        # To unit diagonal first: eigh's errors are relative to the largest entry, and features differ in scale.
        scale = np.sqrt(np.maximum(np.diag(m), 0.0))
        divisor = np.where(scale > 0, scale, 1.0)
        eigenvalues, vectors = np.linalg.eigh(m / divisor[:, None] / divisor)
        keep = eigenvalues > len(m) * np.finfo(np.float64).eps * eigenvalues.max()
        g = np.sqrt(eigenvalues[keep])[:, None] * vectors[:, keep].T * scale
        return cls(np.ascontiguousarray(g))

    @property
    def n_features(self) -> int:
        return int(self._g.shape[-1])

    @property
    def rank(self) -> int:
        """The number of rows of G (an upper bound on the rank of M)."""
        return int(self._g.shape[0])

    @property
    def is_diagonal(self) -> bool:
        return self._g.ndim == 1

    @property
    def is_steady(self) -> bool:
        """Whether G v depends on v alone, to the last bit, and not on the rows it is computed with."""
        return self.is_diagonal or self._g.size <= SMALL_PRODUCT

    @property
    def is_identity(self) -> bool:
        return self.is_diagonal and bool(np.all(self._g == 1.0))

    @property
    def components(self) -> FloatArray:
        """G, of shape (rank, n_features)."""
        return np.diag(self._g) if self.is_diagonal else self._g

    def matrix(self) -> FloatArray:
        """M = GᵀG."""
        g = self.components
        m: FloatArray = g.T @ g
        return m

    def transform(self, vectors: NDArray[np.floating]) -> FloatArray:
        """G v for each row v."""
        v = np.asarray(vectors, dtype=np.float64)
        if self.is_diagonal:
            return v * self._g
        if self.is_steady:
            return _looped_product(v, self._g)
        product: FloatArray = v @ self._g.T
        return product

    def apply(self, vectors: NDArray[np.floating]) -> FloatArray:
        """M v for each row v."""
        if self.is_diagonal:
            return np.asarray(vectors, dtype=np.float64) * self._g * self._g
        product: FloatArray = self.transform(vectors) @ self._g
        return product

    def magnitude(self, vectors: NDArray[np.floating]) -> FloatArray:
        """‖|G||v|‖₂ for each row v: what rounding errors of G v are measured against."""
        v = np.abs(np.asarray(vectors, dtype=np.float64))
        norms: FloatArray = np.linalg.norm(Metric(np.abs(self._g)).transform(v), axis=-1)
        return norms

    def absolute_apply(self, vectors: NDArray[np.floating]) -> FloatArray:
        """|G|ᵀ|G||v| for each row v: rounding errors of M v are at most γ times this, entry by entry."""
        return Metric(np.abs(self._g)).apply(np.abs(vectors))

    def operator_magnitude(self) -> float:
        """An upper bound on the spectral norm of |G|."""
        g = np.abs(self._g)
        if self.is_diagonal:
            return float(g.max())
        return float(np.sqrt(g.sum(axis=0).max() * g.sum(axis=1).max()))

    def squared_distances(self, x: NDArray[np.floating], z: NDArray[np.floating]) -> FloatArray:
        """d(x, z) along the last axis, with broadcasting, from differences: nothing cancels.

        The relative error is at most γ of (n_features + rank + 3) times ``(‖|G||x - z|‖ / ‖G(x - z)‖)²``,
        which is 1 for a diagonal metric. Where :attr:`is_steady`, equal differences give equal results to the last
        bit; elsewhere a matrix product may round a row differently in other company.
        """
        return _squares(self.transform(np.asarray(x, dtype=np.float64) - np.asarray(z, dtype=np.float64)))


def _looped_product(v: FloatArray, g: FloatArray) -> FloatArray:
    product: FloatArray = np.einsum("...d,rd->...r", v, g)
    return product


def _squares(t: FloatArray) -> FloatArray:
    sums: FloatArray = (t * t).sum(axis=-1)
    return sums


def as_metric(metric: Any, n_features: int) -> Metric:
    """Turn None (Euclidean), a PSD array, a :class:`Metric` or a fitted learner into a :class:`Metric`."""
    if metric is None:
        return Metric.identity(n_features)
    if isinstance(metric, Metric):
        result = metric
    elif getattr(metric, "references_", None) is not None:
        raise ValueError(
            "these are references, points to compare with: give them as references=, or their metric alone as a matrix"
        )
    elif hasattr(metric, "components_"):
        result = Metric.from_components(metric.components_)
    elif hasattr(metric, "get_mahalanobis_matrix"):
        result = Metric.from_matrix(metric.get_mahalanobis_matrix())
    elif hasattr(metric, "fit"):
        raise ValueError(f"the learner {metric!r} is not fitted; call its fit(X, y) first")
    elif isinstance(metric, str) or np.ndim(metric) == 0:
        raise ValueError(f"metric must be None (Euclidean), a PSD matrix or a fitted learner; got {metric!r}")
    else:
        result = Metric.from_matrix(metric)
    if result.n_features != n_features:
        raise ValueError(f"the metric is for {result.n_features} features; the data has {n_features}")
    return result


def _is_diagonal(m: FloatArray) -> bool:
    return bool(np.count_nonzero(m) == np.count_nonzero(np.diag(m)))


def _require_real(values: ArrayLike, name: str) -> None:
    if np.iscomplexobj(values):
        raise ValueError(f"{name} must consist of real numbers; these are complex")


def _require_finite(values: FloatArray, name: str) -> None:
    if not np.isfinite(values).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(f"{name} has a value that is not finite: {values[where]} at {where}")


def _require_psd(eigenvalues: FloatArray, tolerance: float) -> None:
    smallest, largest = float(eigenvalues.min()), float(np.abs(eigenvalues).max())
    if smallest < -tolerance * largest:
        raise NotPSDError(
            f"a metric must be positive semi-definite; its smallest eigenvalue is {smallest:.3g} "
            f"(the largest is {largest:.3g}). Clip the negative eigenvalues to 0 if they are noise"
        )
