"""Inside `certify` and `attack` numpy's products run on one thread; outside they are as they were."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from arml_core import MahalanobisKNN


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
