"""The threat model: what is accepted, what it means as arrays, and how a move is measured."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import arml_core
from arml_core import ThreatModel

NORMS = {1: 1.0, 2.0: 2.0, np.inf: np.inf, "l1": 1.0, "L2": 2.0, "linf": np.inf, "inf": np.inf}


@pytest.mark.parametrize(("given", "norm"), NORMS.items())
def test_norms_by_number_and_by_name(given, norm):
    assert ThreatModel(norm=given).norm == norm


@pytest.mark.parametrize(("norm", "dual"), [(1, np.inf), (2, 2), (np.inf, 1)])
def test_the_dual_norm_is_holders(norm, dual):
    """max vᵀδ over ‖δ‖ ≤ 1 is ‖v‖ in the dual norm, by sampling δ from above."""
    assert ThreatModel(norm=norm).resolve(3).dual_norm == dual
    rng = np.random.default_rng(0)
    v, delta = rng.normal(size=3), rng.normal(size=(20000, 3))
    delta /= np.linalg.norm(delta, norm, axis=1, keepdims=True)
    best = {1: np.eye(3)[np.abs(v).argmax()], 2: v / np.linalg.norm(v), np.inf: np.sign(v)}[norm]
    assert (delta @ v).max() <= np.linalg.norm(v, dual) * (1 + 1e-12)
    assert abs(best @ v) == pytest.approx(np.linalg.norm(v, dual), rel=1e-12)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_size_is_the_norm_of_costs_times_move(norm):
    rng = np.random.default_rng(1)
    delta, costs = rng.normal(size=(5, 4)), np.array([0.5, 1.0, 2.0, 4.0])
    delta[:, 2] = 0
    got = ThreatModel(norm=norm, costs=costs, frozen=[2]).resolve(4).size(delta)
    np.testing.assert_allclose(got, [np.linalg.norm(costs * d, norm) for d in delta], rtol=1e-14)


def test_moving_a_frozen_feature_is_impossible():
    threat = ThreatModel(frozen=[1]).resolve(2)
    np.testing.assert_array_equal(threat.size(np.array([[3.0, 0.0], [3.0, 1e-300]])), [3.0, np.inf])


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_reduce_and_expand_fit_together(norm):
    """A scaled move z of the movable features gains reduce(v)·z, costs ‖z‖, and expands to the full δ."""
    rng = np.random.default_rng(2)
    threat = ThreatModel(norm=norm, costs=[2.0, 1.0, 0.5], frozen=[1]).resolve(3)
    v, z = rng.normal(size=3), rng.normal(size=2)
    delta = threat.expand(z)
    assert delta[1] == 0
    assert v @ delta == pytest.approx(threat.reduce(v) @ z, rel=1e-12)
    assert threat.size(delta[None])[0] == pytest.approx(np.linalg.norm(z, norm), rel=1e-12)


def test_room_is_what_is_left_of_the_box_times_cost():
    threat = ThreatModel(box=(0, [1.0, 2.0, 3.0]), costs=[1, 2, 1], frozen=[2]).resolve(3)
    x = np.array([0.25, 0.5, 9.0])
    down, up = threat.room(x, threat.ranges(x))
    np.testing.assert_array_equal(down, [0.25, 1.0])
    np.testing.assert_array_equal(up, [0.75, 3.0])


def test_a_point_outside_has_room_only_back_in():
    """The box is the hull of [low, high] and x."""
    threat = ThreatModel(box=(0, 1)).resolve(2)
    x = np.array([1.5, -0.5])
    down, up = threat.room(x, threat.ranges(x))
    np.testing.assert_array_equal(down, [1.5, 0.0])
    np.testing.assert_array_equal(up, [0.0, 1.5])
    assert ThreatModel().resolve(2).ranges(np.zeros(2)) is None


def test_a_frozen_mask_equals_frozen_indices():
    assert ThreatModel(frozen=[False, True, True]).frozen == ThreatModel(frozen=[2, 1, 2]).frozen == (1, 2)
    np.testing.assert_array_equal(ThreatModel(frozen=[2, 1]).resolve(4).movable, [0, 3])


def test_equal_threats_are_equal_keys():
    one = ThreatModel(norm="l2", costs=np.array([1, 2]), frozen=[0], box=(0, np.ones(2)))
    two = ThreatModel(norm=2, costs=[1.0, 2.0], frozen=np.array([True, False]), box=([0, 0], [1, 1]))
    assert one == ThreatModel(2, (1, 2), [0], (0, (1, 1)))
    assert hash(one) == hash(ThreatModel(2, (1, 2), [0], (0, (1, 1))))
    assert one.resolve(2).box[0].tolist() == two.resolve(2).box[0].tolist() == [0.0]
    assert ThreatModel(norm=1) != ThreatModel(norm=2)
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 its own bytes


REFUSED = pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"norm": 3}, "norm must be 1, 2 or inf; got 3"),
        ({"norm": "l0"}, "norm must be 1, 2 or inf; got 'l0'"),
        ({"norm": float("nan")}, "norm must be 1, 2 or inf; got nan"),
        ({"norm": [2]}, r"norm must be 1, 2 or inf; got \[2\]"),
        ({"costs": [1.0, 0.0]}, "positive and finite; feature 1 has 0. Use frozen for 'never'"),
        ({"costs": [1.0, -1.0]}, "feature 1 has -1"),
        ({"costs": [np.inf, 1.0]}, "feature 0 has inf"),
        ({"costs": [1.0, np.nan]}, "feature 1 has nan"),
        ({"costs": 2.0}, r"one number per feature; got shape \(\)"),
        ({"costs": []}, r"one number per feature; got shape \(0,\)"),
        ({"frozen": [-1]}, "from 0; got -1"),
        ({"frozen": [0.5]}, r"feature indices or names; got \[0.5\]"),
        ({"frozen": "age"}, r"a list of features; got 'age'"),
        ({"frozen": 3}, r"list of features or a mask; got shape \(\)"),
        ({"box": (1, 0)}, "lower limit of the box must be at most the upper"),
        ({"box": (np.nan, 1)}, "lower limit of the box must be at most the upper"),
        ({"box": 1}, r"box must be \(low, high\); got 1"),
        ({"box": (0, 1, 2)}, r"box must be \(low, high\)"),
        ({"box": ([0, 0], [1, 1, 1])}, "2 lower and 3 upper limits"),
        ({"box": ([[[0]]], 1)}, r"a line of these for each row; got shape \(1, 1, 1\)"),
        ({"box": ([0, 0], [1, 1]), "costs": [1, 1, 1]}, r"disagree on the number of features: \[2, 3\]"),
    ],
)


@REFUSED
def test_what_makes_no_sense_is_refused_by_name(options, text):
    with pytest.raises(ValueError, match=text):
        ThreatModel(**options)


@REFUSED
def test_what_makes_no_sense_cannot_replace_what_does(options, text):
    with pytest.raises(ValueError, match=text):
        replace(ThreatModel(norm=1, frozen=[0]), **options)


def test_a_replaced_field_is_checked_and_converted_and_the_others_stay():
    threat = ThreatModel(costs=[1, 2], frozen=[1], box=(0, 1))
    changed = replace(threat, norm="linf", costs=np.array([3, 4]))
    assert changed == ThreatModel(np.inf, costs=[3.0, 4.0], frozen=[1], box=(0, 1))
    assert changed.costs == (3.0, 4.0)
    assert replace(threat, costs=None, norm=1).resolve(3).n_features == 3
    with pytest.raises(ValueError, match="threat model is for 3 features; the data has 2"):
        replace(threat, costs=[1, 1, 1]).resolve(2)


@pytest.mark.parametrize(
    ("threat", "text"),
    [
        (ThreatModel(costs=[1, 1]), "threat model is for 2 features; the data has 3"),
        (ThreatModel(box=(0, [1, 1])), "threat model is for 2 features; the data has 3"),
        (ThreatModel(frozen=[True, False]), "threat model is for 2 features; the data has 3"),
        (ThreatModel(frozen=[3]), "frozen feature 3 does not exist; the data has 3 features"),
        (ThreatModel(frozen=[0, 1, 2]), "every feature is frozen; leave at least one"),
    ],
)
def test_what_does_not_fit_the_data_is_refused_by_name(threat, text):
    with pytest.raises(ValueError, match=text):
        threat.resolve(3)


def test_a_threat_in_words():
    assert ThreatModel().describe() == "ℓ2 norm"
    assert ThreatModel("linf", frozen=[1], box=(0, 1)).describe() == "ℓ∞ norm, 1 frozen feature, inside [0, 1]"
    words = ThreatModel(1, costs=[1, 2, 3], frozen=[0, 1], box=(0, [1, 1, 1])).describe()
    assert words == "ℓ1 norm, per-feature costs, 2 frozen features, inside a box"


@pytest.mark.parametrize(
    ("threat", "text"),
    [
        (ThreatModel(), "arml.ThreatModel()"),
        (ThreatModel("linf", frozen=[1]), "arml.ThreatModel(norm='linf', frozen=[1])"),
        (ThreatModel(costs=[1, 2]), "arml.ThreatModel(costs=[1.0, 2.0])"),
        (ThreatModel(1, box=(0, 1)), "arml.ThreatModel(norm='l1', box=[0.0, 1.0])"),
        (ThreatModel(frozen=[], box=(-np.inf, [1, np.inf])), None),
    ],
)
def test_a_threat_as_python(threat, text):
    assert eval(threat.python(), {"arml": arml_core}) == threat
    assert text in (None, threat.python())


def test_a_float32_point_is_rounded_into_the_box():
    """The float32 nearest to 0.7 lies below it, the one nearest to 0.8 above."""
    low, high = 0.7, 0.8
    assert np.float32(low).astype(np.float64) < low
    assert np.float32(high).astype(np.float64) > high
    points = np.array([[5.0, -5.0], [high, low], [0.75, 0.72]], dtype=np.float32)
    threat, x = ThreatModel(box=(low, high)).resolve(2), np.full((3, 2), 0.75)
    kept = threat.keep_within(points, x, threat.ranges(x))
    assert kept.dtype == np.float32
    assert (kept.astype(np.float64) >= low).all()
    assert (kept.astype(np.float64) <= high).all()
    assert kept[0] == pytest.approx([high, low], abs=1e-7)
    assert np.array_equal(kept[2], points[2])
