"""How many jobs run at once, with how many threads, and which of them has which GPU."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..numerics.threads import cores


@dataclass(frozen=True)
class Limits:
    """At most `jobs` jobs at once, each with `threads` threads.

    The default is half the cores, at least two jobs: a long training must not keep a short certification waiting,
    and the children run at low priority beside the pages. ``ARML_JOBS`` sets another number of jobs. The threads of
    a job stay the same while it runs, because sums in another order are other numbers.
    """

    jobs: int
    threads: int

    @classmethod
    def default(cls) -> Limits:
        text = os.environ.get("ARML_JOBS", "").strip()
        if text and not (text.isdigit() and int(text) > 0):
            raise ValueError(f"ARML_JOBS must be a positive number of jobs; got {text!r}")
        jobs = int(text) if text else max(2, cores() // 2)
        return cls(jobs, max(1, cores() // jobs))


class Devices:
    """GPUs, each used by one job at a time; without any, every job runs on the CPU."""

    def __init__(self) -> None:
        self._all: tuple[str, ...] = ()
        self._used: set[str] = set()

    def found(self, names: list[str]) -> None:
        """A child has looked what this machine has."""
        self._all = tuple(names)

    def available(self) -> bool:
        """Whether a job that would use a GPU may start now."""
        return not self._all or len(self._used) < len(self._all)

    def take(self, accelerated: bool) -> str:
        """The device for a job."""
        if not accelerated or not self._all:
            return "cpu"
        device = next(name for name in self._all if name not in self._used)
        self._used.add(device)
        return device

    def give(self, device: str) -> None:
        self._used.discard(device)
