"""A metric, perhaps with references, from a visitor's file: what it is called does not matter, what it holds does."""

from __future__ import annotations

import tempfile
from pathlib import Path

from arml_core.datasets.table import MAX_BYTES
from arml_core.learners.storage import SavedMetric, load_metric
from arml_core.metric import Metric

LARGEST_MB = MAX_BYTES >> 20
_ARCHIVE = b"PK"


def read_metric(name: str, content: bytes, n_features: int) -> Metric:
    """The metric in an uploaded .npz or .csv; a ValueError that names the file as the visitor knows it."""
    return read_model(name, content, n_features).metric


def read_model(name: str, content: bytes, n_features: int) -> SavedMetric:
    """The same with the references that the file may hold."""
    if len(content) > LARGEST_MB * 2**20:
        raise ValueError(f"{name} has {len(content) / 2**20:.1f} MB; the limit is {LARGEST_MB} MB")
    ending = ".npz" if content.startswith(_ARCHIVE) else ".csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"metric{ending}"
        path.write_bytes(content)
        try:
            return load_metric(path, n_features)
        except ValueError as error:
            words = str(error).removeprefix(f"{path}: ")
            if ending == ".csv" and name.lower().endswith(".npz"):
                words = f"it is not a .npz file, or it is damaged; read as text, {words}"
            raise ValueError(f"{name}: {words}") from error
