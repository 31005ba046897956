"""One learner of each kind, and small data of every awkward kind."""

from __future__ import annotations

import numpy as np

from arml_core import GMLVQ, AdversarialPruning, KMeansPrototypes, RobustPrototypes
from arml_core.references import ReferenceLearner
from tests.learners.data import blobs

SEEDED = {"n_epochs": 1, "random_state": 0}


def every_learner() -> list[ReferenceLearner]:
    """What the shared tests run on."""
    return [
        KMeansPrototypes(random_state=0),
        AdversarialPruning(),
        GMLVQ(**SEEDED),
        RobustPrototypes(**SEEDED),
        RobustPrototypes(metric="euclidean", **SEEDED),
    ]


def name_of(learner: ReferenceLearner) -> str:
    variant = getattr(learner, "metric", "learned")
    return type(learner).__name__ + ("" if variant == "learned" else f"-{variant}")


def one_two_and_nine_members():
    return blobs(1, (1, 2, 9, 20))


def every_class_with_one_member():
    return blobs(9, (1, 1, 1))


def duplicated_points():
    X, y = blobs(2)
    return np.concatenate([X, X, X[:5]]), np.concatenate([y, y, y[:5]])


def classes_of_one_point_each():
    return np.repeat(np.array([[0.0, 1.0], [1.0, 0.0]]), 3, axis=0), np.repeat([0, 1], 3)


def a_constant_column():
    X, y = blobs(3)
    return np.column_stack([X, np.full(len(X), 7.0)]), y


def more_features_than_points():
    return blobs(5, (6, 6), n_features=30)


def half_of_the_points_in_both_classes():
    X, y = blobs(6, (12, 12))
    X[np.flatnonzero(y == 1)[:6]] = X[np.flatnonzero(y == 0)[:6]]
    return X, y


ODD = [
    one_two_and_nine_members,
    every_class_with_one_member,
    duplicated_points,
    classes_of_one_point_each,
    a_constant_column,
    more_features_than_points,
    half_of_the_points_in_both_classes,
]
