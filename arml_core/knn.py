"""The nearest-neighbour classifier of a Mahalanobis metric, and what can be proved about its answers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .attacks import METHODS as ATTACKS
from .attacks import attack_point, boundary_attack, whitebox_attack
from .attacks.boundary import STEPS as BOUNDARY_STEPS
from .certificates import Triplets, check_support, exact_radius, search_radius, triplet_bound
from .certificates.training_rows import TrainingChanges, rows_to_relabel, rows_to_remove_or_add
from .checks import (
    check_class_sizes,
    check_k,
    check_whole,
    checked_exclude,
    checked_labels,
    checked_radii,
    checked_target,
    checked_ties,
)
from .device import device_for_certificates
from .neighbors.chosen import ChosenReferences, chosen_references, excluded_references
from .neighbors.point_set import PointSet
from .neighbors.prepared import PreparedReferences
from .neighbors.vote import FlipRule, possible_winners, winner
from .numerics.arrays import BoolArray, FloatArray, IntArray
from .numerics.precision import in_full_precision
from .numerics.threads import one_thread_per_operation, threads_for
from .progress import Callback, none_done
from .radii import Radii, at_most_upper
from .switching import SwitchedRows, over_combinations
from .threat import ResolvedThreat, ThreatModel
from .threat.resolved import check_lines
from .threat.switches import counted
from .untrusted import shortened

if TYPE_CHECKING:
    from .datasets.table import Layout

MOST_KEPT = 2**26  # bytes of training rows that are kept for their categories where they are not compared with
SEARCH_TRADED = 3  # local optima the attack improves by trading within a search, where tightness counts


@dataclass(frozen=True, eq=False)
class _AskedPoints:
    """All points of a call, and which of them are `open`: only for these is there anything to prove or to attack.

    `predicted` are the classifier's answers, as class codes; `correct` says which of them are the label in question.
    `everyone` may have other codes (see :meth:`MahalanobisKNN._one_against_rest`).
    """

    everyone: PointSet
    predicted: IntArray
    correct: BoolArray
    open: BoolArray

    def kept(self) -> PointSet:
        """The points whose answer is the one in question."""
        return self.everyone.take(np.flatnonzero(self.open))

    def progress(self, callback: Callback | None) -> Callback | None:
        """`callback` counting all points: the others are done from the start."""
        if callback is None:
            return None
        settled = int((~self.open).sum())
        return lambda done, total, info: callback(done + settled, total + settled, info)

    def unattacked(self, lower: FloatArray) -> Radii:
        """The kept points with what was proved about them; no attack has run."""
        points = self.kept()
        n, x = len(points), points.points
        return Radii(
            index=np.arange(n),
            lower=lower,
            upper=np.full(n, np.inf),
            exact=np.zeros(n, dtype=bool),
            correct=np.ones(n, dtype=bool),
            predicted=points.labels,
            adversarial=np.full(x.shape, np.nan, x.dtype),
        )

    def with_settled(self, kept: Radii, classes: NDArray[Any]) -> Radii:
        """The result for all points: one that is not open has radius 0, and is its own adversarial point."""
        n, at = len(self.everyone), np.flatnonzero(self.open)
        lower, upper, exact, adversarial = np.zeros(n), np.zeros(n), ~self.open, self.everyone.points.copy()
        lower[at] = at_most_upper(kept.lower, kept.upper, at)
        upper[at], exact[at], adversarial[at] = kept.upper, kept.exact, kept.adversarial
        lower = np.where(lower > 0, lower, 0.0)  # NaN proves nothing
        return Radii(
            index=np.arange(n),
            lower=lower,
            upper=upper,
            exact=exact,
            correct=self.correct,
            predicted=classes[self.predicted],
            adversarial=adversarial,
        )


class MahalanobisKNN(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """K-nearest-neighbour classification under d(x, x') = (x - x')ᵀM(x - x').

    The K nearest training points vote; the smallest label wins a tied vote, and training order decides between
    equal distances. Distances that matter are computed in float64 from differences, whatever the input's dtype.

    Parameters
    ----------
    n_neighbors : K, at least 1.
    metric : None (Euclidean), a PSD matrix M, or a fitted learner with ``components_`` or
        ``get_mahalanobis_matrix()``.
    references : which points to compare with. None for all training rows; a pair (points, labels); or a learner of
        :mod:`arml_core.references`, fitted, or unfitted: then `fit` fits a clone of it. A metric learned with them is
        used; one that learns none is fitted under `metric`.
    device : "auto", "cpu" or "cuda": where matrix products run.
    n_jobs : how many points are worked on at once, each on one thread: -1 for all cores, -2 for all but one; None for
        all cores, or as many as ``OMP_NUM_THREADS`` says. Results do not depend on it, but for `budget`.

    Attributes
    ----------
    classes_ : the labels, sorted.
    metric_ : the :class:`~arml_core.metric.Metric` in use.
    references_, reference_labels_ : the points that are compared with, and their labels.
    reference_learner_ : the fitted learner they come from, None if there is none or it was loaded from a file.
    layout_ : how a file's columns become features, where it was loaded from a file that says so; else None.
    """

    def __init__(
        self,
        n_neighbors: int = 1,
        metric: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
        references: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.device = device
        self.n_jobs = n_jobs
        self.references = references

    @in_full_precision
    @one_thread_per_operation
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Remember the training set and prepare it for the metric."""
        x: NDArray[np.floating]
        x, labels = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            only = shortened(repr(self.classes_[0]))
            raise ValueError(f"all rows are class {only}: one class; a classifier needs two")
        if self.references is None and np.may_share_memory(x, np.asarray(X)):
            x = x.copy()  # what the caller does to X later must not reach a certificate
        chosen = chosen_references(self.references, self.metric, x, labels)
        codes = codes if self.references is None else checked_labels(chosen.labels, len(chosen.points), self.classes_)
        kept = _kept_rows(x, X) if self.references is not None else x
        return self._prepare(chosen, codes, len(x), kept)

    def _prepare(
        self, chosen: ChosenReferences, codes: IntArray, n_train: int, train_rows: NDArray[np.floating] | None
    ) -> Self:
        """Compare with `chosen`, whose places in ``classes_`` are `codes`, from now on."""
        self._check_k(self.n_neighbors, len(chosen.points))
        self.metric_, self.reference_learner_ = chosen.metric, chosen.learner
        self.references_, self.reference_labels_ = chosen.points, self.classes_[codes]
        self._row_of_reference, self._n_train, self._train_rows = chosen.rows, n_train, train_rows
        self.layout_: Layout | None = None
        self._references = PreparedReferences(
            chosen.points, codes.astype(np.intp), len(self.classes_), self.metric_, device_for_certificates(self.device)
        )
        self._triplets: dict[ThreatModel, Triplets] = {}
        self._against_rest: dict[int, PreparedReferences] = {}
        return self

    def save(self, path: str | os.PathLike[str], layout: Layout | None = None) -> None:
        """Write the fitted classifier to one ``.npz``, whole or not at all; :func:`~arml_core.load_model` reads it.

        It answers bit for bit the same there. `layout` says how the columns of a file become its features
        (:mod:`arml_core.datasets.table`); by default it is that of the file this one was loaded from.
        """
        from .model_file import save_model  # it builds classifiers

        save_model(path, self, layout)

    @in_full_precision
    @one_thread_per_operation
    def predict(
        self,
        X: ArrayLike,
        exclude: ArrayLike | Sequence[ArrayLike] | None = None,
        callback: Callback | None = None,
    ) -> NDArray[Any]:
        """The label of each row; `exclude` and `callback` as in :meth:`certify`."""
        x = self._checked_points(X)
        left_out = self._left_out(exclude, len(x))
        codes = self._references.predict(x, self.n_neighbors, left_out, callback, threads_for(self.n_jobs))
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    @in_full_precision
    @one_thread_per_operation
    def possible_answers(self, X: ArrayLike, exclude: ArrayLike | Sequence[ArrayLike] | None = None) -> BoolArray:
        """Which of ``classes_``, (n, n_classes), some order of equal distances or of equal votes elects for each row.

        What :meth:`predict` answers is always among them. `exclude` is as in :meth:`certify`.
        """
        x = self._checked_points(X)
        left_out = self._left_out(exclude, len(x))
        votes = self._references.tied_votes(x, self.n_neighbors, left_out)
        return possible_winners(*votes, self.n_neighbors)

    @in_full_precision
    @one_thread_per_operation
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
        left_out = self._left_out(exclude, len(x))
        self._check_k(k, len(self._references) - (0 if left_out is None else left_out.shape[1]))
        return self._references.nearest(x.astype(np.float64), k, left_out, callback, threads_for(self.n_jobs))

    @in_full_precision
    @one_thread_per_operation
    def certify(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        method: str = "votes",
        threat: ThreatModel | None = None,
        exclude: ArrayLike | Sequence[ArrayLike] | None = None,
        budget: ArrayLike = 1.0,
        callback: Callback | None = None,
        at: ArrayLike | None = None,
        ties: str = "order",
        target: Any = None,
    ) -> Radii:
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
        budget : seconds per point for "search", or for each of them, about: its attack is not cut off, and the proof
            has at least half.
        callback : ``callback(done, total, info)``, called as points are finished.
        at : radii at which a verdict is wanted. "search" then spends its time only on points with one of them between
            both sides; a point that is certified at all of them from the start is not attacked, so its `upper` is +inf.
        ties : "order": training order decides between equal distances, and the smallest label wins equal votes, as in
            :meth:`predict`. "any": an answer counts as kept only if no order of equal distances and no way of breaking
            equal votes changes it, and `upper` belongs to a point that some order flips (:meth:`possible_answers`). A
            row whose own answer is tied has radius 0; `correct` still says what :meth:`predict` answers.
        target : a label: the radius is that of the smallest change after which the answer is this one. It is measured
            from the classifier's own answer, whatever `y` says: `y` only decides `correct`. A row that is already
            answered with the target has radius 0. "theorem1" knows no target.

        Returns
        -------
        :class:`~arml_core.Radii`, in the order of X.

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
        check_is_fitted(self)
        threat = self._by_place(threat)
        check_support(method, self.n_neighbors, threat, target is not None)
        if not np.all(np.asarray(budget) >= 0):
            raise ValueError(f"budget must be a number of seconds, at least 0; got {budget!r}")
        radii = checked_radii(at, method)
        rule = FlipRule(checked_ties(ties), checked_target(target, self.classes_))
        if threat.switches:
            return self._over_combinations(
                X, y, exclude, threat, rule, "certify", method, callback, budget if method == "search" else None, radii
            )
        asked = self._asked(X, y, exclude, callback, rule, threat)
        points, triplets = asked.kept(), self._triplets_of(asked.everyone.references, threat)
        if method == "theorem1":
            check_class_sizes(points, self.classes_)
        progress = asked.progress(callback)
        if method in ("exact", "search"):
            found = self._both_sides(triplets, points, method, budget, asked.open, radii, progress)
        else:
            lower = triplet_bound(triplets, points, method, progress)
            found = asked.unattacked(lower)
        settings = self._rule_settings(rule)
        return replace(asked.with_settled(found, self.classes_), method=method, threat=threat, settings=settings)

    @in_full_precision
    @one_thread_per_operation
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
        ties: str = "order",
        target: Any = None,
    ) -> Radii:
        """A small perturbation of each row that changes its answer, checked with :meth:`predict`.

        Parameters
        ----------
        method : "whitebox" (knows the training set; strong and fast) or "boundary" (only asks for answers; the
            attack of the paper's experiments).
        steps, random_state : of the boundary attack; the white-box attack uses no random numbers.

        The other parameters are those of :meth:`certify`.
        """
        if method not in ATTACKS:
            raise ValueError(f"method must be {' or '.join(ATTACKS)}; got {method!r}")
        check_whole("steps", steps, at_least=1)
        check_whole("random_state", random_state, at_least=0)
        check_is_fitted(self)
        threat = self._by_place(threat)
        rule = FlipRule(checked_ties(ties), checked_target(target, self.classes_))
        if threat.switches:
            own: Any = {"steps": steps, "random_state": random_state} if method == "boundary" else {}
            return self._over_combinations(X, y, exclude, threat, rule, "attack", method, callback, **own)
        asked = self._asked(X, y, exclude, callback, rule, threat)
        points, triplets = asked.kept(), self._triplets_of(asked.everyone.references, threat)
        settings = self._rule_settings(rule)
        if method == "boundary":
            settings = {"steps": int(steps), "seed": int(random_state), **settings}
            upper, adversarial = boundary_attack(triplets.threat, points, steps, random_state, callback)
        elif self._is_exact_case(triplets.threat):
            both = exact_radius(triplets, points, asked.progress(callback))
            upper, adversarial = both.upper, both.adversarial
        else:
            upper, adversarial = whitebox_attack(triplets, points, asked.progress(callback))
        found = replace(asked.unattacked(np.zeros(len(points))), upper=upper, adversarial=adversarial)
        return replace(asked.with_settled(found, self.classes_), method=method, threat=threat, settings=settings)

    @in_full_precision
    @one_thread_per_operation
    def certify_training(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        exclude: ArrayLike | Sequence[ArrayLike] | None = None,
        callback: Callback | None = None,
    ) -> TrainingChanges:
        """How many training rows must be removed, added or relabelled before the answer of each row of X can change.

        The three numbers are exact, with the metric and the scaling held fixed also where they were learned from the
        rows in question, and so is which rows were kept where `references` are some of them: then the kept rows are
        counted. Ties are decided as in :meth:`predict`; added rows come first among equal distances, as if they stood
        before all others. Labels are those of ``classes_``, also where a class loses its last row.

        Parameters
        ----------
        y : the true labels; where the answer is another one, all three numbers are 0. Without `y` the classifier's own
            answer is to be kept.
        exclude, callback : as in :meth:`certify`.
        """
        check_is_fitted(self)
        if self.references is not None and self._row_of_reference is None:
            raise ValueError(
                "these references are no training rows, so wrong training rows cannot be counted: they were learned or "
                "given. Use references=None, or references that keep some of the rows"
            )
        x = self._checked_points(X)
        left_out, threads = self._left_out(exclude, len(x)), threads_for(self.n_jobs)
        votes = self._references.votes(x, self.n_neighbors, left_out, none_done(callback), threads)
        predicted = winner(votes)
        correct = predicted == (predicted if y is None else checked_labels(y, len(x), self.classes_))
        asked = _AskedPoints(
            PointSet(self._references, self.n_neighbors, x, predicted, left_out, threads), predicted, correct, correct
        )
        removed, added, relabelled = (np.zeros(len(x)) for _ in range(3))
        removed[correct], added[correct] = rows_to_remove_or_add(asked.kept(), asked.progress(callback))
        relabelled[correct] = rows_to_relabel(votes[correct], predicted[correct])
        return TrainingChanges(
            predicted=self.classes_[predicted], correct=correct, removed=removed, added=added, relabelled=relabelled
        )

    def count_combinations(self, X: ArrayLike, threat: ThreatModel) -> IntArray:
        """How many combinations of switches `threat` allows for each row of X, the row itself among them."""
        x, threat = self._checked_points(X), self.spelled_out(threat)
        return counted(x, threat.switches, threat.max_switches) if threat.switches else np.ones(len(x), dtype=np.intp)

    def spelled_out(self, threat: ThreatModel | None) -> ThreatModel:
        """`threat` with every feature by its place, and every switch with its values: those of the training rows."""
        check_is_fitted(self)
        return self._with_values(self._by_place(threat))

    def training_rows(self) -> NDArray[np.floating] | None:
        """The rows that `fit` was given; None where they are too many to be kept beside references."""
        check_is_fitted(self)
        return self._train_rows

    def without_names(self) -> MahalanobisKNN:
        """The same classifier for rows that are plain arrays, also where it was fitted to named columns."""
        knn = copy(self)
        if hasattr(knn, "feature_names_in_"):
            del knn.feature_names_in_
        return knn

    def _by_place(self, threat: ThreatModel | None) -> ThreatModel:
        """The threat model with every feature by its place."""
        return (ThreatModel() if threat is None else threat).for_features(getattr(self, "feature_names_in_", None))

    def _with_values(self, threat: ThreatModel) -> ThreatModel:
        """The threat model with the values that switched features have in the training rows."""
        threat.check_width(self.n_features_in_)
        if any(switch.values is None for switch in threat.switches) and self._train_rows is None:
            raise ValueError(
                "the training rows are too many to be kept beside references that are none of them: give the values of "
                'each switch, {"features": …, "values": …}'
            )
        return threat.with_values(np.empty((0, self.n_features_in_)) if self._train_rows is None else self._train_rows)

    def _over_combinations(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        exclude: ArrayLike | Sequence[ArrayLike] | None,
        threat: ThreatModel,
        rule: FlipRule,
        kind: str,
        method: str,
        callback: Callback | None,
        budget: ArrayLike | None = None,
        at: tuple[float, ...] | None = None,
        **question: Any,
    ) -> Radii:
        """:meth:`certify` or :meth:`attack` where features may be switched."""
        x, threat = self._checked_points(X), self._with_values(threat)
        if threat.n_lines is not None:
            check_lines(threat.n_lines, len(x))
        n, named = len(x), checked_exclude(exclude, len(x), self._n_train, 0)
        knn = self.without_names()  # the versions of a row are arrays
        predicted = knn.predict(x, named, none_done(callback))
        correct = (
            np.ones(n, dtype=bool) if y is None else self.classes_[checked_labels(y, n, self.classes_)] == predicted
        )
        settings = self._rule_settings(rule)
        asked = SwitchedRows(
            knn,
            x,
            predicted if rule.target is None else None,
            correct if rule.target is None else np.ones(n, dtype=bool),
            None if named is None else list(named),
            threat,
            {name: value for name, value in settings.items() if name in ("ties", "target")},
        )
        whole = Radii(
            index=np.arange(n),
            lower=np.zeros(n),
            upper=np.zeros(n),
            exact=np.ones(n, dtype=bool),
            correct=correct,
            predicted=predicted,
            adversarial=x.copy(),
            method=method,
            threat=threat,
            settings={
                **({"steps": question["steps"], "seed": question["random_state"]} if question else {}),
                **settings,
            },
        )
        return over_combinations(asked, whole, kind, method, budget, at, callback, **question)

    def _rule_settings(self, rule: FlipRule) -> dict[str, Any]:
        """What of the rule is not as usual, as a result states it."""
        found: dict[str, Any] = {"ties": "any"} if rule.any_order else {}
        return found if rule.target is None else {**found, "target": self.classes_.tolist()[rule.target]}

    def _is_exact_case(self, threat: ResolvedThreat) -> bool:
        return self.n_neighbors == 1 and threat.norm == 2 and threat.box is None

    def _both_sides(
        self,
        triplets: Triplets,
        points: PointSet,
        method: str,
        budget: ArrayLike,
        is_open: BoolArray,
        at: tuple[float, ...] | None,
        callback: Callback | None,
    ) -> Radii:
        if self._is_exact_case(triplets.threat):
            return exact_radius(triplets, points, callback)
        if method == "exact":  # for one neighbour the search comes to an end by itself
            budget, at = np.inf, None
        budgets = np.broadcast_to(np.asarray(budget, dtype=np.float64), is_open.shape)[is_open]
        lower = triplet_bound(triplets, points, "votes")
        attack = partial(attack_point, traded=SEARCH_TRADED)
        return search_radius(triplets, points, lower, attack, budgets, at, callback)

    def _asked(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        exclude: ArrayLike | Sequence[ArrayLike] | None,
        callback: Callback | None,
        rule: FlipRule,
        threat: ThreatModel,
    ) -> _AskedPoints:
        x = self._checked_points(X)
        ranges = threat.resolve(self.n_features_in_).ranges(x)
        left_out = self._left_out(exclude, len(x))

        still_none, threads = none_done(callback), threads_for(self.n_jobs)
        predicted = self._references.predict(x, self.n_neighbors, left_out, still_none, threads)
        wanted = predicted if y is None else checked_labels(y, len(x), self.classes_)
        correct = predicted == wanted
        if rule.target is not None and self.n_neighbors == 1 and len(self.classes_) > 2:
            everyone = self._one_against_rest(x, predicted, left_out, threads, rule)
        else:
            everyone = PointSet(self._references, self.n_neighbors, x, predicted, left_out, threads, rule)
        everyone = replace(everyone, ranges=ranges)
        is_open = correct if rule.target is None else predicted != rule.target
        if rule.any_order:
            votes = self._references.tied_votes(x, self.n_neighbors, left_out, still_none, threads)
            winners = possible_winners(*votes, self.n_neighbors)
            is_open = is_open & ~rule.changed(rule.adverse(winners, predicted), predicted)
        return _AskedPoints(everyone, predicted, correct, is_open)

    def _one_against_rest(
        self, x: NDArray[np.floating], predicted: IntArray, left_out: IntArray | None, threads: int, rule: FlipRule
    ) -> PointSet:
        """The points among references of two classes, the target (1) and all others (0), for K = 1.

        The nearest row is of the target or it is not: which other class it has does not matter, and certificates of two
        classes are the tightest. With more neighbours it matters, because the votes of the others are counted apart.
        """
        assert rule.target is not None
        references = self._against_rest.get(rule.target)
        if references is None:
            own, codes = self._references, (self._references.label == rule.target).astype(np.intp)
            references = PreparedReferences(own.x, codes, 2, own.metric, own.device)
            self._against_rest = {rule.target: references}  # only the last, as of the triplets
        labels = (predicted == rule.target).astype(np.intp)
        return PointSet(references, 1, x, labels, left_out, threads, FlipRule(rule.any_order))

    def triplets_for(self, threat: ThreatModel) -> Triplets:
        """What certificates and attacks know of the training rows against one attacker."""
        check_is_fitted(self)
        return self._triplets_of(self._references, threat)

    def _triplets_of(self, references: PreparedReferences, threat: ThreatModel) -> Triplets:
        resolved = threat.resolve(self.n_features_in_)  # also where it is known: one for other features may equal it
        known = self._triplets.get(threat)
        if known is None or known.references is not references:
            known = Triplets(references, resolved)
            self._triplets = {threat: known}  # only the last: h is as large as X; another thread may have its own
        return known

    def _left_out(self, exclude: ArrayLike | Sequence[ArrayLike] | None, n: int) -> IntArray | None:
        """Which references each of n points does not see; `exclude` names training rows."""
        if exclude is not None and self.references is not None:
            named = checked_exclude(exclude, n, self._n_train, 0)
            exclude = excluded_references(named, self._row_of_reference, self._n_train)
        return checked_exclude(exclude, n, len(self._references), self.n_neighbors)

    def _check_k(self, k: Any, available: int) -> None:
        check_k(k, available, "training rows" if self.references is None else "references")

    def _checked_points(self, X: ArrayLike) -> NDArray[np.floating]:
        check_is_fitted(self)
        self._check_k(self.n_neighbors, len(self._references))  # it may have been changed since fit
        x: NDArray[np.floating] = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return x


def _kept_rows(x: NDArray[np.floating], given: ArrayLike) -> NDArray[np.floating] | None:
    """The training rows, apart from what the caller holds; None where they are too many."""
    if x.nbytes > MOST_KEPT:
        return None
    return x.copy() if np.may_share_memory(x, np.asarray(given)) else x
