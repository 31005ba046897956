"""The pages' logic, without a browser."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import arml_core as arml
from arml_core.jobs import Client, new_key
from arml_core.vocabulary import MEAN_RULE
from pages.components.address import Choices
from pages.components.markdown import escaped
from pages.components.playground import session
from pages.components.playground.clicks import handle_click
from pages.components.playground.picture_clicks import PictureClick, read_click
from pages.components.playground.view import DEFAULT
from pages.components.shell import PAGES
from pages.components.store import open_store
from pages.components.visitor import GIVEN, PRIVATE
from tests.more import more

from ..job_requests import train
from .app import ROOT, address, alone


def page(name: str, **query: str) -> AppTest:
    return alone(f"{name}.py", **query)


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.caption)


def radii(app: AppTest) -> list[str]:
    return [metric.value for metric in app.metric if metric.label == "Radius here"]


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ARML_HOME", str(tmp_path))


def test_start_says_what_this_is_and_shows_a_true_certificate() -> None:
    app = page("app")
    seven = arml.load_dataset("seven_points")
    knn = arml.MahalanobisKNN(1).fit(seven.X_train, seven.y_train)
    radius = knn.certify(seven.X_train[[1]], seven.y_train[[1]], method="exact", exclude=[1]).lower[0]
    assert f"{radius:.3f}" in app.info[0].value
    assert app.title[0].value == "ARML Explorer"
    assert [heading.value for heading in app.subheader] == ["Running jobs", "Glossary"]
    assert any("Robust radius" in text.value for text in app.markdown)
    assert [box.label for box in app.expander] == ["The formula", "The data behind the picture (CSV)"]


def test_start_lists_a_visitors_own_jobs_and_keeps_their_key(monkeypatch) -> None:
    monkeypatch.setenv("ARML_SHARED", "1")
    open_store.clear()
    ann = new_key()
    client = Client(owner=ann, start=False)
    client.stop_worker()  # the jobs stay in the queue
    data = replace(arml.load_dataset("iris"), group="file", title="[Log in](//a.b)", X_test=np.ones((2, 4)))
    for seed in range(7):
        train(client, data, "arml", seed=seed)
    hers = page("app", key=ann)
    rows = [str(row.proto.text) for row in hers.get("progress")]
    assert len(rows) == 5
    assert "Log in" in rows[0]
    assert "[Log in]" not in rows[0]
    assert "waiting, place 1 in the queue" in rows[0]
    assert any(text.value == "and 2 more" for text in hers.caption)
    assert any("This address is private" in text.value for text in hers.caption)
    assert address(hers) == {"key": ann}
    hers.query_params.clear()  # as another page's link to Start does
    assert address(hers.run()) == {"key": ann}
    for stranger in (page("app"), page("app", key=new_key())):
        assert any("No job is running" in text.value for text in stranger.markdown)
    open_store.clear()


@pytest.mark.parametrize("hide", [{}, *more({"hide": "steps"})])
@pytest.mark.parametrize("name", ["app", *more(*(f"pages/{name}" for name, _ in PAGES[1:]))])
def test_every_page_says_once_that_an_address_with_a_key_is_private(name: str, hide: dict, monkeypatch) -> None:
    monkeypatch.setenv("ARML_SHARED", "1")
    open_store.clear()
    assert "private" not in captions(page(name, **hide))
    app = page(name, key=new_key(), **hide)
    assert (captions(app).count(GIVEN), captions(app).count(PRIVATE)) == (1, 0)  # it came with the address
    assert "key" in address(app)


def read(app: AppTest) -> str:
    return "\n".join(found.value for kind in (app.error, app.warning, app.caption, app.info) for found in kind)


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("start", {}),
        ("train", {}),
        ("compare", {}),
        ("certify", {}),
        ("inspect", {}),
        ("paper", {"show": "table1"}),
    ],
)
def test_what_is_wrong_with_the_store_is_shown_as_text(name: str, choices: dict, tmp_path, monkeypatch) -> None:
    home = tmp_path / "a *b* :smile: [c](d)"
    home.write_text("not a folder")
    monkeypatch.setenv("ARML_HOME", str(home))
    open_store.clear()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for key, text in choices.items():
        app.query_params[key] = text
    app.switch_page(f"pages/{name}.py").run()
    assert not app.exception
    shown = read(app)
    assert escaped(str(home)) in shown
    assert str(home) not in shown


@pytest.mark.parametrize("name", ["pages/train", "pages/certify", "pages/compare"])
@pytest.mark.parametrize("setting", ["ARML_JOBS", "ARML_UPLOAD_DAYS"])
def test_a_bad_setting_of_the_environment_is_said_in_words(name: str, setting: str, monkeypatch) -> None:
    monkeypatch.setenv("ARML_SHARED", "1")
    monkeypatch.setenv(setting, "many")
    open_store.clear()
    (said,) = page(name).error
    assert said.value.startswith(escaped(f"{setting} must be a positive number of "))
    assert "start the app again" in said.value


def test_what_is_wrong_with_shipped_results_is_shown_as_text(monkeypatch) -> None:
    def unreadable() -> None:
        raise ValueError("*bad*.npz is not a results file")

    monkeypatch.setattr(arml.results, "shipped", unreadable)
    assert escaped("*bad*.npz is not a results file") in page("pages/paper", show="summary").error[0].value


def test_playground_opens_on_three_methods() -> None:
    app = page("pages/playground")
    assert [app.selectbox(key=f"pg_method{i}").value for i in range(3)] == ["euclidean", "nca", "arml"]
    assert radii(app) == ["0.710", "0.114", "1.11"]
    assert address(app) == {}


def test_pictures_are_sent_before_the_words_about_them(monkeypatch) -> None:
    app = page("pages/playground")
    assert len(radii(app)) == 3
    monkeypatch.setattr("pages.components.playground.panels.wait_for_drawing", st.stop)
    app.slider(key="pg_k").set_value(3).run()
    assert len([one for one in app.get("bidi_component") if "pg_chart" in one.proto.id]) == 3
    assert radii(app) == []


def test_a_first_visit_gets_the_pictures_before_all_but_one_of_the_controls(monkeypatch) -> None:
    """One has to be there: a sidebar that opened later would push the pictures aside."""
    everything = page("pages/playground").sidebar
    monkeypatch.setattr("pages.components.playground.panels.wait_for_drawing", st.stop)
    app = page("pages/playground")
    assert len([one for one in app.get("bidi_component") if "pg_chart" in one.proto.id]) == 3
    assert [box.label for box in app.sidebar.selectbox] == ["Lesson"] == [everything.selectbox[0].label]
    assert not app.sidebar.slider
    assert everything.slider


def test_the_mean_says_how_it_counts_points_nothing_can_flip() -> None:
    means = [tile for tile in page("pages/playground").metric if tile.label == "Mean of all"]
    assert len(means) == 3
    assert all(MEAN_RULE in tile.help for tile in means)


def test_every_control_goes_into_the_address() -> None:
    app = page("pages/playground")
    app.slider(key="pg_k").set_value(3).run()
    assert address(app) == {"k": "3"}
    app.segmented_control(key="pg_norm").set_value("linf").run()
    app.segmented_control(key="pg_panels").set_value(2).run()
    app.selectbox(key="pg_method0").set_value("hand").run()
    app.slider(key="pg_hand2").set_value(-45.0).run()
    app.toggle(key="pg_layer_ellipse").set_value(False).run()
    assert not app.exception
    assert address(app) == {
        "k": "3",
        "norm": "linf",
        "methods": "hand~nca",
        "hand": "2_1_-45",
        "layers": "neighbours",
    }


def test_an_address_sets_every_control() -> None:
    app = page(
        "pages/playground", data="moons", n="30", k="4", norm="l1", methods="arml~hand", epoch="100", at="0.5_0.2"
    )
    assert app.selectbox(key="pg_data").value == "moons"
    assert app.slider(key="pg_n").value == 30
    assert app.slider(key="pg_k").value == 4
    assert app.segmented_control(key="pg_norm").value == "l1"
    assert app.slider(key="pg_epoch").value == 100
    assert app.number_input(key="pg_x1").value == 0.5


@pytest.mark.parametrize(
    ("query", "notice", "shown"),
    [
        ({"row": "199"}, "There is no row 199: there are 7 points, numbered from 0. Row 6 is shown", {"row": "6"}),
        ({"data": "moons", "n": "6", "k": "11"}, "K = 11 is more than the 5 points that can vote; K = 5", {"k": "5"}),
    ],
)
def test_what_does_not_fit_the_points_is_said(query, notice, shown) -> None:
    app = page("pages/playground", **query)
    assert notice in app.info[0].value
    assert shown.items() <= address(app).items()


def test_nonsense_in_the_address_is_a_default_and_a_quiet_notice() -> None:
    app = page("pages/playground", k="banana", lesson="cooking", colour="red")
    assert app.slider(key="pg_k").value == 1
    (notice,) = app.info
    for part in ("k=banana", "no lesson 'cooking'", "'colour'"):
        assert part in notice.value
    assert not app.warning
    assert address(app) == {}


@pytest.mark.parametrize("name", ["playground", "train", "compare", "certify", "inspect", "paper"])
def test_words_from_the_address_format_nothing(name: str) -> None:
    link = "[Log in](//a.b)"
    app = page(f"pages/{name}", **{link: "1", "k": link, "hide": link, "lesson": link})
    said = [element.value for kind in (app.caption, app.info) for element in kind]
    assert any("Log in" in text for text in said)
    assert not any(link in text for text in said)


def test_k_larger_than_the_points_allow_is_made_to_fit() -> None:
    app = page("pages/playground", k="15")
    assert app.slider(key="pg_k").value == 6
    assert address(app) == {"k": "6"}


def test_hide_takes_controls_away_and_stays_in_the_address() -> None:
    app = page("pages/playground", hide="lesson~data~k~norm~tools~points~methods~layers~python~data-out~epoch")
    assert not app.sidebar.slider
    assert not app.sidebar.selectbox
    assert not app.selectbox
    assert [box.label for box in app.expander] == ["The formula"]
    assert "hide" in address(app)


def test_dragging_is_offered_only_where_it_does_something() -> None:
    for hide, offered in (({}, True), ({"hide": "tools"}, False)):
        hints = [text.value for text in page("pages/playground", **hide).markdown if "Click anywhere" in text.value]
        assert ["Drag" in hint for hint in hints] == [offered]


def test_another_preset_drops_the_edits_and_opens_on_the_point_that_its_link_opens_on() -> None:
    app = page("pages/playground", points="0_0_0~1_1_1~2_0_1", row="2")
    app.selectbox(key="pg_data").set_value("blobs").run()
    assert address(app) == {"data": "blobs"}


@pytest.mark.parametrize(
    "change",
    [
        lambda app: app.selectbox(key="pg_data").set_value("circles"),
        *more(
            lambda app: app.slider(key="pg_n").set_value(6),
            lambda app: app.number_input(key="pg_seed").set_value(1),
            lambda app: app.selectbox(key="pg_lesson").set_value("fooled"),
            lambda app: app.query_params.__setitem__("data", "xor"),
        ),
    ],
)
def test_a_picked_point_and_a_refusal_go_with_the_points_they_are_about(change) -> None:
    app = page("pages/playground", data="moons")
    app.session_state["pg_tool"], app.session_state["pg_moving"] = "Move", 30
    app.session_state["pg_refused"] = "Click on a training point first."
    app.slider(key="pg_k").set_value(3).run()
    assert app.session_state["pg_moving"] == 30  # the same points
    change(app)
    app.run()
    assert not app.exception
    assert "pg_moving" not in app.session_state
    assert "Click on a training point first." not in [warning.value for warning in app.warning]


def test_what_is_refused_puts_the_picked_point_down_and_is_said(monkeypatch) -> None:
    kept = {"playground_choices_value": DEFAULT, "pg_tool": "Move", "pg_moving": 30}
    monkeypatch.setattr(st, "session_state", kept)
    handle_click(PictureClick((0.0, 0.0), None, False))
    assert "no point 30" in kept["pg_refused"]
    assert "pg_moving" not in kept


def test_undo_all_edits() -> None:
    app = page("pages/playground", points="0_0_0~1_1_1~2_0_1", row="2")
    next(button for button in app.button if button.label == "Undo all edits").click().run()
    assert address(app) == {"row": "2"}


def test_numbers_choose_a_place_without_a_mouse() -> None:
    app = page("pages/playground")
    app.number_input(key="pg_x1").set_value(0.5).run()
    assert address(app) == {"at": "0.5_-0.07"}


@pytest.mark.parametrize("lesson", ["fooled", *more("metric", "promise", "fewer")])
def test_a_lesson_goes_step_by_step_and_ends_in_free_play(lesson: str) -> None:
    app = page("pages/playground")
    app.selectbox(key="pg_lesson").set_value(lesson).run()
    for step in range(1, 6):
        assert not app.exception
        assert address(app) == {"lesson": lesson, "step": str(step)}
        assert any(f"step {step} of 5" in text.value for text in app.markdown)
        app.button(key="pg_next").click().run()
    assert "lesson" not in address(app)


def test_leaving_a_steps_scene_is_kept_in_the_address_and_reset_undoes_it() -> None:
    app = page("pages/playground", lesson="fooled", step="4")
    app.slider(key="pg_k").set_value(5).run()
    assert address(app) == {"lesson": "fooled", "step": "4", "k": "5"}
    app.button(key="pg_again").click().run()
    assert address(app) == {"lesson": "fooled", "step": "4"}


def test_a_method_that_cannot_be_fitted_says_why_and_the_others_stay() -> None:
    app = page("pages/playground", points="0_0_0~1_1_1~2_0_2", methods="euclidean~arml")
    assert "ARML needs a class with at least two points" in app.warning[0].value
    assert len(radii(app)) == 1


def test_what_the_browser_sends_is_checked() -> None:
    assert read_click({"x": 0.12345, "y": 2, "row": 3, "dragged": False}) == PictureClick((0.123, 2.0), 3, False)
    assert read_click({"x": 1, "y": 2, "row": None}) == PictureClick((1.0, 2.0), None, False)
    assert read_click(None) is None
    assert read_click({"x": "a", "y": 2}) is None


@pytest.mark.parametrize("address", [{}, {"k": "3"}])
def test_what_is_chosen_before_the_first_run_has_ended_is_kept(monkeypatch, address) -> None:
    """The run that a click interrupts never writes its address."""
    monkeypatch.setattr(session, "publish", lambda: None)
    app = page("pages/playground", **address)
    app.segmented_control(key="pg_norm").set_value("linf").run()
    assert app.session_state["playground_choices_value"].norm == "linf"
    assert app.session_state["playground_choices_value"].k == int(address.get("k", "1"))


@pytest.mark.parametrize(
    ("name", "key"),
    [("playground", "pg_norm"), ("playground", "pg_panels"), ("compare", "cmp_k"), ("paper", "paper_show")],
)
def test_a_row_of_buttons_that_is_not_drawn_yet_changes_no_choice(name: str, key: str) -> None:
    """A run that begins meanwhile is told that no button is down."""
    app = page(f"pages/{name}")
    before, shown = address(app), app.segmented_control(key=key).value
    app.segmented_control(key=key).set_value(None).run()
    assert not app.exception
    assert app.segmented_control(key=key).value == shown is not None
    assert address(app) == before


def test_what_is_chosen_on_other_pages_before_the_first_run_has_ended_is_kept(monkeypatch) -> None:
    monkeypatch.setattr(Choices, "publish", lambda self: None)
    app = page("pages/compare", k="11")
    before = app.session_state["compare_choices_value"]
    assert before.k == 11
    app.session_state["compare_choices_value"] = replace(before, k=1)
    app.run()
    assert app.session_state["compare_choices_value"].k == 1
