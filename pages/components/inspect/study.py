"""What is worked out about a metric and a point, with the engine's classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
import streamlit as st

from arml_core.certificates.training_rows import TrainingChanges
from arml_core.datasets import Dataset
from arml_core.datasets.table import counterfactuals_in_units
from arml_core.figures.method_bounds import MethodBound, best_bounds
from arml_core.figures.metric import Anatomy, anatomy
from arml_core.jobs.model import LearnedModel
from arml_core.knn import MahalanobisKNN
from arml_core.learners.registry import Gives
from arml_core.metric import Metric
from arml_core.neighbors.chosen import classifier_arguments
from arml_core.report import Change, ReferenceCells, reference_cells
from arml_core.threat import ThreatModel

from .choices import Part

ROWS_AT_ONCE = 128
MOST_STUDIES = 400
LARGE = 1e9
ORDER_SEED = 0


@dataclass(eq=False)
class PreparedSource:
    """A dataset, a metric, and the references that are compared with if these are not all training rows.

    The classifier of them, one for all K, the metric's anatomy and the references' cells are worked out when they are
    needed. The classifier is used by one thread only.
    """

    data: Dataset
    metric: Metric
    references: LearnedModel | None = None
    knn: MahalanobisKNN | None = None
    anatomy: Anatomy | None = None
    cells: ReferenceCells | None = None

    @property
    def gives(self) -> Gives:
        """Who votes: all training rows (of a metric), learned points, or training rows that are kept."""
        return "metric" if self.references is None else self.references.gives

    @property
    def voter(self) -> str:
        """What one of those that vote is called."""
        return "prototype" if self.gives == "references" else "training row"

    @property
    def points(self) -> Any:
        """Those that vote."""
        return self.data.X_train if self.references is None else self.references.references_

    @property
    def point_labels(self) -> Any:
        return self.data.y_train if self.references is None else self.references.reference_labels_

    def numbers(self, places: Any) -> Any:
        """The numbers by which those that vote are known, from their places among them."""
        kept = None if self.references is None else self.references.reference_rows_
        return places if kept is None else kept[places]

    def rows(self, part: str) -> tuple[Any, Any]:
        return (self.data.X_test, self.data.y_test) if part == "test" else (self.data.X_train, self.data.y_train)


@dataclass(frozen=True)
class PointQuestion:
    """Which point, and what is asked about it."""

    part: Part
    row: int
    k: int
    norm: str
    own: bool


@dataclass(eq=False)
class PointStudy:
    """What is known about a point so far. Fields are filled one after the other; `stage` counts them.

    `neighbours` are places among those that vote, nearest first; `twin` is the smallest known change that gives another
    answer, and `twin_in_units` the same in the dataset's own units, which gives it too; NaN where these units are too
    coarse.
    `training` counts the training rows that must be wrong before the answer changes; None where points were learned
    from them.
    """

    question: PointQuestion
    x: Any
    label: int
    stage: int = 0
    predicted: int = -1
    correct: bool = True
    neighbours: Any = None
    marks: list[MethodBound] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    twin: Any = None
    twin_in_units: Any = None
    twin_answer: int = -1
    twin_neighbours: Any = None
    voters: list[dict[str, Any]] = field(default_factory=list)
    training: TrainingChanges | None = None
    searched: float = 0.0
    lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def progress(self) -> tuple[int, float]:
        """Changes whenever there is more to show."""
        return (self.stage, self.searched)

    def snapshot(self) -> PointStudy:
        """What is known at this moment: the work goes on while a page is drawn."""
        with self.lock:
            return replace(self)

    def update(self, **found: Any) -> None:
        """Take in what belongs together, so that no page shows half of it."""
        with self.lock:
            for name, value in found.items():
                setattr(self, name, value)

    @property
    def wrong(self) -> bool:
        """Whether the answer is not the true class and the true class was asked for: then the radius is 0."""
        return not self.correct

    @property
    def lower(self) -> float:
        return 0.0 if self.wrong else best_bounds(self.marks)[0]

    @property
    def upper(self) -> float:
        return 0.0 if self.wrong else best_bounds(self.marks)[1]

    @property
    def exact(self) -> bool:
        return self.wrong or any(mark.exact for mark in self.marks) or self.lower == np.inf

    @property
    def open(self) -> bool:
        """Whether a longer search could tell more."""
        return self.searched > 0 and not self.exact

    def mark(self, method: str) -> MethodBound | None:
        return next((mark for mark in self.marks if mark.method == method), None)


def classifier(prepared: PreparedSource, k: int, say: Callable[[str], None]) -> MahalanobisKNN:
    """The classifier with this K, fitted if it is the first time."""
    if prepared.knn is None:
        rows, features = prepared.points.shape
        patience = ", about a minute the first time" if float(rows) * features**2 > LARGE else ""
        say(f"preparing the classifier: {rows:,} {prepared.voter}s of {features:,} features{patience}")
        model = prepared.metric if prepared.references is None else prepared.references
        knn = MahalanobisKNN(1, **classifier_arguments(model))
        prepared.knn = knn.fit(prepared.data.X_train, prepared.data.y_train)
    prepared.knn.n_neighbors = k
    return prepared.knn


def compute_anatomy(prepared: PreparedSource, say: Callable[[str], None]) -> Anatomy:
    """The metric's anatomy, worked out once."""
    if prepared.anatomy is None:
        say(f"computing the eigenvalues of M, {prepared.metric.n_features:,} × {prepared.metric.n_features:,}")
        prepared.anatomy = anatomy(prepared.metric)
    return prepared.anatomy


