"""The vote: the most votes win, the smallest class code wins a tie."""

import numpy as np
import pytest

from arml_core.neighbors.vote import count_votes, elect, votes_to_beat, winner


def test_votes_are_counted_row_by_row():
    labels = np.array([[0, 2, 2], [1, 1, 0]])
    assert count_votes(labels, 4).tolist() == [[1, 0, 2, 0], [1, 2, 0, 0]]
    assert elect(labels, 4).tolist() == [2, 1]


def test_the_smallest_code_wins_a_tie():
    assert elect(np.array([[2, 1, 1, 2], [3, 0, 3, 0]]), 4).tolist() == [1, 0]


@pytest.mark.parametrize(("rival", "label"), [(0, 1), (1, 0), (2, 1)])
def test_one_vote_less_than_needed_does_not_beat(rival, label):
    for against in range(4):
        needed = votes_to_beat(against, rival, label)
        for votes, wins in ((needed, True), (needed - 1, False)):
            tally = np.zeros(3, dtype=np.intp)
            tally[label], tally[rival] = against, votes
            if votes > 0 or against > 0:
                assert bool(winner(tally) == rival) == wins
