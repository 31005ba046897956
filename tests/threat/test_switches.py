"""Switches: which combinations a row has, what the points after them are, and what is refused."""

import itertools
import json

import numpy as np
import pytest

import arml_core
from arml_core import ThreatModel
from arml_core.threat import Combinations, Switch
from arml_core.threat.switches import KEPT, counted, n_combinations

GROUPS = [
    Switch.of({"features": [1, 2], "values": [[0, 1], [1, 0], [1, 1]]}),
    Switch.of({"features": [4], "values": [5, 7]}),
]
ROWS = np.array([[9.0, 0, 1, 8, 5], [9.0, 1, 1, 8, 6], [3.0, 2, 2, 2, 7]])


def by_hand(x, switches, most):
    """The distinct points after all combinations, as a set, from every choice of a value or none for each group."""
    found = set()
    for chosen in itertools.product(*([None, *switch.values] for switch in switches)):
        point, switched = x.copy(), 0
        for switch, value in zip(switches, chosen, strict=True):
            if value is not None and not np.array_equal(x[list(switch.features)], np.array(value, dtype=x.dtype)):
                point[list(switch.features)] = value
                switched += 1
        if most is None or switched <= most:
            found.add(tuple(point.tolist()))
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("most", [None, 0, 1, 2, 9])
def test_all_combinations_each_once_the_row_itself_first(most, dtype):
    x = ROWS.astype(dtype)
    found = Combinations.of(x, GROUPS, most)
    assert found.points.dtype == dtype
    for row in range(len(x)):
        mine = found.points[found.row == row]
        assert len(mine) == len({tuple(point) for point in mine.tolist()})
        assert {tuple(point) for point in mine.tolist()} == by_hand(x[row], GROUPS, most)
        np.testing.assert_array_equal(mine[0], x[row])
        n_switched = (found.codes[found.row == row] != KEPT).sum(axis=1)
        assert (np.diff(n_switched) >= 0).all()
    assert counted(x, GROUPS, most).tolist() == np.bincount(found.row).tolist()


def test_a_code_is_the_place_of_the_value_that_the_point_has():
    found = Combinations.of(ROWS, GROUPS, None)
    for row, codes, point in zip(found.row, found.codes, found.points, strict=True):
        for switch, code in zip(GROUPS, codes, strict=True):
            at = list(switch.features)
            np.testing.assert_array_equal(point[at], ROWS[row, at] if code == KEPT else switch.values[code])


def test_patterns_are_rounded_to_the_rows_before_they_are_compared():
    """0.1 in float32 is the row's own value; two values that float32 cannot tell apart are one."""
    switch = Switch.of({"features": [0], "values": [0.1, 0.3, 0.3 + 1e-12]})
    x = np.array([[0.1, 1.0]], dtype=np.float32)
    assert counted(x, [switch], None)[0] == 2
    assert Combinations.of(x, [switch], None).points[:, 0].tolist() == [np.float32(0.1), np.float32(0.3)]
    assert counted(x.astype(np.float64), [switch], None)[0] == 4
    huge = Switch.of({"features": [0], "values": [0.0, 1e300]})
    with pytest.raises(ValueError, match="the values of the switch feature 0 are too large for float32 rows"):
        Combinations.of(x, [huge], None)


@pytest.mark.parametrize("most", [None, 0, 1, 2, 3, 7])
def test_the_count_is_that_of_all_choices(most):
    sizes = [2, 0, 3, 1]
    choices = itertools.product(*(range(size + 1) for size in sizes))
    assert n_combinations(sizes, most) == sum(most is None or sum(c > 0 for c in choice) <= most for choice in choices)


def test_sixty_groups_of_which_one_may_switch_are_counted_and_made_at_once():
    """2⁶⁰ choices, of which 61 are allowed."""
    x, switches = np.zeros((2, 60)), [Switch.of({"features": [f], "values": [0, 1]}) for f in range(60)]
    assert counted(x, switches, 1).tolist() == [61, 61]
    assert Combinations.of(x, switches, 1).points.sum(axis=1).tolist() == 2 * [0.0, *[1.0] * 60]


def test_too_many_combinations_are_refused_with_their_number():
    x, switches = np.zeros((1, 3)), [Switch.of({"features": [f], "values": list(range(10))}) for f in range(3)]
    assert counted(x, switches, None).tolist() == [1000]
    with pytest.raises(
        ValueError, match=r"allow 1,331 combinations for a row; at most 1,000 .* Set max_switches lower"
    ):
        Combinations.of(np.full((1, 3), 0.5), switches, None)  # none of the values is its own
    with pytest.raises(ValueError, match="allow 1,331 combinations"):
        counted(np.vstack([x, x + 0.5]), switches, None)