def compute_cells(prepared: PreparedSource, say: Callable[[str], None]) -> ReferenceCells:
    """Which training rows each reference answers for, worked out once."""
    if prepared.cells is None:
        knn = classifier(prepared, 1, say)

        def tell(done: int, total: int, info: object) -> None:
            say(f"asking which {prepared.voter} answers for each training row: {done:,} of {total:,}")

        prepared.cells = reference_cells(knn, prepared.data.X_train, prepared.data.y_train, callback=tell)
    return prepared.cells


@st.cache_resource(max_entries=MOST_STUDIES, show_spinner=False)
def study_of(identity: tuple[str, ...], question: PointQuestion, _prepared: PreparedSource) -> PointStudy:
    """What is known about a point by now, the same for everybody who asks about it."""
    return new_study(_prepared, question)


def new_study(prepared: PreparedSource, question: PointQuestion) -> PointStudy:
    rows, labels = prepared.rows(question.part)
    return PointStudy(question, rows[question.row].copy(), int(labels[question.row]))


def certify_in_stages(
    prepared: PreparedSource, study: PointStudy, seconds: float, say: Callable[[str], None]
) -> PointStudy:
    """Neighbours and certificates first, then the attack, then a search of so many seconds.

    What an earlier call has found is kept: only a longer search is done again.
    """
    ask = study.question
    knn = classifier(prepared, ask.k, say)
    threat = ThreatModel(ask.norm)
    points = study.x[None]
    labels = None if ask.own else np.array([study.label])
    exclude = [ask.row] if ask.part == "train" else None
    if study.stage == 0:
        say("asking the neighbours")
        study.update(**_neighbours_and_proofs(prepared, knn, study, points, labels, threat, exclude), stage=1)
    if study.wrong or study.mark("exact") is not None:
        study.update(stage=3)
        return study
    if study.stage == 1:
        say("attacking: looking for a small step that changes the answer")
        found = knn.attack(points, labels, threat=threat, exclude=exclude)
        upper = float(found.upper[0])
        twin = _twin(prepared, knn, study, study.neighbours, found.adversarial[0], exclude)
        study.update(**twin, marks=[*study.marks, MethodBound("whitebox", 0.0, upper)], stage=2)
    if study.searched < seconds:
        say(f"searching from both sides, up to {seconds:g} s")
        both = knn.certify(points, labels, method="search", threat=threat, exclude=exclude, budget=seconds)
        mark = MethodBound("search", float(both.lower[0]), float(both.upper[0]), bool(both.exact[0]))
        closer = mark.upper < study.upper
        twin = _twin(prepared, knn, study, study.neighbours, both.adversarial[0], exclude) if closer else {}
        rest = [other for other in study.marks if other.method not in ("search", "whitebox")]
        attack = [other for other in study.marks if other.method == "whitebox"]
        study.update(**twin, marks=[*rest, mark, *attack], searched=seconds, stage=3)
    return study


def _neighbours_and_proofs(
    prepared: PreparedSource,
    knn: MahalanobisKNN,
    study: PointStudy,
    points: Any,
    labels: Any,
    threat: ThreatModel,
    exclude: Any,
) -> dict[str, Any]:
    """The neighbours, the answer and what is proved without a search, as fields of the study."""
    ask = study.question
    near = knn.kneighbors(points, exclude=exclude)[1][0]
    proved = knn.certify(points, labels, method="votes", threat=threat, exclude=exclude)
    found: dict[str, Any] = {
        "neighbours": near,
        "predicted": int(proved.predicted[0]),
        "correct": bool(proved.correct[0]),
        "voters": voters(prepared, study.x, near),
        "training": None if prepared.gives == "references" else knn.certify_training(points, labels, exclude=exclude),
    }
    if not found["correct"]:
        return found
    marks, notes = [], []
    if ask.k % 2:
        try:
            paper = knn.certify(points, labels, method="theorem1", threat=threat, exclude=exclude)
            marks.append(MethodBound("theorem1", float(paper.lower[0]), np.inf))
        except ValueError as reason:
            notes.append(f"Theorem 1 says nothing here: {reason}.")
    else:
        notes.append("Theorem 1 needs an odd K.")
    marks.append(MethodBound("votes", float(proved.lower[0]), np.inf))
    if ask.k == 1 and threat.norm == 2:
        exact = knn.certify(points, labels, method="exact", threat=threat, exclude=exclude)
        marks.append(MethodBound("exact", float(exact.lower[0]), float(exact.upper[0]), bool(exact.exact[0])))
        found |= _twin(prepared, knn, study, near, exact.adversarial[0], exclude)
    return found | {"marks": marks, "notes": notes}


