"""Random certification problems of every awkward kind, each a function of a seed and its own number alone."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from arml_core import GMLVQ, NCA, AdversarialPruning, KMeansPrototypes, MahalanobisKNN, Metric
from arml_core.references import ReferenceLearner
from tests.attacks.problems import Problem
from tests.certificates.cases import engine_threat
from tests.oracles import Threat

METRICS = ("identity", "full", "low rank", "scaled")
NORMS = (1.0, 2.0, np.inf)
LAYOUTS = ("plain", "grid", "duplicates", "clusters")
SCALES = np.array([1e-3, 1.0, 1e3])  # of a badly scaled metric's features
MOST_VERSIONS = 9  # of a row that may be switched, but for its own
MOST_SETS = 130  # neighbour sets the oracle enumerates
ORACLE_CONDITION = 1e3  # of a learned G: beyond it the oracle's programs may fail


def make_problem(seed: int, number: int) -> Problem:
    """Problem `number` of a campaign; metrics, norms and layouts come in turn, the rest is drawn."""
    rng = np.random.default_rng([seed, number])
    metric, norm = METRICS[number % 4], NORMS[number // 4 % 3]
    layout = LAYOUTS[number // 12 % 4]
    d, n = int(rng.choice([1, 2, 3, 3, 4])), int(rng.integers(5, 11))
    X = _rows(layout, n, d, rng)
    y = _labels(n, rng)
    M = _matrix(metric, d, rng)
    x, own = _point(X, rng)
    exclude = tuple(sorted({*own, *_others(n, rng)})) if own or rng.random() < 0.1 else ()
    kept = n - len(exclude)
    k = int(rng.integers(2, max(3, 2 * kept // 3))) if rng.random() < 0.7 else 1
    return Problem(M, X, y, x, _few_enough(kept, k), _threat(norm, X, rng), exclude)


def make_crowd(seed: int, number: int) -> Problem:
    """A problem with more rows than the first lists of candidates hold, and few neighbours: K is 1 or 2."""
    plain = make_problem(seed, number)
    rng = np.random.default_rng([seed, number, 3])
    k, d = 1 + number // len(METRICS) % 2, plain.X.shape[1]
    n = int(rng.integers(120, 260)) if k == 1 else int(rng.integers(30, 50))
    X = _rows(LAYOUTS[number // 12 % 4], n, d, rng)
    if number % 5 == 0:  # rows that all but coincide
        X = X[rng.integers(n // 3, size=n)] + 1e-6 * rng.normal(size=X.shape)
    x, own = _point(X, rng)
    return Problem(plain.M, X, _labels(n, rng), x, k, _threat(plain.threat.norm, X, rng), own)


def make_pile(seed: int, number: int) -> Problem:
    """Many rows in a few places of a plane or a line, of any class: only training order tells them apart."""
    rng = np.random.default_rng([seed, number, 4])
    d, n = int(rng.choice([1, 2, 2, 2])), int(rng.integers(8, 26))
    places = rng.integers(-3, 4, size=(int(rng.integers(2, 7)), d)).astype(float)
    if number % 2:
        places += rng.normal(size=places.shape).round(2)
    away = (0.0, 0.0, 100.0)[number // 2 % 3]
    M = np.eye(d) if number // 6 % 2 else _matrix(METRICS[1 + number % 2], d, rng)
    X, x = places[rng.integers(len(places), size=n)] + away, rng.integers(-6, 7, size=d) / 2 + away
    k = int(rng.integers(2, min(12, n)))
    problem = Problem(M, X, _labels(n, rng), x, k, _threat(NORMS[number % 3], X, rng))
    return in_single_precision(problem) if number // 12 % 2 else problem


def make_ruled(seed: int, number: int) -> Problem:
    """A problem with ties as sets, a target, or both; the target may be the answer itself."""
    return _ruled(make_problem(seed, number), np.random.default_rng([seed, number, 6]))


def make_ruled_pile(seed: int, number: int) -> Problem:
    """The same of rows in a few places."""
    return _ruled(make_pile(seed, number), np.random.default_rng([seed, number, 6]))


def _ruled(problem: Problem, rng: np.random.Generator) -> Problem:
    target = int(rng.choice(problem.y)) if rng.random() < 0.6 else None
    return replace(problem, ties="any" if target is None or rng.random() < 0.5 else "order", target=target)


def make_switched(seed: int, number: int) -> Problem:
    """A problem in which some columns are exchanged whole: categories beside the others, or any of its own columns.

    Everything else comes in random combination: costs, frozen and free features, directions, a box (for each row),
    ties as sets, targets, rows on top of each other, references that are no training rows, float32.
    """
    rng = np.random.default_rng([seed, number, 8])
    make = (make_problem, make_problem, make_problem, make_chosen, make_pile)[number % 5]
    problem = make(seed, number)
    if make is make_pile:  # beside categories it is no plane any more, and the oracle goes through sets of neighbours
        problem = replace(problem, k=_few_enough(len(problem.X) - len(problem.exclude), problem.k))
    beside = not isinstance(problem, ReferenceProblem) and rng.random() < 0.7
    groups: list[list[int]] = []
    if beside:
        problem, groups = _with_categories(problem, METRICS[number // 5 % 4], rng)
    d = problem.X.shape[1]
    if not beside or rng.random() < 0.2:  # any columns, whatever else they were to be
        own = [f for f in range(d) if f not in {feature for group in groups for feature in group}]
        groups.append(sorted(rng.choice(own, size=min(len(own), int(rng.integers(1, 3))), replace=False).tolist()))
    problem = replace(problem, threat=_switching(problem, groups, rng))
    if rng.random() < 0.4:
        problem = _ruled(problem, rng)
    return in_single_precision(problem) if beside and rng.random() < 0.15 else problem


def _with_categories(problem: Problem, metric: str, rng: np.random.Generator) -> tuple[Problem, list[list[int]]]:
    """The problem with one or two categories more, as 0/1 columns or as one column of numbers, and their columns."""
    n, d = problem.X.shape
    own, blocks, groups = problem.X[int(rng.integers(n))], [problem.X], []
    point, start = [problem.x], d
    for _ in range(int(rng.integers(1, 3))):
        size = int(rng.integers(2, 4))
        values = np.eye(size) if rng.random() < 0.6 else np.arange(size)[:, None] * 0.5
        values = values * float(rng.choice([0.1, 1.0, 1.0, 3.0]))
        codes = rng.integers(size, size=n)
        same = np.flatnonzero((problem.x == problem.X).all(axis=1))
        at = int(codes[same[0]]) if len(same) else int(rng.integers(size))
        blocks.append(values[codes])
        point.append(values[at] if rng.random() < 0.85 else values[at] + 0.25)  # a value that no other row has
        groups.append(list(range(start, start + values.shape[1])))
        start += values.shape[1]
    more, threat = start - d, problem.threat
    costs = None if threat.costs is None else np.append(threat.costs, 2.0 ** rng.uniform(-2, 2, size=more))
    box = None
    if threat.box is not None:  # the limits of switched columns count for nothing
        low, high = (np.broadcast_to(np.asarray(side, dtype=float), len(own)) for side in threat.box)
        box = (np.append(low, np.full(more, 0.4)), np.append(high, np.full(more, 0.6)))
    threat = replace(threat, costs=costs, box=box)
    X, x = np.hstack(blocks), np.concatenate(point)
    X, x = X.astype(problem.X.dtype), x.astype(problem.x.dtype)
    return replace(problem, M=_matrix(metric, start, rng), X=X, x=x, threat=threat), groups


def _switching(problem: Problem, groups: list[list[int]], rng: np.random.Generator) -> Threat:
    """The problem's threat with switches; what else their columns were to be is taken from them."""
    switched = {feature for group in groups for feature in group}
    lists = {
        name: tuple(feature for feature in getattr(problem.threat, name) if feature not in switched)
        for name in ("frozen", "only_up", "only_down", "at_no_cost")
    }
    movable = [f for f in range(problem.X.shape[1]) if f not in switched and f not in lists["frozen"]]
    if set(movable) == set(lists["at_no_cost"]):
        lists["at_no_cost"] = ()
    switches, most = [], MOST_VERSIONS
    for group in groups:
        values = np.unique(problem.value_rows[:, group].astype(float), axis=0)
        few = max(1, min(len(values), most))
        most //= few
        if few < len(values) or rng.random() < 0.3:
            chosen = np.sort(rng.choice(len(values), size=few, replace=False))
            switches.append((tuple(group), tuple(map(tuple, values[chosen].tolist()))))
        else:
            switches.append((tuple(group), None))
    at_once = None if rng.random() < 0.6 else int(rng.integers(0, 1 + len(groups)))
    return replace(problem.threat, **lists, switches=tuple(switches), most=at_once)


