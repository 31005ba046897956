"""What every dataset looks like once it is loaded, and what is known about it before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import FloatArray
from .scaling import Scaling

Labels = NDArray[np.int64]
Group = Literal["toy", "bundled", "paper", "file"]

EVALUATION_SEED = 42
"""The paper's code shuffles the test part with this seed before it takes the first rows."""


@dataclass(frozen=True)
class DatasetInfo:
    """What can be said about a dataset without loading it.

    `location` is the file the loader would read, None for sets that are built in or not on this machine;
    `available` tells these two apart; `download_bytes` is about what fetching it takes. `fingerprint` is that of the
    loaded dataset where it is known before, else empty. `options` are those of :func:`load_dataset`, with defaults.
    """

    name: str
    title: str
    group: Group
    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    description: str
    source: str
    terms: str
    available: bool = True
    location: Path | None = None
    download_bytes: int = 0
    fingerprint: str = ""
    options: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test rows at the scale they are certified in, with names for features and classes.

    Labels are 0 .. n_classes - 1 and index `class_names`. `scaling` leads back to the units of the source.
    """

    name: str
    title: str
    group: Group
    X_train: FloatArray
    y_train: Labels
    X_test: FloatArray
    y_test: Labels
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    scaling: Scaling
    image_shape: tuple[int, int] | None = None

    @property
    def n_features(self) -> int:
        return len(self.feature_names)

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    @cached_property
    def fingerprint(self) -> str:
        """A sha256 over the four arrays and the names of features and classes; for a file over its scaling, too.

        Equal content has an equal fingerprint, wherever it came from; one changed bit gives another one. Two files
        that differ in their units alone are equal once they are scaled, but what is said about them is not.
        """
        arrays = [self.X_train, self.y_train, self.X_test, self.y_test]
        if self.group == "file":
            arrays += [self.scaling.offset, self.scaling.scale]
        return content_hash(arrays, (*self.feature_names, "", *self.class_names))

    def evaluation(self, n: int = 1000) -> tuple[FloatArray, Labels]:
        """The first `n` test rows in the paper's order: the test part shuffled with seed 42."""
        if n < 1:
            raise ValueError(f"n must be at least 1; got {n}")
        if len(self.X_test) == 0:
            raise ValueError(f"{self.title} has no test rows; certify its training rows leave-one-out instead")
        from sklearn.utils import shuffle

        x, y = shuffle(self.X_test, self.y_test, random_state=EVALUATION_SEED)
        return x[:n], y[:n]


def content_hash(arrays: Iterable[NDArray[np.generic]], names: Iterable[str] = ()) -> str:
    """The sha256 of dtypes, shapes, values and names, the same on every machine."""
    digest = hashlib.sha256()
    for array in arrays:
        portable = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        digest.update(f"{portable.dtype.str}{array.shape}\n".encode())
        digest.update(portable.tobytes() if portable.ndim == 0 else portable.data.cast("B") if portable.size else b"")
    for name in names:
        encoded = name.encode()
        digest.update(f"{len(encoded)}:".encode() + encoded)
    return digest.hexdigest()
