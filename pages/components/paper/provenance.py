"""How a number of ours came about, line by line."""

from __future__ import annotations

import pandas as pd

from arml_core.learners.registry import get_learner
from arml_core.reproduce.published import POINTS
from arml_core.results import Evaluation

PARTS = {
    "evaluation": f"the first {{n}} of the test part shuffled with seed 42; the paper takes {POINTS:,}",
    "train": "all {n} training points, each left out of its own vote",
}
ATTACKER = {
    False: "may go anywhere in ℝᴰ, as in the paper's certificates",
    True: "stays inside [0, 1] for each feature, as in the authors' attack",
}


def provenance(evaluation: Evaluation) -> dict[str, str]:
    """Settings, seeds, points, deviation, date and versions."""
    made = evaluation.made
    n = f"{len(evaluation):,}"
    found = {
        "Method": evaluation.describe_method(),
        "Attacker": f"{evaluation.spec.threat.norm_name} norm; {ATTACKER[evaluation.spec.threat.box is not None]}",
        "Neighbours": f"K = {evaluation.spec.n_neighbors}" if evaluation.spec.n_neighbors else "",
        "Points": PARTS.get(evaluation.spec.points.part, "{n}").format(n=n),
        "Metric": f"{evaluation.learner_title}{_settings(evaluation)}",
        "Differs from the paper's protocol": str(made.get("deviation", "")) or "nowhere we know of",
        "Time": _time(evaluation),
        "Computed": f"{made.get('date', 'at an unknown date')} on a {made.get('machine', 'machine')}",
        "Versions": ", ".join(
            [f"arml_core {made.get('version', '?')}", *(f"{k} {v}" for k, v in made.get("versions", {}).items())]
        ),
        "Data": f"{evaluation.dataset_title}, content {evaluation.run.dataset[:12]}…",
    }
    return {name: text for name, text in found.items() if text}


def provenance_table(evaluation: Evaluation) -> pd.DataFrame:
    found = provenance(evaluation)
    return pd.DataFrame({"": [f"**{name}**" for name in found], "How": list(found.values())})


def _settings(evaluation: Evaluation) -> str:
    """The seed where there is one, and every parameter of the training."""
    try:
        seeded = get_learner(evaluation.run.learner).seeded
    except ValueError:
        seeded = True
    parts = [f"seed {evaluation.run.seed}"] if seeded else []
    parts += [
        f"{name.replace('_', ' ')} {value}" for name, value in evaluation.run.parameters.items() if value is not None
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _time(evaluation: Evaluation) -> str:
    found, before = evaluation.time_words(), evaluation.made.get("train_seconds")
    return f"{found}; before that, {before:,.1f} s of training" if found and before else found
