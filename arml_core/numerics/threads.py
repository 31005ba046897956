"""Threads: numpy's matrix products are small here and torch has threads of its own.

Two pools that both fill the machine wait for each other: the boundary attack took four times as long on two cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, wraps
from threading import Lock
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=1)
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


def with_one_blas_thread(work: Callable[P, R]) -> Callable[P, R]:
    """`work` with numpy's products on one thread; torch's are left as they are."""

    @wraps(work)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _limit:
            return work(*args, **kwargs)

    return limited


class Together:
    """A setting of the whole process: the first of several threads that need it makes it, the last one undoes it."""

    def __init__(self, setting: Callable[[], AbstractContextManager[object]]) -> None:
        self._setting = setting
        self._lock, self._inside = Lock(), 0
        self._made: AbstractContextManager[object] = nullcontext()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._made = self._setting()
                self._made.__enter__()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._made.__exit__(None, None, None)


_limit = Together(lambda: _pools().limit(limits=1, user_api="blas"))
