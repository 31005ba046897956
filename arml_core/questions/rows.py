"""Rows as callers hand them over, as arrays, and what belongs to some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from ..knn import MahalanobisKNN
from ..numerics.arrays import IntArray
from ..progress import Callback


def as_rows(knn: MahalanobisKNN, X: ArrayLike, missing: bool = False) -> NDArray[np.floating]:
    """X as `knn` takes it, in float64 or float32; with `missing`, cells may be NaN."""
    finite = "allow-nan" if missing else True
    checked = validate_data(knn, X, dtype=[np.float64, np.float32], reset=False, ensure_all_finite=finite)
    return cast(NDArray[np.floating], checked)


def left_out_of(exclude: ArrayLike | Sequence[ArrayLike] | None, n: int) -> Sequence[Any] | None:
    """What is left out for each of `n` rows, as a sequence that can be indexed."""
    if exclude is None:
        return None
    listed = np.asarray(exclude) if hasattr(exclude, "__array__") else exclude  # a Series, say
    if not isinstance(listed, Sequence | np.ndarray) or len(listed) != n:
        given = len(listed) if isinstance(listed, Sequence | np.ndarray) else listed
        raise ValueError(f"exclude must have one entry per row, {n} in all; got {given!r}")
    return cast(Sequence[Any], listed)


def taken(values: Sequence[Any] | None, rows: IntArray) -> list[Any] | None:
    """The entries of some rows; None where there are none."""
    return None if values is None else [values[row] for row in rows.tolist()]


def seconds_for(budget: ArrayLike, n: int) -> NDArray[np.float64]:
    """The budget of each of `n` rows."""
    return np.broadcast_to(np.asarray(budget, dtype=np.float64), (n,))


def part_of(callback: Callback | None, before: int, size: int, total: int) -> Callback | None:
    """`callback` for a step that is `size` of `total`, after `before` of them."""
    if callback is None:
        return None
    return lambda done, of, info: callback(before + size * min(done, of) // max(1, of), total, info)


def still(callback: Callback | None, done: int, total: int) -> Callback | None:
    """`callback` for a step that finishes nothing, but can be stopped."""
    return None if callback is None else lambda _, of, info: callback(done, total, info)
