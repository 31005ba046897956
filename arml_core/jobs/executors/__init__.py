"""Where the blocks of an evaluation are computed: in this process, or on the machines of a dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...progress import Callback
from ...radii import Radii
from ..evaluation import PendingEvaluation


class Executor(Protocol):
    """Computes blocks in any order and hands each result over as soon as it is there."""

    def evaluate(self, pending: PendingEvaluation, keep: Callable[[Radii], None], callback: Callback) -> None:
        """Compute every block; `keep` gets its radii. `callback` counts rows and may raise."""
