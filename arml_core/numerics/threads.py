"""Threads: one inside each operation; points are spread over the cores from outside (:mod:`.parallel`).

The threads inside an operation of torch or BLAS wait for each other at its end. Where another process wants the cores,
one of them is always late: certifying took ten times the processor time. Pieces of work that need nothing of each other
do not wait. It also makes results independent of the number of threads: a product is summed in one order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, wraps
from threading import Lock
from typing import ParamSpec, TypeVar

import torch
from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_for(n_jobs: int | None) -> int:
    """How many pieces of work run at once: `n_jobs` of them, -1 for all cores, -2 for all but one, and so on.

    None is all cores; ``OMP_NUM_THREADS`` sets another number.
    """
    if n_jobs is None:
        text = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
        return int(text) if text.isdecimal() and int(text) else cores()
    if n_jobs == 0:
        raise ValueError("n_jobs must be a number of threads, or -1 for all cores; got 0")
    return n_jobs if n_jobs > 0 else max(1, cores() + 1 + n_jobs)


@lru_cache(maxsize=1)
def blas_pools() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread_per_operation(work: Callable[P, R]) -> Callable[P, R]:
    """`work` with the products of numpy and the operations of torch on one thread each."""

    @wraps(work)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _limit:
            limit_this_thread()
            return work(*args, **kwargs)

    return limited


def limit_this_thread() -> None:
    """Torch's operations in this thread use no other; a thread that was not told so starts helpers of its own."""
    torch.set_num_threads(1)


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


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with blas_pools().limit(limits=1, user_api="blas"):
        yield
    torch.set_num_threads(before)


_limit = Together(_one_thread)
