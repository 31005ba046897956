"""Certificates: proven lower bounds on how far a point must move before nearest neighbours answer differently.

=========  ==========  ===========  =====================  ===================  ==========  ======
method     neighbours  norms        box, one for each row  costs, frozen, free  ties "any"  target
=========  ==========  ===========  =====================  ===================  ==========  ======
theorem1   odd K       ℓ1, ℓ2, ℓ∞   yes                    yes                  yes         no
votes      any K       ℓ1, ℓ2, ℓ∞   yes                    yes                  yes         yes
exact      K = 1       ℓ1, ℓ2, ℓ∞   yes                    yes                  yes         yes
search     any K       ℓ1, ℓ2, ℓ∞   yes                    yes                  yes         yes
=========  ==========  ===========  =====================  ===================  ==========  ======

`theorem1` and `votes` give the lower side only; `exact` and `search` give both, `exact` together (to 1e-6, but for
flips that need a tie), `search` as close as its budget allows (together where at most two features can move, none of
them free). Directions count as a box. A free feature needs finite limits on both sides of the point; where free
features alone change an answer, its radius is 0 on both sides, and the adversarial point is not the point itself.
Values that switch whole are gone through by :mod:`arml_core.switching`, with any of these methods.

Every `lower` is rounded down by a bound on its floating-point error: each vector G(x - x_i) counts as off by
4(D + r + 8)·2⁻⁵³ of its terms' sizes (D features, G of r rows), about 10⁻¹² for a thousand features, and each squared
distance by four times that. float32 points are converted to float64 first; float32 products only choose candidates,
with their error bound taken off; float64 products decide where their error bound is at most 1e-8 of the radius.
The promise is about ``predict`` itself, for perturbations of any size: where rounding could decide between rows of
different classes, ``predict`` compares their distances without rounding, so it answers as exact arithmetic does.
"""

from .bounds import triplet_bound
from .exact import exact_radius
from .search import search_radius
from .support import METHODS, check_support
from .triplet import Triplets

__all__ = [
    "METHODS",
    "Triplets",
    "check_support",
    "exact_radius",
    "search_radius",
    "triplet_bound",
]
