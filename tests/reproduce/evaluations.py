"""Made-up evaluations for the rules that turn radii into tables."""

import numpy as np

from arml_core import ThreatModel
from arml_core.reproduce.plan import COLUMNS
from arml_core.results import Evaluation
from tests.made_evaluations import made_evaluation


def evaluation(dataset="splice", learner="arml", column="exact", radii=(0.0, 0.2, 0.4), **changes) -> Evaluation:
    """An evaluation in a column of the tables; a radius of 0 is a wrong answer."""
    what = COLUMNS[column]
    found = np.asarray(radii, dtype=float)
    certificate = what.kind == "certify"
    settings = {
        "dataset": dataset,
        "dataset_title": dataset,
        "fingerprint": "f" * 32,
        "learner": learner,
        "learner_title": learner,
        "parameters": {},
        "seed": 42,
        "kind": what.kind,
        "method": what.method,
        "n_neighbors": what.n_neighbors,
        "threat": ThreatModel(box=(0.0, 1.0)) if what.box else ThreatModel(),
        "options": {"steps": 100} if what.method == "boundary" else {},
        "budget": None,
        "attack_seed": 0,
        "points": {"part": "evaluation", "n": len(found), "digest": None, "labels": True},
        "planned": len(found),
        "lower": found if certificate else np.zeros(len(found)),
        "upper": np.where(found == 0, 0.0, np.inf) if certificate else found,
        "exact": found == 0,
        "correct": found > 0,
        "made": {"version": "0.1.0", "date": "2026-01-01", "machine": "a machine", "versions": {"python": "3"}},
    }
    return made_evaluation(**{**settings, **changes})


def with_errors(errors, dataset="splice", n=1000) -> np.ndarray:
    """Radii whose robust errors at the paper's six radii are `errors`."""
    from arml_core.reproduce.published import radii

    counts = np.diff(np.round(np.asarray(errors) * n).astype(int), prepend=0, append=n)
    return np.repeat([*radii(dataset), 9.0], counts)
