"""Threads: numpy's matrix products are small here and torch has threads of its own.

Two pools that both fill the machine wait for each other: the boundary attack took four times as long on two cores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

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
        with _pools().limit(limits=1, user_api="blas"):
            return work(*args, **kwargs)

    return limited
