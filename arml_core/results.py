"""Evaluations: per-point radii together with everything it takes to repeat them.

They come from jobs and from the files in ``data/results`` that ship with the project; curves, tables and verdicts are
derived from them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .atomic_write import atomic_write
from .jobs.spec import EvaluationSpec, PointsSpec, RunSpec
from .npz import read_npz
from .numerics.arrays import FloatArray
from .radii import Radii
from .threat import ThreatModel
from .vocabulary import METHOD_WORDS, number, verdicts_at

FOLDER = Path(__file__).parents[1] / "data" / "results"
FORMAT = 1
LARGEST_FILE = 64 * 2**20
_ARRAYS = ("lower", "upper", "exact", "correct")
_SWITCHED = "switched"
"""An array that is there only where features may be switched."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Radii of some points, the question they answer, and where they come from.

    Of a certificate the lower side counts, of an attack the upper side.

    Attributes
    ----------
    radii : of the points finished so far; `index` tells which of the asked points they are.
    spec : the question: certificate or attack, K, threat, points. A neural network has K = 0.
    run : the training: the dataset's fingerprint, the learner ("given" for a metric from elsewhere, "network" for a
        neural network), parameters and seed.
    dataset, dataset_title : the name for `load_dataset`, empty for a file, and the title; `learner_title` likewise.
    planned : how many points there will be: an evaluation under way has fewer.
    made : how it came about (versions, date, machine, seconds) and, as `deviation`, where it departs from the paper's
        protocol.
    """

    radii: Radii
    spec: EvaluationSpec
    run: RunSpec
    dataset: str
    dataset_title: str
    learner_title: str
    planned: int
    made: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.radii)

    @property
    def whole(self) -> bool:
        return len(self) == self.planned

    @property
    def bound(self) -> FloatArray:
        """The side that counts: what is proved of a certificate, what was found of an attack."""
        return self.radii.lower if self.spec.kind == "certify" else self.radii.upper

    def describe_method(self) -> str:
        """The method in words: the name, steps and seed of an attack, the budget of a search."""
        return ", ".join([METHOD_WORDS[self.spec.method].full_title, *self.spec.settings_words()])

    def time_words(self) -> str:
        """How long it took, for a point on average, and which verdicts it was spent on; empty if that is not known."""
        seconds = self.made.get("seconds")
        if seconds is None or not len(self):
            return ""
        each = f"{seconds:,.1f} s, on average {number(seconds / len(self))} s a point"
        return each if self.spec.at is None else f"{each}, spent on {verdicts_at(self.spec.at)}"


def write_results(path: Path, evaluations: Iterable[Evaluation]) -> None:
    """Write evaluations as one ``.npz``: arrays and a JSON text, nothing else."""
    arrays: dict[str, Any] = {}
    about = []
    for place, evaluation in enumerate(evaluations):
        if not np.array_equal(evaluation.radii.index, np.arange(len(evaluation))):
            raise ValueError(f"only the first {len(evaluation)} rows can be written; this evaluation has others")
        names = (*_ARRAYS, _SWITCHED) if evaluation.radii.threat.switches else _ARRAYS
        arrays |= {f"{place}.{name}": getattr(evaluation.radii, name) for name in names}
        about.append(_about(evaluation))
    text = json.dumps({"format": FORMAT, "evaluations": about}, ensure_ascii=False, sort_keys=True)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, about=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, buffer.getbuffer())


def read_results(path: Path) -> tuple[Evaluation, ...]:
    """The evaluations of a file; a ValueError that names it if it is damaged or something else."""
    try:
        stored = read_npz(path, LARGEST_FILE)
        text = json.loads(stored["about"].tobytes().decode())
        if text["format"] != FORMAT:
            raise ValueError(f"it has format {text['format']}, this version reads {FORMAT}")
        return tuple(
            _evaluation(
                about,
                {name: stored[f"{place}.{name}"] for name in _ARRAYS}
                | {name: stored[f"{place}.{name}"] for name in (_SWITCHED,) if f"{place}.{name}" in stored},
            )
            for place, about in enumerate(text["evaluations"])
        )
    except FileNotFoundError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        raise ValueError(f"{path.name} is not a results file of this program, or it is damaged: {error}") from error


@lru_cache(maxsize=4)
def shipped(folder: Path = FOLDER) -> tuple[Evaluation, ...]:
    """The evaluations that come with the project, in the order of their files."""
    return tuple(evaluation for path in sorted(folder.glob("*.npz")) for evaluation in read_results(path))


def _about(evaluation: Evaluation) -> dict[str, Any]:
    """All but the radii, as a file has it."""
    spec, run = evaluation.spec, evaluation.run
    return {
        "dataset": evaluation.dataset,
        "dataset_title": evaluation.dataset_title,
        "fingerprint": run.dataset,
        "learner": run.learner,
        "learner_title": evaluation.learner_title,
        "parameters": dict(run.parameters),
        "seed": run.seed,
        "kind": spec.kind,
        "method": spec.method,
        "n_neighbors": spec.n_neighbors,
        "threat": spec.threat.arguments(),
        # with the values that the training rows have, which codes in the arrays refer to
        **({"answered": evaluation.radii.threat.arguments()} if evaluation.radii.threat.switches else {}),
        "options": dict(spec.options),
        "budget": spec.budget,
        **({} if spec.at is None else {"at": list(spec.at)}),
        **spec.rule(),
        "attack_seed": spec.seed,
        "points": spec.points.content(),
        "planned": evaluation.planned,
        "made": dict(evaluation.made),
    }


def _evaluation(about: Mapping[str, Any], arrays: Mapping[str, Any]) -> Evaluation:
    lower, upper = (np.asarray(arrays[name], dtype=np.float64) for name in ("lower", "upper"))
    exact, correct = (np.asarray(arrays[name], dtype=bool) for name in ("exact", "correct"))
    if lower.ndim != 1 or any(a.shape != lower.shape for a in (upper, exact, correct)):
        raise ValueError("its arrays do not fit together")
    if not ((lower >= 0) & (lower <= upper)).all():
        raise ValueError("it has a radius that is not a number, negative or above its upper side")
    n, made, threat = len(lower), about["made"], ThreatModel(**about["threat"])
    answered = ThreatModel(**about["answered"]) if "answered" in about else threat
    switched = np.asarray(arrays.get(_SWITCHED, np.empty((n, 0))), dtype=np.intp)
    if switched.shape not in ((n, 0), (n, len(answered.switches))):
        raise ValueError("its arrays do not fit together")
    radii = Radii(
        index=np.arange(n),
        lower=lower,
        upper=upper,
        exact=exact,
        correct=correct,
        predicted=np.full(n, -1),  # answers and adversarial points are not kept
        adversarial=np.empty((n, 0)),
        method=about["method"],
        threat=answered,
        switched=switched,
    )
    spec = EvaluationSpec(
        about["kind"],
        str(made.get("run", "")),
        about["n_neighbors"],
        about["method"],
        threat,
        PointsSpec(**about["points"]),
        about["budget"],
        about["attack_seed"],
        about["options"],
        tuple(about["at"]) if "at" in about else None,
        about.get("ties", "order"),
        about.get("target"),
    )
    run = RunSpec(about["fingerprint"], about["learner"], about["parameters"], about["seed"])
    titles = about["dataset"], about["dataset_title"], about["learner_title"]
    return Evaluation(radii, spec, run, *titles, about["planned"], made)
