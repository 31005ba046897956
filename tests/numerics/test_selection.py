"""The k smallest of numbers that are only known up to an error, against every way the errors can fall."""

import itertools

import numpy as np
import pytest

from arml_core.numerics.selection import k_smallest


@pytest.mark.parametrize("seed", range(60))
def test_it_tells_what_holds_for_all_errors_and_what_for_some(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 7)), 1
    k = int(rng.integers(1, n))
    values = rng.integers(0, 6, n).astype(float)
    error = rng.choice([0.0, 0.4, 1.1], n)
    always, sometimes = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    for signs in itertools.product([-1.0, 1.0], repeat=n):  # the extreme cases are the corners
        true = values + np.array(signs) * error
        for tie in (1e-9, -1e-9):  # and either way a tie can go
            chosen = np.zeros(n, dtype=bool)
            chosen[np.argsort(true + tie * np.arange(n), kind="stable")[:k]] = True
            always &= chosen
            sometimes |= chosen
    inside, doubt = (mask[0] for mask in k_smallest(values[None], error[None], k))
    assert not (inside & ~always).any(), "called certain, but an error changes it"
    assert (sometimes <= (inside | doubt)).all(), "can be among them, but was ruled out"
    assert not (inside & doubt).any()


def test_what_is_left_out_is_never_among_them():
    inside, doubt = k_smallest(np.array([[1.0, np.inf, 2.0]]), np.array([[0.1, np.inf, 0.1]]), 2)
    assert inside.tolist() == [[True, False, True]]
    assert not doubt.any()


def test_clear_cases_leave_no_doubt():
    inside, doubt = k_smallest(np.array([[3.0, 1.0, 2.0]]), np.full((1, 3), 0.4), 2)
    assert inside.tolist() == [[False, True, True]]
    assert not doubt.any()
