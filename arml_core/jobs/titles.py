"""What a metric of the store is called: by its learner, or by the name it was given with."""

from __future__ import annotations

from .learners import offered
from .spec import GIVEN


def given_title(metric: str, dataset: str) -> str:
    """The title of a run whose metric came from elsewhere."""
    return f"{metric} for {dataset}"


def metric_title(learner: str, run: str, dataset: str) -> str:
    """How the metric of a run is called beside the title of its dataset.

    Parameters
    ----------
    learner : the name of the run's learner; one that is offered no longer keeps its name.
    run, dataset : their titles.
    """
    if learner == GIVEN:
        return run.removesuffix(given_title("", dataset))
    entry = offered(learner)
    return learner if entry is None else entry.title
