"""How the columns of a file become features, and how features become columns again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...numerics.arrays import FloatArray, IntArray
from ...untrusted import shortened
from ..base import Dataset
from ..scaling import Scaling

MAX_CATEGORIES = 100


@dataclass(frozen=True)
class FeatureColumn:
    """A column that is used: a number, or (with `categories`) one 0/1 feature per category.

    `whole` says that its numbers are whole numbers and stay so.
    """

    name: str
    categories: tuple[str, ...] | None = None
    whole: bool = False

    @property
    def feature_names(self) -> tuple[str, ...]:
        if self.categories is None:
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.categories)


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns, classes and scaling that a model was made with; a later file is read the same way.

    Number columns are scaled; the 0/1 features of categories are not, so that a change of category is always
    a step of √2 in ℓ2.
    """

    columns: tuple[FeatureColumn, ...]
    label: str | None
    class_names: tuple[str, ...]
    scaling: Scaling

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def groups(self) -> list[IntArray]:
        """The places of the 0/1 features of each category column."""
        return [places for column, places in self._places() if column.categories is not None]

    @property
    def whole(self) -> IntArray:
        """The places of the whole numbers."""
        return np.array([int(places[0]) for column, places in self._places() if column.whole], dtype=np.intp)

    @property
    def is_continuous(self) -> bool:
        """Whether every feature may take any value: there are no categories and no whole numbers."""
        return not any(column.whole or column.categories is not None for column in self.columns)

    def features_of(self, name: str) -> tuple[str, ...]:
        """The features of a column, or the one of that name; a ValueError names the columns for any other name."""
        for column in self.columns:
            if name == column.name or (name in column.feature_names and column.categories is not None):
                return column.feature_names if name == column.name else (name,)
        known = ", ".join(column.name for column in self.columns)
        raise ValueError(f"there is no column {shortened(repr(name))}; there are {shortened(known)}")

    def _places(self) -> list[tuple[FeatureColumn, IntArray]]:
        widths = [len(column.feature_names) for column in self.columns]
        ends = np.cumsum(widths)
        pairs = zip(self.columns, ends, widths, strict=True)
        return [(column, np.arange(end - width, end, dtype=np.intp)) for column, end, width in pairs]

    def from_units(self, raw: ArrayLike) -> FloatArray:
        """Rows in the file's own units, scaled."""
        return self.scaling.transform(raw)

    def radius_in_units(self, radius: float) -> dict[str, float | None]:
        """What a scaled radius means for each feature alone: ± this much in the file's units.

        None for the 0/1 features of categories, where a part of a step has no unit.
        """
        steps = self.scaling.step_in_units(radius)
        numeric = [column.categories is None for column in self.columns for _ in column.feature_names]
        pairs = zip(self.feature_names, steps, numeric, strict=True)
        return {name: float(step) if is_number else None for name, step, is_number in pairs}

    def to_json(self) -> str:
        """Everything needed to read a later file the same way, as text; numbers keep every digit."""
        return json.dumps(
            {
                "columns": [[column.name, column.categories] for column in self.columns],
                "whole": [column.name for column in self.columns if column.whole],
                "label": self.label,
                "class_names": self.class_names,
                "scaling": self.scaling.kind,
                "offset": self.scaling.offset.tolist(),
                "scale": self.scaling.scale.tolist(),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Layout:
        """The inverse of :meth:`to_json`; anything else is a ValueError."""
        try:
            stored: Mapping[str, Any] = json.loads(text)
            offset, scale = (np.array(stored[key], dtype=np.float64) for key in ("offset", "scale"))
            whole = set(stored.get("whole", ()))  # layouts of older versions do not say
            columns = tuple(
                FeatureColumn(str(n), None if c is None else tuple(c), c is None and n in whole)
                for n, c in stored["columns"]
            )
            layout = cls(
                columns, stored["label"], tuple(stored["class_names"]), Scaling(stored["scaling"], offset, scale)
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is not a stored layout: {error}") from error
        if len(layout.feature_names) != layout.scaling.n_features:
            raise ValueError("this is not a stored layout: columns and scaling disagree")
        return layout


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
