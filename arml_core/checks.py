"""What callers hand to the classifier, checked: each refusal names the value and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .neighbors.point_set import PointSet
from .numerics.arrays import IntArray
from .untrusted import shortened

TIES = ("order", "any")
"""What decides ties: training order and the smallest class, or nothing."""


def check_k(k: Any, n_rows: int, what: str = "training rows") -> None:
    """K must be an integer between 1 and the number of training rows, or of whatever else is compared with."""
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
        raise ValueError(f"n_neighbors must be an integer; got {k!r}")
    if not 1 <= k <= n_rows:
        raise ValueError(f"n_neighbors must be between 1 and the {n_rows} {what}; got {k}")


def check_whole(name: str, value: Any, at_least: int) -> None:
    """A whole number from `at_least` on."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise ValueError(f"{name} must be a whole number, at least {at_least}; got {value!r}")


def checked_labels(y: ArrayLike, n: int, classes: NDArray[Any]) -> IntArray:
    """Labels as class codes; one that was not seen in training is refused."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must hold one label per row, {n} in all; got shape {labels.shape}")
    # Not by numpy's comparisons: between numbers and texts they take 10 and "10" for equal, and sort them differently.
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([code_of.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    unseen = labels[codes == -1].tolist()
    if unseen:
        raise ValueError(
            f"label {shortened(repr(unseen[0]))} ({unseen.count(unseen[0])} rows) was not in training; "
            f"the classes are {classes.tolist()}"
        )
    return codes


def checked_exclude(exclude: ArrayLike | Sequence[ArrayLike] | None, n: int, n_train: int, k: int) -> IntArray | None:
    """Training indices to leave out per row, as an (n, e) array padded with -1; None where there are none."""
    if exclude is None:
        return None
    if hasattr(exclude, "__array__"):  # a Series, say
        exclude = np.asarray(exclude)
    is_list = isinstance(exclude, Sequence) or (isinstance(exclude, np.ndarray) and exclude.ndim > 0)
    given = len(exclude) if is_list else exclude  # type: ignore[arg-type]
    if given != n:
        raise ValueError(f"exclude must have one entry per row, {n} in all; got {given!r}")
    rows = [_indices(row) for row in exclude]  # type: ignore[union-attr]
    rows = [row[row != -1] for row in rows]
    for row in rows:
        if len(row) and (row[0] < 0 or row[-1] >= n_train):
            bad = row[0] if row[0] < 0 else row[-1]
            raise ValueError(f"exclude names training row {bad}; there are {n_train}, counted from 0")
    width = max((len(row) for row in rows), default=0)
    if width + k > n_train:
        raise ValueError(f"leaving out {width} of {n_train} training rows leaves too few for K = {k}")
    padded = np.full((n, width), -1, dtype=np.intp)
    for b, row in enumerate(rows):
        padded[b, : len(row)] = row
    return padded if width else None


def check_class_sizes(points: PointSet, classes: NDArray[Any]) -> None:
    """Theorem 1 takes the k-th of the positives and of the negatives: both must have k."""
    references, labels, exclude = points.references, points.labels, points.exclude
    k = (points.n_neighbors + 1) // 2
    own = references.counts[labels].copy()
    total = np.full(len(labels), len(references))
    if exclude is not None:
        gone = exclude >= 0
        own -= (gone & (references.label[exclude] == labels[:, None])).sum(axis=1)
        total -= gone.sum(axis=1)
    for b in np.flatnonzero((own < k) | (total - own < k))[:1]:
        name, rows = classes[labels[b]], int(own[b])
        who = f"Class {name} has {rows} rows" if rows < k else f"All but {int(total[b]) - rows} rows are class {name}"
        raise ValueError(f"{who}; this certificate needs {k} for K = {points.n_neighbors}. Use 'votes'.")


def checked_ties(ties: Any) -> bool:
    """Whether every order of equal distances and equal votes counts: "any", or not: "order"."""
    if not isinstance(ties, str) or ties not in TIES:
        raise ValueError(f"ties must be {' or '.join(map(repr, TIES))}; got {shortened(repr(ties))}")
    return ties == "any"


def checked_target(target: Any, classes: NDArray[Any]) -> int | None:
    """The class code of a target; a ValueError for a label that was not seen in training."""
    if target is None:
        return None
    label = target.item() if isinstance(target, np.generic) else target
    known: list[Any] = classes.tolist()
    if label not in known:
        raise ValueError(f"target {shortened(repr(label))} was not in training; the classes are {known}")
    return known.index(label)


def _indices(row: Any) -> IntArray:
    """One entry of `exclude`, as sorted training indices."""
    values = np.atleast_1d(np.asarray(row))
    if values.ndim != 1 or (values.size and not np.issubdtype(values.dtype, np.integer)):
        raise ValueError(
            f"exclude must hold indices of training rows (-1 for none), not a mask or fractions; got {row!r}"
        )
    return np.unique(values).astype(np.intp)


def checked_radii(at: ArrayLike | None, method: str) -> tuple[float, ...] | None:
    """The radii of `at=`, ascending; a ValueError for what is no radius, and for a method that has no use for them."""
    if at is None:
        return None
    if method != "search":
        raise ValueError(f"at= tells 'search' where to spend its time; {method!r} spends none. Leave it out")
    radii = np.unique(np.asarray(at, dtype=np.float64))
    if not len(radii) or not (radii >= 0).all():
        raise ValueError(f"at must be radii of at least 0, one or more; got {shortened(repr(at))}")
    return tuple(radii.tolist())
