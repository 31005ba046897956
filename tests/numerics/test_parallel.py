import threading
import time

import numpy as np
import pytest

from arml_core import MahalanobisKNN
from arml_core.numerics.parallel import in_parallel


@pytest.fixture(params=[1, 3])
def threads(request):
    return request.param


def test_pieces_come_back_in_order_with_their_results(threads):
    def work(piece):
        time.sleep(0.01 * (piece % 3 == 0))  # the first of three is the last to finish
        return piece**2

    assert list(in_parallel(work, range(10), threads)) == [(k, k**2) for k in range(10)]


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

    list(in_parallel(work, range(20), threads))
    assert most <= threads


def test_a_piece_begins_once_that_many_places_before_it_one_is_finished(threads):
    finished = [False] * 30

    def work(piece):
        assert piece < threads or finished[piece - threads]
        time.sleep(0.002 * (piece % 4))
        finished[piece] = True

    assert len(list(in_parallel(work, range(30), threads))) == 30


def test_an_error_arrives_and_no_more_pieces_begin(threads):
    begun = []

    def work(piece):
        begun.append(piece)
        if piece == 2:
            raise ValueError("piece 2")

    with pytest.raises(ValueError, match="piece 2"):
        list(in_parallel(work, range(100), threads))
    time.sleep(0.05)
    assert len(begun) <= 3 + threads


def test_who_stops_asking_starts_nothing_more(threads):
    begun = []
    pieces = in_parallel(begun.append, range(100), threads)
    next(pieces)
    pieces.close()
    seen = len(begun)
    time.sleep(0.05)
    assert len(begun) == seen <= threads


@pytest.mark.parametrize(
    ("method", "n_neighbors"), [("exact", 1), ("theorem1", 3), ("votes", 5), ("search", 3), ("whitebox", 3)]
)
def test_results_do_not_depend_on_the_number_of_threads(method, n_neighbors):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 4, 400)
    x = rng.normal(size=(400, 6)) + y[:, None]
    some = slice(0, 400 if method in ("exact", "theorem1", "votes") else 12)
    seen = []
    for n_jobs in (1, 3):
        knn = MahalanobisKNN(n_neighbors, n_jobs=n_jobs).fit(x, y)
        if method == "whitebox":
            found = knn.attack(x[some], exclude=np.arange(400)[some])
        else:
            found = knn.certify(x[some], method=method, exclude=np.arange(400)[some], budget=60)
        seen.append((knn.predict(x + 0.5), found))
    (answers, one), (others, three) = seen
    np.testing.assert_array_equal(answers, others)
    for name in ("lower", "upper", "adversarial"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))
