"""Columns to protect: what is said of a column is what freezing it gives, by the classifier and by brute force."""

import json

import numpy as np
import pandas as pd
import pytest

from arml_core import Cancelled, MahalanobisKNN, ThreatModel, columns_to_protect
from arml_core.certificates.support import METHODS
from tests import oracles
from tests.attacks.oracles import truth
from tests.more import seeds

from .problems import ISLAND, NAMES, SEX, fitted, table


@pytest.mark.parametrize("seed", seeds(12))
def test_against_freezing_by_hand_and_the_truth(seed):
    k, norm = 1 + seed % 3, (1.0, 2.0, np.inf)[seed % 3]
    knn, M, X, y = fitted(seed, k)
    asked, eps, threat = table(80 + seed, 8), 0.3, ThreatModel(norm, frozen=[3])
    found = columns_to_protect(knn, asked, eps=eps, threat=threat, budget=5.0)
    base = knn.certify(asked, method="search", threat=threat, budget=5.0)
    np.testing.assert_array_equal(found.rows, np.flatnonzero(base.lower <= eps))
    assert found.n_safe == len(asked) - len(found.rows)
    assert [column.features for column in found.columns] == [(0,), (1,), (2,), (4,), (5,)]
    for column in found.columns:
        frozen = oracles.Threat(norm, None, (3, *column.features))
        for row, verdict in zip(found.rows, column.verdicts, strict=True):
            x = asked[row]
            real = truth(M, X, y, x, oracles.predict(M, X, y, x, k), k, frozen).closed
            if verdict == "certified":
                assert real > eps * (1 - 1e-7)
            if verdict == "attackable":
                assert real <= eps * (1 + 1e-7)


@pytest.mark.parametrize("method", ["votes", "search"])
def test_each_column_says_what_freezing_it_says(method):
    """Bit for bit what `certify` proves about the same rows with the column frozen; wrong rows are not asked about."""
    knn, _, _, _ = fitted(21, 3)
    asked, y = table(91, 20), np.arange(20) % 2
    threat = ThreatModel("linf", frozen=[4], only_up=[0], box=(-3, 3))
    found = columns_to_protect(knn, asked, y, eps=0.2, threat=threat, method=method, budget=60.0)
    assert 0 < len(found.rows) < (knn.predict(asked) == y).sum()
    assert (knn.predict(asked[found.rows]) == y[found.rows]).all()
    at = {"at": [0.2], "budget": 60.0} if method == "search" else {}
    for column in found.columns:
        frozen = ThreatModel(
            "linf", frozen=[4, *column.features], only_up=[0] if 0 not in column.features else None, box=(-3, 3)
        )
        alone = knn.certify(asked[found.rows], y[found.rows], method, frozen, **at)
        np.testing.assert_array_equal(column.verdicts, alone.verdict(0.2))
        assert column.safe + column.open + column.breakable == len(found.rows)


def test_the_column_that_decides_ranks_first():
    """Only the second number separates the classes: with it frozen every row is safe, with another one none is."""
    X = np.array([[0.0, -1.0, 0.0], [1.0, -1.0, 2.0], [0.0, 1.0, 0.0], [1.0, 1.0, 2.0]])
    knn = MahalanobisKNN(1).fit(X, [0, 0, 1, 1])
    found = columns_to_protect(knn, X, [0, 0, 1, 1], eps=1.5)
    assert [column.name for column in found.ranked()] == ["feature 1", "feature 0", "feature 2"]
    assert found.to_frame().to_numpy().tolist() == [
        ["feature 1", 4, 0, 0],
        ["feature 0", 0, 0, 4],
        ["feature 2", 0, 0, 4],
    ]
    assert set(found.before) == {"attackable"}


def test_groups_by_name_and_the_default_of_a_switched_category():
    knn, M, X, y = fitted(22)
    named = MahalanobisKNN(3, M).fit(pd.DataFrame(X, columns=NAMES), y)
    asked = pd.DataFrame(table(92, 10), columns=NAMES)
    threat = ThreatModel(switches=[list(NAMES[2:5]), ["sex"]], max_switches=1)
    found = columns_to_protect(named, asked, eps=0.1, threat=threat, method="votes")
    assert {c.name: c.features for c in found.columns} == {"a": (0,), "b": (1,), "island": ISLAND, "sex": SEX}
    by_place = asked.to_numpy()[found.rows]
    kept = {
        "a": ThreatModel(frozen=[0], switches=[ISLAND, SEX], max_switches=1),
        "island": ThreatModel(frozen=ISLAND, switches=[SEX], max_switches=1),
        "sex": ThreatModel(frozen=SEX, switches=[ISLAND], max_switches=1),
    }
    for column in found.columns:
        if column.name in kept:
            alone = knn.certify(by_place, threat=kept[column.name])
            np.testing.assert_array_equal(column.verdicts, alone.verdict(0.1))
    pair = columns_to_protect(named, asked, eps=0.1, method="votes", columns={"numbers": ["a", 1]})
    assert [(c.name, c.features) for c in pair.columns] == [("numbers", (0, 1))]


