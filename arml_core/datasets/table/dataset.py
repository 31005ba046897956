"""A user's file as a dataset, in one call."""

from __future__ import annotations

import inspect
from typing import Any

from ..base import Dataset
from ..scaling import ScalingKind
from .encoding import Source
from .read import read_table
from .select import select

_SELECT_OPTIONS = frozenset(inspect.signature(select).parameters) - {"table"}


def read_dataset(
    file: Source, *, label: str, name: str = "file", scaling: ScalingKind = "minmax", **options: Any
) -> Dataset:
    """A labelled table in a file as a dataset, for callers who cannot ask: what is open is a ValueError in full words.

    `options` are those of :func:`read_table` (how the file is written) and :func:`select` (what to use of it).
    """
    how_written = {key: value for key, value in options.items() if key not in _SELECT_OPTIONS}
    what_used = {key: value for key, value in options.items() if key in _SELECT_OPTIONS}
    table, found = read_table(file, **how_written)
    found.raise_if_blocking()
    assert table is not None
    data, found = select(table, label=label, scaling=scaling, **what_used)
    found.raise_if_blocking()
    assert data is not None
    return data.dataset(name)
