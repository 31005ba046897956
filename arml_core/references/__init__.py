"""Which points to compare with: learned prototypes, one file each, one protocol with the metrics."""

from .base import ReferenceLearner
from .kmeans import KMeansPrototypes
from .robust import RobustPrototypes

__all__ = ["KMeansPrototypes", "ReferenceLearner", "RobustPrototypes"]
