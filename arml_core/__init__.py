"""ARML Explorer's engine: see, train and prove how robust a nearest-neighbour metric is.

``import arml_core as arml``. Names are imported when they are first used: the command line and the job worker start
without loading torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "ARML": "learners",
    "AdversarialPruning": "references",
    "AttackResult": "radii",
    "Cancelled": "errors",
    "ContradictionError": "errors",
    "Certificates": "radii",
    "Euclidean": "learners",
    "Fairness": "questions",
    "GMLVQ": "references",
    "ITML": "learners",
    "LFDA": "learners",
    "KMeansPrototypes": "references",
    "LMNN": "learners",
    "MahalanobisKNN": "knn",
    "Metric": "metric",
    "NCA": "learners",
    "NotPSDError": "errors",
    "NotSupportedError": "errors",
    "Protection": "questions",
    "Radii": "radii",
    "RobustPrototypes": "references",
    "ThreatModel": "threat",
    "TrainingChanges": "certificates.training_rows",
    "attack_missing": "questions",
    "certify_missing": "questions",
    "columns_to_protect": "questions",
    "cross_fit": "cross_fitting",
    "dkw_band": "curves",
    "fairness": "questions",
    "list_datasets": "datasets",
    "load_dataset": "datasets",
    "load_metric": "learners",
    "load_model": "model_file",
    "read_dataset": "datasets",
    "robust_error": "curves",
    "robust_error_curve": "curves",
    "save_metric": "learners",
}

if TYPE_CHECKING:
    from .certificates.training_rows import TrainingChanges
    from .cross_fitting import cross_fit
    from .curves import dkw_band, robust_error, robust_error_curve
    from .datasets import list_datasets, load_dataset, read_dataset
    from .errors import Cancelled, ContradictionError, NotPSDError, NotSupportedError
    from .knn import MahalanobisKNN
    from .learners import ARML, ITML, LFDA, LMNN, NCA, Euclidean, load_metric, save_metric
    from .metric import Metric
    from .model_file import load_model
    from .questions import Fairness, Protection, attack_missing, certify_missing, columns_to_protect
    from .questions.fairness import fairness
    from .radii import AttackResult, Certificates, Radii
    from .references import GMLVQ, AdversarialPruning, KMeansPrototypes, RobustPrototypes
    from .threat import ThreatModel

__all__ = [
    "ARML",
    "GMLVQ",
    "ITML",
    "LFDA",
    "LMNN",
    "NCA",
    "AdversarialPruning",
    "AttackResult",
    "Cancelled",
    "Certificates",
    "ContradictionError",
    "Euclidean",
    "Fairness",
    "KMeansPrototypes",
    "MahalanobisKNN",
    "Metric",
    "NotPSDError",
    "NotSupportedError",
    "Protection",
    "Radii",
    "RobustPrototypes",
    "ThreatModel",
    "TrainingChanges",
    "attack_missing",
    "certify_missing",
    "columns_to_protect",
    "cross_fit",
    "dkw_band",
    "fairness",
    "list_datasets",
    "load_dataset",
    "load_metric",
    "load_model",
    "read_dataset",
    "robust_error",
    "robust_error_curve",
    "save_metric",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
