"""A fitted classifier in one file: what it compares with, the metric, K, and how a file's columns become its features.

Plain arrays and a description in JSON: nothing is pickled, and what is read back is checked before it is believed.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .atomic_write import atomic_write
from .checks import check_k, checked_labels
from .datasets.table import Layout
from .knn import MahalanobisKNN
from .metric import Metric
from .neighbors.chosen import ChosenReferences
from .npz import read_npz
from .numerics.arrays import FloatArray, IntArray
from .untrusted import shortened

FORMAT, VERSION = "arml-model", 1
LARGEST_FILE = 2**32
"""Bytes that a file may unpack to."""


def save_model(path: str | os.PathLike[str], knn: MahalanobisKNN, layout: Layout | None = None) -> None:
    """Write a fitted classifier, whole or not at all; see :meth:`MahalanobisKNN.save`."""
    from . import __version__

    check_is_fitted(knn)
    layout = knn.layout_ if layout is None else layout
    if layout is not None:
        _check_layout(layout, knn.n_features_in_, knn.classes_)
    labels, classes = _plain_labels(knn.reference_labels_), _plain_labels(knn.classes_)
    names = getattr(knn, "feature_names_in_", None)
    info = {
        "format": FORMAT,
        "format_version": VERSION,
        "version": __version__,
        "n_neighbors": int(knn.n_neighbors),
        "n_train": knn._n_train,
        "feature_names": None if names is None else list(map(str, names)),
        "object_labels": knn.classes_.dtype == object,
        "own_references": knn.references is not None,
        "layout": None if layout is None else layout.to_json(),
    }
    arrays: dict[str, NDArray[Any]] = {
        "components": knn.metric_.components,
        "references": knn.references_,
        "reference_labels": labels,
        "classes": classes,
        "info": np.array(json.dumps(info, ensure_ascii=False)),
    }
    if knn.references is not None:
        extra = {"reference_rows": knn._row_of_reference, "training_rows": knn._train_rows}
        arrays |= {name: array for name, array in extra.items() if array is not None}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    atomic_write(Path(path), buffer.getbuffer())


def load_model(path: str | os.PathLike[str], device: str = "auto", n_jobs: int | None = None) -> MahalanobisKNN:
    """The classifier that :meth:`MahalanobisKNN.save` wrote; `device` and `n_jobs` are those of this machine.

    Raises ValueError, with the file's name and what is wrong, for a file that is damaged, foreign or newer. Which
    columns it was made for is in ``layout_``, if it was saved with them.
    """
    file = Path(path)
    try:
        if not file.is_file():
            raise ValueError("there is no such file")
        arrays = read_npz(file, LARGEST_FILE)
        return _restored(arrays, _description(arrays), device, n_jobs)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as numbers or text, which need no pickle."""
    if labels.dtype != object:
        return labels
    if not all(isinstance(label, str) for label in labels):
        raise ValueError("labels must be numbers or text to be saved; these are Python objects")
    return labels.astype(str)


