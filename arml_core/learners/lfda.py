"""LFDA, local Fisher discriminant analysis (Sugiyama, JMLR 2007)."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics import euclidean_distances

from ..metric import Metric
from ..numerics.arrays import FloatArray
from ..progress import Callback, report
from .base import Codes, Features, Learned, MahalanobisLearner
from .checks import check_choice, check_int, check_rank
from .metric_learn_backend import BACKENDS, fit_metric_learn

VARIANTS = ("metric-learn", "published")
EMBEDDINGS = ("weighted", "orthonormalized", "plain")


class LFDA(MahalanobisLearner):
    """Directions that part the classes while near points of a class stay near: S_b v = λ S_w v, largest λ first.

    The affinity of two points of a class falls with their distance, in units of each one's distance to its k-th
    neighbour. metric-learn 0.7.0, with which the paper's rows were computed, departs from that twice: it reads a
    wrong column, so that shuffled distances to the class's k-th row stand for those to the k-th neighbours, and a
    sign makes S_b + 2 S_w of S_b, which adds 2 to each λ. The default repeats both, since that is what "LFDA" means
    in the paper's tables; ``variant="published"`` is the method of the article. On Satimage the exact 1-NN robust
    errors at the paper's radii are .125 .835 .917 .955 .989 1.000 by default (paper .125 .836 .919 .956 .992 1.000)
    and .102 .692 .878 .906 .922 .938 as published.

    Where the local within-class scatter S_w is singular (a constant feature, more features than points) the quotient
    λ has no bound in its null space and metric-learn fails or returns noise: these directions are left out of M,
    with a warning unless they are constant features.

    Parameters
    ----------
    n_components : the number of directions; None for all.
    k : the neighbour that sets the local scale of the affinity; None for min(7, n_features - 1).
    variant : "metric-learn" or "published", see above.
    embedding_type : "weighted" scales each direction by √λ, "plain" does not, "orthonormalized" makes G orthogonal.
    backend : "native", or "metric-learn" for the reference itself.
    """

    def __init__(
        self,
        *,
        n_components: int | None = None,
        k: int | None = None,
        variant: str = "metric-learn",
        embedding_type: str = "weighted",
        backend: str = "native",
    ) -> None:
        self.n_components = n_components
        self.k = k
        self.variant = variant
        self.embedding_type = embedding_type
        self.backend = backend

    def _learn(self, X: Features, codes: Codes, callback: Callback | None) -> Learned:
        rank = check_rank(self.n_components, X.shape[1])
        embedding = check_choice("embedding_type", self.embedding_type, EMBEDDINGS)
        published = check_choice("variant", self.variant, VARIANTS) == "published"
        if self.k is not None:
            check_int("k", self.k, 1)
        if check_choice("backend", self.backend, BACKENDS) == "metric-learn":
            return fit_metric_learn(
                "LFDA", X, codes, n_components=self.n_components, k=self.k, embedding_type=embedding
            )
        moving = np.flatnonzero(np.ptp(X, axis=0) > 0)
        if moving.size == 0:
            raise ValueError("LFDA needs a feature that varies; all of them are constant")
        k = min(7 if self.k is None else self.k, max(1, len(moving) - 1))
        scatter = _local_scatter(np.asarray(X[:, moving], dtype=np.float64), codes, k, published, callback)
        values, vectors = _solve(*scatter)
        values, vectors = values[:rank], vectors[:, :rank]
        if embedding == "weighted":
            vectors = vectors * np.sqrt(np.maximum(values, 0.0))
        elif embedding == "orthonormalized":
            vectors = np.linalg.qr(vectors)[0]
        components = np.zeros((vectors.shape[1], X.shape[1]))
        components[:, moving] = vectors.T
        return components, {}


def _local_scatter(
    X: FloatArray, codes: Codes, k: int, published: bool, callback: Callback | None
) -> tuple[FloatArray, FloatArray]:
    """S_b and S_w, the local between-class and within-class scatter matrices."""
    n, d = X.shape
    centred = X - X.mean(axis=0)  # both are made of differences: centring changes nothing but the rounding
    between, within = np.zeros((d, d)), np.zeros((d, d))
    n_classes = int(codes.max()) + 1
    for c in range(n_classes):
        members = centred[codes == c]
        size = len(members)
        k = min(k, size - 1)  # stays small for the classes after a small one, as in metric-learn
        weights = _affinity(X[codes == c], k, published)
        local = members.T @ (weights.sum(axis=0)[:, None] * members) - members.T @ weights @ members
        total = members.sum(axis=0)
        between += local / n + (1 - size / n) * members.T @ members + np.outer(total, total) / n
        within += local / size
        report(callback, c + 1, n_classes, metric=lambda: Metric.identity(d))
    overall = centred.sum(axis=0)
    between -= np.outer(overall, overall) / n
    between += -within if published else within
    return (between + between.T) / 2, (within + within.T) / 2


def _affinity(members: FloatArray, k: int, published: bool) -> FloatArray:
    """exp(-‖x_i - x_j‖² / (σ_i σ_j)); 0 where a σ is 0.

    σ_i is the distance to the k-th neighbour; metric-learn partitions each column for it, and then reads the k-th
    column instead of the k-th row.
    """
    squared = euclidean_distances(members, squared=True)
    sigma = np.sqrt(np.partition(squared, k, axis=1 if published else 0)[:, k])
    scale = np.outer(sigma, sigma)
    usable = scale > 0
    np.divide(squared, scale, out=squared, where=usable)
    weights: FloatArray = np.exp(-squared)
    weights[~usable] = 0.0
    return weights


def _solve(between: FloatArray, within: FloatArray) -> tuple[FloatArray, FloatArray]:
    """λ (descending) and v of S_b v = λ S_w v in the range of S_w, with v scaled to vᵀ S_w v = 1."""
    spectrum, axes = np.linalg.eigh(within)
    usable = spectrum > len(within) * np.finfo(np.float64).eps * max(float(spectrum[-1]), 0.0)
    if not usable.any():
        raise ValueError("LFDA needs two different points in a class; the points of each class are all the same")
    if not usable.all():
        warnings.warn(
            f"the classes do not vary in {int((~usable).sum())} of {len(usable)} directions; LFDA leaves them out",
            UserWarning,
            stacklevel=5,
        )
    whiten = axes[:, usable] / np.sqrt(spectrum[usable])
    values, inside = eigh(whiten.T @ between @ whiten)
    return values[::-1], (whiten @ inside)[:, ::-1]
