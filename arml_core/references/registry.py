"""Every learner of references by name, described as the metrics are."""

from __future__ import annotations

from ..learners.registry import AUTO, LearnerEntry, Parameter
from ..vocabulary import NORMS
from .adversarial_pruning import AdversarialPruning
from .gmlvq import GMLVQ
from .kmeans import KMeansPrototypes
from .robust import METRICS, RobustPrototypes
from .work import gmlvq_work, kmeans_work, pruning_work, robust_work

_NORM = Parameter("norm", "choice", "l2", "How the size of a change is measured.", choices=tuple(NORMS))
_RANK = Parameter("n_components", "int", None, "Rows of a learned G; none for all.", low=1, optional=True)
_EPOCHS = Parameter("n_epochs", "int", 30, "Passes over the training rows; small data has more.", low=1, high=1_000_000)
_PROTOTYPES = Parameter(
    "n_prototypes",
    "int",
    AUTO,
    "Points in each class, at most; auto for one in 50 rows, 3 to 100.",
    low=1,
    high=100_000,
    automatic=True,
    advanced=False,
    title="Prototypes in each class",
)


def _radius(help: str, title: str = "") -> Parameter:
    return Parameter("radius", "float", AUTO, help, open_low=True, automatic=True, advanced=False, title=title)


_ENTRIES = (
    LearnerEntry(
        "robust_prototypes",
        "Robust prototypes",
        "A few learned points in each class, placed so that rows can move far before the answer changes.",
        RobustPrototypes,
        (
            _PROTOTYPES,
            _radius(
                "The radius to reach: a larger one trades clean answers for robust ones; auto from the data.",
                "Target radius",
            ),
            Parameter(
                "metric",
                "choice",
                "learned",
                "Learn the metric with the points, or leave it Euclidean.",
                choices=METRICS,
                advanced=False,
            ),
            _RANK,
            _NORM,
            _EPOCHS,
            Parameter("shifts", "int", 0, "Pixels by which images are moved in each pass; 0 for other data.", high=100),
        ),
        on_device=True,
        gives="references",
        on_images=True,
        work=robust_work,
    ),
    LearnerEntry(
        "kmeans_prototypes",
        "k-means prototypes",
        "The centres of k-means in each class, compared in the Euclidean metric.",
        KMeansPrototypes,
        (_PROTOTYPES,),
        gives="references",
        work=kmeans_work,
    ),
    LearnerEntry(
        "gmlvq",
        "GMLVQ",
        "Points and a metric learned for accuracy alone.",
        GMLVQ,
        (_PROTOTYPES, _RANK, _EPOCHS),
        on_device=True,
        gives="references",
        work=gmlvq_work,
    ),
    LearnerEntry(
        "adversarial_pruning",
        "Adversarial pruning",
        "Leaves out the fewest rows that come too near to another class.",
        AdversarialPruning,
        (_radius("Rows of different classes end up at least twice this far apart; auto from the data."), _NORM),
        seeded=False,
        gives="rows",
        work=pruning_work,
    ),
)

REFERENCES: dict[str, LearnerEntry] = {entry.name: entry for entry in _ENTRIES}
"""The learners of references, the one this project is about first."""


def get_reference_learner(name: str) -> LearnerEntry:
    """The entry for a name; a ValueError that lists the names if there is none."""
    if name not in REFERENCES:
        raise ValueError(f"there is no learner of references {name!r}; there are {', '.join(REFERENCES)}")
    return REFERENCES[name]
