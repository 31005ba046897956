"""Features by name: they mean the places that the data gives them, and nothing else."""

import numpy as np
import pandas as pd
import pytest

from arml_core import MahalanobisKNN, ThreatModel

NAMES = ["age", "pay", "sex", "days"]


def table(n: int = 40) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(n, 4))
    x[:, 2] = rng.integers(0, 2, n)
    return pd.DataFrame(x, columns=NAMES), (x[:, 0] + x[:, 2] > 0.5).astype(int)


BY_NAME = ThreatModel(
    1, {"pay": 4, "age": 2}, ["days"], {"age": (-9, 9)}, only_up=["pay"], free=["age"], switches=[["sex"]]
)
BY_PLACE = ThreatModel(
    1,
    [2, 4, 1, 1],
    [3],
    ([-9, -np.inf, -np.inf, -np.inf], [9, np.inf, np.inf, np.inf]),
    only_up=[1],
    free=[0],
    switches=[[2]],
)


def test_names_are_places():
    assert BY_NAME.has_names
    assert not BY_PLACE.has_names
    assert BY_NAME.for_features(NAMES) == BY_PLACE
    assert BY_PLACE.for_features(None) is BY_PLACE
    assert ThreatModel(only_down=["age", 3]).for_features(NAMES) == ThreatModel(only_down=[0, 3])
    assert ThreatModel(free=["pay"], frozen=["age"]).for_features(NAMES[::-1]) == ThreatModel(free=[2], frozen=[3])


def test_the_order_of_names_does_not_matter():
    one = ThreatModel(costs={"a": 1, "b": 2}, frozen=["d", "c", 0], box={"b": (0, 1), "a": (2, 3)})
    other = ThreatModel(costs={"b": 2, "a": 1}, frozen=[0, "c", "d"], box={"a": (2, 3), "b": (0, 1)})
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize("method", ["votes", "search", "whitebox", "boundary"])
def test_a_classifier_of_a_table_takes_names(method):
    frame, y = table()
    knn = MahalanobisKNN(3).fit(frame, y)
    ask = knn.attack if method in ("whitebox", "boundary") else knn.certify
    few = {"steps": 20} if method == "boundary" else {}
    one, other = (ask(frame[:5], method=method, threat=threat, **few) for threat in (BY_NAME, BY_PLACE))
    for column in ("lower", "upper", "adversarial", "switched"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    assert one.threat == other.threat
    assert hasattr(knn, "feature_names_in_")
    assert knn.count_combinations(frame[:5], BY_NAME).tolist() == [2] * 5


@pytest.mark.parametrize(
    "threat",
    [
        ThreatModel(frozen=["wage"]),
        ThreatModel(costs={"wage": 2}),
        ThreatModel(box={"wage": (0, 1)}),
        ThreatModel(only_up=["wage"]),
        ThreatModel(only_down=["wage"]),
        ThreatModel(free=["wage"]),
        ThreatModel(switches=[["wage"]]),
    ],
)
def test_unknown_names_are_refused_by_name(threat):
    frame, y = table()
    with pytest.raises(ValueError, match="there is no feature 'wage'; there are age, pay, sex, days"):
        MahalanobisKNN(3).fit(frame, y).certify(frame[:2], threat=threat)
    with pytest.raises(ValueError, match="'wage' is the name of a feature, and the data has no names: fit to a table"):
        MahalanobisKNN(3).fit(frame.to_numpy(), y).certify(frame.to_numpy()[:2], threat=threat)
    with pytest.raises(ValueError, match="'wage' is the name of a feature"):
        threat.resolve(4)


def test_one_feature_by_name_and_by_place_is_one_feature():
    for given, text in (
        ({"frozen": [0], "free": ["age"]}, "feature 0 is frozen and free"),
        ({"only_up": ["age"], "only_down": [0]}, "feature 0 may only grow and only fall"),
        ({"switches": [["age"], [0]]}, "feature 0 is in two switches"),
        ({"switches": [["age", 0]]}, "names feature 0 twice"),
        ({"frozen": [2], "switches": [["sex"]]}, "feature 2 is switched and in frozen"),
    ):
        with pytest.raises(ValueError, match=text):
            ThreatModel(**given).for_features(NAMES)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"costs": {"age": 0}}, "feature age has 0. Use frozen for 'never'"),
        ({"costs": {0: 1}}, "costs by feature are given by name; got 0"),
        ({"box": {"age": (1, 0)}}, "the limits of feature age must be"),
        ({"box": {"age": 1}}, "the limits of feature age must be"),
        ({"box": {"age": (np.nan, 1)}}, "the limits of feature age must be"),
        ({"box": {1: (0, 1)}}, "limits by feature are given by name; got 1"),
    ],
)
def test_values_by_name_are_checked(given, text):
    with pytest.raises(ValueError, match=text):
        ThreatModel(**given)


def test_words_with_names():
    threat = ThreatModel(frozen=["days"], only_up=["age"], box={"pay": (0, 5)}, free=["pay"], switches=[["sex"]])
    words = "frozen: days, pay inside [0, 5], age may only grow, pay may be anything, sex may switch as a whole"
    assert threat.describe() == f"ℓ2 norm, {words}"
    assert ThreatModel(frozen=[3]).describe(NAMES) == "ℓ2 norm, frozen: days"
    assert ThreatModel(frozen=[3]).describe() == "ℓ2 norm, 1 frozen feature"
