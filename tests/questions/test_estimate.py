"""An estimate before switches start: how many versions are certified, and how the parts of the time add up."""

import itertools

import numpy as np
import pandas as pd
import pytest

from arml_core import Cancelled, MahalanobisKNN, ThreatModel, switching

from .problems import ISLAND, NAMES, SEX, fitted, table, versions_of


class Clock:
    """A clock that goes on by a second with each look."""

    def __init__(self):
        self.looks = itertools.count()

    def perf_counter(self):
        return float(next(self.looks))


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(switching, "time", Clock())


@pytest.mark.parametrize("most", [None, 1])
def test_every_version_takes_what_those_took_that_were_timed(clock, most):
    """The timed ones took a second in all."""
    knn, _, _, _ = fitted(60)
    asked, threat = table(60, 30), ThreatModel(switches=[ISLAND, SEX], max_switches=most)
    counts = knn.count_combinations(asked, threat)
    np.testing.assert_array_equal(counts, [len(versions_of(x, [ISLAND, SEX], most)) for x in asked])
    seconds = switching.estimated_seconds(knn, asked, threat)
    assert seconds == pytest.approx(counts.sum() / min(switching.MEASURED, counts.sum()))
    search = switching.estimated_seconds(knn, asked, threat, "search", budget=np.arange(30))
    assert search == pytest.approx(seconds + np.arange(30).sum())


def test_where_nothing_but_switches_changes_answers_are_timed_and_nothing_is_searched(clock):
    knn, _, _, _ = fitted(61)
    threat = ThreatModel(frozen=[0, 1, *ISLAND], switches=[SEX])
    assert switching.estimated_seconds(knn, table(61, 10), threat, "search", budget=100.0) == pytest.approx(1.0)


def test_names_rows_left_out_and_a_box_for_each_row(clock):
    _, M, X, y = fitted(62)
    named = MahalanobisKNN(3, M).fit(pd.DataFrame(X, columns=NAMES), y)
    threat = ThreatModel(switches=[["sex"]], box=(X - 1, X + 1))
    assert switching.estimated_seconds(named, pd.DataFrame(X, columns=NAMES), threat, exclude=range(12)) > 0


def test_it_can_be_stopped_and_too_many_versions_are_refused_before_it_starts():
    knn, _, X, _ = fitted(63)

    def stop(done, total, info):
        raise Cancelled

    with pytest.raises(Cancelled):
        switching.estimated_seconds(knn, X, ThreatModel(switches=[SEX]), callback=stop)
    many = [{"features": [k], "values": np.arange(40.0)} for k in (0, 1)]
    with pytest.raises(ValueError, match="the switches allow 1,681 combinations for a row"):
        switching.estimated_seconds(knn, X, ThreatModel(switches=many))
