"""Parameters that `make test` leaves to `make test-more`."""

from typing import Any

import pytest

EVERY = 5
"""Tests choose the kind of a problem by its seed modulo 2, 3, 4, 6 or 8; five has no divisor in common with these."""


def more(*values: Any) -> list[Any]:
    """Parameters for `make test-more` alone."""
    return [pytest.param(value, marks=pytest.mark.more) for value in values]


def seeds(count: int, first: int = 0) -> list[Any]:
    """`count` seeds from `first` on: every fifth for `make test` too."""
    found: list[Any] = []
    for step in range(count):
        found += more(first + step) if step % EVERY else [first + step]
    return found
