"""ARML Explorer's engine: see, train and prove how robust a nearest-neighbour metric is."""

from .certify import Certificates
from .curves import dkw_band, robust_error, robust_error_curve
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
    "dkw_band",
    "load_dataset",
    "robust_error",
    "robust_error_curve",
]
__version__ = "0.1.0"
