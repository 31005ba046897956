"""ARML Explorer's engine: see, train and prove how robust a nearest-neighbour metric is."""

from .certify import Certificates
from .datasets import load_dataset
from .errors import Cancelled, NotPSDError, NotSupportedError
from .knn import MahalanobisKNN
from .metric import Metric
from .threat import ThreatModel

__all__ = [
    "Cancelled",
    "Certificates",
    "MahalanobisKNN",
    "Metric",
    "NotPSDError",
    "NotSupportedError",
    "ThreatModel",
    "load_dataset",
]
__version__ = "0.1.0"
