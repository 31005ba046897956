"""Checks of the learners' arguments, with messages that name the argument and the value."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..numerics.arrays import FloatArray


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_int(name: str, value: Any, low: int, high: int | None = None) -> int:
    """`value` as an int in low..high."""
    if not _is_int(value) or value < low or (high is not None and value > high):
        limits = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be an integer {limits}; got {value!r}")
    return int(value)


def check_real(name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False) -> float:
    """`value` as a finite float in low..high (above low if `open_low`)."""
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number; got {value!r}")
    number = float(value)
    if number < low or number > high or (open_low and number == low):
        limits = f"{'above' if open_low else 'at least'} {low:g}" + ("" if high == np.inf else f" and at most {high:g}")
        raise ValueError(f"{name} must be {limits}; got {value!r}")
    return number


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """`value` if it is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
    return str(value)


def draw_seed(random_state: Any) -> int:
    """A seed for torch from scikit-learn's `random_state`; an int gives the same seed each time."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_rank(n_components: Any, n_features: int) -> int:
    """The number of rows of G; None means all of them."""
    return n_features if n_components is None else check_int("n_components", n_components, 1, n_features)


def initial_components(init: Any, X: Any, rank: int) -> FloatArray:
    """The G to start from: a given matrix, or by default the identity, or `rank` principal axes if that is fewer.

    The first `rank` rows of the identity would look at the first features only; principal axes look at all.
    """
    d = X.shape[1]
    if init is not None:
        g = np.array(init, dtype=np.float64)
        if g.shape != (rank, d):
            raise ValueError(f"init must have shape (n_components, n_features) = ({rank}, {d}); got {g.shape}")
        if not np.isfinite(g).all():
            raise ValueError("init has a value that is not finite")
        if not g.any():
            raise ValueError("init is all zero, from where no gradient leads away")
        return g
    if rank == d:
        return np.eye(d)
    centred = X - X.mean(axis=0, dtype=np.float64)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes: FloatArray = np.asarray(vectors[:, ::-1][:, :rank].T, dtype=np.float64)
    largest = np.abs(axes).argmax(axis=1)  # eigenvectors have no sign of their own: make the largest entry positive
    signs: FloatArray = np.sign(axes[np.arange(rank), largest])
    return axes * signs[:, None]
