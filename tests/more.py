"""Parameters that `make test` leaves to `make test-more`."""

from typing import Any

import pytest

EVERY, RARELY = 5, 11
"""Tests choose the kind of a problem by its seed modulo 2, 3, 4, 6 or 8; these have no divisor in common with those."""


def more(*values: Any) -> list[Any]:
    """Parameters for `make test-more` alone."""
    return [pytest.param(value, marks=pytest.mark.more) for value in values]


def seeds(count: int, first: int = 0, step: int = 1, every: int = EVERY) -> list[Any]:
    """`count` seeds from `first` on: every fifth for `make test` too, or fewer where each takes long."""
    found: list[Any] = []
    for number in range(count):
        seed = first + number * step
        found += more(seed) if number % every else [seed]
    return found