def _twin(
    prepared: PreparedSource, knn: MahalanobisKNN, study: PointStudy, near: Any, twin: Any, exclude: Any
) -> dict[str, Any]:
    """A twin with its answer and its neighbours, as fields of the study; nothing if no attack succeeded (NaN)."""
    if not np.isfinite(twin).all():
        return {}
    x, scaling = study.x, prepared.data.scaling
    moved = knn.kneighbors(twin[None], exclude=exclude)[1][0]
    answer, other = (int(knn.predict(point[None], exclude=exclude)[0]) for point in (x, twin))

    def flips(points: Any) -> Any:
        return knn.predict(points, exclude=exclude) != answer

    return {
        "twin": twin,
        "twin_in_units": counterfactuals_in_units(scaling, x[None].astype(float), twin[None].astype(float), flips)[0],
        "twin_answer": other,
        "twin_neighbours": moved,
        "voters": voters(prepared, x, near, twin, moved),
    }


def voters(prepared: PreparedSource, x: Any, near: Any, twin: Any = None, moved: Any = ()) -> list[dict[str, Any]]:
    """Everyone who votes for the point or for its twin, with place and distance in both cases."""
    before = {int(row): place for place, row in enumerate(near, 1)}
    after = {int(row): place for place, row in enumerate(moved, 1)}
    data, metric = prepared.data, prepared.metric
    found = []
    points, labels = prepared.points, prepared.point_labels
    for row in [*before, *(row for row in after if row not in before)]:
        entry: dict[str, Any] = {
            prepared.voter: int(prepared.numbers(row)),
            "class": data.class_names[labels[row]],
            "place": before.get(row),
            "distance": float(np.sqrt(metric.squared_distances(x, points[row]))),
        }
        if twin is not None:
            entry["place for the twin"] = after.get(row)
            entry["distance to the twin"] = float(np.sqrt(metric.squared_distances(twin, points[row])))
        found.append(entry)
    return found


def find_row(prepared: PreparedSource, start: PointQuestion, want: str, say: Callable[[str], None]) -> int | None:
    """The next row, in a fixed shuffled order, whose answer is right or wrong as wanted; None if there is none."""
    rows, labels = prepared.rows(start.part)
    order = np.random.default_rng(ORDER_SEED).permutation(len(rows))
    place = int(np.flatnonzero(order == start.row)[0])
    order = np.roll(order, -place - 1)
    if want == "any":
        return int(order[0])
    knn = classifier(prepared, start.k, say)
    for first in range(0, len(order), ROWS_AT_ONCE):
        say(f"looking through rows: {first:,} of {len(order):,}")
        block = order[first : first + ROWS_AT_ONCE]
        exclude = block if start.part == "train" else None
        right = knn.predict(rows[block], exclude=exclude) == labels[block]
        hits = block[right if want == "right" else ~right]
        if len(hits):
            return int(hits[0])
    return None


def changes(data: Dataset, study: PointStudy) -> list[Change]:
    """Each feature before and after, in the dataset's units, the largest moves (in scaled units) first."""
    before, after = data.scaling.inverse(np.stack([study.x, study.twin]))
    steps = study.twin - study.x
    alone = data.scaling.step_in_units(study.lower) if np.isfinite(study.lower) else [None] * len(steps)
    order = np.argsort(-np.abs(steps), kind="stable").tolist()
    return [
        Change(
            data.feature_names[k],
            float(before[k]),
            float(after[k]),
            float(steps[k]),
            None if alone[k] is None else float(alone[k]),
        )
        for k in order
    ]


def twin_rows(data: Dataset, study: PointStudy) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the twin as a table: every feature in the dataset's units and as it is certified."""
    header = ["feature", "before", "after", "scaled before", "scaled after"]
    columns = (data.feature_names, data.scaling.inverse(study.x), study.twin_in_units, study.x, study.twin)
    return header, [list(row) for row in zip(*columns, strict=True)]
