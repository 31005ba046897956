import threading
import time

import numpy as np
import pytest
import torch

from arml_core import MahalanobisKNN
from arml_core.numerics import parallel
from arml_core.numerics.parallel import in_parallel, spare_threads


@pytest.fixture(params=[1, 3])
def threads(request, monkeypatch):
    monkeypatch.setattr(parallel, "spare_threads", lambda: request.param)
    return request.param


def test_pieces_come_back_in_order_with_their_results(threads):
    def work(piece):
        time.sleep(0.01 * (piece % 3 == 0))  # the first of three is the last to finish
        return piece**2

    assert list(in_parallel(work, range(10))) == [(k, k**2) for k in range(10)]


def test_no_more_pieces_are_under_way_than_threads(threads):
    lock, inside, most = threading.Lock(), 0, 0

    def work(_):
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.005)
        with lock:
            inside -= 1

    list(in_parallel(work, range(20)))
    assert most <= threads


def test_an_error_arrives_and_no_more_pieces_begin(threads):
    begun = []

    def work(piece):
        begun.append(piece)
        if piece == 2:
            raise ValueError("piece 2")

    with pytest.raises(ValueError, match="piece 2"):
        list(in_parallel(work, range(100)))
    time.sleep(0.05)
    assert len(begun) <= 3 + threads


def test_who_stops_asking_starts_nothing_more(threads):
    begun = []
    pieces = in_parallel(begun.append, range(100))
    next(pieces)
    pieces.close()
    seen = len(begun)
    time.sleep(0.05)
    assert len(begun) == seen <= threads


def test_threads_are_those_that_torch_leaves_idle(monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: 4)
    for of_torch, expected in ((1, 4), (2, 2), (3, 1), (8, 1)):
        monkeypatch.setattr(torch, "get_num_threads", lambda n=of_torch: n)
        assert spare_threads() == expected


@pytest.mark.parametrize(("method", "n_neighbors"), [("exact", 1), ("theorem1", 3), ("votes", 5)])
def test_certificates_do_not_depend_on_the_number_of_threads(monkeypatch, method, n_neighbors):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 4, 400)
    x = rng.normal(size=(400, 6)) + y[:, None]
    knn = MahalanobisKNN(n_neighbors).fit(x, y)
    seen = []
    for threads in (1, 3):
        monkeypatch.setattr(parallel, "spare_threads", lambda n=threads: n)
        seen.append(knn.certify(x, y, method=method, exclude=np.arange(400)))
    assert np.array_equal(seen[0].lower, seen[1].lower)
    assert np.array_equal(seen[0].upper, seen[1].upper, equal_nan=True)
