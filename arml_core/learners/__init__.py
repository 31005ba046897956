"""ARML and the metrics it is compared with, one file each, one protocol."""

from .arml import ARML
from .base import MahalanobisLearner
from .estimation import Estimate, estimate
from .euclidean import Euclidean
from .itml import ITML
from .lfda import LFDA
from .lmnn import LMNN
from .nca import NCA
from .registry import LEARNERS, LearnerEntry, Parameter, get_learner
from .storage import SavedMetric, load_metric, save_metric

__all__ = [
    "ARML",
    "ITML",
    "LEARNERS",
    "LFDA",
    "LMNN",
    "NCA",
    "Estimate",
    "Euclidean",
    "LearnerEntry",
    "MahalanobisLearner",
    "Parameter",
    "SavedMetric",
    "estimate",
    "get_learner",
    "load_metric",
    "save_metric",
]
