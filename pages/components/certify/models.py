"""What a file can be certified with, metrics and learned references alike, and what is said of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arml_core.jobs import PointsSpec, RunSpec
from arml_core.learners.registry import LEARNERS, Gives, LearnerEntry
from arml_core.numerics.arrays import IntArray
from arml_core.references.kmeans import prototypes_per_class
from arml_core.references.registry import REFERENCES

MODELS: dict[str, LearnerEntry] = {**LEARNERS, **REFERENCES}
"""Every model that can be chosen for a file, by name."""
VOTERS: dict[Gives, str] = {"metric": "rows", "references": "prototypes", "rows": "kept rows"}
"""Who votes, by what the training gives."""
NOT_COUNTED: dict[Gives, str] = {
    "references": "Wrong training rows are not counted here: prototypes vote, and each of them was learned from many "
    "rows at once.",
    "rows": "Wrong training rows are not counted here: one wrong row may change which of the others are kept.",
}
"""Why there are no columns about wrong training rows, where references are learned."""


def model_title(name: str) -> str:
    """A model in the list to choose from."""
    if name == "run":
        return "A saved or uploaded metric"
    if name == "euclidean":
        return "Euclidean (nothing to train)"
    how = {"metric": "trained on these rows", "references": "a few learned points", "rows": "keeps some of the rows"}
    return f"{MODELS[name].title} ({how[MODELS[name].gives]})"


def learned_words(run: RunSpec) -> str:
    """What a training of references learns."""
    entry = MODELS.get(run.learner)
    if entry is None:
        return VOTERS[run.gives]
    with_metric = entry.build(run.parameters, random_state=0).learns_its_metric
    return f"{VOTERS[run.gives]} and a metric" if with_metric else VOTERS[run.gives]


def cross_words(points: PointsSpec, run: RunSpec) -> str:
    """How rows are judged by models that were learned without them."""
    chosen = "chosen" if run.gives == "rows" else "learned"
    return (
        f"Cross-fitted in {points.folds} folds drawn with seed {points.seed}: each row is answered by "
        f"{learned_words(run)} {chosen} without its fold, so no row is judged by what it taught."
    )


def prototype_counts(parameters: Mapping[str, Any], class_sizes: IntArray, folds: int | None) -> IntArray:
    """The most prototypes that each class can get, in cross-fitting in the fold that leaves it the fewest rows."""
    left = class_sizes if folds is None else class_sizes - -(-class_sizes // folds)
    wanted = parameters.get("n_prototypes", "auto")
    return np.array([prototypes_per_class(wanted, int(size)) if size else 0 for size in left], dtype=np.intp)


def neighbours_refused(counts: IntArray, k: int, method: str) -> str:
    """A sentence on why so many prototypes do not allow K neighbours; empty if they do."""
    if k > counts.sum():
        return f"K = {k} is more than the {counts.sum():,} prototypes that vote. Take a smaller K or more prototypes."
    needed = (k + 1) // 2
    if method == "theorem1" and counts.min() < needed:
        return (
            f"Theorem 1 needs {needed} prototypes in every class for K = {k}; one class has {counts.min()}. Take a "
            "smaller K, more prototypes, or another certificate."
        )
    return ""
