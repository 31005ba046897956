"""What an attacker may do: the norm, the cost of each feature, what is frozen or free, what switches, and a box."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import FloatArray, IntArray
from ..untrusted import shortened
from ..vocabulary import NORMS, norm_of
from .arguments import (
    ByFeature,
    Feature,
    Side,
    as_lists,
    checked_box,
    checked_costs,
    checked_features,
    literal,
    n_lines,
)
from .resolved import ResolvedThreat, check_lines
from .switches import Switch, patterns_of

_LISTS = ("frozen", "only_up", "only_down", "free")
NAMED_AT_MOST = 4
_ACCEPTED = {key: norm.p for norm in NORMS.values() for key in (norm.p, norm.spelling)} | {"inf": np.inf}


@dataclass(frozen=True, init=False)
class ThreatModel:
    """The perturbations δ an attacker may add to a point, and how their size is measured.

    The size of δ is ``‖costs ∘ δ‖`` in the chosen norm: a feature with cost 2 is twice as expensive to move.
    Frozen features cannot move at all. With a box, ``x + δ`` must stay in it; where x itself lies outside,
    the box is widened just enough to hold x. Some features may only grow, or only fall. Free features may take any
    value in their range at no cost: their part of δ does not count in its size. Switched features do not move either:
    they are exchanged as a whole, a category for another one, and then the others move. Their exchange has no size.

    A feature is given by its place or by its name; names count where the data has them (:meth:`for_features`).

    Parameters
    ----------
    norm : 1, 2 or inf (also "l1", "l2", "linf").
    costs : one positive number per feature, or those of some features by name, or None for all 1.
    frozen : the features that cannot move, or a boolean mask, or None.
    box : (low, high), each a number, one number per feature, or a line of these for each row that is asked about; or
        (low, high) of some features by name; or None for no box.
    only_up, only_down : features that may only grow, or only fall, as `frozen` has them.
    free : features that may move at no cost, as `frozen` has them. Each needs a finite limit on both sides.
    switches : groups of features that are exchanged whole, each a list of features or
        ``{"features": …, "values": …}``; without values, the patterns that the group has in the training rows.
    max_switches : how many groups may be switched at once; None for any number.
    """

    norm: float = 2.0
    costs: ByFeature | tuple[float, ...] | None = None
    frozen: tuple[Feature, ...] | None = None
    box: ByFeature | tuple[Side, Side] | None = None
    only_up: tuple[Feature, ...] | None = None
    only_down: tuple[Feature, ...] | None = None
    free: tuple[Feature, ...] | None = None
    switches: tuple[Switch, ...] = ()
    max_switches: int | None = None
    _width: int | None = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        norm: float | str = 2,
        costs: ArrayLike | Mapping[str, float] | None = None,
        frozen: ArrayLike | Sequence[Feature] | None = None,
        box: tuple[ArrayLike, ArrayLike] | Mapping[str, tuple[float, float]] | None = None,
        only_up: ArrayLike | Sequence[Feature] | None = None,
        only_down: ArrayLike | Sequence[Feature] | None = None,
        free: ArrayLike | Sequence[Feature] | None = None,
        switches: Iterable[Any] | None = None,
        max_switches: int | None = None,
    ) -> None:
        key = norm.lower() if isinstance(norm, str) else norm
        if not isinstance(key, (int, float, str)) or key not in _ACCEPTED:
            raise ValueError(f"norm must be 1, 2 or inf; got {norm!r}")
        put = object.__setattr__
        put(self, "norm", _ACCEPTED[key])
        widths: set[int] = set()
        put(self, "costs", None if costs is None else checked_costs(costs, widths))
        for name, features in zip(_LISTS, (frozen, only_up, only_down, free), strict=True):
            listed = None if features is None else checked_features(name, features, widths)
            put(
                self, name, listed if listed or name == "frozen" else None
            )  # old keys tell an empty list of frozen ones
        put(self, "box", None if box is None else checked_box(box, widths))
        put(self, "switches", tuple(Switch.of(switch) for switch in switches or ()))
        if max_switches is not None and (
            isinstance(max_switches, bool | np.bool_) or max_switches < 0 or not float(max_switches).is_integer()
        ):
            raise ValueError(f"max_switches must be a whole number, at least 0, or None; got {max_switches!r}")
        put(self, "max_switches", None if max_switches is None or not self.switches else int(max_switches))
        self._check_roles()
        if len(widths) > 1:
            raise ValueError(f"costs, masks and box disagree on the number of features: {sorted(widths)}")
        put(self, "_width", widths.pop() if widths else None)

    def _check_roles(self) -> None:
        """Refuse a feature that is to be two things at once."""
        both = sorted(set(self.only_up or ()) & set(self.only_down or ()), key=str)
        if both:
            raise ValueError(f"feature {both[0]} may only grow and only fall: it cannot move. Use frozen for that")
        stuck = sorted(set(self.frozen or ()) & set(self.free or ()), key=str)
        if stuck:
            raise ValueError(f"feature {stuck[0]} is frozen and free: it cannot be both")
        switched = [feature for switch in self.switches for feature in switch.features]
        for feature in switched:
            if switched.count(feature) > 1:
                raise ValueError(f"feature {feature} is in two switches: a feature belongs to one")
            role = next((name for name in _LISTS if feature in (getattr(self, name) or ())), None)
            if role is not None:
                raise ValueError(
                    f"feature {feature} is switched and in {role}: a switched feature changes only with its group"
                )

    @classmethod
    def tolerances(
        cls,
        tolerances: ArrayLike | Mapping[str, float],
        feature_names: Sequence[str] | None = None,
        units: ArrayLike | None = None,
        **others: Any,
    ) -> Self:
        """Every value may be wrong by ε times its own tolerance, all of them at once: costs and ℓ∞ set together.

        At ε = 1 each value may be off by as much as its tolerance says.

        Parameters
        ----------
        tolerances : one number per feature, or of some features by name; 0, and no entry, mean that the value is exact
            (the feature is frozen).
        feature_names : the names of all features, where tolerances are given by name.
        units : how much of a feature's own unit one step of the data is (the scale that it was divided by), where
            tolerances are in the file's units and the data is scaled.
        others : everything else a threat model takes, but for the norm and the costs.
        """
        for name in ("norm", "costs"):
            if name in others:
                raise ValueError(
                    f"{name} follows from the tolerances: leave it out, or give costs instead of tolerances"
                )
        if isinstance(tolerances, Mapping):
            if feature_names is None:
                raise ValueError("tolerances by name need feature_names, the names of all features in their order")
            names = list(map(str, feature_names))
            values = np.zeros(len(names))
            for name, tolerance in tolerances.items():
                values[_place_of(name, names)] = tolerance
        else:
            values = np.array(tolerances, dtype=np.float64)
        if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all():
            raise ValueError(
                "a tolerance must be a finite number, at least 0 (0: the value is exact). For a value that may be "
                f"anything in a range use free and a box; got {shortened(repr(values.tolist()))}"
            )
        steps = np.ones(len(values)) if units is None else np.asarray(units, dtype=np.float64)
        if steps.shape != values.shape:
            raise ValueError(f"units must be {len(values)} numbers, one for each tolerance; got shape {steps.shape}")
        frozen, free = (
            set() if others.get(name) is None else set(checked_features(name, others[name], set()))
            for name in ("frozen", "free")
        )
        others = {**others, "switches": [Switch.of(switch) for switch in others.get("switches") or ()]}
        others.pop("frozen", None)
        roles = frozen | free | {feature for switch in others["switches"] for feature in switch.features}
        if feature_names is not None:
            roles = {_place_of(feature, list(map(str, feature_names))) for feature in roles}
        exact = [int(k) for k in np.flatnonzero(values == 0) if k not in roles]
        costs = np.divide(steps, values, out=np.ones(len(values)), where=values > 0)
        return cls(np.inf, costs, frozen=[*frozen, *exact] or None, **others)

    @property
    def n_lines(self) -> int | None:
        """For how many rows the box has a line each; None where it is the same for all."""
        if self.box is None or isinstance(self.box, ByFeature):
            return None
        return next((lines for side in self.box if (lines := n_lines(side)) is not None), None)

    @property
    def has_names(self) -> bool:
        """Whether a feature is given by name, so that :meth:`for_features` has to be asked first."""
        listed = [feature for name in _LISTS for feature in getattr(self, name) or ()]
        listed += [feature for switch in self.switches for feature in switch.features]
        by_name = isinstance(self.costs, ByFeature) or isinstance(self.box, ByFeature)
        return by_name or any(isinstance(feature, str) for feature in listed)

    def for_features(self, names: Sequence[str] | None) -> ThreatModel:
        """The same with every feature by its place among `names`; a ValueError for a name that is not there."""
        if not self.has_names:
            return self
        if names is None:
            raise ValueError(
                f"{self._first_name()!r} is the name of a feature, and the data has no names: fit to a table with "
                "named columns, or give features by their place"
            )
        listed = list(map(str, names))
        changed: dict[str, Any] = {
            name: None if (given := getattr(self, name)) is None else [_place_of(f, listed) for f in given]
            for name in _LISTS
        }
        changed["switches"] = [Switch(tuple(_place_of(f, listed) for f in s.features), s.values) for s in self.switches]
        if isinstance(self.costs, ByFeature):
            costs = np.ones(len(listed))
            for name, cost in self.costs:
                costs[_place_of(name, listed)] = cost
            changed["costs"] = costs
        if isinstance(self.box, ByFeature):
            low, high = np.full(len(listed), -np.inf), np.full(len(listed), np.inf)
            for name, limits in self.box:
                place = _place_of(name, listed)
                low[place], high[place] = limits
            changed["box"] = (low, high)
        return self._with(**changed)

    def _first_name(self) -> str:
        found = [feature for name in _LISTS for feature in getattr(self, name) or ()]
        found += [feature for switch in self.switches for feature in switch.features]
        found += [name for pairs in (self.costs, self.box) if isinstance(pairs, ByFeature) for name, _ in pairs]
        return next(name for name in found if isinstance(name, str))

    def with_values(self, rows: ArrayLike) -> ThreatModel:
        """The same with the patterns that each switched group has in some rows, where none are given."""
        if all(switch.values is not None for switch in self.switches):
            return self
        self.check_width(np.shape(rows)[1])
        filled = [
            switch
            if switch.values is not None
            else Switch(switch.features, patterns_of(rows, list(map(int, switch.features))))
            for switch in self.switches
        ]
        return self._with(switches=filled)

    def with_switches(self, switches: Iterable[Any], max_switches: int | None = None) -> ThreatModel:
        """The same with these switches; their features may be frozen already. Without `max_switches` it stays."""
        groups = [Switch.of(switch) for switch in switches]
        switched = {feature for switch in groups for feature in switch.features}
        return self._with(
            frozen=[feature for feature in self.frozen or () if feature not in switched] or None,
            switches=groups,
            max_switches=self.max_switches if max_switches is None else max_switches,
        )

    def with_frozen(self, features: Iterable[int], n_features: int) -> ThreatModel | None:
        """The same where these features can change in no way; None where nothing is left that could.

        Features are places. A switch is frozen as a whole. Where all others that move are free, one of the features
        stays as one that has no room to move, because a size needs something that is measured.
        """
        still = {int(feature) for feature in features}
        kept = [switch for switch in self.switches if not still & set(switch.features)]
        part = next((s for s in self.switches if still & set(s.features) and not still >= set(s.features)), None)
        if part is not None:
            raise ValueError(
                f"features {sorted(still & set(part.features))} are switched together with others, {part.named()}: "
                "freeze the whole group"
            )
        changed: dict[str, Any] = {name: _without(getattr(self, name), still) for name in _LISTS[1:]}
        changed["max_switches"] = self.max_switches if kept else None
        frozen = {int(feature) for feature in self.frozen or ()} | still
        movable = set(range(n_features)) - frozen - {int(f) for switch in kept for f in switch.features}
        if not movable and not kept:
            return None
        if movable and movable <= set(changed["free"] or ()):
            held = min(still - {int(feature) for feature in self.frozen or ()}, default=None)
            if held is not None:
                frozen -= {held}
                changed["only_up"] = [*(changed["only_up"] or ()), held]
                low, high = self.limits(n_features)  # it may only grow, and its upper limit is below every value
                low[..., held] = high[..., held] = -np.inf
                changed["box"] = (low, high)
        return self._with(frozen=sorted(frozen) or None, switches=kept, **changed)

    def limits(self, n_features: int) -> tuple[FloatArray, FloatArray]:
        """Both sides of the box for every feature, by place, in arrays of their own; endless without a box."""
        assert not isinstance(self.box, ByFeature)
        given = (-np.inf, np.inf) if self.box is None else self.box
        sides = (np.asarray(side, dtype=np.float64) for side in given)
        low, high = (np.broadcast_to(side, (*side.shape[:-1], n_features)).copy() for side in sides)
        return low, high

    def without_switches(self) -> ThreatModel:
        """What an attacker may do after the switches: their features are frozen."""
        switched = [feature for switch in self.switches for feature in switch.features]
        return self._with(frozen=[*(self.frozen or ()), *switched] or self.frozen, switches=None, max_switches=None)

    def _with(self, **changed: Any) -> ThreatModel:
        given = {name: getattr(self, name) for name in ("norm", "costs", *_LISTS, "box", "switches", "max_switches")}
        return ThreatModel(**{**given, **changed})

    @property
    def norm_name(self) -> str:
        return norm_of(self.norm).name

    def arguments(self) -> dict[str, Any]:
        """The arguments that build this threat model again, as JSON has them.

        Directions and free features are there only if there are any: what was asked before they could be given keeps
        its key.
        """
        always = {
            "norm": norm_of(self.norm).spelling,
            "costs": as_lists(self.costs),
            "frozen": as_lists(self.frozen),
            "box": as_lists(self.box),
        }
        others = {name: as_lists(getattr(self, name)) for name in ("only_up", "only_down", "free")}
        others["switches"] = [switch.content() for switch in self.switches]
        found = always | {name: value for name, value in others.items() if value}
        return found if not self.switches or self.max_switches is None else {**found, "max_switches": self.max_switches}

    def python(self) -> str:
        """The call that builds this threat model again, where `arml` is this package; defaults are left out."""
        given = {name: value for name, value in self.arguments().items() if value not in (None, "l2")}
        return f"arml.ThreatModel({', '.join(f'{name}={literal(value)}' for name, value in given.items())})"

    def describe(self, feature_names: Sequence[str] | None = None) -> str:
        """One line in words, for captions and reports; features by place are named with `feature_names`."""

        parts = [f"{self.norm_name} norm"]
        if self.costs is not None:
            tolerances = "every value off by up to ε times its own tolerance, all at once"
            parts.append(tolerances if np.isinf(self.norm) else "per-feature costs")
        if self.frozen:
            parts.append(_role_words(self.frozen, feature_names, "{} frozen {}", "frozen: {}"))
        if self.box is not None:
            parts.append(self._box_words())
        for features, words in ((self.only_up, "may only grow"), (self.only_down, "may only fall")):
            if features:
                parts.append(_role_words(features, feature_names, f"{{}} {{}} that {words}", f"{{}} {words}"))
        if self.free:
            parts.append(_role_words(self.free, feature_names, "{} free {}", "{} may be anything"))
        if self.switches:
            parts.append(self._switch_words(feature_names))
        return ", ".join(parts)

    def _box_words(self) -> str:
        assert self.box is not None
        if isinstance(self.box, ByFeature):
            return ", ".join(f"{name} inside [{low:g}, {high:g}]" for name, (low, high) in self.box)
        low, high = self.box
        if not isinstance(low, tuple) and not isinstance(high, tuple):
            return f"inside [{low:g}, {high:g}]"
        return "inside a box for each row" if self.n_lines is not None else "inside a box"

    def _switch_words(self, feature_names: Sequence[str] | None) -> str:
        groups = ", ".join(switch.named(feature_names) for switch in self.switches[:NAMED_AT_MOST])
        if len(self.switches) > NAMED_AT_MOST:
            groups += f" and {len(self.switches) - NAMED_AT_MOST} more"
        few = self.max_switches is not None and self.max_switches < len(self.switches)
        return f"{groups} may switch as a whole" + (f", {self.max_switches} of them at once" if few else "")

    def of_rows(self, rows: IntArray, n: int) -> ThreatModel:
        """The same threat for some of `n` rows: of a box with a line for each of them, the lines of `rows`."""
        if self.box is None or self.n_lines is None:
            return self
        check_lines(self.n_lines, n)
        assert not isinstance(self.box, ByFeature)
        sides = [np.asarray(side)[rows] if n_lines(side) is not None else side for side in self.box]
        return self._with(box=tuple(sides))

    def check_width(self, n_features: int) -> None:
        """Refuse data that has another number of features, or not all that are given by place."""
        if self._width not in (None, n_features):
            raise ValueError(f"the threat model is for {self._width} features; the data has {n_features}")
        listed = {name: getattr(self, name) or () for name in _LISTS}
        listed["switched"] = tuple(feature for switch in self.switches for feature in switch.features)
        for name, features in listed.items():
            beyond = next((i for i in features if i >= n_features), None)
            if beyond is not None:
                raise ValueError(f"{name} feature {beyond} does not exist; the data has {n_features} features")

    def resolve(self, n_features: int) -> ResolvedThreat:
        """The same threat as plain arrays for data with `n_features` columns; its switches must be gone before."""
        if self.has_names:
            self.for_features(None)
        if self.switches:
            raise ValueError("switches are gone through one combination at a time: resolve without_switches()")
        self.check_width(n_features)
        movable = np.ones(n_features, dtype=bool)
        movable[_places(self.frozen)] = False
        if not movable.any():
            raise ValueError("every feature is frozen; leave at least one that may move")
        only_up, only_down, free = (
            np.isin(np.flatnonzero(movable), getattr(self, name) or ()) for name in ("only_up", "only_down", "free")
        )
        if free.all():
            raise ValueError("every feature that may move is free; leave at least one whose moves are measured")
        costs = np.ones(n_features) if self.costs is None else np.array(self.costs, dtype=np.float64)
        costs[_places(self.free)] = 1.0
        box = None
        if self.box is not None:
            sides = (np.asarray(side, dtype=np.float64) for side in self.box)
            low, high = (np.broadcast_to(side, (*side.shape[:-1], n_features)) for side in sides)
            box = (low[..., movable].copy(), high[..., movable].copy())
        elif (only_up | only_down | free).any():
            box = (np.full(movable.sum(), -np.inf), np.full(movable.sum(), np.inf))
        return ResolvedThreat(
            self.norm, np.flatnonzero(movable), costs[movable], box, n_features, only_up, only_down, free
        )


def _place_of(feature: Feature, names: Sequence[str]) -> int:
    if not isinstance(feature, str):
        return int(feature)
    if feature not in names:
        raise ValueError(f"there is no feature {shortened(repr(feature))}; there are {shortened(', '.join(names))}")
    return names.index(feature)


def _without(features: Iterable[Feature] | None, gone: set[int]) -> list[Feature] | None:
    return None if features is None else [feature for feature in features if feature not in gone] or None


def _places(features: Iterable[Feature] | None) -> list[int]:
    return [int(feature) for feature in features or ()]


def _role_words(features: Sequence[Feature], names: Sequence[str] | None, counted: str, named: str) -> str:
    """`named` with the names of a few features, or `counted` with how many there are."""
    known = [f if isinstance(f, str) else names[f] if names is not None else None for f in features]
    words = [name for name in known if name is not None]
    if len(words) < len(known) or len(words) > NAMED_AT_MOST:
        return counted.format(len(known), "feature" + "s" * (len(known) > 1))
    return named.format(", ".join(words))
