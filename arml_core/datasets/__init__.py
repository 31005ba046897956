"""Every dataset by name: toys, scikit-learn's small sets, the paper's six; and the door for a user's file.

Names are imported when they are first used: the process that reads a user's file starts without scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Dataset": "base",
    "DatasetInfo": "base",
    "DownloadError": "fetch",
    "Scaling": "scaling",
    "dataset_info": "catalogue",
    "fetch_dataset": "catalogue",
    "fit_scaling": "scaling",
    "list_datasets": "catalogue",
    "load_dataset": "catalogue",
    "read_dataset": "table",
    "read_table": "table",
}

if TYPE_CHECKING:
    from .base import Dataset, DatasetInfo
    from .catalogue import dataset_info, fetch_dataset, list_datasets, load_dataset
    from .fetch import DownloadError
    from .scaling import Scaling, fit_scaling
    from .table import read_dataset, read_table

__all__ = [
    "Dataset",
    "DatasetInfo",
    "DownloadError",
    "Scaling",
    "dataset_info",
    "fetch_dataset",
    "fit_scaling",
    "list_datasets",
    "load_dataset",
    "read_dataset",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
