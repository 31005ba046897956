"""The one result: joined, cut, judged, written and read again."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

import arml_core as arml
from arml_core.radii import COLUMNS, Radii, verdicts


def radii(index: list[int], lower: float, upper: list[float]) -> Radii:
    n = len(index)
    truth = np.ones(n, dtype=bool)
    points = np.array(upper)[:, None] * np.ones(2)
    return Radii(
        index=np.array(index),
        lower=np.full(n, lower),
        upper=np.array(upper),
        exact=~truth,
        correct=truth,
        predicted=np.zeros(n, dtype=int),
        adversarial=points,
    )


@pytest.fixture(scope="module")
def found() -> Radii:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.array(["ant", "bee"])[rng.integers(0, 2, 40)]
    knn = arml.MahalanobisKNN(3).fit(X, y)
    threat = arml.ThreatModel("l1", costs=[1.0, 2.0, 1.0], frozen=[1], box=(-5.0, 5.0))
    return knn.attack(
        X[:12],
        y[:12],
        method="boundary",
        threat=threat,
        exclude=range(12),
        steps=np.int64(20),
        random_state=np.int32(3),
    )


def test_an_attack_of_rows_that_are_not_certified_yet_is_put_to_no_other_row() -> None:
    certificate = radii([0, 1, 24, 25], 0.5, [np.inf] * 4)
    joined = certificate.join(radii([1, 10, 25, 30], 0.0, [0.6, 0.1, 0.5, 0.2]))
    assert joined.upper.tolist() == [np.inf, 0.6, np.inf, 0.5]
    assert joined.adversarial[:, 0].tolist() == [np.inf, 0.6, np.inf, 0.5]
    assert joined.exact.tolist() == [False, False, False, True]
    assert certificate.upper.tolist() == [np.inf] * 4


def test_a_joined_row_is_exact_only_as_far_as_the_attack_came() -> None:
    one = radii([0, 1], 0.5, [0.5, 0.5])
    exact = Radii(**{**vars(one), "exact": np.array([True, True])})
    assert exact.join(radii([0, 1], 0.0, [0.7, 0.5])).exact.tolist() == [False, True]


def test_an_attack_below_what_is_proved_is_a_contradiction_that_names_the_row() -> None:
    proved = radii([4, 7], 0.5, [np.inf, np.inf])
    with pytest.raises(arml.ContradictionError, match=r"^point 7: .* 0\.5 .* 0\.4"):
        proved.join(radii([4, 7], 0.0, [0.6, 0.4]))
    with pytest.raises(arml.ContradictionError, match=r"^point 4: .* inf "):
        radii([4], np.inf, [np.inf]).join(radii([4], 0.0, [1e9]))


def test_an_attack_that_only_rounding_puts_below_it_cuts_it_off() -> None:
    upper = 0.5 * (1 - 1e-12)
    joined = radii([4], 0.5, [np.inf]).join(radii([4], 0.0, [upper]))
    assert (joined.lower[0], joined.upper[0], joined.exact[0]) == (upper, upper, True)


def test_two_answers_to_one_question_are_narrowed_to_the_better_side_of_both() -> None:
    one, other = radii([0, 1, 2, 5], 0.5, [0.9, 0.8, np.inf, 0.7]), radii([1, 2, 5, 9], 0.6, [0.7, np.inf, 0.6, 0.8])
    found = one.narrow(other)
    assert found.index.tolist() == [0, 1, 2, 5]
    assert found.lower.tolist() == [0.5, 0.6, 0.6, 0.6]
    assert found.upper.tolist() == [0.9, 0.7, np.inf, 0.6]
    assert found.adversarial[:, 0].tolist() == [0.9, 0.7, np.inf, 0.6]
    assert found.exact.tolist() == [False, False, False, True]
    assert one.upper.tolist() == [0.9, 0.8, np.inf, 0.7]
    back = other.narrow(one)
    assert back.lower.tolist() == [0.6] * 4
    assert back.upper.tolist() == [0.7, np.inf, 0.6, 0.8]


def test_nothing_can_flip_is_no_radius_however_it_was_proved() -> None:
    found = radii([0], np.inf, [np.inf]).narrow(radii([0], 0.5, [np.inf]))
    assert (found.lower.tolist(), found.exact.tolist()) == ([np.inf], [False])


def test_some_rows_in_another_order_keep_their_index() -> None:
    some = radii([4, 7, 9], 0.1, [0.2, 0.3, 0.4]).take([2, 0])
    assert len(some) == 2
    assert some.index.tolist() == [9, 4]
    assert some.upper.tolist() == [0.4, 0.2]
    assert radii([4, 7, 9], 0.1, [0.2, 0.3, 0.4]).take(np.array([False, True, False])).index.tolist() == [7]


def test_parts_become_a_whole_with_each_row_once() -> None:
    whole = Radii.concatenate([radii([3, 1], 0.1, [3.0, 1.0]), radii([0, 1], 0.1, [9.0, 8.0])])
    assert whole is not None
    assert whole.index.tolist() == [0, 1, 3]
    assert whole.upper.tolist() == [9.0, 1.0, 3.0]
    assert Radii.concatenate([]) is None


@pytest.mark.parametrize(
    ("lower", "upper", "word"),
    [(0.5, 0.5, "attackable"), (0.4, 0.5, "attackable"), (0.5, 0.6, "undecided"), (0.51, np.inf, "certified")],
)
def test_a_verdict_at_one_half(lower: float, upper: float, word: str) -> None:
    assert verdicts([lower], [upper], 0.5).tolist() == [word]
    assert radii([0], lower, [upper]).verdict(0.5).tolist() == [word]


def test_a_negative_radius_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0; got -1"):
        radii([0], 0.1, [0.2]).verdict(-1)


def test_it_is_read_again_as_it_was_written(found: Radii, tmp_path) -> None:
    found.save(tmp_path / "radii.npz")
    again = Radii.load(tmp_path / "radii.npz")
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    assert (again.method, again.threat, dict(again.settings)) == ("boundary", found.threat, {"steps": 20, "seed": 3})


def test_a_write_that_breaks_off_leaves_the_old_file_and_nothing_else(found: Radii, tmp_path, monkeypatch) -> None:
    path = tmp_path / "radii.npz"
    found.take([0]).save(path)

    def no_room(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(OSError, match="No space left"):
        found.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["radii.npz"]
    assert len(Radii.load(path)) == 1


def test_a_stored_result_without_its_question_is_still_read(found: Radii) -> None:
    arrays = {name: array for name, array in found.arrays().items() if name != "question"}
    again = Radii.from_arrays(arrays)
    assert again.lower.tolist() == found.lower.tolist()
    assert again.method == ""


def test_a_file_of_something_else_is_named(tmp_path) -> None:
    np.savez(tmp_path / "other.npz", lower=np.zeros(3))
    with pytest.raises(ValueError, match=r"other\.npz does not hold radii"):
        Radii.load(tmp_path / "other.npz")
    (tmp_path / "text.npz").write_text("lower, upper")
    with pytest.raises(ValueError, match=r"text\.npz does not hold radii"):
        Radii.load(tmp_path / "text.npz")


def test_a_file_whose_columns_differ_in_length_is_refused(found: Radii, tmp_path) -> None:
    np.savez(tmp_path / "short.npz", **{**found.arrays(), "lower": found.lower[:-1]})
    with pytest.raises(ValueError, match="do not fit together"):
        Radii.load(tmp_path / "short.npz")


def test_it_prints_in_a_line_and_as_a_table(found: Radii) -> None:
    assert repr(found).startswith(
        "Radii(boundary, ℓ1 norm, per-feature costs, 1 frozen feature, inside [-5, 5]: 12 points"
    )
    frame = found.to_frame()
    assert list(frame.columns) == ["index", "predicted", "correct", "lower", "upper", "exact"]
    assert frame["upper"].tolist() == found.upper.tolist()


def test_both_methods_return_it_under_its_older_names() -> None:
    assert arml.Certificates is arml.AttackResult is arml.Radii


def test_columns_are_given_by_name_only() -> None:
    with pytest.raises(TypeError):
        Radii(np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1, bool), np.zeros(1, bool), np.zeros(1), np.zeros((1, 2)))


def test_parts_with_and_without_their_question_keep_it(found: Radii) -> None:
    old = Radii(**{name: getattr(found, name)[:4] for name in COLUMNS})
    whole = Radii.concatenate([old, found.take(np.arange(4, 12))])
    assert whole is not None
    assert (len(whole), whole.method, whole.threat) == (12, "boundary", found.threat)


def test_two_answers_that_contradict_each_other_are_not_narrowed() -> None:
    with pytest.raises(arml.ContradictionError, match=r"^point 7:"):
        radii([7], 0.5, [np.inf]).narrow(radii([7], 0.0, [0.4]))
