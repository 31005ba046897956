"""The formulas behind the sections, each folded away under its section."""

from __future__ import annotations

from ..formula import RADIUS_FORMULA

ERROR = r"""
Point $x$ with label $y$ has the robust radius $\varepsilon^*(x) = \min \{\lVert\delta\rVert_2 : f(x+\delta) \ne y\}$,
which is 0 if the answer is already wrong. The **robust error** at $\varepsilon$ is
$\frac1n\,\#\{i : \varepsilon^*(x_i) \le \varepsilon\}$. A certificate replaces $\varepsilon^*$ by a lower bound and so
gives an upper bound on the error, an attack does the opposite.
"""
DIFFERENCE = " The difference is ours less the paper's."
NETWORKS = r"""
**CROWN** bounds each margin $f_y - f_j$ of the network over the ball of radius $\varepsilon$ by a linear function
$a_j^\top x' + b_j$ from below. Its smallest value there is
$a_j^\top x + b_j - \varepsilon\,\lVert a_j\rVert_2$; the radius is the largest $\varepsilon$ found for which all of
them stay positive.

**Randomized smoothing** answers with the class that the network gives most often to $x + \mathcal N(0, \sigma^2 I)$. If
that class has a probability of at least $\underline p > \tfrac12$, the answer holds within
$\sigma\,\Phi^{-1}(\underline p)$; $\underline p$ is a Clopper–Pearson bound from samples, wrong with a probability
of at most 0.001.
"""
TRIPLETS = r"""
A training triplet $(x, x_i, x_j)$ has $x_i$ of the class of $x$ and $x_j$ of another one, both drawn from the points
of their kind nearest to $x$: as many as the size says. ARML enlarges
$\tilde\varepsilon = \frac{d(x,x_j) - d(x,x_i)}{2\,\lVert M(x_i-x_j)\rVert_2}$, averaged over the triplets through its
loss.
"""
FORMULAS = {
    "summary": ERROR + DIFFERENCE,
    "table1": ERROR + DIFFERENCE,
    "table2": ERROR + DIFFERENCE,
    "figure1": RADIUS_FORMULA,
    "figure2": ERROR + NETWORKS,
    "sensitivity": ERROR + TRIPLETS,
}
"""By the name of the section; runtime and datasets have none."""
