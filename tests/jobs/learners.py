"""Learners with known habits, offered to the worker through ``ARML_LEARNERS``."""

from __future__ import annotations

import time

import numpy as np

from arml_core.learners.base import MahalanobisLearner
from arml_core.learners.registry import LearnerEntry, Parameter
from arml_core.metric import Metric
from arml_core.progress import report


class Steady(MahalanobisLearner):
    """A random walk of G that can be interrupted: it gives and takes its state, its random generator included."""

    def __init__(self, n_steps=100, pause=0.01, random_state=None):
        self.n_steps, self.pause, self.random_state = n_steps, pause, random_state

    def fit(self, X, y, callback=None, resume=None):
        self._resume = resume
        return super().fit(X, y, callback)

    def _learn(self, X, codes, callback):
        rng = np.random.default_rng(self.random_state)
        g, values, start = np.eye(X.shape[1]), [], 0
        if self._resume is not None:
            start, g = int(self._resume["step"]), self._resume["g"].copy()
            values = self._resume["values"].tolist()
            state = [int(word) for word in self._resume["rng"]]
            rng.bit_generator.state = {
                "bit_generator": "PCG64",
                "state": {"state": (state[0] << 64) + state[1], "inc": (state[2] << 64) + state[3]},
                "has_uint32": state[4],
                "uinteger": state[5],
            }
        for step in range(start, self.n_steps):
            g = g + 0.01 * rng.standard_normal(g.shape)
            values.append(float(np.abs(g).sum()))
            time.sleep(self.pause)

            def state(step=step, g=g):
                inner = rng.bit_generator.state
                words = (inner["state"]["state"], inner["state"]["inc"])
                split = [half for word in words for half in (word >> 64, word & (2**64 - 1))]
                packed = np.array([*split, inner["has_uint32"], inner["uinteger"]], dtype=np.uint64)
                return {"step": np.array(step + 1), "g": g, "values": np.array(values), "rng": packed}

            current = Metric.from_components(g)
            report(callback, step + 1, self.n_steps, loss=values[-1], metric=lambda m=current: m, state=state)
        return g, {"loss": np.array(values)}


class Deaf(MahalanobisLearner):
    """Computes without ever reporting, as metric-learn's learners do."""

    def __init__(self, seconds=60.0, random_state=None):
        self.seconds, self.random_state = seconds, random_state

    def _learn(self, X, codes, callback):
        time.sleep(self.seconds)
        return np.eye(X.shape[1]), {}


class Broken(MahalanobisLearner):
    """Fails with a reason."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def _learn(self, X, codes, callback):
        raise ValueError("the third wheel is missing")


STEADY = LearnerEntry(
    "steady",
    "Steady",
    "A random walk.",
    Steady,
    (
        Parameter("n_steps", "int", 100, "Steps.", low=1),
        Parameter("pause", "float", 0.01, "Seconds per step."),
    ),
)
DEAF = LearnerEntry("deaf", "Deaf", "Never reports.", Deaf, (Parameter("seconds", "float", 60.0, "How long."),))
BROKEN = LearnerEntry("broken", "Broken", "Fails.", Broken)
EVERY = "tests.jobs.learners:STEADY tests.jobs.learners:DEAF tests.jobs.learners:BROKEN"
