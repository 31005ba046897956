"""The learners a job may use: those of this package, and those the operator names.

``ARML_LEARNERS`` holds ``module:NAME`` entries parted by blanks, each a
:class:`~arml_core.learners.registry.LearnerEntry`. Only whoever starts the app can set it: a name that comes from a
page never leads to an import.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..learners.registry import LEARNERS, LearnerEntry
from ..references.registry import REFERENCES
from ..untrusted import shortened

if TYPE_CHECKING:
    from .spec import RunSpec


def entry_of(name: str) -> LearnerEntry:
    """The learner with this name; a ValueError that lists the names if there is none."""
    found = entries()
    if name not in found:
        raise ValueError(f"there is no learner {name!r}; there are {', '.join(found)}")
    return found[name]


def new_learner(spec: RunSpec, device: str, image_shape: tuple[int, int] | None) -> Any:
    """The unfitted learner of a training, for rows that are images of this shape or none."""
    entry = entry_of(spec.learner)
    return entry.build(spec.parameters, random_state=spec.seed, device=device, image_shape=image_shape)


def offered(name: str) -> LearnerEntry | None:
    """The learner with this name; None for one that is offered no longer, of which trainings may remain."""
    return entries().get(name)


def entries() -> dict[str, LearnerEntry]:
    """Every learner a job may use, by name: metrics, references, and then those the operator names."""
    return {**LEARNERS, **REFERENCES, **_named()[0]}


def entry_problems() -> tuple[str, ...]:
    """What ``ARML_LEARNERS`` names in vain, a sentence each; the other learners can be used."""
    return _named()[1]


def _named() -> tuple[dict[str, LearnerEntry], tuple[str, ...]]:
    return _read(os.environ.get("ARML_LEARNERS", ""))


@cache
def _read(names: str) -> tuple[dict[str, LearnerEntry], tuple[str, ...]]:
    found, problems = {}, []
    for name in names.split():
        module, _, attribute = name.partition(":")
        try:
            learner = getattr(import_module(module), attribute)
        except Exception as error:  # the module is anybody's, and importing it may fail in any way
            problems.append(f"ARML_LEARNERS names {shortened(name)}, which cannot be imported: {shortened(error)}.")
            continue
        if isinstance(learner, LearnerEntry):
            found[learner.name] = learner
        else:
            problems.append(f"ARML_LEARNERS names {shortened(name)}, which is not a LearnerEntry.")
    return found, tuple(problems)
