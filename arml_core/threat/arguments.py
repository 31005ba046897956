"""What a threat model is given, checked: each refusal names the value and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..untrusted import shortened

Feature = int | str
"""A feature by its place, or by its name."""
Side = tuple[tuple[float, ...], ...] | tuple[float, ...] | float
"""One side of a box: a number, one number per feature, or a line of these for each row."""


class ByFeature(tuple[tuple[str, Any], ...]):
    """Values of features that are named: pairs, in the order of the names."""

    __slots__ = ()

    @classmethod
    def of(cls, values: Mapping[Any, Any], what: str) -> ByFeature:
        """The pairs of a mapping, `what` it is for."""
        wrong = next((name for name in values if not isinstance(name, str)), None)
        if wrong is not None:
            raise ValueError(f"{what} by feature are given by name; got {wrong!r}. Give a list of all by place")
        return cls(sorted(values.items()))


def checked_costs(costs: ArrayLike | Mapping[str, float], widths: set[int]) -> ByFeature | tuple[float, ...]:
    """One positive number per feature, or of some features by name."""
    if isinstance(costs, Mapping | ByFeature):
        named = ByFeature.of(dict(costs), "costs")
        _check_positive(np.array([cost for _, cost in named], dtype=np.float64), [name for name, _ in named])
        return ByFeature((name, float(cost)) for name, cost in named)
    values = np.asarray(costs, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"costs must be one number per feature; got shape {values.shape}")
    _check_positive(values, range(len(values)))
    widths.add(values.size)
    return tuple(values.tolist())


def _check_positive(values: NDArray[np.float64], names: Any) -> None:
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if len(bad):
        i = int(bad[0])
        name = shortened(str(list(names)[i]))
        raise ValueError(f"costs must be positive and finite; feature {name} has {values[i]:g}. Use frozen for 'never'")


def checked_features(name: str, features: Any, widths: set[int]) -> tuple[Feature, ...]:
    """Places and names of features, each once: places first, by number, then names by the alphabet."""
    if isinstance(features, str):
        raise ValueError(f"{name} must be a list of features; got {features!r}. Write [{features!r}]")
    listed = features.tolist() if isinstance(features, np.ndarray) and features.dtype.kind in "UO" else features
    if isinstance(listed, list | tuple | set | frozenset) and any(isinstance(item, str) for item in listed):
        names = {item for item in listed if isinstance(item, str)}
        others: tuple[Feature, ...] = checked_features(name, [item for item in listed if item not in names], widths)
        return (*others, *sorted(names))
    values: NDArray[Any] = np.asarray(list(listed) if isinstance(listed, set | frozenset) else listed)
    if values.ndim != 1:
        raise ValueError(f"{name} must be a list of features or a mask; got shape {values.shape}")
    if values.dtype == bool:
        widths.add(values.size)
        return tuple(int(i) for i in np.flatnonzero(values))
    if values.size and not np.issubdtype(values.dtype, np.integer):
        raise ValueError(f"{name} must hold feature indices or names; got {shortened(repr(values.tolist()))}")
    if (values < 0).any():
        raise ValueError(f"{name} must hold feature indices from 0; got {int(values.min())}")
    return tuple(sorted({int(i) for i in values}))


def checked_box(box: Any, widths: set[int]) -> ByFeature | tuple[Side, Side]:
    """(low, high), or such a pair for some features by name."""
    if isinstance(box, Mapping | ByFeature):
        named = ByFeature.of(dict(box), "limits")
        return ByFeature((name, _checked_limits(name, limits)) for name, limits in named)
    if not isinstance(box, (tuple, list)) or len(box) != 2:
        raise ValueError(f"box must be (low, high); got {box!r}")
    low, high = (np.asarray(b, dtype=np.float64) for b in box)
    for side in (low, high):
        if side.ndim > 2 or side.size == 0:
            raise ValueError(
                "each side of the box is a number, one number per feature, or a line of these for each row; "
                f"got shape {side.shape}"
            )
        if side.ndim:
            widths.add(side.shape[-1])
    if low.ndim == high.ndim == 2 and len(low) != len(high):
        raise ValueError(f"the box has lower limits for {len(low)} rows and upper limits for {len(high)}")
    if low.ndim and high.ndim and low.shape[-1] != high.shape[-1]:
        raise ValueError(f"the box has {low.shape[-1]} lower and {high.shape[-1]} upper limits")
    if np.isnan(low).any() or np.isnan(high).any() or not (low <= high).all():
        raise ValueError("every lower limit of the box must be at most the upper one")
    return as_tuples(low.tolist()), as_tuples(high.tolist())


def _checked_limits(name: str, limits: Any) -> tuple[float, float]:
    pair = np.asarray(limits, dtype=np.float64)
    if pair.shape != (2,) or not pair[0] <= pair[1]:
        raise ValueError(
            f"the limits of feature {shortened(name)} must be (low, high), low at most high; got {limits!r}"
        )
    return float(pair[0]), float(pair[1])


def n_lines(side: Side) -> int | None:
    """For how many rows a side of a box has a line each; None where it is the same for all."""
    return len(side) if isinstance(side, tuple) and isinstance(side[0], tuple) else None


def as_tuples(value: Any) -> Any:
    """Lists, however deep, as tuples."""
    return tuple(map(as_tuples, value)) if isinstance(value, list | tuple) else value


def as_lists(value: Any) -> Any:
    """Tuples, however deep, as lists; values by feature as a dictionary: what JSON holds."""
    if isinstance(value, ByFeature):
        return {name: as_lists(item) for name, item in value}
    return [as_lists(item) for item in value] if isinstance(value, tuple) else value


def literal(value: Any) -> str:
    """The value as Python reads it; `repr` writes an endless limit of a box as a name that is not defined."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {literal(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return f"float('{value}')" if value in (np.inf, -np.inf) else repr(value)
