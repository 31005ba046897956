"""Switches: features that are exchanged together, one whole value for another, instead of moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import IntArray
from ..untrusted import shortened
from .arguments import Feature, as_tuples

MOST_COMBINATIONS = 1000
"""For one row. More are refused: each is a certificate of its own."""
KEPT = -1
"""The code of a group that is not switched."""


@dataclass(frozen=True)
class Switch:
    """Features that stand for one thing, such as the 0/1 columns of a category: they change together, or not at all.

    `values` are the patterns they may take, a number for each feature; None stands for the distinct patterns of the
    training rows.
    """

    features: tuple[Feature, ...]
    values: tuple[tuple[float, ...], ...] | None = None

    @classmethod
    def of(cls, given: Any) -> Switch:
        """A switch from a list of features, or from ``{"features": …, "values": …}``."""
        if isinstance(given, Switch):
            return cls._checked(given.features, given.values)
        if isinstance(given, Mapping):
            unknown = sorted(set(given) - {"features", "values"})
            if unknown or "features" not in given:
                raise ValueError(f"a switch has features and values; got {shortened(repr(dict(given)))}")
            return cls._checked(given["features"], given.get("values"))
        return cls._checked(given, None)

    @classmethod
    def _checked(cls, features: Any, values: Any) -> Switch:
        if isinstance(features, str) or not isinstance(features, Sequence | np.ndarray) or len(features) == 0:
            raise ValueError(f"a switch must be a list of features, at least one; got {features!r}")
        listed = tuple(f if isinstance(f, str) else _place(f) for f in features)
        twice = next((f for f in listed if listed.count(f) > 1), None)
        if twice is not None:
            raise ValueError(f"a switch names feature {twice!r} twice")
        return cls(listed, None if values is None else _checked_values(values, len(listed)))

    def content(self) -> dict[str, Any]:
        """The switch as JSON holds it."""
        found: dict[str, Any] = {"features": list(self.features)}
        return found if self.values is None else {**found, "values": [list(value) for value in self.values]}

    def named(self, names: Sequence[str] | None = None) -> str:
        """What the group is called: what the names of its features have in common before a "="."""
        features = self._names(names)
        stems = {name.partition("=")[0] for name in features}
        if len(stems) == 1:
            return stems.pop()
        return " + ".join(features) if len(features) <= 3 else f"{features[0]} … {features[-1]}"

    def value_named(self, code: int, names: Sequence[str] | None = None) -> str:
        """One of its values in words: the category's own name where exactly one of several 0/1 features is on."""
        assert self.values is not None
        features, value = self._names(names), self.values[code]
        lowest = min(value)
        on = [name for name, number in zip(features, value, strict=True) if number > lowest]
        if len(on) == 1 and len(features) > 1 and "=" in on[0]:
            return on[0]
        return ", ".join(f"{name} = {number:g}" for name, number in zip(features, value, strict=True))

    def _names(self, names: Sequence[str] | None) -> list[str]:
        return [f if isinstance(f, str) else names[f] if names is not None else f"feature {f}" for f in self.features]


def _place(feature: Any) -> int:
    if isinstance(feature, bool | np.bool_) or not isinstance(feature, int | np.integer) or feature < 0:
        raise ValueError(f"a switch must hold feature indices from 0, or names; got {feature!r}")
    return int(feature)


def _checked_values(values: Any, width: int) -> tuple[tuple[float, ...], ...]:
    patterns = np.asarray(values, dtype=np.float64)
    if patterns.ndim == 1 and width == 1:
        patterns = patterns[:, None]
    if patterns.ndim != 2 or patterns.shape[1] != width or len(patterns) == 0 or not np.isfinite(patterns).all():
        raise ValueError(
            f"the values of a switch are lines of {width} finite numbers, one for each of its features; "
            f"got {shortened(repr(as_tuples(patterns.tolist())))}"
        )
    return tuple(dict.fromkeys(as_tuples(patterns.tolist())))


@dataclass(frozen=True, eq=False)
class Combinations:
    """Rows after every combination of switches that is allowed, the unchanged ones among them.

    Attributes
    ----------
    row : (p,) which of the rows each of these points is a version of. Those of one row are in rising number of
        switches, so that it comes first itself.
    codes : (p, groups) the value each group is switched to, `KEPT` where it keeps its own.
    points : (p, D) the versions, in the dtype of the rows.
    """

    row: IntArray
    codes: IntArray
    points: NDArray[np.floating]

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def of(cls, x: NDArray[np.floating], switches: Sequence[Switch], most: int | None) -> Combinations:
        """The versions of the rows `x`; of all groups, at most `most` are switched at once (None: any number).

        A value that a row has already is no switch. Patterns are rounded to the dtype of the rows first.
        """
        groups = [_Group.of(switch, x.dtype) for switch in switches]
        kinds, kind = _kinds(x, groups)
        _checked_counts(kinds, groups, most)
        allowed = [_codes(of_kind, groups, most) for of_kind in kinds]
        counts = np.array([len(codes) for codes in allowed], dtype=np.intp)[kind]
        row = np.repeat(np.arange(len(x)), counts)
        codes = np.concatenate([allowed[k] for k in kind]) if len(x) else np.empty((0, len(switches)), np.intp)
        points = x[row]
        for g, group in enumerate(groups):
            moved = np.flatnonzero(codes[:, g] != KEPT)
            points[moved[:, None], group.at] = group.patterns[codes[moved, g]]
        return cls(row, codes, points)


