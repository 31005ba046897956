"""Numbers with few digits that keep a promise: what is proved is never written larger, what was found never smaller.

A written number stands for the float that Python reads from it; compared with the value as floats, it lies on the right
side or is the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def digits_down(value: float, digits: int) -> float:
    """The largest number of so many significant digits that is at most `value` (0 or more)."""
    return _to_digits(value, digits, -1)


def digits_up(value: float, digits: int) -> float:
    """The smallest number of so many significant digits that is at least `value` (0 or more)."""
    return _to_digits(value, digits, 1)


def places_down(value: float, places: int) -> float:
    """The largest number with so many places after the point that is at most `value`."""
    return _on_grid(value, places, -1)


def places_up(value: float, places: int) -> float:
    """The smallest number with so many places after the point that is at least `value`."""
    return _on_grid(value, places, 1)


def round_up_to(value: float, digits: Sequence[float]) -> float:
    """The next of these digits (the last is 10) times a power of ten, for the end of an axis or the step of ticks.

    A value that is above such a number by rounding only is taken for it.
    """
    power = 10.0 ** math.floor(math.log10(value))
    return next(digit * power for digit in digits if digit * power >= value * (1 - 1e-9))


def as_written(value: float) -> str:
    """As few digits as tell the number from every other: read again, it is the same."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _to_digits(value: float, digits: int, side: int) -> float:
    value = float(value)
    if value == 0 or not math.isfinite(value):
        return value
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    whole, power = int(mantissa.replace(".", "")), int(exponent) - digits + 1
    near = float(f"{whole}e{power}")
    if (near - value) * side >= 0:
        return near
    if side < 0 and whole == 10 ** (digits - 1):  # from 1.00 down to 0.999, not to 0.99
        whole, power = 10 * whole, power - 1
    return float(f"{whole + side}e{power}")


def _on_grid(value: float, places: int, side: int) -> float:
    near = float(f"{value:.{places}f}")
    if (near - value) * side >= 0:
        return near
    return float(f"{near + side * 10.0**-places:.{places}f}")
