"""The paper's three observations, checked over our own results.

They are stated for 1-NN (Table 1) and said to hold for K-NN too (Table 2):

1. NCA and LMNN often have a smaller clean error than the Euclidean metric, but are less robust (except on Splice).
2. ARML's clean error is competitive with theirs (for 1-NN the best on 4 of the 6 datasets).
3. ARML is more robust than all others at every radius.

An attack that was stopped early finds too little; it says nothing of which metric is more robust, and is not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from . import published
from .markdown import listed
from .published import METHODS, TITLES
from .tables import Tables

COLUMNS = {
    "exact": "1-NN, exact",
    "theorem1": "11-NN, certified by Theorem 1",
    "boundary-box": "11-NN, boundary attack inside [0, 1]",
    "whitebox": "11-NN, white-box attack",
}
EXCEPTION = "splice"
"""Where the paper makes an exception from the first observation."""
COMPETITIVE = 0.03
"""How far ARML's clean error may lie above the best one's to be called competitive."""


@dataclass(frozen=True)
class Finding:
    """What became of one observation in one column; `holds` is None without results."""

    observation: int
    column: str
    holds: bool | None
    text: str


def check(tables: Tables) -> list[Finding]:
    """Each observation in each column."""
    return [rule(tables, column) for rule in (_less_robust, _competitive, _most_robust) for column in COLUMNS]


def _datasets(tables: Tables, column: str, *needed: str) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """The datasets for which the needed learners have the column, with all that have it."""
    for dataset in TITLES:
        errors = tables.common(dataset, column)
        if all(learner in errors for learner in needed):
            yield dataset, errors


def _less_robust(tables: Tables, column: str) -> Finding:
    pairs, cleaner, compared, exceptions = 0, 0, 0, []
    early: dict[str, set[str]] = {}
    for dataset, errors in _datasets(tables, column, "euclidean"):
        for learner in [name for name in ("nca", "lmnn") if name in errors]:
            pairs += 1
            cleaner += _clean(tables, dataset, learner, column) <= _clean(tables, dataset, "euclidean", column)
            if dataset == EXCEPTION:
                continue
            stopped = [name for name in ("euclidean", learner) if tables.cut_short(dataset, name, column)]
            if stopped:
                early.setdefault(dataset, set()).update(stopped)
                continue
            compared += 1
            better = errors[learner][1:] < errors["euclidean"][1:]
            if better.any():
                at = _radii(published.radii(dataset)[1:][better])
                exceptions.append(f"{METHODS[learner]} on {TITLES[dataset]} at {at}")
    if not compared:
        return Finding(1, column, None, _nothing(early))
    text = (
        f"NCA or LMNN has a clean error at most the Euclidean metric's in {cleaner} of {pairs} cases; in the "
        f"{compared} cases compared, Splice apart, its robust error is never the smaller one"
    )
    text += f", except {listed(exceptions)}." if exceptions else "."
    text += _not_counted(early)
    return Finding(1, column, not exceptions and 2 * cleaner >= pairs, text)


def _competitive(tables: Tables, column: str) -> Finding:
    best, gaps = [], {}
    for dataset, errors in _datasets(tables, column, "arml", "nca", "lmnn"):
        clean = {learner: _clean(tables, dataset, learner, column) for learner in errors}
        gaps[dataset] = clean["arml"] - min(clean.values())
        if gaps[dataset] <= 0:
            best.append(TITLES[dataset])
    if not gaps:
        return Finding(2, column, None, "no results yet")
    worst = max(gaps, key=lambda name: gaps[name])
    text = f"ARML has the smallest clean error on {len(best)} of {len(gaps)} datasets"
    text += f" ({', '.join(best)})" if best else ""
    text += f"; elsewhere it lies at most {gaps[worst]:.3f} above ({TITLES[worst]})." if gaps[worst] > 0 else "."
    text += f" Up to {COMPETITIVE:g} above the smallest of all metrics counts as competitive; being it is not demanded."
    return Finding(2, column, gaps[worst] <= COMPETITIVE, text)


def _most_robust(tables: Tables, column: str) -> Finding:
    cells, exceptions, names = 0, 0, []
    early: dict[str, set[str]] = {}
    for dataset, errors in _datasets(tables, column, "arml"):
        early[dataset] = {name for name in errors if tables.cut_short(dataset, name, column)}
        others = {name: found for name, found in errors.items() if name != "arml" and name not in early[dataset]}
        if "arml" in early[dataset] or not others:
            continue
        behind = np.array([errors["arml"][1:] > found[1:] for found in others.values()])
        cells += behind.shape[1]
        exceptions += int(behind.any(axis=0).sum())
        for learner, wins in zip(others, behind, strict=True):
            if wins.any():
                at = published.radii(dataset)[1:][wins]
                most = float((errors["arml"] - others[learner])[1:].max())
                names.append(f"{METHODS[learner]} on {TITLES[dataset]} at {_radii(at)} (by at most {most:.3f})")
    if not cells:
        return Finding(3, column, None, _nothing(early))
    text = f"ARML has the smallest robust error, or shares it, at {cells - exceptions} of {cells} positive radii"
    text += f"; a smaller one has {listed(names)}." if names else "."
    text += _not_counted(early)
    return Finding(3, column, exceptions == 0, text)


def _clean(tables: Tables, dataset: str, learner: str, column: str) -> float:
    """From the certificates, which have the most points; an attack's own points where there are none."""
    for name in ("exact",) if column == "exact" else ("theorem1", column):
        clean = tables.clean(dataset, learner, name)
        if clean is not None:
            return clean
    raise KeyError((dataset, learner, column))


def _nothing(early: Mapping[str, Collection[str]]) -> str:
    return _not_counted(early).strip() or "no results yet"


def _not_counted(early: Mapping[str, Collection[str]]) -> str:
    """The attacks that were stopped early, as learners by dataset."""
    names = [
        f"{listed([METHODS[name] for name in METHODS if name in stopped])} on {TITLES[dataset]}"
        for dataset, stopped in early.items()
        if stopped
    ]
    return f" Not counted, because the attack was stopped early: {listed(names)}." if names else ""


def _radii(values: np.ndarray) -> str:
    return listed([f"{value:g}" for value in values])
