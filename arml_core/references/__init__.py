"""Which points to compare with: prototypes or kept rows, one file each, one protocol with the metrics."""

from .adversarial_pruning import AdversarialPruning
from .base import ReferenceLearner
from .gmlvq import GMLVQ
from .kmeans import KMeansPrototypes
from .robust import RobustPrototypes

__all__ = ["GMLVQ", "AdversarialPruning", "KMeansPrototypes", "ReferenceLearner", "RobustPrototypes"]
