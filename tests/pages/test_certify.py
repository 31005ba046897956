"""The Certify page's logic, without a browser: every bad file in the page's words, with its remedies as buttons."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator

import numpy as np
import pytest
import streamlit as st
from openpyxl import Workbook
from streamlit.testing.v1 import AppTest

from arml_core.datasets.table import read_table, select
from arml_core.jobs import Client, EvaluationSpec, StoreError
from arml_core.jobs.paths import Paths
from arml_core.jobs.store.database import Database
from pages.components.certify import files, saved_runs
from pages.components.certify.choices import READERS, CertifyView
from pages.components.certify.prepare import certificate_of, prepare
from pages.components.certify.sources import find_sources
from pages.components.markdown import JOINER, escaped
from pages.components.visitor import GIVEN, PRIVATE

from ..job_requests import certify
from .app import ROOT, address, alone

SAMPLES = ROOT / "data" / "samples"
GOOD = b"x1,x2,label\n1,2,a\n3,5,b\n4,1,a\n6,7,b\n"


@pytest.fixture(scope="module", autouse=True)
def _own_home(tmp_path_factory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARML_HOME", str(tmp_path_factory.mktemp("home")))
        patch.delenv("ARML_SHARED", raising=False)
        st.cache_resource.clear()
        yield
        Client(start=False).stop_worker()
        st.cache_resource.clear()


def page(**query: str) -> AppTest:
    return alone("pages/certify.py", 120, **query)


def upload(app: AppTest, content: bytes, name: str = "mine.csv", slot: str = "file") -> AppTest:
    app.file_uploader(key=f"cf_upload_{slot}").upload(name, content, "text/csv").run()
    assert not app.exception, app.exception
    return app


def unplain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text).replace(JOINER, "")


def said(app: AppTest) -> list[str]:
    return [unplain(box.value) for boxes in (app.error, app.warning, app.info) for box in boxes]


def button(app: AppTest, words: str):
    found = [b for b in app.button if unplain(b.label).startswith(words)]
    assert found, (words, [unplain(b.label) for b in app.button])
    return found[0]


def click(app: AppTest, words: str) -> AppTest:
    button(app, words).click().run()
    assert not app.exception, app.exception
    return app


def certifiable(app: AppTest) -> bool:
    return any(b.key == "cf_start" for b in app.button)


def choose_label(app: AppTest, label: str = "label") -> AppTest:
    app.selectbox(key="cf_use_label").set_value(label).run()
    assert not app.exception, app.exception
    return app


# each bad file, in the words of the table -----------------------------------------------------------------------------

UNREADABLE = {
    "empty": (b"", "The file is empty."),
    "header only": (b"x1,x2,label\n", "Found a header but no rows."),
    "extra field": (b"x1,x2,label\n1,2,a\n3,5,b,7\n4,1,b\n", "Line 3 has 4 values; expected 3."),
    "missing field": (b"x1,x2,label\n1,2,a\n3,5\n4,1,b\n", "Line 3 has 2 values; expected 3."),
    "duplicate names": (b"x1,x1,label\n1,2,a\n3,4,b\n", "Column x1 appears twice."),
    "too wide": (
        ",".join(f"c{i}" for i in range(2301)).encode() + b"\n",
        "The file has 2,301 columns; the limit is 2,000.",
    ),
    "old excel": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "This is an old Excel file (.xls) or one with a password, not CSV.",
    ),
    "html": (b"<!DOCTYPE html>\n<html>", "This is an HTML page, not CSV."),
    "archive": (b"PK\x03\x04\x14\x00data.txt", "This is a ZIP archive, not CSV."),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_is_told_so(name: str) -> None:
    content, words = UNREADABLE[name]
    app = upload(page(), content)
    assert words in [unplain(box.value) for box in app.error]
    assert not certifiable(app)
    assert button(app, "Another file")


QUESTIONS = {
    "no header": (b"1,2,3\n4,5,6\n7,8,3\n", "Row 1 looks like data. Does the file have column names?", "No: row 1"),
    "semicolon": (GOOD.replace(b",", b";"), "Looks separated by ';'. Read it that way?", "Yes, it is separated"),
    "tab": (GOOD.replace(b",", b"\t"), "Looks separated by tabs. Read it that way?", "Yes, it is separated by tabs"),
    "not UTF-8": (
        "größe,länge,label\n1,2,süß\n3,4,herb\n".encode("cp1252"),
        "The file is not UTF-8. It looks like cp1252: 'größe,länge,label'. Read it that way?",
        "Read as cp1252: 'größe,länge,label'",
    ),
    "ragged": (b"x1,x2,label\n1,2,a\n3,5\n4,1,b\n", "Line 3 has 2 values; expected 3.", "Leave out line 3"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_about_reading_is_settled_by_a_button(name: str) -> None:
    content, words, remedy = QUESTIONS[name]
    app = upload(page(), content)
    assert words in said(app)
    assert "cf_use_label" not in [box.key for box in app.selectbox]
    click(app, remedy)
    assert words not in said(app)
    assert app.selectbox(key="cf_use_label").value is None
    assert "Which column is the label?" in said(app)
    assert "read" in address(app)


def test_a_decimal_comma_is_converted_by_a_button() -> None:
    app = upload(page(), b"x1;x2;label\n1,5;2;a\n0,25;3,5;b\n1;1;a\n")
    assert "Numbers use a decimal comma (1,5). Convert?" in said(app)
    click(app, "Yes, it is separated by ';'")
    click(app, "Yes, the comma is the decimal sign")
    choose_label(app)
    assert certifiable(app)
    assert json.loads(address(app)["read"]) == {"separator": ";", "decimal": ","}


SELECTING = {
    "text": (
        b"x1,x2,label\n1,abc,a\n3,5,b\n4,2,a\n",
        "Column x2, line 2: 'abc' is not a number.",
        ("Leave column x2 out", "Encode x2 as categories (one-hot)"),
    ),
    "missing": (
        b"x1,x2,label\n1,,a\n3,5,b\n4,NA,b\n6,2,a\n",
        "2 rows have empty values (x2). Drop them, or fix the file.",
        ("Drop 2 rows; they are counted", "Leave column x2 out"),
    ),
    "infinite": (
        b"x1,x2,label\n1,inf,a\n3,1e400,b\n5,6,b\n7,8,a\n",
        "x2 has infinite values on lines 2, 3.",
        ("Drop 2 rows; they are counted", "Leave column x2 out"),
    ),
    "nan": (
        b"x1,x2,label\n1,NaN,a\n3,4,b\n5,6,b\n7,8,a\n",
        "x2 has NaN values on line 2.",
        ("Drop 1 row; it is counted",),
    ),
    "fractional label": (
        b"x1,label\n1,2\n2,1.5\n3,1\n4,2\n",
        "Label 1.5 is not a class. Is this a measurement?",
        ("These are classes; keep their names",),
    ),
}


@pytest.mark.parametrize(("name", "remedy"), [(name, r) for name, (_, _, rs) in SELECTING.items() for r in rs])
def test_a_question_about_a_column_is_settled_by_a_button(name: str, remedy: str) -> None:
    content, words, _ = SELECTING[name]
    app = choose_label(upload(page(), content))
    assert words in [unplain(box.value) for box in app.warning]
    assert not certifiable(app)
    click(app, remedy)
    assert words not in said(app)
    assert certifiable(app)


def test_one_class_is_refused() -> None:
    app = choose_label(upload(page(), b"x1,label\n1,0\n2,0\n"))
    assert "All rows are class 0. Certification needs two classes." in [unplain(box.value) for box in app.error]
    assert not certifiable(app)


def test_an_index_column_is_left_out_and_the_button_undoes_it() -> None:
    app = upload(page(), b",x1,label\n0,5,a\n1,3,b\n2,4,a\n")
    words = "First column looks like row numbers – left out."
    assert words in [unplain(box.value) for box in app.info]
    click(app, "Keep it as a column")
    assert words not in said(app)
    assert "column 1" in app.selectbox(key="cf_use_label").options


NOTES = {
    "constant": (b"x1,x3,label\n1,7,a\n2,7.0,b\n", "x3 never changes; it cannot affect the answer."),
    "conflicting": (
        b"x1,x2,label\n0,2,a\n3,5,b\n-0.0,2.0,b\n3,5,b\n",
        "2 rows equal another row but differ in the label (lines 2, 4); their radius may be 0.",
    ),
}


@pytest.mark.parametrize("name", NOTES)
def test_a_note_stops_nothing(name: str) -> None:
    content, words = NOTES[name]
    app = choose_label(upload(page(), content))
    assert words in [unplain(box.value) for box in app.info]
    assert certifiable(app)


def test_too_large_a_file_is_refused_before_it_is_read(monkeypatch) -> None:
    app = page()
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    upload(app, b"x" * (2**20 + 2**19))
    assert "The file has 1.5 MB; the limit is 1 MB." in [unplain(box.value) for box in app.error]
    assert "file" not in address(app)


def test_pasted_text_is_a_file_like_any_other() -> None:
    app = page()
    app.button(key="cf_take_pasted_file").click().run()
    assert "There is no text yet: paste a table first, its column names included." in said(app)
    app.text_area(key="cf_pasted_file").set_value(GOOD.decode()).run()
    app.button(key="cf_take_pasted_file").click().run()
    assert not app.exception
    assert any("**pasted**" in text.value for text in app.markdown)
    assert certifiable(choose_label(app))
    _, content = Client(start=False).file(address(app)["file"])
    assert content == GOOD


def test_a_workbook_is_read_its_sheet_is_named_and_a_title_above_the_table_is_asked_about() -> None:
    book = Workbook()
    for row in (["Results of today"], [], ["x1", "x2", "label"], [1, 2, "a"], [3, 5, "b"], [4, 1, "b"]):
        book.active.append(row)
    book.create_sheet("notes")
    content = io.BytesIO()
    book.save(content)
    app = upload(page(), content.getvalue(), "results.csv")
    assert (
        "Read as an Excel file: the first sheet, 'Sheet' of 2; the other one is left out. Lines are the rows of the "
        "sheet." in said(app)
    )
    assert "Row 1 does not look like a part of the table ('Results of today'). Leave it out?" in said(app)
    click(app, "Yes, the table begins below")
    assert certifiable(choose_label(app))


def test_only_two_files_are_kept_in_memory(monkeypatch) -> None:
    client, read = Client(start=False), []
    reading = lambda content, **options: read.append(content) or read_table(content)  # noqa: E731
    monkeypatch.setattr(files, "read_table_apart", reading)
    digests = [client.add_file(GOOD + b"%d,1,a\n" % k, f"{k}.csv") for k in range(3)]
    for digest in (*digests, *digests[1:]):
        page(file=digest, use='{"label":"label"}')
    assert len(read) == 3
    page(file=digests[0], use='{"label":"label"}')
    assert len(read) == 4


def searched(**query: str) -> AppTest:
    return page(file="pumps", use='{"label":"state"}', k="3", **query)


def asked(app: AppTest) -> EvaluationSpec:
    """The certificate that the page's address asks for."""
    view = CertifyView(**{name: READERS[name](text) for name, text in address(app).items()})
    return certificate_of(view, prepare(view, find_sources(view)[0]), "run")


