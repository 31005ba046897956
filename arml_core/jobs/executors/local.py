"""Block after block in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...knn import MahalanobisKNN
from ...numerics.arrays import IntArray
from ...progress import Callback
from ...radii import Radii
from ..evaluation import EvaluationRows, ReferenceData, classifier, compute
from ..spec import EvaluationSpec


class LocalExecutor:
    """Keeps the last classifier: the next evaluation is often the same metric with another method."""

    def __init__(self) -> None:
        self._last: tuple[tuple[str, int, str], MahalanobisKNN] | None = None
        self.device = "auto"

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
        knn = self._classifier(reference, spec.n_neighbors)
        total = len(rows)
        for index in blocks:

            def within(part: int, of: int, info: Mapping[str, Any], before: int = done, size: int = len(index)) -> None:
                """A method may count steps or only some of the rows; here rows are counted."""
                callback(before + size * part // max(1, of), total, info)

            keep(compute(knn, spec, rows.take(index), index, within))
            done += len(index)
            callback(done, total, {})

    def _classifier(self, reference: ReferenceData, n_neighbors: int) -> MahalanobisKNN:
        key = (reference.key, n_neighbors, self.device)
        if self._last is None or self._last[0] != key:
            self._last = (key, classifier(reference, n_neighbors, self.device))
        return self._last[1]
