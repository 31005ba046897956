"""Independent pieces of work on the cores that torch's own threads leave idle."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

from .threads import cores

T = TypeVar("T")
R = TypeVar("R")

MOST = 4
"""Threads that still help: between the large operations they wait for Python's lock."""


def spare_threads() -> int:
    """How many threads can each run torch with the threads it is set to."""
    return max(1, min(MOST, cores() // torch.get_num_threads()))


def in_parallel(work: Callable[[T], R], pieces: Iterable[T]) -> Iterator[tuple[T, R]]:
    """Each piece with what `work` makes of it, in order; no more than one piece a thread is under way.

    Every piece is computed as it would be alone, so the results do not depend on the number of threads. Who stops
    asking, or gets an error, waits for the pieces under way and no others begin.
    """
    threads = spare_threads()
    if threads == 1:
        for piece in pieces:
            yield piece, work(piece)
        return
    with ThreadPoolExecutor(threads) as pool:
        under_way: deque[tuple[T, Future[R]]] = deque()
        try:
            for piece in pieces:
                under_way.append((piece, pool.submit(work, piece)))
                if len(under_way) == threads:
                    first, result = under_way.popleft()
                    yield first, result.result()
            while under_way:
                first, result = under_way.popleft()
                yield first, result.result()
        finally:
            for _, result in under_way:
                result.cancel()
