"""The small sets that come with scikit-learn.

Split: a stratified 30 % of the rows is the test part, drawn with seed 42. Scale: min-max to [0, 1] fitted on
the training part, as the paper does; test rows are not clipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import train_test_split

from .base import Dataset, DatasetInfo
from .scaling import fit_scaling

SPLIT_SEED = 42
TEST_SHARE = 0.3


@dataclass(frozen=True)
class _Bundled:
    title: str
    load: Callable[[], Any]
    rows: tuple[int, int]
    n_features: int
    n_classes: int
    description: str
    image_shape: tuple[int, int] | None = None


_UCI = "UCI Machine Learning Repository, through scikit-learn"
_UCI_TERMS = "CC BY 4.0 (UCI)"
_SETS = {
    "iris": _Bundled(
        "Iris", sklearn_datasets.load_iris, (105, 45), 4, 3, "Sepals and petals of three kinds of iris, in cm."
    ),
    "wine": _Bundled(
        "Wine", sklearn_datasets.load_wine, (124, 54), 13, 3, "Chemical analysis of wines from three growers."
    ),
    "breast_cancer": _Bundled(
        "Breast cancer",
        sklearn_datasets.load_breast_cancer,
        (398, 171),
        30,
        2,
        "Shapes of cell nuclei; malignant or benign.",
    ),
    "digits": _Bundled(
        "Digits 8×8", sklearn_datasets.load_digits, (1257, 540), 64, 10, "Handwritten digits, 8 × 8 pixels.", (8, 8)
    ),
}
BUNDLED_NAMES = tuple(_SETS)


def bundled_info(name: str) -> DatasetInfo:
    """What is known about a bundled set before it is loaded."""
    known = _SETS[name]
    return DatasetInfo(
        name=name,
        title=known.title,
        group="bundled",
        n_train=known.rows[0],
        n_test=known.rows[1],
        n_features=known.n_features,
        n_classes=known.n_classes,
        description=known.description,
        source=_UCI,
        terms=_UCI_TERMS,
    )


def load_bundled(name: str) -> Dataset:
    """A bundled set, split and scaled as this module's docstring states."""
    known = _SETS[name]
    bunch = known.load()
    x = np.asarray(bunch.data, dtype=np.float64)
    y = np.asarray(bunch.target, dtype=np.int64)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=TEST_SHARE, random_state=SPLIT_SEED, stratify=y)
    scaling = fit_scaling(x_train, "minmax")
    return Dataset(
        name=name,
        title=known.title,
        group="bundled",
        X_train=scaling.transform(x_train),
        y_train=y_train,
        X_test=scaling.transform(x_test),
        y_test=y_test,
        feature_names=tuple(str(feature) for feature in bunch.feature_names),
        class_names=tuple(str(label) for label in bunch.target_names),
        scaling=scaling,
        image_shape=known.image_shape,
    )
