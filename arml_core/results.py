"""Evaluations: per-point radii together with everything it takes to repeat them.

They come from jobs and from the files in ``data/results`` that ship with the project; curves, tables and verdicts are
derived from them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .atomic_write import atomic_write
from .npz import read_npz
from .numerics.arrays import BoolArray, FloatArray, IntArray
from .threat import ThreatModel
from .vocabulary import METHOD_WORDS

FOLDER = Path(__file__).parents[1] / "data" / "results"
FORMAT = 1
LARGEST_FILE = 64 * 2**20
_ARRAYS = ("lower", "upper", "exact", "correct")


@dataclass(frozen=True)
class Evaluation:
    """The radii of some points under one metric: ``lower ≤ ε* ≤ upper``, as in `Certificates`.

    Of a certificate the lower side counts, of an attack the upper side. `dataset` is the name for `load_dataset`, empty
    for a file; `learner` the name in the registry, "given" for a metric from elsewhere, "network" for a neural
    network, whose `n_neighbors` is 0. `points` says which rows (part,
    n, labels), `planned` how many there will be: an evaluation under way has fewer, and `rows` tells which of the asked
    rows they are (None: the first ones). `made` tells how it came about (versions, date, machine, seconds) and, as
    `deviation`, where it departs from the paper's protocol.
    """

    dataset: str
    dataset_title: str
    fingerprint: str
    learner: str
    learner_title: str
    parameters: Mapping[str, Any]
    seed: int
    kind: Literal["certify", "attack"]
    method: str
    n_neighbors: int
    threat: ThreatModel
    options: Mapping[str, Any]
    budget: float | None
    attack_seed: int
    points: Mapping[str, Any]
    planned: int
    lower: FloatArray
    upper: FloatArray
    exact: BoolArray
    correct: BoolArray
    made: Mapping[str, Any] = field(default_factory=dict)
    rows: IntArray | None = None

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def whole(self) -> bool:
        return len(self) == self.planned

    @property
    def index(self) -> IntArray:
        """Which of the asked rows each radius belongs to."""
        return np.arange(len(self), dtype=np.intp) if self.rows is None else self.rows

    @property
    def radii(self) -> FloatArray:
        """The side that counts: what is proved of a certificate, what was found of an attack."""
        return self.lower if self.kind == "certify" else self.upper

    def describe_method(self) -> str:
        """The method in words: the name, steps and seed of an attack, the budget of a search."""
        title = METHOD_WORDS[self.method].full_title
        if self.kind == "attack":
            steps = f", {self.options['steps']:,} steps, seed {self.attack_seed}" if "steps" in self.options else ""
            return f"{title}{steps}"
        budget = f", {self.budget:g} s a point" if self.budget is not None else ""
        noise = f", σ = {self.options['sigma']:g}" if "sigma" in self.options else ""
        return f"{title}{budget}{noise}"


def write_results(path: Path, evaluations: Iterable[Evaluation]) -> None:
    """Write evaluations as one ``.npz``: arrays and a JSON text, nothing else."""
    arrays: dict[str, Any] = {}
    about = []
    for number, evaluation in enumerate(evaluations):
        if evaluation.rows is not None and not np.array_equal(evaluation.rows, np.arange(len(evaluation))):
            raise ValueError(f"only the first {len(evaluation)} rows can be written; this evaluation has others")
        arrays |= {f"{number}.{name}": getattr(evaluation, name) for name in _ARRAYS}
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
            _evaluation(about, {name: stored[f"{number}.{name}"] for name in _ARRAYS})
            for number, about in enumerate(text["evaluations"])
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
    about = {f.name: getattr(evaluation, f.name) for f in fields(Evaluation) if f.name not in (*_ARRAYS, "rows")}
    about["threat"] = evaluation.threat.arguments()
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in about.items()}


def _evaluation(about: Mapping[str, Any], arrays: Mapping[str, Any]) -> Evaluation:
    lower, upper = (np.asarray(arrays[name], dtype=np.float64) for name in ("lower", "upper"))
    exact, correct = (np.asarray(arrays[name], dtype=bool) for name in ("exact", "correct"))
    if lower.ndim != 1 or any(a.shape != lower.shape for a in (upper, exact, correct)):
        raise ValueError("its arrays do not fit together")
    if not ((lower >= 0) & (lower <= upper)).all():
        raise ValueError("it has a radius that is not a number, negative or above its upper side")
    plain = {**about, "threat": ThreatModel(**about["threat"])}
    return Evaluation(**plain, lower=lower, upper=upper, exact=exact, correct=correct)