def test_a_search_is_asked_for_the_chosen_radius_and_for_all_without_one() -> None:
    app = searched()
    assert app.number_input(key="cf_at").value is None
    assert (asked(app).method, asked(app).at) == ("search", None)
    app.number_input(key="cf_at").set_value(0.3).run()
    assert address(app)["at"] == "0.3"
    assert asked(app).at == (0.3,)
    assert any(step.label.endswith("Euclidean, K = 3, ℓ2, search, verdicts at ε = 0.3") for step in app.expander)
    app.number_input(key="cf_at").set_value(None).run()
    assert "at" not in address(app)
    for query in ({"k": "1"}, {"method": "votes"}):
        other = page(file="pumps", use='{"label":"state"}', at="0.3", **({"k": "3"} | query))
        assert "cf_at" not in [box.key for box in other.number_input]
        assert asked(other).at is None


def test_a_radius_is_forgotten_with_its_units_and_kept_with_them() -> None:
    app = searched(at="0.3")
    app.number_input(key="cf_budget").set_value(0.5).run()
    app.number_input(key="cf_k").set_value(5).run()
    assert address(app)["at"] == "0.3"
    app.selectbox(key="cf_norm").set_value("linf").run()
    assert "at" not in address(app)
    for scaling in ("standard", "none"):
        app = searched(at="0.3")
        app.selectbox(key="cf_scaling").set_value(scaling).run()
        assert "at" not in address(app)


