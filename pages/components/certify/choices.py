"""Everything chosen on the Certify page, as one value that stands in the address."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import streamlit as st

from arml_core.certificates import METHODS
from arml_core.cross_fitting import DEFAULT_FOLDS
from arml_core.datasets.scaling import ScalingKind
from arml_core.datasets.table.encoding import text_encoding
from arml_core.datasets.table.limits import MAX_SHEET_ROWS
from arml_core.learners.registry import LearnerEntry
from arml_core.vocabulary import NORMS, VERDICTS

from ..address import Choices, flag, one_of, real, several_of, whole
from ..bound_widgets import BoundWidgets
from .models import MODELS
from .samples import SAMPLES

STEPS = ("rows", "columns", "metric")
MODES = ("one", "two", "run")
SCALINGS = ("minmax", "standard", "none")
SIZES = ("scaled", "file", "own")
SHOWN = ("all", *VERDICTS, "wrong")
ORDERS = ("fragile", "robust", "file")
HIDEABLE = ("steps", "downloads", "python", "formula", "charts")
_FILE = re.compile("|".join(["[0-9a-f]{64}", *SAMPLES]))
_JOB = re.compile(r"[0-9a-f]{32}")
LONGEST_JSON = 20_000
LARGEST_SETTING = 10**9
MOST_FOLDS = 50
MOST_SEARCHES = 5
"""Searches beside the first certificate that a view holds."""
SETS_UNITS = {"mode", "file", "run", "scaling", "size", "costs", "norm"}
"""Choices that decide how a change is measured: under others, an ε is another."""
LARGEST_RADIUS = 1e150
"""Of ε, in any units: what the slider offers is what the address takes, and times a scale it does not overflow."""


@dataclass(frozen=True)
class CertifyView:
    """The choices. `read`, `use` are keyword arguments of `read_table` and `select` for the (reference) file, `qread`,
    `quse` the same for the query file; files and jobs are named by their content. `at` is the ε that a search is asked
    to decide, `eps` the one that is looked at. `jobs` are the run, the certificate, the attack if there is one, and
    further searches.
    """

    mode: str = "one"
    file: str = ""
    query: str = ""
    run: str = ""
    read: Mapping[str, Any] = field(default_factory=dict)
    qread: Mapping[str, Any] = field(default_factory=dict)
    use: Mapping[str, Any] = field(default_factory=dict)
    quse: Mapping[str, Any] = field(default_factory=dict)
    scaling: ScalingKind = "minmax"
    frozen: tuple[str, ...] = ()
    size: str = "scaled"
    costs: Mapping[str, float] = field(default_factory=dict)
    metric: str = "euclidean"
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    folds: int = DEFAULT_FOLDS
    k: int = 1
    norm: str = "l2"
    method: str = "auto"
    budget: float = 0.2
    at: float | None = None
    labels: bool = True
    jobs: tuple[str, ...] = ()
    eps: float | None = None
    row: int | None = None
    show: str = "all"
    order: str = "fragile"
    hide: tuple[str, ...] = ()


def _encoding(value: Any) -> str:
    return text_encoding(value) if isinstance(value, str) else _refuse()


def _refuse() -> NoReturn:
    raise ValueError("that is not one of its values")


def _truth(value: Any) -> bool:
    return value if isinstance(value, bool) else _refuse()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _refuse()


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, value)) if isinstance(value, list) else _refuse()


def _separator(value: Any) -> str:
    return value if isinstance(value, str) and len(value) == 1 and value not in '"\r\n.' else _refuse()


def _lines(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value <= MAX_SHEET_ROWS and value is not True else _refuse()


def _decimal(value: Any) -> str:
    return _text(value) if value in (".", ",") else _refuse()


def _cost(value: Any) -> float:
    fine = isinstance(value, int | float) and not isinstance(value, bool) and 1e-6 <= value <= 1e6
    return float(value) if fine else _refuse()


READ = {
    "encoding": _encoding,
    "separator": _separator,
    "decimal": _decimal,
    "header": _truth,
    "skip_lines": _lines,
    "skip_ragged": _truth,
    "keep_row_numbers": _truth,
}
USE = {
    "label": _text,
    "labelled": _truth,
    "drop": _texts,
    "one_hot": _texts,
    "drop_incomplete": _truth,
    "labels_are_classes": _truth,
}


def _parsed(text: str) -> Any:
    """The value of a JSON text; None for what is too long, too deep, not finite or cannot be written again."""
    if len(text) > LONGEST_JSON:
        return None
    try:
        found = json.loads(text)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return found


def _json(checks: Mapping[str, Callable[[Any], Any]] | Callable[[Any], Any]) -> Callable[[str], dict[str, Any]]:
    """A reader of a JSON object: each entry is checked by the entry of its name, or all by one function."""

    def read(text: str) -> dict[str, Any]:
        found = _parsed(text)
        if not isinstance(found, dict):
            raise ValueError("it takes a JSON object")
        known = checks if isinstance(checks, Mapping) else dict.fromkeys(found, checks)
        unknown = [name for name in found if name not in known]
        if unknown:
            raise ValueError(f"it has no '{unknown[0][:24]}'")
        return {name: known[name](value) for name, value in found.items()}

    return read


def _names(text: str) -> tuple[str, ...]:
    """A reader of a JSON list of names."""
    try:
        return _texts(_parsed(text))
    except ValueError:
        raise ValueError("it takes a JSON list of names") from None


def _name(pattern: re.Pattern[str], what: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"that is no {what}")
        return text

    return read


def _jobs(text: str) -> tuple[str, ...]:
    found = tuple(text.split("~"))
    if len(found) > 3 + MOST_SEARCHES or not all(_JOB.fullmatch(part) for part in found):
        raise ValueError("these are no jobs")
    return found


def _params(text: str) -> dict[str, Any]:
    """A reader of a learner's parameters: each must be one that some learner takes."""
    found = _json(lambda value: value)(text)
    for name, value in found.items():
        if not any(_takes(entry, name, value) for entry in MODELS.values()):
            raise ValueError(f"no method takes '{name[:24]}' with this value")
    return found


