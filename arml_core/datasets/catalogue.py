"""Every dataset by name: toys, scikit-learn's small sets, the paper's six."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..progress import Callback
from .base import Dataset, DatasetInfo
from .bundled import BUNDLED_NAMES, bundled_info, load_bundled
from .paper import PAPER_NAMES, fetch_paper, load_paper, paper_info
from .toy import TOY_NAMES, load_toy, toy_info

_Loader = Callable[..., Dataset]
_GROUPS: tuple[tuple[tuple[str, ...], _Loader, Callable[[str], DatasetInfo]], ...] = (
    (TOY_NAMES, load_toy, toy_info),
    (BUNDLED_NAMES, load_bundled, bundled_info),
    (PAPER_NAMES, load_paper, paper_info),
)


def list_datasets() -> tuple[DatasetInfo, ...]:
    """All datasets, with size, classes, terms, source, and whether they are on this machine now."""
    return tuple(info(name) for names, _, info in _GROUPS for name in names)


def dataset_info(name: str) -> DatasetInfo:
    """The entry of :func:`list_datasets` for one name."""
    _, info = _find(name)
    return info(name)


def load_dataset(name: str, **options: Any) -> Dataset:
    """A dataset by name.

    Toys take `n`, `noise` and `seed`; the paper's six take `callback` for the progress of a download; the
    bundled sets take no options. Unknown names and options are a ValueError that lists the known ones.
    """
    load, _ = _find(name)
    known = [parameter for parameter in inspect.signature(load).parameters if parameter != "name"]
    unknown = sorted(set(options) - set(known))
    if unknown:
        accepted = f"it takes {', '.join(known)}" if known else "it takes no options"
        raise ValueError(f"dataset {name} has no option {unknown[0]!r}; {accepted}")
    return load(name, **options)


def fetch_dataset(name: str, callback: Callback | None = None) -> Path | None:
    """See to it that a set is on this machine, downloading it if need be.

    Returns the file it lies in, or None for a set that needs none.
    """
    info = dataset_info(name)
    if info.available:
        return info.location
    return fetch_paper(name, callback)


def _find(name: str) -> tuple[_Loader, Callable[[str], DatasetInfo]]:
    for names, load, info in _GROUPS:
        if name in names:
            return load, info
    every = ", ".join(known for names, _, _ in _GROUPS for known in names)
    raise ValueError(f"there is no dataset {name!r}; there are {every}")
