"""One point on the Inspect page: its neighbours, both sides of its radius, its twin, and another one."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from arml_core.knn import MahalanobisKNN
from arml_core.metric import Metric
from arml_core.vocabulary import radius_down, radius_near, radius_up, training_words
from pages.components.inspect.point_view import beyond_white, height_of
from pages.components.inspect.study import (
    PointQuestion,
    PreparedSource,
    certify_in_stages,
    changes,
    find_row,
    new_study,
    twin_rows,
)
from tests.more import more

from ..app import address
from .inspect_page import blobs, charts, knn_of, page, quiet, settled, tile, uploaded, words


def test_it_opens_on_a_digit_with_pictures_and_the_engines_numbers() -> None:
    app = page()
    data, knn = knn_of("digits", 5)
    assert address(app) == {}
    assert {"inspect_twin", "inspect_trail", "inspect_tiles_before", "inspect_tiles_after"} <= charts(app)
    assert tile(app, "Answer") == data.class_names[knn.predict(data.X_test[:1])[0]]
    near = knn.kneighbors(data.X_test[:1])
    table = app.dataframe[0].value
    assert table["training row"][:5].tolist() == near[1][0].tolist()
    assert_allclose(table["distance"][:5], np.sqrt(near[0][0]))
    lowest = knn.certify(data.X_test[:1], data.y_test[:1]).lower[0]
    highest = knn.attack(data.X_test[:1], data.y_test[:1]).upper[0]
    assert float(radius_down(lowest)) <= float(tile(app, "Proved")) <= float(tile(app, "Found")) <= highest + 5e-4


def test_one_neighbour_is_exact_and_the_radius_is_the_engines() -> None:
    app = page(k="1", row="7")
    data, knn = knn_of("digits", 1)
    found = knn.certify(data.X_test[7:8], data.y_test[7:8], method="exact")
    assert tile(app, "Proved") == radius_down(found.lower[0])
    assert tile(app, "Found") == radius_up(found.upper[0])
    assert float(tile(app, "Proved")) < float(tile(app, "Found"))
    assert f"has ℓ2 length **{radius_near(found.lower[0])}** (exact, to three digits)" in words(app)


@pytest.mark.parametrize(("voters", "lines"), [(1, 1), (9, 9), (11, 11), (12, 11), (30, 11)])
def test_the_table_of_voters_cuts_no_line(voters: int, lines: int) -> None:
    assert height_of(voters) == 38 + 35 * lines


def test_a_training_row_is_certified_without_itself() -> None:
    app = page(data="iris", k="1", part="train", row="3")
    data, knn = knn_of("iris", 1)
    left_out = knn.certify(data.X_train[3:4], data.y_train[3:4], method="exact", exclude=[3])
    assert tile(app, "Proved") == radius_down(left_out.lower[0])
    assert 3 not in app.dataframe[0].value["training row"].tolist()
    assert "certified without itself" in words(app)


def test_wrong_training_rows_are_the_engines_numbers_and_a_sentence() -> None:
    app = page(data="iris", k="5", part="train", row="3")
    data, knn = knn_of("iris", 5)
    found = knn.certify_training(data.X_train[3:4], data.y_train[3:4], exclude=[3])
    counts = [float(getattr(found, kind)[0]) for kind in ("removed", "added", "relabelled")]
    assert [tile(app, name) for name in ("Rows removed", "Rows added", "Wrong labels")] == [f"{n:.0f}" for n in counts]
    assert training_words(*counts) in words(app)
    assert "If training rows are wrong" in words(app)
    assert "If training rows are wrong" not in words(page(data="iris", k="5", hide="training"))


def test_a_wrong_answer_has_radius_zero_until_its_own_answer_is_asked_for() -> None:
    data, knn = knn_of("digits", 5)
    row = int(np.flatnonzero(knn.predict(data.X_test) != data.y_test)[0])
    app = page(row=str(row))
    assert tile(app, "Proved") == tile(app, "Found") == "0"
    assert "Wrong already, so the radius is 0" in words(app)
    assert "inspect_alone" in charts(app)
    app.button(key="inspect_own_instead").click().run()
    settled(app)
    assert address(app) == {"row": str(row), "own": "1"}
    assert float(tile(app, "Proved")) > 0
    assert "(wrong)" in words(app)


def test_without_pictures_the_change_is_told_feature_by_feature_in_units() -> None:
    app = page(data="iris", k="3", norm="linf")
    assert "inspect_changes" in charts(app)
    assert "inspect_twin" not in charts(app)
    assert "change in the dataset's own units" in words(app)


@pytest.mark.parametrize("norm", ["l2", *more("l1", "linf")])
@pytest.mark.parametrize("k", [1, 4, 5])
def test_the_trail_never_contradicts_itself_and_the_twin_fools_the_classifier(norm, k) -> None:
    data, knn = knn_of("wine", k)
    prepared = PreparedSource(data, Metric.identity(data.n_features))
    for part, row in (("test", 4), ("train", 9)):
        study = new_study(prepared, PointQuestion(part, row, k, norm, own=False))
        certify_in_stages(prepared, study, 0.2, quiet)
        if study.wrong:
            continue
        names = [mark.method for mark in study.marks]
        ends = ["exact"] if (k, norm) == (1, "l2") else ["search", "whitebox"]
        assert names == [*(["theorem1"] if k % 2 else []), "votes", *ends]
        proofs = [mark.lower for mark in study.marks if mark.proves]
        assert proofs == sorted(proofs)
        assert study.lower <= study.upper
        exclude = [row] if part == "train" else None
        assert knn.predict(study.twin[None], exclude=exclude)[0] == study.twin_answer != study.label
        order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
        assert_allclose(np.linalg.norm(study.twin - study.x, ord=order), study.upper, rtol=1e-6)


def test_a_longer_search_goes_on_where_the_first_one_stopped() -> None:
    data, _ = knn_of("digits", 5)
    prepared = PreparedSource(data, Metric.identity(64))
    study = new_study(prepared, PointQuestion("test", 1, 5, "l2", own=False))
    said: list[str] = []
    certify_in_stages(prepared, study, 0.05, said.append)
    before = (study.lower, study.upper, len(said))
    certify_in_stages(prepared, study, 0.5, said.append)
    assert study.searched == 0.5
    assert study.lower >= before[0]
    assert study.upper <= before[1]
    assert said[before[2] :] == ["searching from both sides, up to 0.5 s"]
    assert [mark.method for mark in study.marks] == ["theorem1", "votes", "search", "whitebox"]


@pytest.mark.more
def test_the_button_for_a_longer_search_changes_the_address() -> None:
    for row in range(6):
        app = page(row=str(row), k="15", norm="linf")
        if any(button.key == "inspect_longer" for button in app.button):
            app.button(key="inspect_longer").click().run()
            settled(app)
            assert address(app)["seconds"] == "4"
            assert "search 4 s" in words(app)
            return
    pytest.fail("every search ended exactly; the button was never there")


def test_too_few_rows_for_theorem_1_are_named_and_the_rest_is_shown() -> None:
    app = page(data="seven_points", k="5")
    assert "Theorem 1 says nothing here" in words(app) or "Wrong already" in words(app)
    assert app.segmented_control(key="inspect_part").options == ["Training row"]


def test_before_and_after_are_in_the_datasets_units_and_come_back_to_the_same_point() -> None:
    prepared = blobs(scale=250.0)
    study = certify_in_stages(prepared, new_study(prepared, PointQuestion("train", 2, 3, "l2", own=False)), 0.2, quiet)
    header, rows = twin_rows(prepared.data, study)
    table = {name: [row[k] for row in rows] for k, name in enumerate(header)}
    scaling = prepared.data.scaling
    assert_allclose(scaling.transform(table["before"]), study.x)
    assert_allclose(scaling.transform(table["after"]), study.twin)
    assert_allclose(table["scaled after"], study.twin, rtol=0)
    moved = changes(prepared.data, study)
    assert [abs(c.step) for c in moved] == sorted((abs(c.step) for c in moved), reverse=True)
    assert_allclose([c.alone for c in moved], [study.lower * scaling.scale["abc".index(c.feature)] for c in moved])


def test_the_twin_in_the_datasets_units_flips_the_answer_too_or_is_not_given() -> None:
    prepared = blobs(apart=3.0, scale=1e-3)
    data, coarse = prepared.data, []
    scaling = replace(data.scaling, offset=np.full(3, 1e9))  # in these units the numbers have 7 digits left
    prepared = PreparedSource(
        replace(data, X_train=scaling.transform(scaling.inverse(data.X_train)), scaling=scaling), prepared.metric
    )
    knn = MahalanobisKNN(1).fit(prepared.data.X_train, data.y_train)
    for row in range(24):
        study = certify_in_stages(
            prepared, new_study(prepared, PointQuestion("train", row, 1, "l2", own=False)), 0.05, quiet
        )
        if study.twin is None:  # answered wrong
            continue
        after = np.array([cells[2] for cells in twin_rows(prepared.data, study)[1]])
        coarse.append(np.isnan(after).all())
        if not coarse[-1]:
            assert knn.predict(scaling.transform(after)[None], exclude=[row])[0] == study.twin_answer
    assert 0 < sum(coarse) < len(coarse)


def test_pixels_that_leave_the_range_of_a_picture_are_counted() -> None:
    app = page(row="356", norm="linf")
    (caption,) = [line for line in words(app).splitlines() if "Can you tell the first two apart" in line]
    assert re.search(r"\d+ pixels leave the range from black to white", caption)
    study = new_study(blobs(), PointQuestion("train", 2, 3, "l2", own=False))
    for twin, said in ((np.array([0.0, 1.0]), ""), (np.array([0.5, 1.01]), "One pixel leaves")):
        found = beyond_white(replace(study, twin=twin))
        assert found.strip().startswith(said)
        assert bool(found) == bool(said)


def test_another_one_that_is_answered_wrong_really_is() -> None:
    app = page(want="wrong")
    app.button(key="inspect_another").click().run()
    settled(app)
    data, knn = knn_of("digits", 5)
    row = int(address(app)["row"])
    assert knn.predict(data.X_test[[row]])[0] != data.y_test[row]
    assert "Wrong already" in words(app)


def test_another_one_goes_through_all_rows_and_says_if_there_is_none() -> None:
    prepared = blobs()
    seen, row = [], 0
    for _ in range(24):
        row = find_row(prepared, PointQuestion("train", row, 3, "l2", own=False), "right", quiet)
        seen.append(row)
    assert sorted(seen) == list(range(24))
    assert find_row(prepared, PointQuestion("train", 0, 3, "l2", own=False), "wrong", quiet) is None


def test_no_such_row_has_its_own_words() -> None:
    digest = uploaded(blobs().data)
    app = page(data=digest[:12], want="wrong", k="3")
    app.button(key="inspect_another").click().run()
    settled(app)
    assert "No row of this part is answered wrong with K = 3." in words(app)
