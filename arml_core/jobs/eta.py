"""How long a job still takes, from how it went lately."""

from __future__ import annotations

from collections import deque

_SAMPLES = 128
_SHORTEST = 0.5


class TimeLeft:
    """Extrapolates the pace of the later half of the time since the first report.

    Loading and a slow first step (compilation, the first neighbour lists) therefore do not count for long, and a
    change of pace shows after as much time as it took to come up.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, now: float, done: int) -> None:
        """Remember that `done` steps were done at the time `now` (seconds on any clock that only rises)."""
        if self._samples and done < self._samples[-1][1]:
            self._samples.clear()  # a new count has begun
        self._samples.append((now, done))
        if len(self._samples) > _SAMPLES:  # thin out, keeping the first and the newest
            kept = list(self._samples)
            self._samples = deque(kept[:-1:2])
            self._samples.append(kept[-1])

    def left(self, total: int) -> float | None:
        """Seconds until `total` steps are done, None if it cannot be told yet."""
        if len(self._samples) < 2:
            return None
        (first, _), (last, done) = self._samples[0], self._samples[-1]
        if last - first < _SHORTEST:
            return None
        middle = first + (last - first) / 2
        since, before = next((s for s in reversed(self._samples) if s[0] <= middle), self._samples[0])
        if done <= before:
            return None
        return max(0.0, (total - done) * (last - since) / (done - before))
