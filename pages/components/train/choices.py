"""Everything chosen on the Train page, as one value that travels in the address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from arml_core.attacks import METHODS as ATTACKS
from arml_core.attacks.boundary import STEPS
from arml_core.certificates import METHODS
from arml_core.comparison import NONE
from arml_core.datasets import list_datasets
from arml_core.device import list_devices
from arml_core.jobs.learners import entries, entry_of
from arml_core.vocabulary import NORMS

from ..address import Choices, flag, one_of, several_of, whole
from ..bound_widgets import BoundWidgets

Setting = tuple[str, str, Any]
"""A learner, one of its parameters, and a value that is not the default."""

ATTACK_CHOICES = (NONE, *ATTACKS)
HIDEABLE = ("form", "upload", "queue", "evaluate", "python", "data-out")
MOST_SEEDS, LARGEST_SEED = 20, 2**31 - 1
LARGEST_SETTING = 10**9
MOST_NEIGHBOURS, MOST_POINTS, MOST_STEPS = 99, 10_000, 100_000
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_JOB = re.compile(r"[0-9a-f]{32}\Z")


@dataclass(frozen=True)
class TrainView:
    """The form (datasets × methods × seeds), the shown job, and how it is to be evaluated.

    A dataset is a name or, for an upload, its fingerprint. `settings` are the parameters that are not the defaults.
    """

    datasets: tuple[str, ...] = ("breast_cancer",)
    methods: tuple[str, ...] = ("arml",)
    seeds: tuple[int, ...] = (42,)
    device: str = "auto"
    settings: tuple[Setting, ...] = ()
    job: str = ""
    k: int = 1
    norm: str = "l2"
    box: bool = False
    certificate: str = "exact"
    budget: float = 1.0
    attack: str = "whitebox"
    steps: int = STEPS
    attack_seed: int = 0
    points: int = 100
    curve: str = ""
    hide: tuple[str, ...] = ()


def read_seeds(text: str) -> tuple[int, ...]:
    """Whole numbers parted by commas, blanks or "~"; "0-4" means all five."""
    seeds: list[int] = []
    for part in re.split(r"[\s,~]+", text.strip()):
        match = re.fullmatch(r"(\d{1,10})(?:-(\d{1,10}))?", part, re.ASCII)
        if match is None:
            raise ValueError("it takes whole numbers such as 0, 1, 2 or 0-4")
        low, high = int(match[1]), int(match[2] or match[1])
        if high > LARGEST_SEED or low > high:
            raise ValueError(f"it takes whole numbers from 0 to {LARGEST_SEED}")
        if high - low >= MOST_SEEDS:
            raise ValueError(f"it takes at most {MOST_SEEDS} seeds")
        seeds += range(low, high + 1)
    unique = tuple(dict.fromkeys(seeds))
    if len(unique) > MOST_SEEDS:
        raise ValueError(f"it takes at most {MOST_SEEDS} seeds")
    return unique


def write_seeds(seeds: tuple[int, ...]) -> str:
    return "~".join(map(str, seeds))


def read_datasets(text: str) -> tuple[str, ...]:
    """Names of datasets and fingerprints of uploads, joined by "~"."""
    known = {about.name for about in list_datasets()}
    view = tuple(dict.fromkeys(part for part in text.split("~") if part))
    if any(part not in known and not _DIGEST.match(part) for part in view):
        raise ValueError("it takes names of datasets, joined by ~")
    return view


def read_settings(text: str) -> tuple[Setting, ...]:
    """Parameters as "arml:n_epochs:100", joined by "~", each checked as the learner describes it; the last wins."""
    settings: list[Setting] = []
    for part in text.split("~"):
        pieces = part.split(":")
        if len(pieces) != 3 or pieces[0] not in entries():
            raise ValueError("it takes parts of the form method:parameter:value, joined by ~")
        method, name, text = pieces
        value = entry_of(method).parameter(name).parse(text)
        if isinstance(value, int | float) and not abs(value) <= LARGEST_SETTING:
            raise ValueError(f"it takes numbers up to {LARGEST_SETTING:,}")
        settings.append((method, name, value))
    return tuple({setting[:2]: setting for setting in settings}.values())


def write_settings(settings: tuple[Setting, ...]) -> str:
    return "~".join(f"{method}:{name}:{_plain(value)}" for method, name, value in settings)


def _plain(value: Any) -> str:
    return "none" if value is None else repr(value) if isinstance(value, float) else str(value)


def _read_job(text: str) -> str:
    if not _JOB.match(text):
        raise ValueError("it takes the name of a job: 32 characters from 0 to 9 and a to f")
    return text


def _read_budget(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.05 <= value <= 60:
        raise ValueError("it takes a number of seconds from 0.05 to 60")
    return value


def _method_names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(several_of(tuple(entries()))(text)))


CHOICES: Choices[TrainView] = Choices(
    "train",
    TrainView(),
    {
        "datasets": read_datasets,
        "methods": _method_names,
        "seeds": read_seeds,
        "device": one_of(("auto", *list_devices())),
        "settings": read_settings,
        "job": _read_job,
        "k": whole(1, MOST_NEIGHBOURS),
        "norm": one_of(tuple(NORMS)),
        "box": flag,
        "certificate": one_of(tuple(METHODS)),
        "budget": _read_budget,
        "attack": one_of(ATTACK_CHOICES),
        "steps": whole(1, MOST_STEPS),
        "attack_seed": whole(0, 999_999),
        "points": whole(1, MOST_POINTS),
        "curve": _read_job,
        "hide": several_of(HIDEABLE),
    },
    {"seeds": write_seeds, "settings": write_settings},
)


WIDGETS = BoundWidgets("train", CHOICES.update)


def parameters_of(view: TrainView, method: str) -> dict[str, Any]:
    """What is set for a method; the rest are defaults."""
    return {name: value for owner, name, value in view.settings if owner == method}


def with_setting(view: TrainView, method: str, name: str, value: Any) -> tuple[Setting, ...]:
    """The settings after a change; a default needs no setting."""
    others = tuple(setting for setting in view.settings if setting[:2] != (method, name))
    is_default = value == entry_of(method).parameter(name).default
    return others if is_default else (*others, (method, name, value))