def metric_kind(number: int) -> str:
    return METRICS[number % 4]


@dataclass
class LineProblem(Problem):
    """A problem in which one feature moves, with the metric given as G: ε* can be had in fractions."""

    G: np.ndarray | None = None

    def fitted(self) -> MahalanobisKNN:
        return MahalanobisKNN(self.k, Metric.from_components(self.G)).fit(self.X, self.y)

    @property
    def feature(self) -> int:
        return self.threat.free(len(self.x))[0]


def make_line(seed: int, number: int, factor: float | np.ndarray) -> LineProblem:
    """Line problem `number`, features in units that make them `factor` times as large."""
    rng = np.random.default_rng([seed, number, 1])
    d, n = int(rng.integers(1, 5)), int(rng.integers(5, 14))
    X = _rows(LAYOUTS[number % 4], n, d, rng)
    y = _labels(n, rng)
    if number // 4 % 3 == 0:
        G = rng.normal(size=(int(rng.integers(1, d + 1)), d))
    elif number // 4 % 3 == 1:
        G = np.diag(2.0 ** rng.integers(-3, 4, size=d))
    else:  # whole numbers off the diagonal: on a grid, rows tie along the whole line
        G = np.triu(rng.integers(-1, 2, size=(d, d)), 1) + np.eye(d)
    x, own = _point(X, rng)
    k = int(rng.integers(1, 1 + 2 * (n - len(own)) // 3)) if rng.random() < 0.6 else 1
    feature = int(rng.integers(d))
    drawn = _threat(NORMS[number % 3], X * factor, rng)
    others = tuple(f for f in range(d) if f != feature)
    threat = replace(drawn, frozen=others, only_up=(), only_down=(), at_no_cost=())
    return LineProblem(G.T @ G, X * factor, y, x * factor, k, threat, own, G)


def make_apart(seed: int, number: int) -> LineProblem:
    """A line problem whose features, and sometimes weights and costs, are in units up to 1e±40 apart."""
    rng = np.random.default_rng([seed, number, 2])
    width = make_line(seed, number, 1.0).X.shape[1]
    reach = (6, 15, 40)[number // 12 % 3]
    problem = make_line(seed, number, 10.0 ** rng.uniform(-reach, reach, width))
    if number % 2:  # and a metric that makes up for it, or for other units
        G = problem.G * 10.0 ** rng.uniform(-reach, reach, width)
        problem = replace(problem, G=G, M=G.T @ G)
    if number // 2 % 2:
        costs = 10.0 ** rng.uniform(-reach, reach, width)
        problem = replace(problem, threat=replace(problem.threat, costs=costs))
    return problem


@dataclass
class ManyPoints(Problem):
    """A problem with several points instead of `x`, each with rows of its own that are left out."""

    points: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    left_out: list[tuple[int, ...]] = field(default_factory=list)
    boxes: tuple[np.ndarray, np.ndarray] | None = None

    def fitted(self, n_jobs: int | None = None) -> MahalanobisKNN:
        return MahalanobisKNN(self.k, self.M, n_jobs=n_jobs).fit(self.X, self.y)

    def alone(self, b: int) -> ManyPoints:
        return self.some(slice(b, b + 1))

    def some(self, which: slice) -> ManyPoints:
        boxes = None if self.boxes is None else (self.boxes[0][which], self.boxes[1][which])
        return replace(self, points=self.points[which], left_out=self.left_out[which], boxes=boxes)

    @property
    def options(self) -> dict[str, Any]:
        exclude = [list(gone) for gone in self.left_out] if any(self.left_out) else None
        threat = replace(self.threat, box=self.boxes, by_row=True) if self.boxes is not None else self.threat
        return {**super().options, "threat": engine_threat(threat), "exclude": exclude}


def make_together(seed: int, number: int) -> ManyPoints:
    """Hundreds of rows of several classes, and points whose lists of candidates must become longer, each by its own.

    Around each of a few centres lie rows of one class, and on one side of them a shell of another, in which hundreds
    are about equally near. Points are the centres and what is around them, or, of every third problem, any rows of
    overlapping classes; some of them are rows themselves, and left out of their own neighbours.
    """
    rng = np.random.default_rng([seed, number, 5])
    d, k = int(rng.choice([2, 4, 8, 10, 12])), int(rng.choice([1, 1, 2, 3, 5, 8, 11]))
    X, y, centres = _overlapping(d, rng) if number % 3 == 2 else _shells(d, rng)
    rows = rng.choice(len(X), size=4, replace=False)
    around = centres + 0.3 * rng.normal(size=centres.shape)
    points = np.concatenate([centres[::-1], around, X[rows]])
    if number // 4 % 2:
        points = points[: len(centres)]  # nobody among them for whom the first list is enough
    points = points[rng.permutation(len(points))] if rng.random() < 0.5 else points
    left_out = [tuple(np.flatnonzero((point == X).all(axis=1)).tolist()) for point in points]
    if rng.random() < 0.25:
        left_out = [tuple(sorted({*gone, *_others(len(X), rng)})) for gone in left_out]
    scale = np.ones(d) if number % 4 else np.exp2(rng.integers(-6, 7, size=d))
    M = _matrix(METRICS[number % 4], d, rng) if rng.random() < 0.3 else np.diag(scale**-2.0)
    threat = _threat(NORMS[number // 4 % 3] if rng.random() < 0.5 else 2.0, X, rng)
    points = points * scale
    boxes = None
    if threat.by_row:  # limits of its own for each point, around those of all
        wider = rng.uniform(0, 0.3, size=points.shape) * np.ptp(points, axis=0)
        boxes = (threat.box[0] - wider, threat.box[1] + wider)
    threat = replace(threat, by_row=False)
    if len(threat.free(d)) <= 2:  # where nothing flips one way, `exact` looks at every two rows of a plane
        threat = replace(threat, only_up=(), only_down=())
    return ManyPoints(M, X * scale, y, points[0], k, threat, (), points, left_out, boxes)


def _shells(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels and centres; see :func:`make_together`."""
    n_classes, n_centres = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    centres = np.zeros((n_centres, d))
    centres[:, 0] = 30.0 * np.arange(n_centres)
    rows, labels = [], []
    for centre in centres:
        count, radius, own = int(rng.integers(150, 500)), rng.uniform(6, 14), int(rng.random() < 0.2)
        side = rng.normal(size=(count, d)) + 12 * np.eye(d)[1]
        side *= radius * rng.uniform(1, 1.02, size=(count, 1)) / np.linalg.norm(side, axis=1, keepdims=True)
        rows += [centre + rng.normal(size=(60, d)), centre + side]
        rivals = [c for c in range(n_classes) if c != own]
        labels += [np.full(60, own), rng.choice(rivals, size=count)]
    rows.append(rng.normal(size=(12 * n_classes, d)) + 100.0)  # enough of each class for every K
    labels.append(np.arange(12 * n_classes) % n_classes)
    return np.concatenate(rows), np.concatenate(labels), centres


def _overlapping(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and labels of classes with the same width, and some points among them."""
    n_classes, n = int(rng.integers(2, 6)), int(rng.integers(300, 700))
    centres, y = rng.normal(size=(n_classes, d)), np.arange(n) % n_classes
    return centres[y] + 0.5 * rng.normal(size=(n, d)), y, centres


@dataclass
class ReferenceProblem(Problem):
    """A problem whose `X`, `y` and `M` are the references of a classifier that is fitted to other rows.

    `exclude` are places among the references; `left_out` are the same as training rows.
    """

    rows: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    labels: np.ndarray = field(default_factory=lambda: np.empty(0))
    learner: ReferenceLearner | None = None
    metric: np.ndarray | None = None
    left_out: tuple[int, ...] = ()

    def fitted(self) -> MahalanobisKNN:
        references = (self.X, self.y) if self.learner is None else self.learner
        return MahalanobisKNN(self.k, self.metric, references=references).fit(self.rows, self.labels)

    @property
    def value_rows(self) -> np.ndarray:
        return self.rows

    @property
    def options(self) -> dict[str, Any]:
        return {**super().options, "exclude": [list(self.left_out)] if self.left_out else None}

    @property
    def kind(self) -> str:
        return "given points" if self.learner is None else f"references of {type(self.learner).__name__}"


def make_chosen(seed: int, number: int) -> ReferenceProblem:
    """A problem whose references are, in turn, points of any kind, kept rows, or learned points with a learned metric.

    A class may have no reference, and of pruned rows there may be only one class left.
    """
    rng = np.random.default_rng([seed, number, 7])
    norm, layout = NORMS[number // 4 % 3], LAYOUTS[number // 12 % 4]
    d, n = int(rng.choice([1, 2, 3, 3, 4])), int(rng.integers(7, 15))
    rows, labels = _rows(layout, n, d, rng), _labels(n, rng)
    x, own = _point(rows, rng)
    learner, metric = _reference_learner(number % 4, rows, labels, rng)
    left_out, exclude = (), np.zeros(0, dtype=int)
    if learner is None:
        chosen = rng.choice(n, size=int(rng.integers(3, n)), replace=False)
        X, y = rows[chosen] + rng.integers(0, 2) * rng.normal(size=(len(chosen), d)), labels[chosen]
        found = metric
    else:
        ready = learner.fit(rows, labels, metric=metric)
        X, y = ready.references_, ready.reference_labels_
        found = metric if ready.components_ is None else ready.components_.T @ ready.components_
        if ready.reference_rows_ is not None and len(X) > 3:
            left_out = tuple(sorted({*own, *rng.choice(n, size=2).tolist()}))
            exclude = np.flatnonzero(np.isin(ready.reference_rows_, left_out))
    kept = len(X) - len(exclude)
    k = _few_enough(kept, int(rng.integers(1, 1 + max(1, 2 * kept // 3))))
    threat = _threat(norm, rows, rng)
    fitted_to = {"rows": rows, "labels": labels, "learner": learner, "metric": metric}
    M = np.eye(d) if found is None else found
    return ReferenceProblem(M, X, y, x, k, threat, tuple(exclude.tolist()), left_out=left_out, **fitted_to)


def _reference_learner(
    kind: int, rows: np.ndarray, labels: np.ndarray, rng: np.random.Generator
) -> tuple[ReferenceLearner | None, np.ndarray | None]:
    """A learner of references and the metric to learn them under; None for points that nobody learned."""
    if kind == 0:
        return None, _matrix(METRICS[int(rng.integers(4))], rows.shape[1], rng)
    if kind == 1:
        scale = float(rng.choice([0.1, 0.5, 1.0, 3.0]))
        pruning = AdversarialPruning(scale, norm=("l1", "l2", "linf")[int(rng.integers(3))])
        return pruning, None if rng.random() < 0.5 else _matrix("full", rows.shape[1], rng)
    if kind == 2:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the learned metric may be doubtful")
            learned = NCA(max_iter=3).fit(rows, labels)
        return KMeansPrototypes(int(rng.integers(1, 4)), random_state=0), learned.get_mahalanobis_matrix()
    learner = GMLVQ(int(rng.integers(1, 4)), n_epochs=1, random_state=0)
    if np.linalg.cond(learner.fit(rows, labels).components_) > ORACLE_CONDITION:
        learner.set_params(n_components=1)
    return learner, None


def _few_enough(n_rows: int, k: int) -> int:
    """The largest K, up to `k`, for which the oracle can go through all sets of neighbours."""
    while math.comb(n_rows, k) > MOST_SETS:
        k -= 1
    return k


def in_units(problem: Problem, factor: float) -> Problem:
    """The same problem with all features `factor` times as large."""
    box = problem.threat.box
    threat = problem.threat if box is None else replace(problem.threat, box=(box[0] * factor, box[1] * factor))
    return replace(problem, X=problem.X * factor, x=problem.x * factor, threat=threat)


def in_single_precision(problem: Problem) -> Problem:
    return replace(problem, X=problem.X.astype(np.float32), x=problem.x.astype(np.float32))


def as_code(problem: Problem) -> str:
    """Python that builds the problem's classifier and question without this package."""
    points = problem.points if isinstance(problem, ManyPoints) else problem.x[None]
    asked = ", ".join(f"{name}={value!r}" for name, value in problem.options.items() if name != "threat")
    metric = f"np.array({problem.M.tolist()})"
    if isinstance(problem, LineProblem):
        metric = f"Metric.from_components({problem.G.tolist()})"
    X, y, references = problem.X, problem.y, ""
    if isinstance(problem, ReferenceProblem):
        X, y = problem.rows, problem.labels
        metric = None if problem.metric is None else f"np.array({problem.metric.tolist()})"
        given = f"(np.array({problem.X.tolist()}), np.array({problem.y.tolist()}))"
        references = f", references={given if problem.learner is None else repr(problem.learner)}"
    return "\n".join(
        [
            "import numpy as np",
            "from arml_core import *",
            f"M = {metric}",
            f"X = np.array({X.tolist()}, dtype=np.{X.dtype})",
            f"y = np.array({y.tolist()})",
            f"x = np.array({points.tolist()}, dtype=np.{points.dtype})",
            f"threat = {problem.options['threat'].python().removeprefix('arml.')}",
            f"knn = MahalanobisKNN({problem.k}, M{references}).fit(X, y)",
            f"question = dict(threat=threat, {asked})",
            "print(knn.certify(x, method='votes', **question))",
            "print(knn.certify(x, method='search', **question))",
        ]
    )


def _rows(layout: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    if layout == "grid":  # whole numbers: distances tie exactly
        return rng.integers(-2, 3, size=(n, d)).astype(float)
    X = rng.normal(size=(n, d))
    if layout == "duplicates":
        return X[rng.integers(max(2, n // 2), size=n)]
    if layout == "clusters":
        return 10.0 * rng.integers(-1, 2, size=(n, 1)) + X
    return X


def _labels(n: int, rng: np.random.Generator) -> np.ndarray:
    """Two to five classes, two more often than others; the small ones may have a single row."""
    y = rng.integers(int(rng.choice([2, 2, 3, 4, 5])), size=n)
    y[:2] = 0, 1
    return rng.permutation(y)


def _matrix(kind: str, d: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "identity":
        return np.eye(d)
    if kind == "scaled":
        return np.diag(rng.choice(SCALES, size=d))
    rank = d if kind == "full" else int(rng.integers(1, max(2, d)))
    g = rng.normal(size=(rank, d))
    if kind == "low rank" and rng.random() < 0.5:  # small whole numbers: M is singular exactly
        g = rng.integers(-1, 3, size=(rank, d)).astype(float)
        g[0, 0] = 1.0
    return g.T @ g


def _point(X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, tuple[int, ...]]:
    """A test point, and the training row it is, if it is left out of its own neighbours."""
    kind = rng.choice(["anywhere", "middle", "training row", "leave one out"])
    a, b = rng.integers(len(X), size=2)
    if kind == "anywhere":
        return X[a] + rng.normal(size=X.shape[1]), ()
    if kind == "middle":
        return (X[a] + X[b]) / 2, ()
    return X[a].copy(), (int(a),) if kind == "leave one out" else ()


def _others(n: int, rng: np.random.Generator) -> list[int]:
    return [int(r) for r in rng.choice(n, size=rng.integers(0, 2), replace=False)]


def _threat(norm: float, X: np.ndarray, rng: np.random.Generator) -> Threat:
    d = X.shape[1]
    costs = 2.0 ** rng.uniform(-2, 2, size=d) if rng.random() < 0.25 else None
    n_frozen = int(rng.integers(1, d)) if d > 1 and rng.random() < 0.25 else 0
    frozen = tuple(sorted(int(f) for f in rng.choice(d, size=n_frozen, replace=False)))
    box = None
    if rng.random() < 0.3:
        width = np.ptp(X, axis=0)
        low = X.min(axis=0) + rng.uniform(-0.5, 0.3, size=d) * width
        box = (low, low + rng.uniform(0.4, 1.5) * width)
    way = rng.integers(0, 5, size=d) if rng.random() < 0.3 else np.zeros(d)
    only_up, only_down = (tuple(np.flatnonzero(way == kind).tolist()) for kind in (1, 2))
    movable = [f for f in range(d) if f not in frozen]
    at_no_cost: tuple[int, ...] = ()
    if len(movable) > 1 and rng.random() < 0.25:
        count = 1 if len(movable) == 2 or rng.random() < 0.7 else 2
        at_no_cost = tuple(sorted(int(f) for f in rng.choice(movable, size=count, replace=False)))
        middle, half = np.median(X, axis=0), rng.uniform(0.02, 0.5) * np.ptp(X, axis=0)
        low, high = (np.full(d, -np.inf), np.full(d, np.inf)) if box is None else box
        narrow = np.isin(np.arange(d), at_no_cost)
        box = (np.where(narrow, middle - half, low), np.where(narrow, middle + half, high))
    by_row = box is not None and rng.random() < 0.4
    return Threat(norm, costs, frozen, box, only_up, only_down, at_no_cost, by_row)
