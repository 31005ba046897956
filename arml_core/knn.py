"""The nearest-neighbour classifier of a Mahalanobis metric, and what can be proved about its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .attacks import AttackResult, attack_point, boundary_attack, whitebox_attack
from .attacks.boundary import STEPS as BOUNDARY_STEPS
from .certificates import (
    Certificates,
    Interval,
    Triplets,
    check_support,
    exact_radius,
    search_radius,
    triplet_bound,
)
from .checks import check_class_sizes, check_k, check_whole, checked_exclude, checked_labels
from .device import device_for_certificates
from .metric import as_metric
from .neighbors.neighbor_lists import NeighborListPredictor
from .neighbors.prepared import PreparedReferences
from .numerics.arrays import BoolArray, FloatArray, IntArray
from .numerics.precision import in_full_precision
from .numerics.threads import with_one_blas_thread
from .progress import Callback, report
from .threat import ThreatModel

SEARCH_TRADED = 3  # local optima the attack improves by trading within a search, where tightness counts


class _Task:
    """Test points with what is to be proved about them: those in `members` are predicted as wanted, the rest are wrong.

    `points`, `labels` and `exclude` belong to the members, in their order.
    """

    def __init__(
        self,
        knn: MahalanobisKNN,
        x: NDArray[np.floating],
        predicted: IntArray,
        wanted: IntArray,
        threat: ThreatModel,
        exclude: IntArray | None,
    ) -> None:
        self.x, self.predicted, self.threat = x, predicted, threat
        self.correct: BoolArray = predicted == wanted
        self.members = np.flatnonzero(self.correct)
        self.points, self.labels = x[self.members], wanted[self.members]
        self.exclude = None if exclude is None else exclude[self.members]
        self.triplets = knn._triplets_for(threat)
        self._knn = knn

    def predict(self, points: NDArray[np.floating], members: IntArray) -> IntArray:
        """Class codes of perturbed versions of some members, each with its own training rows left out."""
        return self._knn._predict_codes(points, None if self.exclude is None else self.exclude[members])

    def progress(self, callback: Callback | None) -> Callback | None:
        """`callback` counting all rows: the wrong ones are done from the start."""
        if callback is None:
            return None
        wrong = len(self.x) - len(self.members)
        return lambda done, total, info: callback(done + wrong, total + wrong, info)

    def nothing_moved(self) -> NDArray[np.floating]:
        """Adversarial points before any is found: the wrong points themselves, NaN for the members."""
        points = self.x.copy()
        points[self.members] = np.nan
        return points


class MahalanobisKNN(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """K-nearest-neighbour classification under d(x, x') = (x - x')ᵀM(x - x').

    The K nearest training points vote; the smallest label wins a tied vote, and training order decides between
    equal distances. Distances that matter are computed in float64 from differences, whatever the input's dtype.

    Parameters
    ----------
    n_neighbors : K, at least 1.
    metric : None (Euclidean), a PSD matrix M, or a fitted learner with ``components_`` or
        ``get_mahalanobis_matrix()``.
    device : "auto", "cpu" or "cuda": where matrix products run.

    Attributes
    ----------
    classes_ : the labels, sorted.
    metric_ : the :class:`~arml_core.metric.Metric` in use.
    """

    def __init__(self, n_neighbors: int = 1, metric: Any = None, device: str = "auto") -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.device = device

    @in_full_precision
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Remember the training set and prepare it for the metric."""
        x: NDArray[np.floating]
        x, labels = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"all rows are class {self.classes_[0]!r}: one class; a classifier needs two")
        check_k(self.n_neighbors, len(x))
        if np.may_share_memory(x, np.asarray(X)):
            x = x.copy()  # what the caller does to X later must not reach a certificate
        self.metric_ = as_metric(self.metric, x.shape[1])
        self._reference = PreparedReferences(
            x, codes.astype(np.intp), len(self.classes_), self.metric_, device_for_certificates(self.device)
        )
        self._triplets: dict[ThreatModel, Triplets] = {}
        return self

    @in_full_precision
    def predict(
        self,
        X: ArrayLike,
        exclude: ArrayLike | Sequence[ArrayLike] | None = None,
        callback: Callback | None = None,
    ) -> NDArray[Any]:
        """The label of each row; `exclude` and `callback` as in :meth:`certify`."""
        x = self._checked_points(X)
        codes = self._predict_codes(
            x, checked_exclude(exclude, len(x), len(self._reference), self.n_neighbors), callback
        )
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    @in_full_precision
    def kneighbors(
        self,
        X: ArrayLike,
        n_neighbors: int | None = None,
        exclude: ArrayLike | Sequence[ArrayLike] | None = None,
        callback: Callback | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """Squared distances to the nearest training rows, and their indices, nearest first."""
        x = self._checked_points(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        left_out = checked_exclude(exclude, len(x), len(self._reference), self.n_neighbors)
        check_k(k, len(self._reference) - (0 if left_out is None else left_out.shape[1]))
        return self._reference.nearest(x.astype(np.float64), k, left_out, callback)

    @in_full_precision
    @with_one_blas_thread
    def certify(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        method: str = "votes",
        threat: ThreatModel | None = None,
        exclude: ArrayLike | Sequence[ArrayLike] | None = None,
        budget: float = 1.0,
        callback: Callback | None = None,
    ) -> Certificates:
        """How far each row can move before its answer changes.

        Parameters
        ----------
        y : the true labels; points that are predicted otherwise have radius 0. Without `y` the classifier's own
            answer is certified.
        method : "votes" (any K), "theorem1" (odd K, the paper's certificate), "exact" (K = 1, both sides) or
            "search" (any K, both sides, as tight as `budget` allows). :mod:`arml_core.certificates` has the table of
            what each supports.
        threat : what the attacker may do; ℓ2 without limits by default.
        exclude : training rows to leave out, for leave-one-out: one index per row of X (-1 for none), or a
            sequence of indices per row.
        budget : seconds per point for "search", about: its attack is not cut off, and the proof has at least half.
        callback : ``callback(done, total, info)``, called as points are finished.

        Returns
        -------
        :class:`~arml_core.Certificates`, in the order of X.

        Notes
        -----
        Rounding lowers `lower`, and never raises it. Each squared distance counts as off by 16(D + r + 8)·2⁻⁵³ of
        ‖|G||x - x_i|‖² (D features, G of r rows; 4e-12 of it for a thousand features). Beyond that at most 1e-8 of the
        radius is given away, or more where a row of another class all but coincides with one of x's own. Where at most
        two features can move, "search" takes squared distances that agree to 1e-10 of the largest in reach for equal,
        and gives away what that costs.

        The promise is about :meth:`predict`, at x + δ as stored, for perturbations of any size: where rounding could
        decide between rows of different classes, ``predict`` compares their distances without rounding, so it answers
        as exact arithmetic does, ties by training order. (Under a G that is not diagonal, rows whose G x differ by no
        more than their rounding errors are one place to both: they tie.) Features, metrics and costs whose squares
        overflow or underflow (about 1e±140) are refused.
        """
        threat = ThreatModel() if threat is None else threat
        check_is_fitted(self)
        check_support(method, self.n_neighbors, threat)
        if not budget >= 0:
            raise ValueError(f"budget must be a number of seconds, at least 0; got {budget}")
        task = self._task(X, y, threat, exclude, callback)
        if method == "theorem1":
            check_class_sizes(self._reference, self.classes_, task.labels, task.exclude, self.n_neighbors)
        lower, upper = np.zeros(len(task.x)), np.where(task.correct, np.inf, 0.0)
        exact, adversarial = ~task.correct, task.nothing_moved()
        if method in ("exact", "search"):
            both = self._both_sides(task, method, budget, task.progress(callback))
            lower[task.members], upper[task.members], exact[task.members] = both.lower, both.upper, both.exact
            adversarial[task.members] = both.adversarial
        else:
            lower[task.members] = self._bound(task, method, task.progress(callback))
        lower = np.where(lower > 0, lower, 0.0)  # what is not a number promises nothing
        predicted = self.classes_[task.predicted]
        return Certificates(lower, upper, exact, predicted, task.correct, adversarial, method, threat)

    @in_full_precision
    @with_one_blas_thread
    def attack(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        method: str = "whitebox",
        threat: ThreatModel | None = None,
        exclude: ArrayLike | Sequence[ArrayLike] | None = None,
        steps: int = BOUNDARY_STEPS,
        random_state: int = 0,
        callback: Callback | None = None,
    ) -> AttackResult:
        """A small perturbation of each row that changes its answer, checked with :meth:`predict`.

        Parameters
        ----------
        method : "whitebox" (knows the training set; strong and fast) or "boundary" (only asks for answers; the
            attack of the paper's experiments).
        steps, random_state : of the boundary attack; the white-box attack uses no random numbers.

        The other parameters are those of :meth:`certify`.
        """
        threat = ThreatModel() if threat is None else threat
        if method not in ("whitebox", "boundary"):
            raise ValueError(f"method must be whitebox or boundary; got {method!r}")
        check_whole("steps", steps, at_least=1)
        check_whole("random_state", random_state, at_least=0)
        task = self._task(X, y, threat, exclude, callback)
        upper, adversarial = np.where(task.correct, np.inf, 0.0), task.nothing_moved()
        settings: dict[str, int | float] = {}
        if method == "boundary":
            settings = {"steps": steps, "seed": random_state}
            found = self._boundary(task, steps, random_state, callback)
        elif self._is_exact_case(threat):
            both = self._both_sides(task, "exact", 0.0, task.progress(callback))
            found = both.upper, both.adversarial
        else:
            found = whitebox_attack(
                task.triplets,
                task.points,
                task.labels,
                self.n_neighbors,
                task.predict,
                task.exclude,
                callback=task.progress(callback),
            )
        upper[task.members], adversarial[task.members] = found
        predicted = self.classes_[task.predicted]
        return AttackResult(upper, adversarial, predicted, task.correct, method, threat, settings)

    def _is_exact_case(self, threat: ThreatModel) -> bool:
        return self.n_neighbors == 1 and threat.norm == 2 and threat.box is None

    def _bound(self, task: _Task, method: str, callback: Callback | None) -> FloatArray:
        points = task.points.astype(np.float64)
        return triplet_bound(task.triplets, points, task.labels, self.n_neighbors, method, task.exclude, callback)

    def _both_sides(self, task: _Task, method: str, budget: float, callback: Callback | None) -> Interval:
        if method == "exact" or self._is_exact_case(task.threat):

            def flips(points: NDArray[np.floating], members: IntArray) -> BoolArray:
                return np.asarray(task.predict(points, members) != task.labels[members])

            return exact_radius(task.triplets, task.points, task.labels, flips, task.exclude, callback)

        def attack(b: int, start: FloatArray | None) -> tuple[float, NDArray[np.floating]] | None:
            left_out = None if task.exclude is None else task.exclude[b]
            return attack_point(
                task.triplets,
                task.points[b],
                int(task.labels[b]),
                self.n_neighbors,
                lambda points: task.predict(points, np.full(len(points), b)),
                left_out,
                start,
                traded=SEARCH_TRADED,
            )

        return search_radius(
            task.triplets,
            task.points,
            task.labels,
            self._bound(task, "votes", None),
            self.n_neighbors,
            task.predict,
            attack,
            task.exclude,
            budget,
            callback=callback,
        )

    def _boundary(
        self, task: _Task, steps: int, random_state: int, callback: Callback | None
    ) -> tuple[FloatArray, NDArray[np.floating]]:
        x = self._reference.x
        resolved = task.triplets.threat
        low, high = x.min(axis=0).astype(np.float64), x.max(axis=0).astype(np.float64)
        if resolved.box is not None:
            low[resolved.movable] = np.maximum(resolved.box[0], low[resolved.movable])
            high[resolved.movable] = np.minimum(resolved.box[1], high[resolved.movable])
        fallback = x[[np.argmax(self._reference.label != c) for c in range(self._reference.n_classes)]]
        predict = NeighborListPredictor(self._reference, self.n_neighbors, len(task.points), task.exclude, task.predict)
        upper, found = boundary_attack(
            task.points,
            task.labels,
            predict,
            resolved,
            (low, np.maximum(low, high)),
            fallback[task.labels],
            steps,
            random_state,
            callback,
        )
        rows = np.flatnonzero(np.isfinite(upper))
        if len(rows):  # lists of neighbours answered on the way; the classifier has the last word
            in_vain = rows[task.predict(found[rows], rows) == task.labels[rows]]
            upper[in_vain], found[in_vain] = np.inf, np.nan
        return upper, found

    def _task(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        threat: ThreatModel,
        exclude: ArrayLike | Sequence[ArrayLike] | None,
        callback: Callback | None,
    ) -> _Task:
        x = self._checked_points(X)
        left_out = checked_exclude(exclude, len(x), len(self._reference), self.n_neighbors)

        def still_none(done: int, total: int, info: Mapping[str, Any]) -> None:
            report(callback, 0, total, **info)  # predicting comes first; it finishes no point, but can be stopped

        predicted = self._predict_codes(x, left_out, still_none)
        wanted = predicted if y is None else checked_labels(y, len(x), self.classes_)
        return _Task(self, x, predicted, wanted, threat, left_out)

    def _predict_codes(
        self, x: NDArray[np.floating], exclude: IntArray | None, callback: Callback | None = None
    ) -> IntArray:
        reference, points = self._reference, x.astype(np.float64)
        if exclude is not None:
            _, neighbours = reference.nearest(points, self.n_neighbors, exclude, callback)
        else:
            neighbours, decided = reference.nearest_sets(points, self.n_neighbors, callback)
            open_rows = np.flatnonzero(~decided)
            if len(open_rows):
                neighbours[open_rows] = reference.nearest(points[open_rows], self.n_neighbors, None, callback)[1]
        votes = np.zeros((len(x), reference.n_classes), dtype=np.intp)
        np.add.at(votes, (np.arange(len(x))[:, None], reference.label[neighbours]), 1)
        return np.asarray(votes.argmax(axis=1))  # the first maximum: the smallest label

    def _triplets_for(self, threat: ThreatModel) -> Triplets:
        resolved = threat.resolve(self.n_features_in_)  # also where it is known: one for other features may equal it
        known = self._triplets.get(threat)
        if known is None:
            known = Triplets(self._reference, resolved)
            self._triplets = {threat: known}  # only the last: h is as large as X; another thread may have its own
        return known

    def _checked_points(self, X: ArrayLike) -> NDArray[np.floating]:
        check_is_fitted(self)
        check_k(self.n_neighbors, len(self._reference))  # it may have been changed since fit
        x: NDArray[np.floating] = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return x
