"""Inside the classifier each operation of numpy and torch runs on one thread; outside they are as they were."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Event, Thread

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from arml_core import MahalanobisKNN
from arml_core.numerics.parallel import in_parallel
from arml_core.numerics.threads import cores, one_thread_per_operation, threads_for


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_torch_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("work", ["certify", "attack", "predict", "kneighbors"])
def test_one_thread_inside_an_operation(two_torch_threads, work):
    X = np.random.default_rng(0).normal(size=(20, 3))
    knn = MahalanobisKNN(1).fit(X, np.arange(20) % 2)
    seen = []
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        getattr(knn, work)(X[:2], callback=lambda *_: seen.append(blas_threads() | {torch.get_num_threads()}))
        assert blas_threads() == before
    assert torch.get_num_threads() == 2
    assert seen
    assert all(threads <= {1} for threads in seen)


@pytest.mark.parametrize(("n_jobs", "expected"), [(3, 3), (1, 1), (-1, cores()), (-cores(), 1), (-99, 1)])
def test_n_jobs_as_scikit_learn_has_it(n_jobs, expected):
    assert threads_for(n_jobs) == expected


@pytest.mark.parametrize(("text", "expected"), [("", cores()), ("3", 3), ("3,2", 3), ("0", cores()), ("x", cores())])
def test_without_n_jobs_all_cores_or_what_openmp_is_told(monkeypatch, text, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert threads_for(None) == expected


def test_no_jobs_at_all_are_refused():
    with pytest.raises(ValueError, match="n_jobs must be a number of threads"):
        MahalanobisKNN(1, n_jobs=0).fit([[0.0], [1.0]], [0, 1]).predict([[0.0]])


def test_torch_is_kept_to_one_thread_in_every_thread_that_works_on_pieces(two_torch_threads):
    """The setting is each thread's own: what the caller has does not count."""
    both_there = Barrier(2, timeout=10)

    def work(_):
        both_there.wait()
        return torch.get_num_threads()

    assert [found for _, found in in_parallel(work, range(4), 2)] == [1, 1, 1, 1]
    assert torch.get_num_threads() == 2


HELPERS = """
import os
from threading import Barrier

import numpy as np
import torch

from arml_core.numerics.parallel import in_parallel
from arml_core.numerics.threads import one_thread_per_operation

all_at_once = Barrier(2, timeout=60)


def work(_):
    a = torch.from_numpy(np.ones((600, 600), dtype=np.float32))
    all_at_once.wait()
    before = len(os.listdir("/proc/self/task"))
    all_at_once.wait()
    a @ a
    all_at_once.wait()
    return len(os.listdir("/proc/self/task")) - before


print(*[started for _, started in one_thread_per_operation(lambda: list(in_parallel(work, range(2), 2)))()])
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists() or cores() < 2, reason="counts threads as Linux lists them")
def test_a_matrix_product_on_a_piece_starts_no_threads_of_its_own():
    """A new thread does not know that the caller has kept torch to one thread until it is told."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", HELPERS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "0"]


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
    monkeypatch.setattr("arml_core.numerics.threads.blas_pools", OneForAll)
    first_in, second_in, first_out = Event(), Event(), Event()
    seen = []

    @one_thread_per_operation
    def first():
        first_in.set()
        second_in.wait(10)

    @one_thread_per_operation
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