def test_the_same_content_under_another_name_is_shown_under_that_name() -> None:
    app = choose_label(upload(page(), GOOD, name="first.csv"))
    assert certifiable(app)
    app.button(key="cf_another_file").click().run()
    choose_label(upload(app, GOOD, name="second.csv"))
    assert any("**second" in unplain(text.value) for text in app.markdown)
    assert not any("first.csv" in unplain(text.value) for text in app.markdown)


def test_a_query_file_must_have_the_models_columns_and_may_lack_labels() -> None:
    app = page(mode="two", use='{"label":"label"}')
    upload(app, GOOD)
    choose_label(app)
    upload(app, b"x1,other\n1,2\n", slot="query")
    words = "The model expects 2 features; the file has 2 (missing x2; not in the model: other)."
    assert words in [unplain(box.value) for box in app.error]
    app.button(key="cf_another_query").click().run()
    upload(app, b"x2,x1\n2,1\n", slot="query")
    assert certifiable(app)
    assert any("1 query row without labels" in text.value for text in app.markdown)


def test_an_unseen_label_is_named_and_the_predictions_can_be_certified_instead() -> None:
    app = page(mode="two")
    upload(app, GOOD)
    choose_label(app)
    upload(app, b"x1,x2,label\n1,2,cat\n3,5,b\n4,1,cat\n4,1,cat\n", slot="query")
    assert "Label 'cat' (3 rows) was not in training." in [unplain(box.value) for box in app.error]
    click(app, "Certify the predictions instead of the labels")
    assert certifiable(app)
    assert app.selectbox(key="cf_quse_label").value is None


