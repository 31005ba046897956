"""Points as certificates and attacks take them, for tests of their parts."""

import numpy as np

from arml_core.neighbors.point_set import PointSet


def point_set(knn, points) -> PointSet:
    """Points with the classifier's own answers."""
    points = np.asarray(points)
    return PointSet(knn._references, knn.n_neighbors, points, knn._references.predict(points, knn.n_neighbors))
