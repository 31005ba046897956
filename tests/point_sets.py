"""The parts a fitted classifier hands to certificates and attacks, for tests of those."""

import numpy as np

from arml_core import ThreatModel
from arml_core.neighbors.point_set import PointSet
from arml_core.neighbors.prepared import PreparedReferences


def references_of(knn) -> PreparedReferences:
    """The training rows, prepared for the classifier's metric."""
    return triplets_of(knn, ThreatModel()).references


def triplets_of(knn, threat):
    """What certificates and attacks know of the training rows against one attacker."""
    return knn.triplets_for(threat)


def point_set(knn, points, threat=None) -> PointSet:
    """Points with the classifier's own answers, against one attacker."""
    points, references = np.asarray(points), references_of(knn)
    ranges = None if threat is None else threat.resolve(points.shape[1]).ranges(points)
    labels = references.predict(points, knn.n_neighbors)
    return PointSet(references, knn.n_neighbors, points, labels, ranges=ranges)
