"""Block after block in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...knn import MahalanobisKNN
from ...progress import Callback
from ...radii import Radii
from ..evaluation import PendingEvaluation, ReferenceData, classifier, evaluate_block


class LocalExecutor:
    """Keeps the last classifier: the next evaluation is often the same metric with another method."""

    def __init__(self) -> None:
        self._last: tuple[tuple[str, int, str], MahalanobisKNN] | None = None
        self.device = "auto"

    def evaluate(self, pending: PendingEvaluation, keep: Callable[[Radii], None], callback: Callback) -> None:
        spec, rows, done = pending.spec, pending.rows, pending.done
        knn = self._classifier(pending.reference, spec.n_neighbors)
        total = len(rows)
        for index in pending.blocks:

            def within(part: int, of: int, info: Mapping[str, Any], before: int = done, size: int = len(index)) -> None:
                """A method may count steps or only some of the rows; here rows are counted."""
                callback(before + size * part // max(1, of), total, info)

            keep(evaluate_block(knn, spec, rows.take(index), index, within))
            done += len(index)
            callback(done, total, {})

    def _classifier(self, reference: ReferenceData, n_neighbors: int) -> MahalanobisKNN:
        key = (reference.key, n_neighbors, self.device)
        if self._last is None or self._last[0] != key:
            self._last = (key, classifier(reference, n_neighbors, self.device))
        return self._last[1]
