"""Save a metric, with references where it has any, to one file and load it back; take in a plain M from .npz or .csv.

Nothing is unpickled.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..atomic_write import atomic_write
from ..metric import Metric, as_metric
from ..npz import TooLarge, read_npz
from ..numerics.arrays import FloatArray, IntArray
from ..untrusted import shortened

FORMAT = "arml-metric"
METRIC_ALONE, WITH_REFERENCES = 1, 2
"""Format versions: a program that knows no references must not take such a file for a metric."""
MAX_FEATURES = 10_000
REFERENCES_BYTES = 2**29
CSV_BYTES = 32
"""No number needs more in a table: sign, 17 digits, exponent and what parts it from the next."""


@dataclass(frozen=True)
class SavedMetric:
    """A metric from a file with what is known about it; usable wherever a fitted learner is.

    With `references_` it is to be handed to ``MahalanobisKNN(references=…)``, else to ``metric=``. They are None where
    the file holds a metric alone, `reference_rows_` also where they are no training rows.

    `info` holds "learner", "parameters", "dataset", "fingerprint", "seed" and "version" as saved, and "class_names"
    where they were given; it is empty for a plain matrix.
    """

    metric: Metric
    info: dict[str, Any] = field(default_factory=dict)
    references_: FloatArray | None = None
    reference_labels_: NDArray[Any] | None = None
    reference_rows_: IntArray | None = None

    @property
    def components_(self) -> FloatArray:
        return self.metric.components

    def get_mahalanobis_matrix(self) -> FloatArray:
        return self.metric.matrix()

    def check_classes(self, class_names: Sequence[str]) -> None:
        """Refuse data whose classes are not those the references were learned for; a metric alone fits any."""
        known = self.info.get("class_names")
        if self.references_ is not None and known is not None and list(known) != list(class_names):
            own, other = (shortened(", ".join(map(str, names))) for names in (known, class_names))
            raise ValueError(f"its references are of the classes {own}; the data has {other}")


def save_metric(
    path: str | os.PathLike[str],
    metric: Any,
    *,
    learner: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    dataset: str | None = None,
    fingerprint: str | None = None,
    seed: int | None = None,
    class_names: Sequence[str] | None = None,
) -> None:
    """Write a metric (a fitted learner, a :class:`Metric` or a PSD matrix) to `path`, whole or not at all.

    What has ``references_`` is written with them. The name and the parameters of a learner are taken from it unless
    given. `class_names` are what the labels 0, 1, … of references stand for.
    """
    from .. import __version__

    if hasattr(metric, "get_params"):
        learner = learner or type(metric).__name__
        parameters = parameters if parameters is not None else metric.get_params()
        seed = seed if seed is not None else _plain(metric.get_params().get("random_state"))
    arrays = _reference_arrays(metric)
    info = {
        "format": FORMAT,
        "format_version": WITH_REFERENCES if arrays else METRIC_ALONE,
        "version": __version__,
        "learner": learner,
        "parameters": {name: _plain(value) for name, value in (parameters or {}).items()},
        "dataset": dataset,
        "fingerprint": fingerprint,
        "seed": seed,
        **({} if class_names is None else {"class_names": list(class_names)}),
    }
    arrays["components"] = _components(metric)
    arrays["info"] = np.array(json.dumps(info, ensure_ascii=False))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    atomic_write(Path(path), buffer.getbuffer())


def _components(metric: Any) -> FloatArray:
    """G; that of the Euclidean metric for references that were learned with none."""
    if getattr(metric, "references_", None) is None:
        return as_metric(metric, _width(metric)).components
    learned = metric.components_
    return Metric.identity(metric.references_.shape[1]).components if learned is None else np.asarray(learned)


def _reference_arrays(metric: Any) -> dict[str, NDArray[Any]]:
    points = getattr(metric, "references_", None)
    if points is None:
        return {}
    labels = np.asarray(metric.reference_labels_)
    if labels.dtype == object:
        if not all(isinstance(label, str) for label in labels):
            raise ValueError("labels of references must be numbers or text to be saved; these are Python objects")
        labels = labels.astype(str)
    arrays = {"references": np.asarray(points, dtype=np.float64), "reference_labels": labels}
    rows = getattr(metric, "reference_rows_", None)
    return arrays if rows is None else {**arrays, "reference_rows": np.asarray(rows, dtype=np.int64)}


def load_metric(path: str | os.PathLike[str], n_features: int | None = None) -> SavedMetric:
    """The metric in a file of :func:`save_metric`, or a plain M: a .npz with one matrix, or a .csv of numbers.

    Raises ValueError, with the file's name and what is wrong, for a file that is damaged, foreign, not a metric
    (not square, symmetric and positive semi-definite) or not for `n_features` features. What is far too large for that
    many is refused before it is unpacked; references may take 512 MB.
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
    limit = 16 * most**2 + 2**20 + (REFERENCES_BYTES if _has_references(file) else 0)
    try:
        arrays = read_npz(file, limit)
        size = sum(array.size * max(array.itemsize, 8) for array in arrays.values() if array.dtype.kind in "fiu")
        if size > limit:  # as float64, which small numbers become
            raise TooLarge(size, limit)
    except TooLarge as error:
        raise ValueError(f"it unpacks to {error.size / 2**20:.0f} MB; that is too large for {most} features") from error
    if "info" in arrays:
        return _read_saved(arrays)
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    if len(matrices) != 1:
        raise ValueError(f"a plain metric is one matrix; found {len(matrices)} among {shortened(sorted(arrays))}")
    return SavedMetric(Metric.from_matrix(_numbers(arrays[matrices[0]])))


