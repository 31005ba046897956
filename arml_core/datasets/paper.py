"""The six datasets of the paper, at the paper's scale and with its split.

A set is looked for as ``NAME.npz`` in the folder ``ARML_DATA``, then in the cache under ``ARML_HOME``, and is
downloaded into that cache otherwise. Every archive holds ``X_train``, ``y_train``, ``X_test``, ``y_test`` in
the order of the public files, and the scalars ``x_offset`` and ``x_scale`` of the paper's scale
``(X - x_offset) / x_scale``. Test rows are not clipped: Satimage's and USPS' leave [0, 1]. The content of an
archive is checked each time it is read, so a set is the same wherever it came from.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..home import home
from ..npz import read_npz
from ..numerics.arrays import FloatArray
from ..progress import Callback
from .base import Dataset, DatasetInfo
from .fetch import fetch
from .formats import ARRAYS, Archive, archive_hash
from .paper_sets import PAPER_SETS, PaperSet
from .scaling import Scaling, ScalingKind

DATA_VARIABLE = "ARML_DATA"
PAPER_NAMES = tuple(PAPER_SETS)
LARGEST_ARCHIVE = 2**30
"""No set has half of that, unpacked; more is a damaged or hostile file."""


def data_folder() -> Path | None:
    """The folder of ready archives named by ``ARML_DATA``, if any."""
    named = os.environ.get(DATA_VARIABLE, "").strip()
    return Path(named).expanduser().absolute() if named else None


def cache_folder() -> Path:
    """Where downloads are kept."""
    return home() / "datasets"


def locate(name: str) -> Path | None:
    """The archive the loader would read, or None if the set is not on this machine."""
    folders = [data_folder(), cache_folder()]
    candidates = [folder / f"{name}.npz" for folder in folders if folder is not None]
    return next((path for path in candidates if path.is_file()), None)


def paper_info(name: str) -> DatasetInfo:
    """What is known about one of the six, and where it lies on this machine."""
    known = PAPER_SETS[name]
    location = locate(name)
    return DatasetInfo(
        name=name,
        title=known.title,
        group="paper",
        n_train=known.n_train,
        n_test=known.n_test,
        n_features=len(known.feature_names),
        n_classes=len(known.class_names),
        description=known.description,
        source=known.source,
        terms=known.terms,
        available=location is not None,
        location=location,
        download_bytes=sum(file.approximate_bytes for file in known.files),
        fingerprint=known.fingerprint,
    )


def load_paper(name: str, callback: Callback | None = None) -> Dataset:
    """One of the six; `callback(bytes done, bytes total, info)` reports a download."""
    known = PAPER_SETS[name]
    return _dataset(known, _archive(known, callback))


def read_archive(path: Path, known: PaperSet) -> Archive:
    """The six arrays of an archive, with their content checked; a ValueError names the file."""
    try:
        stored = read_npz(path, LARGEST_ARCHIVE)
        archive = {key: stored[key] for key in ARRAYS}
    except (ValueError, KeyError) as error:
        raise ValueError(f"{path} is not a readable archive of {known.title}: {error}") from error
    if archive_hash(archive) != known.content:
        raise ValueError(
            f"{path} does not hold the paper's {known.title}: its content differs from what was published. "
            "Remove the file, or put the right one in its place"
        )
    return archive


def _archive(known: PaperSet, callback: Callback | None) -> Archive:
    cached = cache_folder() / f"{known.name}.npz"
    path = locate(known.name)
    if path is not None and path != cached:
        return read_archive(path, known)
    if path is not None:
        try:
            return read_archive(path, known)
        except ValueError:
            path.unlink()  # the cache is ours: a damaged file in it is fetched again
    return read_archive(fetch_paper(known.name, callback), known)


def fetch_paper(name: str, callback: Callback | None = None) -> Path:
    """Download one of the six into the cache, whether or not it is on this machine, and return its path."""
    return fetch(PAPER_SETS[name], cache_folder(), data_folder(), callback)


def _dataset(known: PaperSet, archive: Archive) -> Dataset:
    offset, scale = float(archive["x_offset"]), float(archive["x_scale"])
    n_features = len(known.feature_names)
    kind: ScalingKind = "none" if (offset, scale) == (0.0, 1.0) else "minmax"
    return Dataset(
        name=known.name,
        title=known.title,
        group="paper",
        X_train=_paper_scale(archive["X_train"], offset, scale),
        y_train=archive["y_train"].astype(np.int64),
        X_test=_paper_scale(archive["X_test"], offset, scale),
        y_test=archive["y_test"].astype(np.int64),
        feature_names=known.feature_names,
        class_names=known.class_names,
        scaling=Scaling(kind, np.full(n_features, offset), np.full(n_features, scale)),
        image_shape=known.image_shape,
    )


def _paper_scale(stored: NDArray[np.generic], offset: float, scale: float) -> FloatArray:
    x = stored.astype(np.float64)
    x -= offset  # in place: MNIST takes 376 MB already
    x /= scale
    return x
