"""What a job keeps while it is not done, so that a retry continues: training checkpoints and finished rows."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..atomic_write import TEMPORARY
from ..radii import Radii
from .errors import DamagedFile
from .files import read_arrays, remove_tree, write_arrays
from .job_log import log_line
from .model import LearnedModel
from .reporter import Pacer

CHECKPOINT_SECONDS = 10.0
PART_SECONDS = 1.0
REFERENCES_SECONDS = 2.0
LIVE = "references.npz"


@dataclass(frozen=True)
class LiveReferences:
    """The points a training has arrived at after `step`, with their labels."""

    step: int
    points: NDArray[np.floating]
    labels: NDArray[Any]


class Workspace:
    """The folder of one job; files in it are whole or absent, and a damaged one only costs time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._checkpoint = Pacer(_seconds("ARML_CHECKPOINT_SECONDS", CHECKPOINT_SECONDS))
        self._parts = Pacer(PART_SECONDS)
        self._references = Pacer(REFERENCES_SECONDS, at_once=True)
        self._pending: list[Radii] = []
        self._written = 0

    def checkpoint_due(self) -> bool:
        return self._checkpoint.due()

    def save_checkpoint(self, step: int, state: Mapping[str, NDArray[Any]]) -> None:
        """Keep the state of a training after `step`; only the newest stays. A disk without room for it gets none."""
        began = time.monotonic()
        arrays = {f"state_{name}": np.asarray(value) for name, value in state.items()}
        try:
            write_arrays(self._folder / "checkpoint.npz", {"step": np.array(step), **arrays})
            log_line(f"checkpoint after step {step}, {time.monotonic() - began:.3f} s")
        except OSError as error:
            log_line(f"no checkpoint after step {step}: {error}")
        self._checkpoint.done(time.monotonic() - began)

    def load_checkpoint(self) -> tuple[int, dict[str, NDArray[Any]]] | None:
        """The step and the state of the last checkpoint, if there is one."""
        try:
            arrays = read_arrays(self._folder / "checkpoint.npz")
            return int(arrays.pop("step")), {name.removeprefix("state_"): value for name, value in arrays.items()}
        except (DamagedFile, KeyError) as error:
            if (self._folder / "checkpoint.npz").exists():
                log_line(f"the checkpoint cannot be used, starting over: {error}")
            return None

    def references_due(self) -> bool:
        return self._references.due()

    def save_references(self, live: LiveReferences) -> None:
        """Keep the points of a training for whoever looks on; only the newest stay, in single precision."""
        began = time.monotonic()
        arrays = {"step": np.array(live.step), "points": live.points.astype(np.float32), "labels": live.labels}
        try:
            write_arrays(self._folder / LIVE, arrays)
        except OSError as error:
            log_line(f"the points after step {live.step} cannot be shown: {error}")
        self._references.done(time.monotonic() - began)

    def save_fold(self, fold: int, model: LearnedModel) -> None:
        """Keep the model of a fold, so that a retry need not learn it again."""
        try:
            write_arrays(self._folder / f"fold-{fold}.npz", model.arrays())
        except OSError as error:
            log_line(f"the model of fold {fold + 1} is not kept: {error}")

    def load_fold(self, fold: int) -> LearnedModel | None:
        try:
            return LearnedModel.from_arrays(read_arrays(self._folder / f"fold-{fold}.npz"))
        except (DamagedFile, KeyError):
            return None

    def add(self, radii: Radii) -> None:
        """Keep finished rows; they are written about once a second."""
        self._pending.append(radii)
        if self._parts.due():
            self.flush()

    def flush(self) -> None:
        """Write what is pending; while the disk has no room for it, it stays in memory."""
        part = Radii.concatenate(self._pending)
        if part is None:
            return
        began = time.monotonic()
        try:
            write_arrays(self._folder / f"part-{self._written:06d}.npz", part.arrays())
            self._pending, self._written = [], self._written + 1
        except OSError as error:
            log_line(f"{len(part)} finished rows are not kept yet: {error}")
        self._parts.done(time.monotonic() - began)

    def load_parts(self) -> Radii | None:
        """All rows that are finished, in the folder or in memory."""
        parts = read_parts(self._folder)
        self._written = 1 + max((number for number, _ in parts), default=-1)
        return Radii.concatenate([*(radii for _, radii in parts), *self._pending])

    def remove(self) -> None:
        remove_tree(self._folder)


def read_references(folder: Path) -> LiveReferences | None:
    """The points of a training that is under way; None if there are none yet."""
    try:
        arrays = read_arrays(folder / LIVE)
        return LiveReferences(int(arrays["step"]), arrays["points"], arrays["labels"])
    except (DamagedFile, KeyError):
        return None


def read_parts(folder: Path) -> list[tuple[int, Radii]]:
    """The parts of a job that is under way; one that is damaged or being removed is left out."""
    parts = []
    try:
        names = sorted(path for path in folder.iterdir() if path.name.startswith("part-"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    for path in names:
        if path.name.endswith(TEMPORARY):
            continue
        try:
            parts.append((int(path.stem.removeprefix("part-")), Radii.from_arrays(read_arrays(path))))
        except (DamagedFile, KeyError, ValueError):
            continue
    return parts


def _seconds(variable: str, default: float) -> float:
    text = os.environ.get(variable, "").strip()
    return float(text) if text else default
