"""Made-up evaluations, from the names that a results file has."""

from __future__ import annotations

from typing import Any

import numpy as np

from arml_core import Radii, ThreatModel
from arml_core.jobs import EvaluationSpec, PointsSpec, RunSpec
from arml_core.results import Evaluation

DEFAULTS: dict[str, Any] = {
    "dataset": "iris",
    "dataset_title": "Iris",
    "fingerprint": "f" * 32,
    "learner": "arml",
    "learner_title": "ARML",
    "parameters": {"n_epochs": 10},
    "seed": 3,
    "kind": "certify",
    "method": "votes",
    "n_neighbors": 5,
    "threat": ThreatModel(),
    "options": {},
    "budget": None,
    "attack_seed": 0,
    "at": None,
    "ties": "order",
    "target": None,
    "points": {"part": "evaluation", "n": 3, "digest": None, "labels": True},
    "planned": 3,
    "lower": np.array([0.0, 0.1 + 0.2, 1.5]),
    "upper": np.array([0.0, np.inf, 1.5]),
    "exact": np.array([True, False, True]),
    "correct": np.array([False, True, True]),
    "index": None,
    "made": {"version": "0.1.0"},
}


def made_evaluation(**changes: Any) -> Evaluation:
    """An evaluation with the defaults above, changed."""
    unknown = set(changes) - set(DEFAULTS)
    assert not unknown, unknown
    of = {**DEFAULTS, **changes}
    n = len(of["lower"])
    index = np.arange(n) if of["index"] is None else np.asarray(of["index"])
    sides = {name: of[name] for name in ("lower", "upper", "exact", "correct", "method", "threat")}
    radii = Radii(index=index, predicted=np.full(n, -1), adversarial=np.empty((n, 0)), **sides)
    points = PointsSpec(**of["points"])
    question = of["n_neighbors"], of["method"], of["threat"], points, of["budget"], of["attack_seed"], of["options"]
    spec = EvaluationSpec(of["kind"], "", *question, of["at"], of["ties"], of["target"])
    run = RunSpec(of["fingerprint"], of["learner"], of["parameters"], of["seed"])
    titles = of["dataset"], of["dataset_title"], of["learner_title"]
    return Evaluation(radii, spec, run, *titles, of["planned"], of["made"])
