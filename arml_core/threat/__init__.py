"""What may change, and how the size of a change is measured.

``model.py`` is the question as people ask it; ``resolved.py`` the same as arrays for data of a known width;
``switches.py`` what is exchanged whole instead of moved.
"""

from .arguments import ByFeature, Side
from .model import ThreatModel
from .resolved import Ranges, ResolvedThreat, dual_norm
from .switches import Combinations, Switch

__all__ = ["ByFeature", "Combinations", "Ranges", "ResolvedThreat", "Side", "Switch", "ThreatModel", "dual_norm"]
