"""The layout of a dataset that is loaded already, so that a query file can be read for it."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from ..base import Dataset
from .layout import FeatureColumn, Layout


def layout_of(dataset: Dataset) -> Layout:
    """How a later file is read for a model of `dataset`: one column per feature, categories put together again.

    Features ``colour=blue``, ``colour=red`` beside each other are the categories of a column ``colour`` if every
    training row has exactly one of them. The label is not known; it is chosen with the file.
    """
    columns: list[FeatureColumn] = []
    for prefix, group in groupby(range(dataset.n_features), lambda k: _prefix(dataset.feature_names[k])):
        members = list(group)
        if prefix and len(members) > 1 and _is_one_hot(dataset, members):
            categories = tuple(dataset.feature_names[k].partition("=")[2] for k in members)
            columns.append(FeatureColumn(prefix, categories))
        else:
            columns += [FeatureColumn(dataset.feature_names[k]) for k in members]
    return Layout(tuple(columns), None, dataset.class_names, dataset.scaling)


def _prefix(name: str) -> str:
    before, sign, _ = name.partition("=")
    return before if sign else ""


def _is_one_hot(dataset: Dataset, members: list[int]) -> bool:
    scaling, rows = dataset.scaling, dataset.X_train[:, members]
    unscaled = (scaling.offset[members] == 0).all() and (scaling.scale[members] == 1).all()
    return bool(unscaled and np.isin(rows, (0.0, 1.0)).all() and (rows.sum(axis=1) == 1).all())
