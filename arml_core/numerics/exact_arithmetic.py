"""Squared distances without rounding, as whole numbers, for the few comparisons that rounding would decide."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arrays import FloatArray

DIGITS = 53  # binary ones of a float64

Whole = NDArray[np.object_]
"""Python's whole numbers, which have no largest."""


class ExactDistances:
    """``‖G(x - z)‖²`` for one G (a vector stands for a diagonal one), in a unit of its own for each x.

    The numbers are to be compared with each other, not to be read.
    """

    def __init__(self, g: FloatArray) -> None:
        self._g = g
        self._whole_g: Whole | None = None

    def __call__(self, x: FloatArray, z: FloatArray) -> list[int]:
        """The squared distances from x to each row of z."""
        if self._whole_g is None:
            self._whole_g = _whole(self._g)
        numbers = _whole(np.vstack([x[None], z]))
        apart = numbers[:1] - numbers[1:]
        image = apart * self._whole_g if self._g.ndim == 1 else apart @ self._whole_g.T
        return [int(total) for total in (image * image).sum(axis=1)]


def _whole(values: FloatArray) -> Whole:
    """The values as whole multiples of one power of two."""
    part, exponent = np.frexp(values)
    digits = np.ldexp(part, DIGITS).astype(np.int64)
    is_zero = digits == 0
    smallest = exponent[~is_zero].min() if not is_zero.all() else 0
    shift = np.where(is_zero, 0, exponent - smallest)
    return np.asarray(digits.astype(object) << shift.astype(object))