def imbalanced() -> bytes:
    rows = [f"{k},{k * k},0" for k in range(20)] + [f"{30 + k},{k},1" for k in range(4)]
    return ("x1,x2,label\n" + "\n".join(rows) + "\n").encode()


def test_too_few_rows_for_theorem_1_offers_votes_and_a_smaller_k() -> None:
    app = page(mode="two", method="theorem1", k="11")
    upload(app, imbalanced())
    choose_label(app)
    upload(app, b"x1,x2\n1,2\n", slot="query")
    app.number_input(key="cf_k").set_value(11).run()
    app.selectbox(key="cf_method").set_value("theorem1").run()
    words = "Class 1 has 4 rows; this certificate needs 6 for K = 11. Use 'votes'."
    assert words in [unplain(box.value) for box in app.error]
    assert not certifiable(app)
    click(app, "Use a smaller K")
    assert certifiable(app)
    assert app.number_input(key="cf_k").value == 7
    app.number_input(key="cf_k").set_value(11).run()
    click(app, "Use 'votes'")
    assert certifiable(app)
    assert app.selectbox(key="cf_method").value == "votes"


def test_too_few_rows_for_k_in_one_file_counts_the_row_itself() -> None:
    app = choose_label(upload(page(), GOOD))
    app.number_input(key="cf_k").set_value(4).run()
    assert [b.key for b in app.button if b.key and b.key.startswith("cf_k_")] == ["cf_k_n_neighbors"]
    assert "K = 4 needs 4 rows; there are 3." in said(app)
    click(app, "Use a smaller K")
    assert app.number_input(key="cf_k").value == 3
    assert certifiable(app)


def test_the_messy_sample_is_mended_by_clicking_the_offered_buttons() -> None:
    app = page()
    app.button(key="cf_sample_file_messy").click().run()
    for words in ("Leave out line", "Read as cp1252", "Yes, it is separated by ';'", "Yes, the comma"):
        click(app, words)
    choose_label(app, "Klasse")
    for words in ("Encode Farbe as categories", "Leave column Charge out", "Drop 2 rows"):
        click(app, words)
    assert certifiable(app)
    notes = [unplain(box.value) for box in app.info]
    assert "3 rows left out: empty or infinite values (lines 4, 7, 13)." in notes
    assert "2 rows equal another row but differ in the label (lines 2, 10); their radius may be 0." in notes


# choices and the address ----------------------------------------------------------------------------------------------


