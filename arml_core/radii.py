"""Radii: the one result of certificates and attacks, an interval around the robust radius of each point."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .atomic_write import atomic_write
from .errors import ContradictionError
from .npz import read_npz
from .numerics.arrays import BoolArray, FloatArray, IntArray
from .threat import ThreatModel
from .threat.switches import KEPT

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("index", "lower", "upper", "exact", "correct", "predicted", "adversarial", "switched")
"""What there is one of for each point."""
LARGEST_FILE = 2**32
ROUNDING = 1e-9  # of the upper side: a lower one that exceeds it by more does so for another reason
CERTIFIED, UNDECIDED, ATTACKABLE = "certified", "undecided", "attackable"


def verdicts(lower: ArrayLike, upper: ArrayLike, radius: float) -> NDArray[np.str_]:
    """At a radius ε: "certified" (lower > ε), "attackable" (upper ≤ ε) or "undecided"."""
    if not radius >= 0:
        raise ValueError(f"a radius must be at least 0; got {radius}")
    words = np.where(np.asarray(lower) > radius, CERTIFIED, UNDECIDED)
    return np.where(np.asarray(upper) <= radius, ATTACKABLE, words)


def at_most_upper(lower: FloatArray, upper: FloatArray, index: IntArray) -> FloatArray:
    """`lower`, cut off at `upper` where rounding put it above; `index` names the points.

    A lower side that is above by more than 1e-9 of the upper one proves that one of the two is wrong, and so may be
    every other: that raises a :class:`~arml_core.ContradictionError`.
    """
    wrong = np.flatnonzero(lower > upper * (1 + ROUNDING))
    if len(wrong):
        b = wrong[0]
        raise ContradictionError(
            f"point {index[b]}: no perturbation smaller than {lower[b]:.17g} was to change its answer, but one of size "
            f"{upper[b]:.17g} does. Either the proof or the attack is wrong, and other points of this result may be, "
            "too. Please report this as a bug, with the data and the call"
        )
    return np.minimum(lower, upper)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Radii:
    """For each point an interval ``lower ≤ ε* ≤ upper`` around its robust radius ε*.

    ε* is the size of the smallest perturbation that changes the answer (0 where the answer is already wrong). With a
    target it is that of the smallest one after which the answer is the target, whatever the label (0 where it already
    is); with ``ties="any"`` the answer counts as changed where some order of equal distances or equal votes changes it.

    Attributes
    ----------
    index : which of the asked points each entry belongs to; 0 … n - 1 where none is missing.
    lower : no perturbation smaller than this changes the answer. Rounded down. An attack proves nothing: 0.
    upper : the size of a perturbation that was seen to change it; +inf where none is known.
    exact : where both sides meet: to 1e-6 of `upper`, or to what rounding blurs at that point (1e-9 of the distance
        of its K-th neighbour; the grid of float32 features; neither more than 1e-4 of `upper` or, where `lower` is 0,
        1e-7 of the narrowest column that can move). False where both are +inf: that nothing can flip the answer is
        proved there, but there is no radius.
    correct : where the prediction is the label in question. Not the same as ``lower > 0``: an answer that is tied has
        radius 0 with ``ties="any"``, and one that is the target has with a target, correct or not.
    predicted : the classifier's labels for the unperturbed points.
    adversarial : (n, D), the perturbed points behind `upper`, NaN rows where there is none.
    switched : (n, groups), for each of the threat's `switches` the value that the adversarial point has instead of its
        own, as a place among the values of ``threat.switches``; -1 where it keeps its own. :meth:`switch_words` says it
        in words. Where `upper` is 0 and the answer is correct, switching alone flips it.
    method, threat, settings : the question: how it was answered, against what, and with which settings (the steps
        and the seed of an attack; `ties` where it is "any"; `target` where there is one).
    """

    index: IntArray
    lower: FloatArray
    upper: FloatArray
    exact: BoolArray
    correct: BoolArray
    predicted: NDArray[Any]
    adversarial: NDArray[np.floating]
    switched: IntArray = field(default_factory=lambda: np.empty((0, 0), dtype=np.intp))
    method: str = ""
    threat: ThreatModel = field(default_factory=ThreatModel)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.switched) != len(self.index):  # not given: nothing was switched
            object.__setattr__(self, "switched", np.full((len(self.index), 0), KEPT, dtype=np.intp))

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        what = f"{self.method or 'unknown method'}, {self.threat.describe()}"
        return f"Radii({what}: {len(self)} points, {int(self.correct.sum())} correct, {int(self.exact.sum())} exact)"

    def verdict(self, radius: float) -> NDArray[np.str_]:
        """At a radius ε: "certified" (lower > ε), "attackable" (upper ≤ ε) or "undecided"."""
        return verdicts(self.lower, self.upper, radius)

    def describe(self) -> str:
        """The method with its settings in one line, to stand beside a curve."""
        words = {name: value if isinstance(value, str) else f"{value:,}" for name, value in self.settings.items()}
        settings = ", ".join(f"{name} {value}" for name, value in words.items())
        return f"{self.method} attack" + (f" ({settings})" if settings else "")

    def take(self, positions: ArrayLike) -> Radii:
        """Some of the points, by position or mask, in that order."""
        chosen = np.asarray(positions)
        return replace(self, **{name: getattr(self, name)[chosen] for name in COLUMNS})

    def join(self, attack: Radii) -> Radii:
        """These points with the upper sides that `attack` found: what is proved from here, what was found from there.

        Points that `attack` does not have stay as they are; what it has beyond these is left out. What was found must
        not contradict what is proved (:func:`at_most_upper`).
        """
        _, mine, theirs = np.intersect1d(self.index, attack.index, assume_unique=True, return_indices=True)
        upper, exact, adversarial = self.upper.copy(), self.exact.copy(), self.adversarial.copy()
        switched = self.switched.copy()
        if switched.shape[1] == attack.switched.shape[1]:
            switched[mine] = attack.switched[theirs]
        if adversarial.shape[1] != attack.adversarial.shape[1]:  # a stored result may have none of them
            adversarial = np.full((len(self), attack.adversarial.shape[1]), np.nan)
        upper[mine], adversarial[mine] = attack.upper[theirs], attack.adversarial[theirs]
        exact[mine] = (exact[mine] & (upper[mine] <= self.upper[mine])) | (upper[mine] <= self.lower[mine])
        lower = at_most_upper(self.lower, upper, self.index)
        return replace(self, lower=lower, upper=upper, exact=exact, adversarial=adversarial, switched=switched)

    def narrow(self, other: Radii) -> Radii:
        """These points with the better side of both: `other` answers the same question, with other means.

        Points that `other` does not have stay as they are; what it has beyond these is left out. The two must not
        contradict each other (:func:`at_most_upper`).
        """
        _, mine, theirs = np.intersect1d(self.index, other.index, assume_unique=True, return_indices=True)
        lower, upper = self.lower.copy(), self.upper.copy()
        exact, adversarial, switched = self.exact.copy(), self.adversarial.copy(), self.switched.copy()
        nearer = other.upper[theirs] < upper[mine]
        adversarial[mine[nearer]] = other.adversarial[theirs[nearer]]
        switched[mine[nearer]] = other.switched[theirs[nearer]]
        upper[mine] = np.minimum(upper[mine], other.upper[theirs])
        lower[mine] = np.maximum(lower[mine], other.lower[theirs])
        lower = at_most_upper(lower, upper, self.index)
        exact[mine] |= other.exact[theirs] | ((lower[mine] == upper[mine]) & np.isfinite(upper[mine]))
        return replace(self, lower=lower, upper=upper, exact=exact, adversarial=adversarial, switched=switched)

    def switch_words(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """What the adversarial point of each row has switched, such as "island=Dream"; empty where nothing has."""
        groups = self.threat.switches
        return [
            ", ".join(
                switch.value_named(code, feature_names)
                for switch, code in zip(groups, codes, strict=False)
                if code != KEPT
            )
            for codes in self.switched.tolist()
        ]

    def to_frame(self) -> pd.DataFrame:
        """A row for each point: index, predicted, correct, lower, upper, exact; what is switched, where that may be."""
        import pandas as pd  # a second of import for those who want a table

        columns: dict[str, Any] = {
            name: getattr(self, name) for name in ("index", "predicted", "correct", "lower", "upper", "exact")
        }
        return pd.DataFrame({**columns, "switched": self.switch_words()} if self.threat.switches else columns)

    @classmethod
    def concatenate(cls, parts: Iterable[Radii]) -> Radii | None:
        """Parts of one result as a whole, in the order of the points, each point once; None if there are none."""
        kept = list(parts)
        if not kept:
            return None
        columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in kept]) for name in COLUMNS}
        _, order = np.unique(columns["index"], return_index=True)
        asked = next((part for part in kept if part.method), kept[0])  # parts of an older version lack the question
        return replace(asked, **{name: column[order] for name, column in columns.items()})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The columns and the question as plain arrays, to be stored without pickle."""
        question = {"method": self.method, "threat": self.threat.arguments(), "settings": dict(self.settings)}
        text = json.dumps(question, ensure_ascii=False, sort_keys=True)
        columns = {name: getattr(self, name) for name in COLUMNS if name != "switched" or self.threat.switches}
        if columns["predicted"].dtype == object:
            columns["predicted"] = columns["predicted"].astype(str)
        return {**columns, "question": np.frombuffer(text.encode(), dtype=np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Radii:
        """The inverse of :meth:`arrays`; files of older versions, which lack the question, are read too."""
        columns: dict[str, Any] = {name: arrays[name] for name in COLUMNS if name in arrays or name != "switched"}
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError("its arrays do not fit together")
        if "question" not in arrays:
            return cls(**columns)
        question = json.loads(arrays["question"].tobytes().decode())
        threat = ThreatModel(**question["threat"])
        return cls(**columns, method=str(question["method"]), threat=threat, settings=dict(question["settings"]))

    def save(self, path: str | Path) -> None:
        """Write a ``.npz`` that :meth:`load` reads; nothing in it is pickled."""
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **self.arrays())
        atomic_write(Path(path), buffer.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> Radii:
        """Read what :meth:`save` wrote; a ValueError that names the file if it is something else."""
        try:
            return cls.from_arrays(read_npz(Path(path), LARGEST_FILE))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} does not hold radii, or it is damaged: {error}") from error


Certificates = AttackResult = Radii
"""Older names of what `certify` and `attack` return."""
