"""What is said about an evaluation."""

from __future__ import annotations

from arml_core.comparison import OWN_ANSWERS
from arml_core.jobs import EvaluationSpec
from arml_core.vocabulary import METHOD_WORDS, cross_fitted_words


def evaluation_words(spec: EvaluationSpec) -> str:
    """What an evaluation computes: the method with its settings, K, threat and points."""
    settings = "".join(f" ({words})" for words in spec.settings_words())
    return f"{METHOD_WORDS[spec.method].full_title}{settings}, {setting_words(spec)}"


def setting_words(spec: EvaluationSpec) -> str:
    """What evaluations drawn together share: K, threat model, points and the question about them."""
    rows = {
        "evaluation": "test points",
        "test": "test points in their own order",
        "train": "training points, each left out",
        "cross": f"training points, {cross_fitted_words(spec.points.folds, spec.points.seed)}",
    }
    some = "all" if spec.points.n is None else f"{spec.points.n:,}"
    points = "rows of a file" if spec.points.part == "given" else f"{some} {rows[spec.points.part]}"
    question = "" if spec.points.labels else f"; {OWN_ANSWERS}"
    return f"K = {spec.n_neighbors}, {spec.threat.describe()}, {points}{question}"