def test_everything_chosen_is_in_the_address_and_survives_a_reload() -> None:
    app = choose_label(upload(page(), GOOD.replace(b"x1", b"x<1>")))
    app.multiselect(key="cf_frozen").set_value(["x2"]).run()
    app.selectbox(key="cf_scaling").set_value("standard").run()
    app.number_input(key="cf_k").set_value(3).run()
    app.selectbox(key="cf_norm").set_value("linf").run()
    app.selectbox(key="cf_metric").set_value("arml").run()
    assert app.number_input(key="cf_param_n_epochs").label == "Epochs"
    assert app.number_input(key="cf_seed").label == "Seed"
    app.number_input(key="cf_param_n_epochs").set_value(50).run()
    found = address(app)
    assert {name: found[name] for name in ("scaling", "k", "norm", "metric", "frozen")} == {
        "scaling": "standard",
        "k": "3",
        "norm": "linf",
        "metric": "arml",
        "frozen": '["x2"]',
    }
    again = page(**found)
    assert again.selectbox(key="cf_use_label").value == "label"
    assert again.multiselect(key="cf_frozen").value == ["x2"]
    assert again.number_input(key="cf_param_n_epochs").value == 50
    assert certifiable(again)
    assert address(again) == found


@pytest.mark.parametrize(
    ("name", "text"),
    [("k", "0"), ("read", "[1]"), ("read", '{"separator":"xx"}'), ("use", "{"), ("file", "../../etc/passwd")],
)
def test_nonsense_in_the_address_is_a_default_and_a_quiet_notice(name: str, text: str) -> None:
    app = page(**{name: text})
    assert any(f"The address has {name}=" in caption.value for caption in app.caption)
    assert name not in address(app)


def test_a_file_that_is_gone_says_so() -> None:
    app = page(file="0" * 64)
    assert "This file is not here, or its time is over. Upload it again." in said(app)
    assert app.file_uploader(key="cf_upload_file")


def test_freezing_everything_is_refused_in_words() -> None:
    app = choose_label(upload(page(), GOOD))
    app.multiselect(key="cf_frozen").set_value(["x1", "x2"]).run()
    assert "Every feature is frozen; leave at least one that may move." in said(app)
    assert not certifiable(app)


def test_a_frozen_column_that_is_left_out_is_frozen_no_more() -> None:
    app = choose_label(upload(page(), GOOD))
    app.multiselect(key="cf_frozen").set_value(["x2"]).run()
    assert any("label label, 1 frozen" in step.label for step in app.expander)
    app.multiselect(key="cf_use_drop").set_value(["x2"]).run()
    assert app.multiselect(key="cf_frozen").value == []
    assert not any("frozen" in step.label for step in app.expander)


def test_names_and_cells_from_the_file_are_never_formatted() -> None:
    evil = b'"<b>x</b>","**bold**","label"\n1,2,":smile:"\n3,4,"[a](http://b)"\n5,6,":smile:"\n'
    app = choose_label(upload(page(), evil, name="<img src=x onerror=alert(1)>.csv"))
    texts = [text.value for text in app.markdown]
    assert any(r"\<img src\=x onerror\=alert\(1\)\>\.csv" in text for text in texts)
    assert not any("<img" in text.replace(r"\<", "") for text in texts)
    assert any(f"\\:{JOINER}smile\\:" in text for text in texts)
    assert not any("[a](http" in text for text in texts)


def test_plain_text_stays_what_it_was() -> None:
    for text in ("a*b_c`d", "<b>", "$x$", ":red[x]", "![i](u)", "1. x", "# h", "a:b"):
        assert unplain(escaped(text)) == text


def test_an_uploaded_matrix_is_checked_and_used() -> None:
    app = choose_label(upload(page(), GOOD))
    app.selectbox(key="cf_metric").set_value("run").run()
    assert not certifiable(app)
    app.file_uploader(key="cf_upload_metric").upload("m.csv", b"1,0\n0,-1\n", "text/csv").run()
    assert any("positive semi-definite" in text or "eigenvalue" in text for text in said(app)), said(app)
    app.file_uploader(key="cf_upload_metric").upload("m.csv", b"1,0,0\n0,1,0\n0,0,1\n", "text/csv").run()
    assert any("2" in text and "3" in text for text in said(app)), said(app)
    app.file_uploader(key="cf_upload_metric").upload("m.csv", b"1,0\n0,2\n", "text/csv").run()
    assert certifiable(app)
    run = address(app)["run"]
    assert np.allclose(Client(start=False).run(run).get_mahalanobis_matrix(), [[1, 0], [0, 2]])