def test_where_nothing_is_left_that_could_move_every_row_is_safe():
    knn, _, _, _ = fitted(23)
    asked = table(93, 10)
    found = columns_to_protect(knn, asked, eps=5.0, threat=ThreatModel(frozen=[0, *ISLAND, *SEX]))
    assert len(found.rows) > 0
    assert [(c.name, c.safe) for c in found.columns] == [("feature 1", len(found.rows))]


def test_where_only_switches_are_left_the_answers_decide():
    knn, _, _, _ = fitted(25)
    asked = table(94, 12)
    threat = ThreatModel(frozen=[0, *ISLAND], switches=[SEX])
    found = columns_to_protect(knn, asked, eps=0.0, threat=threat, columns={"b": [1]})
    other = asked.copy()
    other[:, 5] = 1 - other[:, 5]
    flipped = (knn.predict(asked) != knn.predict(other))[found.rows]
    assert flipped.any()
    np.testing.assert_array_equal(found.columns[0].verdicts, np.where(flipped, "attackable", "certified"))


@pytest.mark.parametrize("method", METHODS)
def test_where_only_a_free_column_is_left_its_values_decide(method):
    """The row is flipped by its free column alone from 1 on, which is inside its range or not."""
    X, y = np.array([[0.0, 0.0], [0.0, 2.0]]), [0, 1]
    knn, x = MahalanobisKNN(1).fit(X, y), np.array([[0.0, 0.5]])
    for top, safe in ((1.5, False), (0.9, True)):
        threat = ThreatModel(box=(-1, top), free=[1])
        frozen = threat.with_frozen([0], 2)
        assert ThreatModel(**json.loads(json.dumps(frozen.arguments()))) == frozen
        radii = knn.certify(x, method=method, threat=frozen)
        assert (radii.lower[0] == np.inf) == safe
        assert safe or radii.lower[0] == 0.0
        found = columns_to_protect(knn, x, eps=0.0, threat=threat, columns={"a": [0]}, method=method)
        assert [(c.safe == 1) for c in found.columns] == [safe] or not len(found.rows)


def test_some_rows_with_what_is_left_out_of_them_and_a_box_for_each():
    knn, _, X, y = fitted(25, 1)
    rows = [7, 2, 5]
    threat = ThreatModel(box=(X - 1.0, X + 1.0))
    found = columns_to_protect(
        knn, X, y, eps=0.4, threat=threat, exclude=range(len(X)), rows=rows, method="votes", columns={"a": [0]}
    )
    assert found.n_asked == 3
    for row, verdict in zip(found.rows, found.columns[0].verdicts, strict=True):
        box = (X[[row]] - 1.0, X[[row]] + 1.0)
        alone = knn.certify(X[[row]], y[[row]], threat=ThreatModel(box=box, frozen=[0]), exclude=[row])
        assert alone.verdict(0.4)[0] == verdict


def test_no_row_in_question_is_no_error():
    knn, _, _, _ = fitted(26)
    found = columns_to_protect(knn, table(95, 4), eps=0.0, threat=ThreatModel(frozen=[1]), columns={"a": [0]})
    assert found.n_safe + len(found.rows) == 4


def test_what_is_refused_in_words():
    knn, _, X, _ = fitted(27)
    for eps in (-1, np.inf, [0.1, 0.2]):
        with pytest.raises(ValueError, match="eps must be one finite number"):
            columns_to_protect(knn, X, eps=eps)
    with pytest.raises(ValueError, match="name at least one column"):
        columns_to_protect(knn, X, eps=0.1, columns={})
    with pytest.raises(ValueError, match="column 'a' has feature 6; the data has 6 features"):
        columns_to_protect(knn, X, eps=0.1, columns={"a": [6]})
    with pytest.raises(ValueError, match="column 'a' must be a list of features"):
        columns_to_protect(knn, X, eps=0.1, columns={"a": "a"})
    with pytest.raises(ValueError, match="there is no feature 'age'"):
        columns_to_protect(knn, X, eps=0.1, columns={"a": ["age"]})
    with pytest.raises(ValueError, match="are switched together with others, feature 2"):
        columns_to_protect(knn, X, eps=0.1, threat=ThreatModel(switches=[ISLAND]), columns={"a": [2]})
    with pytest.raises(ValueError, match="rows names row 12; X has 12 rows"):
        columns_to_protect(knn, X, eps=0.1, rows=[12])


def test_progress_reaches_its_end_and_a_callback_stops_it():
    knn, _, X, _ = fitted(28)
    seen = []
    columns_to_protect(knn, X, eps=0.3, method="votes", callback=lambda done, total, _: seen.append(done / total))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0

    def stop(done, total, info):
        if done > total / 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        columns_to_protect(knn, X, eps=0.3, method="votes", callback=stop)
