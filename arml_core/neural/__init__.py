"""The networks of the paper's Figure 2: an ordinary ReLU network, CROWN, and randomized smoothing."""

from .crown import crown_radius
from .curve import NetworkCurve
from .network import ReLUNetwork
from .smoothing import ABSTAIN, SmoothedClassifier, smoothed_radius

__all__ = ["ABSTAIN", "NetworkCurve", "ReLUNetwork", "SmoothedClassifier", "crown_radius", "smoothed_radius"]
