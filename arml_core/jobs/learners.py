"""The learners a job may use: those of this package, and those the operator names.

``ARML_LEARNERS`` holds ``module:NAME`` entries parted by blanks, each a
:class:`~arml_core.learners.registry.LearnerEntry`. Only whoever starts the app can set it: a name that comes from a
page never leads to an import.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module

from ..learners.registry import LEARNERS, LearnerEntry, get_learner


def entry_of(name: str) -> LearnerEntry:
    """The learner with this name; a ValueError that lists the names if there is none."""
    found = entries()
    return found[name] if name in found else get_learner(name)


def offered(name: str) -> LearnerEntry | None:
    """The learner with this name; None for one that is offered no longer, of which trainings may remain."""
    return entries().get(name)


def entries() -> dict[str, LearnerEntry]:
    """Every learner a job may use, by name; this package's come first."""
    return {**LEARNERS, **_added(os.environ.get("ARML_LEARNERS", ""))}


@cache
def _added(entries: str) -> dict[str, LearnerEntry]:
    found = {}
    for entry in entries.split():
        module, _, attribute = entry.partition(":")
        learner = getattr(import_module(module), attribute)
        if not isinstance(learner, LearnerEntry):
            raise ValueError(f"ARML_LEARNERS names {entry}, which is not a LearnerEntry")
        found[learner.name] = learner
    return found
