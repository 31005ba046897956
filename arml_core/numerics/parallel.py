"""Independent pieces of work, spread over the cores."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from .threads import limit_this_thread

T = TypeVar("T")
R = TypeVar("R")


def in_parallel(work: Callable[[T], R], pieces: Iterable[T], threads: int) -> Iterator[tuple[T, R]]:
    """Each piece with what `work` makes of it, in order; no more than one piece a thread is under way.

    Every piece is computed as it would be alone, so the results do not depend on the number of threads. A piece begins
    only once the one that is `threads` places before it is finished, so that pieces which come in turn, one for each
    thread, may build on each other. Who stops asking, or gets an error, waits for the pieces under way and no others
    begin.
    """
    waiting = iter(pieces)
    first_two = list(islice(waiting, 2))
    pieces = chain(first_two, waiting)
    if threads == 1 or len(first_two) < 2:  # starting a thread takes longer than many a single piece
        for piece in pieces:
            yield piece, work(piece)
        return
    with ThreadPoolExecutor(threads, initializer=limit_this_thread) as pool:
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