def _has_references(file: Path) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return "references.npy" in archive.namelist()
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError):
        return False  # reading it will say why


def _read_saved(arrays: Mapping[str, Any]) -> SavedMetric:
    try:
        info = json.loads(str(arrays["info"]))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError("its description is not JSON; the file was not written by this program") from error
    if not isinstance(info, dict) or info.get("format") != FORMAT or "components" not in arrays:
        raise ValueError("it is not a saved metric of this program")
    version = info.get("format_version")
    if version not in (METRIC_ALONE, WITH_REFERENCES):
        raise ValueError(
            f"it has format {shortened(version)}; this program reads formats {METRIC_ALONE} and {WITH_REFERENCES}. "
            f"It was written by version {shortened(info.get('version'))}"
        )
    metric = Metric.from_components(_numbers(arrays["components"]))
    if version == METRIC_ALONE:
        return SavedMetric(metric, info)
    return SavedMetric(metric, info, *_read_references(arrays, metric.n_features))


def _read_references(
    arrays: Mapping[str, NDArray[Any]], width: int
) -> tuple[FloatArray, NDArray[Any], IntArray | None]:
    """Points, labels and rows; a ValueError for what no classifier can compare with."""
    missing = [name for name in ("references", "reference_labels") if name not in arrays]
    if missing:
        raise ValueError(f"it has no array {missing[0]}")
    points, labels, rows = _numbers(arrays["references"]), arrays["reference_labels"], arrays.get("reference_rows")
    if points.ndim != 2 or len(points) == 0 or points.shape[1] != width:
        raise ValueError(f"its references have shape {shortened(points.shape)}; they need rows of {width} features")
    if not np.isfinite(points).all():
        raise ValueError("its references have a value that is not finite")
    if labels.shape != (len(points),) or labels.dtype.kind not in "biufU":
        raise ValueError(
            f"its labels are {shortened(labels.dtype)} of shape {shortened(labels.shape)}; "
            f"it needs {len(points)} numbers or texts"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("one of its labels is not finite")
    if rows is None:
        return points, labels, None
    if rows.shape != (len(points),) or rows.dtype.kind not in "iu" or (rows < 0).any() or (rows > sys.maxsize).any():
        raise ValueError("its reference_rows are no places in a training set")
    if len(np.unique(rows)) < len(rows):
        raise ValueError("two of its references are the same training row")
    return points, labels, rows.astype(np.intp)


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
