"""Certificates: proven lower bounds on how far a point must move before nearest neighbours answer differently.

=========  ==========  ==========================  =====  ===============
method     neighbours  norms                       box    costs, frozen
=========  ==========  ==========================  =====  ===============
theorem1   odd K       ℓ1, ℓ2, ℓ∞                  yes    yes
votes      any K       ℓ1, ℓ2, ℓ∞                  yes    yes
exact      K = 1       ℓ2                          no     yes
search     any K       ℓ1, ℓ2, ℓ∞                  yes    yes
=========  ==========  ==========================  =====  ===============

`theorem1` and `votes` give the lower side only; `exact` and `search` give both, `exact` always together, `search` as
close as its budget allows (always together where at most two features can move).

Every `lower` is rounded down by a bound on its floating-point error: each vector G(x - x_i) counts as off by
4(D + r + 8)·2⁻⁵³ of its terms' sizes (D features, G of r rows), about 10⁻¹² for a thousand features, and each squared
distance by eight times that. float32 points are converted to float64 first; float32 products only choose candidates,
with their error bound taken off; float64 products decide where their error bound is at most 2e-8 of the radius.
The promise covers the distances ``predict`` computes, rounding included, at x and at every x + δ that a finite
`lower` speaks of: where the move is large against the distances, as with frozen features or uneven costs, the bound is
computed again with the rounding errors of points that far away. +inf is said of exact distances: no δ of any size
makes another answer right, but where x + δ is so far out that squares drown the differences, ``predict`` cannot know.
"""

from .bounds import triplet_bound
from .exact import Interval, exact_radius
from .large_moves import allow_for_large_moves
from .result import Certificates
from .search import search_radius
from .support import METHODS, check_support
from .triplet import Triplets

__all__ = [
    "METHODS",
    "Certificates",
    "Interval",
    "Triplets",
    "allow_for_large_moves",
    "check_support",
    "exact_radius",
    "search_radius",
    "triplet_bound",
]
