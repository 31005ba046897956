"""Cross-fitting: every training row is judged by a model that was learned without it.

The rows are dealt into folds; the rows of a fold are answered by references and a metric learned from all others. That
says how such a model does on rows it has not seen, which its own training rows cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_X_y

from .checks import check_whole
from .knn import MahalanobisKNN
from .neighbors.chosen import classifier_arguments
from .numerics.arrays import FloatArray, IntArray
from .progress import Callback
from .radii import Radii
from .threat import ThreatModel
from .threat.switches import KEPT

DEFAULT_FOLDS = 5
SHARES = 1000  # of the training of one fold, in which progress is counted


def assign_folds(y: NDArray[Any], folds: int = DEFAULT_FOLDS, random_state: int = 0) -> IntArray:
    """The fold, 0 … folds - 1, of every row: drawn at random, each class spread evenly.

    The same labels, folds and seed give the same answer on every machine.
    """
    check_whole("folds", folds, 2)
    if folds > len(y):
        raise ValueError(f"{folds} folds need as many rows; there are {len(y)}")
    drawn = np.random.RandomState(random_state).permutation(len(y))
    _, codes = np.unique(y, return_inverse=True)
    by_class = drawn[np.argsort(codes[drawn], kind="stable")]
    fold = np.empty(len(y), dtype=np.intp)
    fold[by_class] = np.arange(len(y)) % folds
    for left_out in range(folds):
        if len(np.unique(codes[fold != left_out])) < 2:
            raise ValueError(
                f"without fold {left_out + 1} of {folds} the rows are of one class: cross-fitting needs two classes "
                "with at least two rows each"
            )
    return fold


def fold_progress(callback: Callback | None, fold: int, folds: int) -> Callback | None:
    """The progress of one fold's training as a part of all of them."""
    if callback is None:
        return None

    def counted(done: int, total: int, info: Mapping[str, Any]) -> None:
        callback(fold * SHARES + SHARES * done // max(1, total), folds * SHARES, {})

    return counted


def with_unseen_labels(
    knn: MahalanobisKNN,
    ask: Callable[[NDArray[np.floating], NDArray[Any] | None], Radii],
    x: NDArray[np.floating],
    y: NDArray[Any] | None,
    target: Any = None,
) -> Radii:
    """``ask(x, y)``, also for labels that the model has never seen: its answer to such a row is wrong, radius 0.

    With a target the radius does not depend on the label, and only `correct` is False.
    """
    unseen = np.zeros(len(x), dtype=bool) if y is None else ~np.isin(y, knn.classes_)
    if y is None or not unseen.any():
        return ask(x, y)
    labels = y.copy()
    labels[unseen] = knn.predict(x[unseen])
    found = ask(x, labels)
    found = replace(found, correct=found.correct & ~unseen)
    if target is not None:
        return found
    settled = unseen[:, None]
    return replace(
        found,
        lower=np.where(unseen, 0.0, found.lower),
        upper=np.where(unseen, 0.0, found.upper),
        exact=found.exact | unseen,
        adversarial=np.where(settled, x.astype(found.adversarial.dtype), found.adversarial),
        switched=np.where(settled, KEPT, found.switched),
    )


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Training rows with the fold each is left out in, and the classifier learned without each fold."""

    X: NDArray[np.floating]
    y: NDArray[Any]
    fold_of: IntArray
    models: tuple[MahalanobisKNN, ...]

    def predict(self, X: ArrayLike | None = None, rows: ArrayLike | None = None) -> NDArray[Any]:
        """The answers to some training rows (default: all), or to changed ones `X` in their place."""
        index = self._rows(rows)
        x = self.X[index] if X is None else np.asarray(X)
        if len(x) != len(index):
            raise ValueError(f"every point needs the training row it stands for: {len(x)} points, {len(index)} rows")
        answers = np.empty(len(index), dtype=self.y.dtype)
        for knn, at in self._parts(index):
            answers[at] = knn.predict(x[at])
        return answers

    def certify(self, rows: ArrayLike | None = None, **question: Any) -> Radii:
        """:meth:`MahalanobisKNN.certify` of some training rows (default: all), each by the model without it.

        ``labels=False`` certifies the models' own answers. A box may have a line for each of the rows asked about.
        """
        return self._ask("certify", rows, **question)

    def attack(self, rows: ArrayLike | None = None, **question: Any) -> Radii:
        """:meth:`MahalanobisKNN.attack` in the same way."""
        return self._ask("attack", rows, **question)

    def _ask(
        self, kind: str, rows: ArrayLike | None, labels: bool = True, callback: Callback | None = None, **question: Any
    ) -> Radii:
        index = self._rows(rows)
        if question.pop("exclude", None) is not None:
            raise ValueError("exclude: every row is answered by a model learned without it; no more can be left out")
        threat = (question.pop("threat", None) or ThreatModel()).for_features(None)
        threat = threat.with_values(self.X)  # of all rows, so that a code of a switch means the same in every fold
        parts, before = [], 0
        for knn, at in self._parts(index):
            within = _counted(callback, before, len(at), len(index))
            asked = {**question, "threat": threat.of_rows(at, len(index)), "callback": within}

            def ask(x: NDArray[np.floating], y: NDArray[Any] | None, knn: Any = knn, asked: Any = asked) -> Radii:
                found: Radii = getattr(knn, kind)(x, y, **asked)
                return found

            y = self.y[index[at]] if labels else None
            found = with_unseen_labels(knn, ask, self.X[index[at]], y, question.get("target"))
            parts.append(replace(found, index=at))
            before += len(at)
        whole = Radii.concatenate(parts)
        assert whole is not None
        return replace(whole, threat=threat)

    def _rows(self, rows: ArrayLike | None) -> IntArray:
        index = np.arange(len(self.X)) if rows is None else np.asarray(rows, dtype=np.intp)
        if index.ndim != 1 or len(index) == 0:
            raise ValueError("rows must be a list of places in the training set, at least one")
        return index

    def _parts(self, index: IntArray) -> Sequence[tuple[MahalanobisKNN, IntArray]]:
        """Each model with the places in `index` of the rows it answers for."""
        places = [(knn, np.flatnonzero(self.fold_of[index] == fold)) for fold, knn in enumerate(self.models)]
        return [(knn, at) for knn, at in places if len(at)]


def cross_fit(
    learner: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    folds: int = DEFAULT_FOLDS,
    random_state: int = 0,
    n_neighbors: int = 1,
    callback: Callback | None = None,
) -> CrossFitted:
    """Fit a clone of `learner` (of references or of a metric; None for the Euclidean metric) without each fold."""
    x: FloatArray
    x, labels = check_X_y(X, y, dtype=[np.float64, np.float32])
    fold_of = assign_folds(labels, folds, random_state)
    models = []
    for fold in range(folds):
        others = fold_of != fold
        model = None
        if learner is not None:
            model = clone(learner).fit(x[others], labels[others], callback=fold_progress(callback, fold, folds))
        knn = MahalanobisKNN(n_neighbors, **classifier_arguments(model))
        models.append(knn.fit(x[others], labels[others]))
    return CrossFitted(x, labels, fold_of, tuple(models))


def _counted(callback: Callback | None, before: int, size: int, total: int) -> Callback | None:
    if callback is None:
        return None
    return lambda done, of, info: callback(before + size * done // max(1, of), total, info)
