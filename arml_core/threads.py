"""Threads: numpy's matrix products are small here and torch has threads of its own.

Two pools that both fill the machine wait for each other: the boundary attack took four times as long on two cores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


@lru_cache(maxsize=1)
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


def with_one_blas_thread(work: Callable[P, R]) -> Callable[P, R]:
    """`work` with numpy's products on one thread; torch's are left as they are."""

    @wraps(work)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        _limit.enter()
        try:
            return work(*args, **kwargs)
        finally:
            _limit.leave()

    return limited


class _Limit:
    """The limit holds for the whole process: the first of several threads sets it, the last one lifts it."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limiter: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limiter = _pools().limit(limits=1, user_api="blas")
                self._limiter.__enter__()
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limiter.__exit__(None, None, None)


_limit = _Limit()
