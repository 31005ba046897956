"""Writing a table that people open in a spreadsheet, and counterfactuals that survive being written."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...numerics.arrays import FloatArray
from ..scaling import Scaling
from .cells import safe_cell

NUDGES = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
LAST_PLACES = 8  # how often a number is moved by its last digit to be within limits


def write_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """CSV text: numbers with every digit, None as an empty cell, no cell that a spreadsheet would run."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")  # RFC 4180; and then a lone \r in a cell is quoted, too
    writer.writerow([safe_cell(name) for name in header])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return safe_cell(str(value))


def counterfactuals_in_units(
    scaling: Scaling,
    x: FloatArray,
    adversarial: FloatArray,
    flips: Callable[[FloatArray], NDArray[np.bool_]],
    own: FloatArray | None = None,
    limits: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Adversarial rows in the file's units that still flip the answer after they are written and read again.

    Going to the file's units and back rounds; a point that lies on the decision boundary may fall back. Such
    a row is moved on along its own direction, by at most a millionth of the step. `flips` tells for scaled
    rows (all of them, in order) whether the answer is changed. Rows without a counterfactual (NaN), and rows
    that cannot be kept, come back as NaN. `own` are the rows `x` as the file has them: a feature that does not
    move then keeps its number to the last digit. `limits` are the smallest and largest scaled values allowed.
    """
    raw = np.full(adversarial.shape, np.nan)
    at_rest = scaling.inverse(x) if own is None else own
    moves = adversarial != x
    waiting = np.asarray(np.isfinite(adversarial).all(axis=1))
    for nudge in NUDGES:
        if not waiting.any():
            break
        tried = np.where(moves, scaling.inverse(adversarial + nudge * (adversarial - x)), at_rest)
        if limits is not None:
            tried = within_limits(scaling, tried, *limits)
        usable = waiting & np.isfinite(tried).all(axis=1)
        again = scaling.transform(np.where(usable[:, None], tried, at_rest))
        good = usable & flips(again)
        raw[good] = tried[good]
        waiting &= ~good
    return raw


def within_limits(scaling: Scaling, raw: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """`raw` moved by units in the last place until it is within limits of the scaled values again."""
    for _ in range(LAST_PLACES):
        scaled = scaling.transform(raw)
        raw = np.where(scaled > high, np.nextafter(raw, -np.inf), raw)
        raw = np.where(scaled < low, np.nextafter(raw, np.inf), raw)
    scaled = scaling.transform(raw)
    return np.where((scaled > high) | (scaled < low), np.nan, raw)