def counted(x: NDArray[np.floating], switches: Sequence[Switch], most: int | None) -> IntArray:
    """How many versions :meth:`Combinations.of` has for each row; a ValueError where they are too many."""
    groups = [_Group.of(switch, x.dtype) for switch in switches]
    kinds, kind = _kinds(x, groups)
    return _checked_counts(kinds, groups, most)[kind]


@dataclass(frozen=True, eq=False)
class _Group:
    """A switch for rows of one dtype: its columns, its patterns, and the codes of those that differ in that dtype."""

    at: IntArray
    patterns: NDArray[np.floating]
    distinct: list[int]

    @classmethod
    def of(cls, switch: Switch, dtype: np.dtype[Any]) -> _Group:
        with np.errstate(over="ignore"):
            patterns = np.array(switch.values, dtype=dtype)
        if not np.isfinite(patterns).all():
            raise ValueError(f"the values of the switch {shortened(switch.named())} are too large for {dtype} rows")
        first = np.unique(patterns, axis=0, return_index=True)[1]
        return cls(np.array(switch.features, dtype=np.intp), patterns, np.sort(first).tolist())

    def own(self, x: NDArray[np.floating]) -> IntArray:
        """Which of the patterns each row has, the first of equal ones; `KEPT` where it has another."""
        same = (x[:, None, self.at] == self.patterns).all(axis=2)
        return np.where(same.any(axis=1), same.argmax(axis=1), KEPT)

    def others(self, own: int) -> list[int]:
        """The codes of what a row with the pattern `own` may be switched to."""
        return [code for code in self.distinct if code != own]


def _kinds(x: NDArray[np.floating], groups: Sequence[_Group]) -> tuple[IntArray, IntArray]:
    """The different lines of own patterns that rows have, and which of them each row has."""
    own = np.stack([group.own(x) for group in groups], axis=1)
    kinds, kind = np.unique(own, axis=0, return_inverse=True)
    return kinds, kind.ravel()


def _checked_counts(kinds: IntArray, groups: Sequence[_Group], most: int | None) -> IntArray:
    """How many combinations rows of each kind have."""
    counts = [
        n_combinations([len(group.others(own)) for group, own in zip(groups, kind, strict=True)], most)
        for kind in kinds.tolist()
    ]
    if counts and max(counts) > MOST_COMBINATIONS:
        raise ValueError(
            f"the switches allow {max(counts):,} combinations for a row; at most {MOST_COMBINATIONS:,} are gone "
            "through, each with a certificate of its own. Set max_switches lower, switch fewer groups, or give fewer "
            "values"
        )
    return np.array(counts, dtype=np.intp)


def _codes(own: IntArray, groups: Sequence[_Group], most: int | None) -> IntArray:
    """The combinations of a row that has the patterns `own`, those with the fewest switches first."""
    others = [group.others(code) for group, code in zip(groups, own.tolist(), strict=True)]
    limit = len(groups) if most is None else min(most, len(groups))
    found = [
        [codes[chosen.index(g)] if g in chosen else KEPT for g in range(len(groups))]
        for switched in range(limit + 1)
        for chosen in combinations([g for g, codes in enumerate(others) if codes], switched)
        for codes in product(*(others[g] for g in chosen))
    ]
    return np.array(found, dtype=np.intp)


def n_combinations(sizes: Sequence[int], most: int | None) -> int:
    """How many combinations there are of groups with so many other values each, at most `most` switched at once."""
    limit = len(sizes) if most is None else most

    def with_group(ways: list[int], size: int) -> list[int]:
        """`ways` to switch 0, 1, … of the groups so far, and with one more."""
        return [a + size * b for a, b in zip([*ways, 0], [0, *ways], strict=True)]

    return sum(reduce(with_group, sizes, [1])[: limit + 1])


def patterns_of(rows: ArrayLike, features: Sequence[int]) -> tuple[tuple[float, ...], ...]:
    """The distinct patterns that rows have in some columns, in rising order."""
    found: tuple[tuple[float, ...], ...] = as_tuples(
        np.unique(np.asarray(rows)[:, list(features)].astype(np.float64), axis=0).tolist()
    )
    return found