def test_a_saved_run_certifies_a_query_file() -> None:
    table, _ = read_table(GOOD)
    data, _ = select(table, label="label")
    run = Client(start=False).add_metric(data.dataset(title="old.csv"), np.eye(2)).id
    app = page(mode="run", run=run)
    upload(app, b"x1,x2\n1,2\n5,6\n", slot="query")
    assert certifiable(app)
    assert any("2 query rows without labels" in text.value for text in app.markdown)


@pytest.mark.parametrize("choices", [{}, {"file": "pumps", "use": '{"label":"state"}', "metric": "run"}])
def test_a_store_that_cannot_be_read_is_said_in_words(choices: dict[str, str], tmp_path, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("ARML_HOME", str(tmp_path))
        Paths.default().create()
        Paths.default().database.write_bytes(b"no database" * 1000)
        st.cache_resource.clear()
        app = page(**choices)
    assert any(text.startswith("Your files and jobs cannot be reached: the job store ") for text in said(app)), said(
        app
    )
    st.cache_resource.clear()


def test_a_disk_that_fills_up_while_the_page_is_open_is_said_in_words(monkeypatch) -> None:
    app = page()
    words = "the disk is full. Free some space and try again"

    def full(database: Database, *arguments: object) -> None:
        raise StoreError(words)

    with monkeypatch.context() as patch:
        for name in ("row", "rows", "writing"):
            patch.setattr(Database, name, full)
        app.run()
        assert not app.exception, app.exception
        assert f"Your files and jobs cannot be reached: {words}." in said(app)
        app.button(key="cf_sample_pumps").click().run()
        assert not app.exception, app.exception
        assert words in said(app)
    app.run()
    assert certifiable(app)


def test_a_run_is_offered_however_many_evaluations_came_after_it(monkeypatch) -> None:
    monkeypatch.setattr(saved_runs, "LISTED", 2)
    client = Client(start=False)
    run = client.add_metric("moons", np.diag([1.0, 3.0]), "An old one").id
    for k in (1, 3, 5):
        job = certify(client, run, k, "votes").id
        with client.store.database.writing() as connection:
            connection.execute("UPDATE jobs SET state = 'done', finished = ? WHERE id = ?", (2e9 + k, job))
    assert run in saved_runs.saved_runs()
    assert {job.kind for job in client.list(kind="train")} == {"train"}
    assert {job.kind for job in client.list(kind="certify")} == {"certify"}


def test_in_shared_mode_an_upload_is_found_with_its_key_only(monkeypatch) -> None:
    monkeypatch.setenv("ARML_SHARED", "1")
    app = choose_label(upload(page(), GOOD))
    mine = address(app)
    assert len(mine["key"]) >= 16
    assert any("seen by you alone and deleted after 7 days." in caption.value for caption in app.caption)
    assert any(PRIVATE in caption.value for caption in app.caption)
    again = page(**mine)
    assert certifiable(again)
    assert any(GIVEN in caption.value for caption in again.caption)  # this browser cannot tell who made the key
    stolen = page(**{name: text for name, text in mine.items() if name != "key"})
    assert "This file is not here, or its time is over. Upload it again." in said(stolen)
    other = page(**{**mine, "key": "x" * 24})
    assert "This file is not here, or its time is over. Upload it again." in said(other)
    assert not certifiable(other)


def test_in_shared_mode_an_upload_beyond_the_limit_is_refused_with_both_numbers(monkeypatch) -> None:
    monkeypatch.setenv("ARML_SHARED", "1")
    monkeypatch.setattr("arml_core.jobs.uploads.UPLOADS_PER_KEY", 2**20)
    app = upload(page(), b"x" * (2**20 + 2**19))
    words = (
        "your uploads take 0.0 MB and this would add 1.5 MB; the limit is 1 MB. Each is deleted 7 days after it came"
    )
    assert words in said(app)
    assert "file" not in address(app)
