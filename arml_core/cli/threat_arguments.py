"""Who may move the rows, in the words of a file: columns by name, values in the file's own units."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..datasets.table import Layout
from ..threat import ThreatModel
from ..untrusted import shortened
from ..vocabulary import NORMS


def add_threat_arguments(parser: argparse.ArgumentParser) -> None:
    """What may change, and how its size is measured; a column of categories is named by the column's name."""
    many: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--norm", choices=[f"{norm.p:g}" for norm in NORMS.values()], help="default: 2")
    parser.add_argument(
        "--tolerance",
        metavar="COLUMN=T",
        **many,
        help="every value may be off by ε times its own tolerance, all at once; columns without one are exact",
    )
    parser.add_argument("--only-up", metavar="COLUMN", **many, help="a column that may only grow")
    parser.add_argument("--only-down", metavar="COLUMN", **many, help="a column that may only fall")
    parser.add_argument(
        "--switch", metavar="COLUMN", **many, help="a column whose value is exchanged whole for another one"
    )
    parser.add_argument("--max-switches", type=int, metavar="N", help="how many columns may be exchanged at once")
    parser.add_argument("--frozen", metavar="COLUMN", **many, help="a column that cannot move")
    parser.add_argument("--free", metavar="COLUMN", **many, help="a column that may be anything within its limits")
    parser.add_argument("--limit", metavar="COLUMN=LOW:HIGH", **many, help="where a changed column has to stay")
    parser.add_argument(
        "--box", nargs=2, type=float, metavar=("LOW", "HIGH"), help="keep changed columns inside, after scaling"
    )


def threat_of(arguments: argparse.Namespace, layout: Layout) -> ThreatModel:
    """The threat model that the words ask for, with every feature by its place."""
    names = layout.feature_names
    given: dict[str, Any] = {
        role: [names.index(feature) for name in getattr(arguments, role) for feature in layout.features_of(name)]
        or None
        for role in ("frozen", "free", "only_up", "only_down")
    }
    given["box"] = _box(arguments, layout)
    given["switches"] = groups_of(arguments.switch, layout)
    given["max_switches"] = arguments.max_switches
    if not arguments.tolerance:
        return ThreatModel(float(arguments.norm or 2), **given)
    if arguments.norm not in (None, "inf"):
        raise ValueError("--tolerance lets every value be off at once, which is the norm inf: leave --norm out")
    tolerances = {_number_column(word, layout): _number(word, "--tolerance") for word in arguments.tolerance}
    for option in ("only_up", "only_down"):
        exact = next((name for name in getattr(arguments, option) if name not in tolerances), None)
        if exact is not None:
            option = option.replace("_", "-")
            raise ValueError(
                f"{exact} has no tolerance, so it does not change: give --tolerance {exact}=… or leave --{option} out"
            )
    return ThreatModel.tolerances(tolerances, names, layout.scaling.scale, **given)


def groups_of(columns: Sequence[str], layout: Layout) -> list[list[int]] | None:
    """The features of columns that are exchanged whole; None where there are none."""
    return [[layout.feature_names.index(feature) for feature in layout.features_of(name)] for name in columns] or None


def tolerance_words(arguments: argparse.Namespace) -> str:
    """In what ε is measured where there are tolerances; empty where there are none."""
    if not arguments.tolerance:
        return ""
    pairs = ", ".join("{} ±{}".format(*word.partition("=")[::2]) for word in arguments.tolerance)
    return f"ε = 1: every value off by its own tolerance ({pairs}); all other columns are exact"


def _box(arguments: argparse.Namespace, layout: Layout) -> Any:
    low, high = arguments.box or (-np.inf, np.inf)
    if not arguments.limit:
        _check_free(arguments, layout, set())
        return None if arguments.box is None else (low, high)
    sides = np.full(len(layout.feature_names), low), np.full(len(layout.feature_names), high)
    limited = set()
    for word in arguments.limit:
        name = _number_column(word, layout)
        limited.add(name)
        place = layout.feature_names.index(name)
        for side, value in zip(sides, limits_in(word, "--limit"), strict=True):
            side[place] = (value - layout.scaling.offset[place]) / layout.scaling.scale[place]
    _check_free(arguments, layout, limited)
    return sides


def _check_free(arguments: argparse.Namespace, layout: Layout, limited: set[str]) -> None:
    """What may be anything needs a range that is said."""
    open_ = [name for name in arguments.free if name not in limited] if arguments.box is None else []
    for name in open_:
        layout.features_of(name)
        raise ValueError(f"{name} is free and needs a finite range: give --limit {name}=LOW:HIGH")


def _number_column(word: str, layout: Layout) -> str:
    """The column that NAME=… is about, which must hold numbers."""
    name = word.rpartition("=")[0]
    if not name:
        raise ValueError(f"{shortened(repr(word))} needs a column and a value, such as age=1")
    if layout.features_of(name) != (name,):
        raise ValueError(f"{name} holds categories, which change whole: use --switch {name}")
    return name


def _number(word: str, option: str) -> float:
    text = word.rpartition("=")[2]
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} {word}: {shortened(repr(text))} is not a number") from None


def limits_in(word: str, option: str) -> tuple[float, float]:
    """The two ends in COLUMN=LOW:HIGH, in the file's units."""
    low, colon, high = word.rpartition("=")[2].partition(":")
    try:
        found = float(low), float(high)
    except ValueError:
        found = np.nan, np.nan
    if not colon or not found[0] <= found[1]:
        raise ValueError(f"{option} {word}: give the smallest and the largest value, such as age=18:99")
    return found
