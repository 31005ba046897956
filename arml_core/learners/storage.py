"""Save a metric to one file and load it back; take in a plain matrix M from .npz or .csv. Nothing is unpickled."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import atomic_write
from ..metric import Metric, as_metric
from ..npz import TooLarge, read_npz
from ..numerics.arrays import FloatArray
from ..untrusted import shortened

FORMAT = "arml-metric"
FORMAT_VERSION = 1
MAX_FEATURES = 10_000
CSV_BYTES = 32
"""No number needs more in a table: sign, 17 digits, exponent and what parts it from the next."""


@dataclass(frozen=True)
class SavedMetric:
    """A metric from a file with what is known about it; usable wherever a fitted learner is.

    `info` holds "learner", "parameters", "dataset", "fingerprint", "seed" and "version" as saved; it is empty for a
    plain matrix.
    """

    metric: Metric
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def components_(self) -> FloatArray:
        return self.metric.components

    def get_mahalanobis_matrix(self) -> FloatArray:
        return self.metric.matrix()


def save_metric(
    path: str | os.PathLike[str],
    metric: Any,
    *,
    learner: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    dataset: str | None = None,
    fingerprint: str | None = None,
    seed: int | None = None,
) -> None:
    """Write a metric (a fitted learner, a :class:`Metric` or a PSD matrix) to `path`, whole or not at all.

    The name and the parameters of a learner are taken from it unless given.
    """
    from .. import __version__

    if hasattr(metric, "get_params"):
        learner = learner or type(metric).__name__
        parameters = parameters if parameters is not None else metric.get_params()
        seed = seed if seed is not None else _plain(metric.get_params().get("random_state"))
    components = as_metric(metric, _width(metric)).components
    info = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": __version__,
        "learner": learner,
        "parameters": {name: _plain(value) for name, value in (parameters or {}).items()},
        "dataset": dataset,
        "fingerprint": fingerprint,
        "seed": seed,
    }
    buffer = io.BytesIO()
    text = np.array(json.dumps(info, ensure_ascii=False))
    np.savez_compressed(buffer, allow_pickle=False, components=components, info=text)
    atomic_write(Path(path), buffer.getbuffer())


def load_metric(path: str | os.PathLike[str], n_features: int | None = None) -> SavedMetric:
    """The metric in a file of :func:`save_metric`, or a plain M: a .npz with one matrix, or a .csv of numbers.

    Raises ValueError, with the file's name and what is wrong, for a file that is damaged, foreign, not a metric
    (not square, symmetric and positive semi-definite) or not for `n_features` features. What is far too large for that
    many is refused before it is unpacked.
    """
    file = Path(path)
    try:
        if not file.is_file():
            raise ValueError("there is no such file")
        most = MAX_FEATURES if n_features is None else n_features
        saved = _read_csv(file, most) if file.suffix.lower() == ".csv" else _read_npz(file, most)
        if n_features is not None:
            as_metric(saved.metric, n_features)  # checks the width
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    return saved


def _read_npz(file: Path, most: int) -> SavedMetric:
    try:
        arrays = read_npz(file, 16 * most**2 + 2**20)
    except TooLarge as error:
        raise ValueError(f"it unpacks to {error.size / 2**20:.0f} MB; that is too large for {most} features") from error
    if "info" in arrays:
        return _read_saved(arrays)
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    if len(matrices) != 1:
        raise ValueError(f"a plain metric is one matrix; found {len(matrices)} among {shortened(sorted(arrays))}")
    return SavedMetric(Metric.from_matrix(_numbers(arrays[matrices[0]])))


def _read_saved(arrays: Mapping[str, Any]) -> SavedMetric:
    try:
        info = json.loads(str(arrays["info"]))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError("its description is not JSON; the file was not written by this program") from error
    if not isinstance(info, dict) or info.get("format") != FORMAT or "components" not in arrays:
        raise ValueError("it is not a saved metric of this program")
    if info.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"it has format {shortened(info.get('format_version'))}; this program reads format {FORMAT_VERSION}. "
            f"It was written by version {shortened(info.get('version'))}"
        )
    return SavedMetric(Metric.from_components(_numbers(arrays["components"])), info)


def _read_csv(file: Path, most: int) -> SavedMetric:
    size = file.stat().st_size
    if size > CSV_BYTES * most**2 + 2**20:
        raise ValueError(f"it has {size / 2**20:.0f} MB; that is too large for {most} features")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("it is not a text file; save the matrix as comma-separated numbers") from error
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError("the file is empty")
    if len(lines) > most:
        raise ValueError(f"it has {len(lines)} lines; a metric has one per feature, {most} at most")
    delimiter = next((d for d in ",;\t" if d in lines[0]), " ")
    width = lines[0].count(delimiter) + 1
    if width > most:
        raise ValueError(f"line 1 has {width} values; a metric has one per feature, {most} at most")
    rows: list[FloatArray] = []
    try:
        for cells in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
            if rows and len(cells) != len(rows[0]):
                raise ValueError(f"line {len(rows) + 1} has {len(cells)} values; line 1 has {len(rows[0])}")
            rows.append(np.array([_number(cell, len(rows) + 1, j + 1) for j, cell in enumerate(cells)]))
    except csv.Error as error:
        raise ValueError(f"line {len(rows) + 1} cannot be read as comma-separated numbers ({error})") from error
    return SavedMetric(Metric.from_matrix(np.array(rows)))


def _number(cell: str, line: int, place: int) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"line {line}, value {place}: {cell[:40]!r} is not a number") from None


def _numbers(array: Any) -> FloatArray:
    if array.dtype.kind not in "fiu":
        raise ValueError(f"a metric is made of real numbers; found {shortened(array.dtype)}")
    return np.asarray(array, dtype=np.float64)


def _width(metric: Any) -> int:
    components = getattr(metric, "components_", None)
    if components is None:
        components = metric.components if isinstance(metric, Metric) else np.asarray(metric)
    return int(np.shape(components)[-1]) if np.ndim(components) else 0


def _plain(value: Any) -> Any:
    """A value JSON can hold: numbers and strings as they are, an array as its shape, anything else as text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return repr(value)
