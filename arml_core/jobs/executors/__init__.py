"""Where the blocks of an evaluation are computed: in this process, or on the machines of a dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ...numerics.arrays import IntArray
from ...progress import Callback
from ...radii import Radii
from ..evaluation import EvaluationRows, ReferenceData
from ..spec import EvaluationSpec


class Executor(Protocol):
    """Computes blocks in any order and hands each result over as soon as it is there."""

    def evaluate(
        self,
        reference: ReferenceData,
        spec: EvaluationSpec,
        rows: EvaluationRows,
        blocks: Sequence[IntArray],
        done: int,
        keep: Callable[[Radii], None],
        callback: Callback,
    ) -> None:
        """Compute `blocks` of `rows`; `done` rows were finished before. `callback` counts rows and may raise."""
