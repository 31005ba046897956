"""Inside `certify` and `attack` numpy's products run on one thread; outside they are as they were."""

from contextlib import contextmanager
from threading import Event, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from arml_core import MahalanobisKNN
from arml_core.numerics.threads import with_one_blas_thread


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("work", ["certify", "attack"])
def test_one_blas_thread_inside(work):
    X = np.random.default_rng(0).normal(size=(20, 3))
    knn = MahalanobisKNN(1).fit(X, np.arange(20) % 2)
    seen = []
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        getattr(knn, work)(X[:2], callback=lambda *progress: seen.append(blas_threads()))
        assert blas_threads() == before
    assert seen
    assert all(threads <= {1} for threads in seen)


class OneForAll:
    """A controller whose limit holds for the whole process, as most have it."""

    threads = 4

    def limit(self, *, limits, user_api):
        return self.limited(limits)

    @contextmanager
    def limited(self, limits):
        before, OneForAll.threads = OneForAll.threads, limits
        yield
        OneForAll.threads = before


def test_two_at_once_leave_it_as_it_was(monkeypatch):
    """Whoever leaves first must not lift the limit, whoever leaves last must."""
    monkeypatch.setattr("arml_core.numerics.threads._pools", OneForAll)
    first_in, second_in, first_out = Event(), Event(), Event()
    seen = []

    @with_one_blas_thread
    def first():
        first_in.set()
        second_in.wait(10)

    @with_one_blas_thread
    def second():
        second_in.set()
        first_out.wait(10)
        seen.append(OneForAll.threads)

    one, other = Thread(target=first), Thread(target=second)
    one.start()
    first_in.wait(10)
    other.start()
    one.join()
    first_out.set()
    other.join()
    assert (seen, OneForAll.threads) == ([1], 4)
