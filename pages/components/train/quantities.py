"""What the charts of a training show, in words and formulas: for metrics, and for references."""

from __future__ import annotations

from arml_core.jobs import RunSpec

_METRIC = {
    "loss": ("Loss", "It should fall; the thick line evens out the chance in each draw of triplets."),
    "objective": ("Objective", "The solver moves it until it hardly changes any more."),
    "change": ("Change of the metric", "It should fall towards 0: then the metric is settled."),
    "radius": (
        "Mean radius",
        "It should rise: how far, on average, a training point can move before a point of another class is as near as "
        "one of its own (over the drawn triplets).",
    ),
}
_REFERENCES = {
    **_METRIC,
    "loss": ("Loss", "It should fall: by how much, on average, training rows miss what the method asks of them."),
    "radius": (
        "Mean radius",
        "It should rise: how far, on average, Theorem 1 certifies a training row against the prototypes of the other "
        "classes; a wrong answer counts as 0.",
    ),
}
_EIGENVALUES = "The eigenvalues are those of $M$: how much a direction counts."
_SMOOTHED = "The smoothed line is an exponential moving average with weight 0.05."
_METRIC_FORMULA = rf"""
ARML learns $G$, with $M = G^\top G$, by minimising the mean loss $\ell(\tilde\varepsilon)$ over triplets: a training
point $x$, a point $x_i$ of its class and one $x_j$ of another, both near to it, with

$$\tilde\varepsilon = \frac{{d(x,x_j) - d(x,x_i)}}{{2\,\lVert M(x_i-x_j)\rVert_2}},
\qquad d(x,x') = (x-x')^\top M\,(x-x').$$

The mean radius is the mean of $\max(\tilde\varepsilon, 0)$ over the triplets of an epoch. {_SMOOTHED} {_EIGENVALUES}
"""
_FORMULAS = {
    "robust_prototypes": rf"""
Robust prototypes $w_i$, and with them a metric $M = G^\top G$ unless it is left Euclidean, minimise the mean over the
training rows $x$ of $[\rho - r(x)]_+$, where $\rho$ is the target radius and

$$r(x) = \min_j \max_i \frac{{d(x,w_j) - d(x,w_i)}}{{2\,\lVert M(w_i-w_j)\rVert_*}}$$

over the prototypes $w_i$ of the row's class and $w_j$ of the others: the radius that Theorem 1 certifies for one
neighbour, in the dual norm $\lVert\cdot\rVert_*$ of the threat's. The mean radius is the mean of $[r(x)]_+$.
{_SMOOTHED} {_EIGENVALUES}
""",
    "gmlvq": rf"""
GMLVQ minimises the mean over the training rows of $(d^+ - d^-)/(d^+ + d^-)$: $d^+$ is the squared distance to the
nearest prototype of the row's class, $d^-$ to the nearest of another, with $d(x,w) = (x-w)^\top M\,(x-w)$. Nothing in
it asks for a radius. {_SMOOTHED} {_EIGENVALUES}
""",
    "kmeans_prototypes": r"""
The prototypes of a class are the centres $c_1, \dots, c_m$ of k-means: they minimise
$\sum_x \min_k \lVert x - c_k\rVert^2$ over the rows of that class alone, whatever the other classes are.
""",
    "adversarial_pruning": r"""
The fewest training rows are left out so that rows $x, x'$ of different classes keep
$\lVert x - x'\rVert \ge 2r$; for two classes no choice leaves out fewer. The rows that stay are what is compared with.
""",
}


def quantities_of(spec: RunSpec) -> dict[str, tuple[str, str]]:
    """The quantities that are drawn, each with its title and what to look for."""
    return _METRIC if spec.gives == "metric" else _REFERENCES


def formula_of(spec: RunSpec) -> str:
    """What the training minimises."""
    return _FORMULAS.get(spec.learner, _METRIC_FORMULA)
