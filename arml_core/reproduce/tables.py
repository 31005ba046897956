"""The tables as our results fill them: from kept evaluations to errors at the paper's radii."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..attacks.boundary import STEPS
from ..curves import robust_error
from ..results import Evaluation, read_results
from . import published
from .plan import BOX, COLUMNS, TableColumn
from .published import METHODS, TITLES

PAPER_COLUMN: dict[str, published.Column] = {
    "exact": "exact",
    "theorem1": "certified",
    "boundary-box": "empirical",
    "boundary": "empirical",
}
"""The column of the paper's that ours stands beside."""


def column_of(evaluation: Evaluation) -> str | None:
    """The name of the column an evaluation belongs to; None if it is in no table."""
    box = evaluation.spec.threat.box
    if (
        evaluation.spec.threat.norm != 2
        or evaluation.spec.threat.costs
        or evaluation.spec.threat.frozen
        or box not in (None, BOX)
        or evaluation.spec.rule()
    ):
        return None
    what = (evaluation.spec.kind, evaluation.spec.method, evaluation.spec.n_neighbors, box is not None)
    return next((name for name, c in COLUMNS.items() if what == _identity(c)), None)


def cell_settings(evaluation: Evaluation) -> tuple[str, ...]:
    """What the method was given, for a row of a table; the radii it was to decide stand above its cells."""
    spec = evaluation.spec
    decided = spec.at is not None and set(published.radii(evaluation.dataset)) <= set(spec.at)
    return (replace(spec, at=None) if decided else spec).settings_words()


def _identity(column: TableColumn) -> tuple[str, str, int, bool]:
    return column.kind, column.method, column.n_neighbors, column.box


@dataclass(frozen=True)
class Tables:
    """Evaluations by (dataset, learner, column)."""

    evaluations: dict[tuple[str, str, str], Evaluation]

    @classmethod
    def of(cls, evaluations: Iterable[Evaluation]) -> Tables:
        found = {}
        for evaluation in evaluations:
            column = column_of(evaluation)
            if column is not None and evaluation.dataset in TITLES and evaluation.run.learner in METHODS:
                found[evaluation.dataset, evaluation.run.learner, column] = evaluation
        return cls(found)

    @classmethod
    def read(cls, folder: Path) -> Tables:
        return cls.of(e for path in sorted(folder.glob("*.npz")) for e in read_results(path))

    def get(self, dataset: str, learner: str, column: str) -> Evaluation | None:
        return self.evaluations.get((dataset, learner, column))

    def errors(self, dataset: str, learner: str, column: str, n: int | None = None) -> np.ndarray | None:
        """Robust errors at the paper's radii, over the first `n` points (all of them by default)."""
        evaluation = self.get(dataset, learner, column)
        return None if evaluation is None else robust_error(evaluation.bound[:n], published.radii(dataset))

    def common(self, dataset: str, column: str) -> dict[str, np.ndarray]:
        """The errors of every learner that has the column, over the points all of them have.

        The points are the first so many in the same order, so that each learner is judged on the same ones.
        """
        present = {learner: found for learner in METHODS if (found := self.get(dataset, learner, column)) is not None}
        n = min((len(found) for found in present.values()), default=0)
        return {learner: robust_error(found.bound[:n], published.radii(dataset)) for learner, found in present.items()}

    def clean(self, dataset: str, learner: str, column: str) -> float | None:
        """The share of wrong predictions; the certified error at radius 0 counts points without a proof too."""
        evaluation = self.get(dataset, learner, column)
        return None if evaluation is None else float(1 - evaluation.radii.correct.mean())

    def difference(self, dataset: str, learner: str, column: str) -> np.ndarray | None:
        """Our errors less the paper's; None where either is missing."""
        ours = self.errors(dataset, learner, column)
        if ours is None or column not in PAPER_COLUMN:
            return None
        return ours - published.errors(dataset, learner, PAPER_COLUMN[column])

    def within(self, dataset: str, learner: str, column: str) -> bool | None:
        """Whether ours is as close to the paper's as it has to be; None where nothing is demanded."""
        difference = self.difference(dataset, learner, column)
        allowed = None if difference is None else published.tolerance(dataset, learner, PAPER_COLUMN[column])
        if difference is None or allowed is None:
            return None
        return bool((np.abs(difference) <= allowed + 1e-9).all())

    def cut_short(self, dataset: str, learner: str, column: str) -> bool:
        """Whether ours is an attack with fewer steps than the paper's: its errors are too small."""
        evaluation = self.get(dataset, learner, column)
        return evaluation is not None and evaluation.spec.options.get("steps", STEPS) < STEPS