def _description(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """What the file says about itself, if it is one of these and not newer than this program."""
    try:
        info = json.loads(str(arrays["info"])) if "info" in arrays else None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError("its description is not JSON; the file was not written by this program") from error
    if not isinstance(info, dict) or info.get("format") != FORMAT:
        raise ValueError("it is not a saved model of this program")
    if info.get("format_version") != VERSION:
        raise ValueError(
            f"it has format {shortened(info.get('format_version'))}; this program reads format {VERSION}. "
            f"It was written by version {shortened(info.get('version'))}"
        )
    return info


def _restored(
    arrays: Mapping[str, NDArray[Any]], info: Mapping[str, Any], device: str, n_jobs: int | None
) -> MahalanobisKNN:
    points = _points(arrays, "references")
    width = points.shape[1]
    metric = Metric.from_components(_array(arrays, "components", "f"))
    if metric.n_features != width:
        raise ValueError(f"its metric is for {metric.n_features} features; its references have {width}")
    classes, labels = (_labels(arrays, name, info) for name in ("classes", "reference_labels"))
    if len(classes) < 2 or classes.tolist() != sorted(set(classes.tolist())):
        raise ValueError("its classes are not two or more different labels in order")
    codes = checked_labels(labels, len(points), classes)
    own, k = info.get("own_references"), cast(int, info.get("n_neighbors"))
    check_k(k, len(points), "references" if own else "training rows")
    n_train = info.get("n_train")
    if type(n_train) is not int or n_train < 1 or (not own and n_train != len(points)):
        raise ValueError(f"it says that it was fitted to {shortened(n_train)} rows, and does not hold them")
    rows: IntArray | None = None
    train_rows: NDArray[np.floating] | None = points
    if own:
        rows = _rows(arrays, len(points), n_train)
        train_rows = _points(arrays, "training_rows") if "training_rows" in arrays else None
        if train_rows is not None and train_rows.shape != (n_train, width):
            raise ValueError(f"its training rows have shape {train_rows.shape}, not {(n_train, width)}")
    knn = MahalanobisKNN(k, metric, device, n_jobs, (points, labels) if own else None)
    knn.classes_, knn.n_features_in_ = classes, width
    names = info.get("feature_names")
    if names is not None:
        knn.feature_names_in_ = _names(names, width)
    knn._prepare(ChosenReferences(points, labels, metric, None, rows), codes, n_train, train_rows)
    if info.get("layout") is not None:
        knn.layout_ = Layout.from_json(str(info["layout"]))
        _check_layout(knn.layout_, width, classes)
    return knn


def _array(arrays: Mapping[str, NDArray[Any]], name: str, kinds: str) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"it has no array {name}")
    if arrays[name].dtype.kind not in kinds:
        raise ValueError(f"its array {name} is of type {shortened(arrays[name].dtype)}")
    return arrays[name]


def _points(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.floating]:
    """Rows of finite numbers, in the precision they were written in."""
    points = _array(arrays, name, "f")
    if points.dtype not in (np.float32, np.float64) or points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"its array {name} is {shortened(points.dtype)} of shape {shortened(points.shape)}")
    if not np.isfinite(points).all():
        raise ValueError(f"its array {name} has a value that is not finite")
    rows: FloatArray = np.ascontiguousarray(points)
    return rows


def _labels(arrays: Mapping[str, NDArray[Any]], name: str, info: Mapping[str, Any]) -> NDArray[Any]:
    labels = _array(arrays, name, "biufU")
    if labels.ndim != 1 or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        raise ValueError(f"its array {name} is no list of labels")
    return labels.astype(object) if info.get("object_labels") and labels.dtype.kind == "U" else labels


def _rows(arrays: Mapping[str, NDArray[Any]], n: int, n_train: int) -> IntArray | None:
    """The places of the references among the training rows; None where they are none."""
    if "reference_rows" not in arrays:
        return None
    rows = _array(arrays, "reference_rows", "iu")
    if rows.shape != (n,) or (rows < 0).any() or (rows >= n_train).any() or len(np.unique(rows)) < n:
        raise ValueError("its reference_rows are no places in a training set")
    return rows.astype(np.intp)


def _names(names: Any, width: int) -> NDArray[Any]:
    if not isinstance(names, list) or len(names) != width or not all(isinstance(name, str) for name in names):
        raise ValueError(f"its feature names are not {width} texts")
    return np.array(names, dtype=object)


def _check_layout(layout: Layout, width: int, classes: NDArray[Any]) -> None:
    """A layout is for as many features, and its class names are those of the classes 0, 1, …"""
    if len(layout.feature_names) != width:
        raise ValueError(f"the layout is for {len(layout.feature_names)} features; the model has {width}")
    if classes.dtype.kind not in "iu" or not set(classes.tolist()) <= set(range(len(layout.class_names))):
        raise ValueError(
            f"the layout names the classes 0 to {len(layout.class_names) - 1}; the model has "
            f"{shortened(classes.tolist())}"
        )