@pytest.mark.parametrize(
    ("switches", "text"),
    [
        ([[0, 1], [1]], "feature 1 is in two switches: a feature belongs to one"),
        ([[0, 0]], "a switch names feature 0 twice"),
        ([[]], r"a switch must be a list of features, at least one; got \[\]"),
        (["sex"], "a switch must be a list of features, at least one; got 'sex'"),
        ([3], "a switch must be a list of features, at least one; got 3"),
        ([[-1]], "a switch must hold feature indices from 0, or names; got -1"),
        ([[1.0]], "a switch must hold feature indices from 0, or names; got 1.0"),
        ([[True]], "a switch must hold feature indices from 0, or names; got True"),
        ([{"values": [1]}], "a switch has features and values; got"),
        ([{"features": [1], "value": [1]}], "a switch has features and values; got"),
        ([{"features": [0, 1], "values": [[1]]}], "lines of 2 finite numbers"),
        ([{"features": [0], "values": []}], "lines of 1 finite numbers"),
        ([{"features": [0], "values": [np.nan]}], "lines of 1 finite numbers"),
        ([{"features": [0], "values": [np.inf]}], "lines of 1 finite numbers"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(switches, text):
    with pytest.raises(ValueError, match=text):
        ThreatModel(switches=switches)


@pytest.mark.parametrize("role", ["frozen", "only_up", "only_down", "free"])
def test_a_switched_feature_has_no_other_part(role):
    with pytest.raises(ValueError, match=f"feature 1 is switched and in {role}: a switched feature changes only with"):
        ThreatModel(switches=[[0, 1]], **{role: [1]})


@pytest.mark.parametrize("most", [-1, 1.5, True, np.inf])
def test_how_many_switch_at_once_is_a_whole_number(most):
    with pytest.raises(ValueError, match="max_switches must be a whole number, at least 0, or None; got"):
        ThreatModel(switches=[[0]], max_switches=most)


def test_features_that_the_data_does_not_have():
    for threat in (ThreatModel(switches=[[7]]), ThreatModel(switches=[{"features": [7], "values": [0, 1]}])):
        with pytest.raises(ValueError, match="switched feature 7 does not exist; the data has 3 features"):
            threat.check_width(3)
    with pytest.raises(ValueError, match="switched feature 7 does not exist"):
        ThreatModel(switches=[[7]]).with_values(np.zeros((2, 3)))


def test_values_from_rows_are_their_distinct_patterns_and_given_ones_stay():
    rows = np.array([[1.0, 0, 5], [0, 1, 5], [1, 0, 6]])
    threat = ThreatModel(switches=[[0, 1], {"features": [2], "values": [3]}]).with_values(rows)
    assert threat.switches[0].values == ((0.0, 1.0), (1.0, 0.0))
    assert threat.switches[1].values == ((3.0,),)
    assert threat.with_values(rows + 1) is threat


def test_resolving_switches_is_refused_and_without_them_they_are_frozen():
    threat = ThreatModel(1, frozen=[3], switches=[[0, 1]], max_switches=1)
    with pytest.raises(ValueError, match=r"resolve without_switches\(\)"):
        threat.resolve(5)
    assert threat.without_switches() == ThreatModel(1, frozen=[0, 1, 3])


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"switches": []},
        {"max_switches": 2},
        {"only_up": [], "only_down": [], "free": []},
        {"norm": "linf", "costs": {"b": 2, "a": 0.5}, "frozen": ["c", 0], "box": {"a": (0, np.inf), "d": (-1, 2)}},
        {"only_up": ["a"], "only_down": [1], "free": ["c"], "box": {"c": (0, 1)}},
        {"switches": [[0, 1], ["sex"]], "max_switches": 1},
        {"switches": [{"features": ["sex"], "values": [0, 1.5]}, {"features": [2, 3], "values": [[0, 1], [1, 0]]}]},
        {"box": (np.zeros((2, 3)), np.ones((2, 3))), "switches": ([0], [2])},
    ],
)
def test_json_and_python_build_the_same_threat(given):
    threat = ThreatModel(**given)
    assert ThreatModel(**json.loads(json.dumps(threat.arguments()))) == threat
    assert eval(threat.python(), {"arml": arml_core}) == threat
    assert hash(threat) == hash(ThreatModel(**threat.arguments()))


def test_questions_without_what_is_new_keep_their_keys():
    assert set(ThreatModel(switches=[], max_switches=3).arguments()) == {"norm", "costs", "frozen", "box"}
    old = {"norm": "l2", "costs": [1.0, 2.0], "frozen": [], "box": [0.0, [1.0, 2.0]]}
    assert ThreatModel(**old).arguments() == old
    assert ThreatModel(switches=[], max_switches=3) == ThreatModel()
    assert ThreatModel(switches=[[0]], max_switches=1) != ThreatModel(switches=[[0]])


def test_switches_in_words():
    names = ["age", "island=Biscoe", "island=Dream", "sex"]
    threat = ThreatModel(switches=[[1, 2], [3]])
    assert threat.describe(names) == "ℓ2 norm, island, sex may switch as a whole"
    assert threat.describe() == "ℓ2 norm, feature 1 + feature 2, feature 3 may switch as a whole"
    few = ThreatModel(switches=[[1, 2], [3]], max_switches=1)
    assert few.describe(names).endswith("may switch as a whole, 1 of them at once")
    many = ThreatModel(switches=[[f] for f in range(6)])
    assert many.describe(list("abcdef")).endswith("a, b, c, d and 2 more may switch as a whole")
    assert Switch.of([0, 1, 2, 3]).named(list("abcd")) == "a … d"


def test_a_value_in_words():
    names = ["island=Biscoe", "island=Dream", "sex"]
    island = Switch.of({"features": [0, 1], "values": [[0, 1], [1, 0], [0, 0], [-0.5, 2.5]]})
    assert [island.value_named(code, names) for code in range(4)] == [
        "island=Dream",
        "island=Biscoe",
        "island=Biscoe = 0, island=Dream = 0",
        "island=Dream",  # scaled 0/1 columns
    ]
    assert Switch.of({"features": [2], "values": [0.5]}).value_named(0, names) == "sex = 0.5"
    assert Switch.of({"features": [2], "values": [0.5]}).value_named(0) == "feature 2 = 0.5"