def _takes(entry: LearnerEntry, name: str, value: Any) -> bool:
    """Whether a value is one for this parameter of this learner, and one that a number field can show."""
    if isinstance(value, bool | list | dict) or (isinstance(value, int | float) and abs(value) > LARGEST_SETTING):
        return False
    try:
        entry.parameter(name).check(value)
    except ValueError:
        return False
    return True


def parameters_of(view: CertifyView) -> dict[str, Any]:
    """Of the chosen parameters those that the chosen learner takes; the rest are its defaults.

    A learner that places points for a norm does so for the one that a change is measured in.
    """
    entry = MODELS[view.metric]
    found = {name: value for name, value in view.params.items() if _takes(entry, name, value)}
    return {**found, "norm": view.norm} if _takes(entry, "norm", view.norm) else found


def _written(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


READERS: dict[str, Callable[[str], Any]] = {
    "mode": one_of(MODES),
    "file": _name(_FILE, "file"),
    "query": _name(_FILE, "file"),
    "run": _name(_JOB, "run"),
    "read": _json(READ),
    "qread": _json(READ),
    "use": _json(USE),
    "quse": _json(USE),
    "scaling": one_of(SCALINGS),
    "frozen": _names,
    "size": one_of(SIZES),
    "costs": _json(_cost),
    "metric": one_of((*MODELS, "run")),
    "params": _params,
    "seed": whole(0, 9999),
    "folds": whole(2, MOST_FOLDS),
    "k": whole(1, 999),
    "norm": one_of(tuple(NORMS)),
    "method": one_of(("auto", *METHODS)),
    "budget": real(0.01, 60.0),
    "at": real(0.0, LARGEST_RADIUS),
    "labels": flag,
    "jobs": _jobs,
    "eps": real(0.0, LARGEST_RADIUS),
    "row": whole(1, 100_000_000),
    "show": one_of(SHOWN),
    "order": one_of(ORDERS),
    "hide": several_of(HIDEABLE),
}
CHOICES = Choices(
    "certify",
    CertifyView(),
    READERS,
    dict.fromkeys(("read", "qread", "use", "quse", "costs", "params"), _written)
    | {"frozen": lambda names: json.dumps(names, ensure_ascii=False)},
)


current = CHOICES.current
update_display = CHOICES.update


def update_inputs(**changes: Any) -> None:
    """Change what is computed: the results of other choices are put away (they are found again when asked for)."""
    other = {"at": None} if SETS_UNITS & set(changes) else {}
    CHOICES.update(**{"jobs": (), "row": None, "eps": None, **other, **changes})


def open_steps(are_open: bool) -> None:
    """Fold the first three steps when there are verdicts to look at, unfold them for another file."""
    for step in STEPS:
        st.session_state[f"cf_open_{step}"] = are_open


WIDGETS = BoundWidgets("cf", update_inputs)
DISPLAY_WIDGETS = BoundWidgets("cf", update_display)
