"""Reading, choosing and encoding in detail: lines, kinds of cells, labels, categories, layouts."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arml_core.datasets.table import (
    Layout,
    Table,
    TableData,
    apply_layout,
    layout_of,
    read_dataset,
    read_table,
    select,
)


def table_of(content: bytes, **options: object) -> Table:
    table, found = read_table(content, **options)  # type: ignore[arg-type]
    assert table is not None, found
    assert not found.blocking, found
    return table


def data_of(content: bytes, label: str = "label", **options: object) -> TableData:
    data, found = select(table_of(content), label=label, **options)  # type: ignore[arg-type]
    assert data is not None, found
    return data


def test_lines_are_those_an_editor_shows() -> None:
    content = b'\n\nx1,note,label\r\n1,"two\nlines",a\n\n   \n2,"say ""hi""",b\r3,c,a'
    table = table_of(content)
    assert table.lines.tolist() == [4, 8, 9]
    assert table.column("note").texts == ("two\nlines", 'say "hi"', "c")
    assert table.preview[1] == ("2", 'say "hi"', "b")


def test_bytes_path_and_open_file_are_the_same(tmp_path: Path) -> None:
    content = b"x1,label\n1,a\n2,b\n"
    path = tmp_path / "file.csv"
    path.write_bytes(content)
    upload = io.BytesIO(content)
    upload.name = "../../etc/passwd"  # type: ignore[attr-defined]
    upload.read()  # a page may have looked at it already
    for source in (content, bytearray(content), path, str(path), upload):
        table, found = read_table(source)
        assert table is not None
        assert (table.column("x1").values.tolist(), list(found)) == ([1.0, 2.0], [])
    with pytest.raises(TypeError, match="binary mode"):
        read_table(io.StringIO("x1,label\n1,a\n"))  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "nothing.csv")


def test_only_plain_numbers_are_numbers() -> None:
    cells = [" 1.5 ", "-2e3", "+.5", "1_000", "٣", "0x1f", "1,5", "1 000", "", "NA"]
    content = ("x|label\n" + "".join(f"{cell}|a\n" for cell in cells)).encode()
    column = table_of(content, separator="|", decimal=".").column("x")
    assert column.values[:3].tolist() == [1.5, -2000.0, 0.5]
    assert column.kinds.tolist() == [0, 0, 0, 3, 3, 3, 3, 3, 1, 1]
    assert column.first_text == (3, "1_000")


def test_underscores_and_foreign_digits_are_no_numbers_even_among_numbers() -> None:
    for cell in ("1_000", "٣"):
        column = table_of(f"x,label\n1,a\n{cell},b\n".encode()).column("x")
        assert column.kinds.tolist() == [0, 3]
        many = "".join(f"{i},a\n" for i in range(9_000)) + f"{cell},b\n"
        column = table_of(("x,label\n" + many).encode()).column("x")
        assert column.texts is None
        assert column.first_text == (9_000, cell)
        assert column.values[8_999] == 8_999


def test_decimal_commas_without_a_header_do_not_pass_for_separators() -> None:
    table, found = read_table(b"1,5;2,5;0\n3,5;4,5;1\n")
    assert table is not None
    assert (table.separator, table.column("x2").values.tolist()) == (";", [2.5, 4.5])
    assert {problem.kind for problem in found} == {"separator", "decimal_comma", "no_header"}
    table, found = read_table(b'x1,label\n"1,5",a\n"2,5",b\n')
    assert table is not None
    assert (table.separator, table.column("x1").values.tolist()) == (",", [1.5, 2.5])


def test_remedies_for_several_columns_add_up() -> None:
    table = table_of(b"x1,x2,x3,label\nu,1,v,a\nw,2,z,b\n")
    options: dict[str, Any] = {"label": "label"}
    for _ in range(2):
        options = select(table, **options).problems[0].remedies[0].apply(options)
    assert options["drop"] == ("x1", "x3")
    data, _ = select(table, **options)
    assert data is not None
    assert data.layout.feature_names == ("x2",)


def test_with_a_decimal_comma_a_point_is_no_decimal_sign() -> None:
    column = table_of(b"x;label\n1,5;a\n1.5;b\n1.234;a\n7;b\n", separator=";", decimal=",").column("x")
    assert column.kinds.tolist() == [0, 3, 3, 0]
    assert column.values[[0, 3]].tolist() == [1.5, 7.0]


@pytest.mark.parametrize(
    ("cell", "decimal", "number"),
    [
        ("2.256,93", ",", 2256.93),
        ("-1.234.567,8", ",", -1234567.8),
        ("1 234,5", ",", 1234.5),
        ("1\u202f234\u202f567,5", ",", 1234567.5),
        ("1'234.5", ".", 1234.5),
        ("+1,234.56", ".", 1234.56),
    ],
)
def test_thousands_may_be_set_apart_before_a_decimal_sign(cell: str, decimal: str, number: float) -> None:
    content = f"x|label\n{cell}|a\n7|b\n".encode()
    column = table_of(content, separator="|", decimal=decimal, encoding="utf-8").column("x")
    assert column.values.tolist() == [number, 7.0]
    assert column.kinds.tolist() == [0, 0]


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize(
    "cell",
    ["1.234.567", "1 234", "12,34.5", "1234.567,8", "1234,567.8", "1.234 567,8", "1.234,567.8", "1.23,4", ".234,5"],
)
def test_what_could_mean_two_numbers_is_none(cell: str, decimal: str) -> None:
    column = table_of(f"x|label\n{cell}|a\n7|b\n".encode(), separator="|", decimal=decimal).column("x")
    assert column.kinds.tolist() == [3, 0]


def test_a_column_with_points_between_thousands_is_asked_about_as_one_with_decimal_commas() -> None:
    content = b"x;label\n2.256,93;a\n987,10;b\n1.001,00;a\n"
    table, found = read_table(content, separator=";")
    assert table is not None
    (problem,) = found
    assert problem.message == "Numbers use a decimal comma (2.256,93). Convert?"
    assert table.column("x").values.tolist() == [2256.93, 987.1, 1001.0]
    plain = table_of(content, separator=";", decimal=".")
    problem = select(plain, label="label").problems[0]
    assert {"decimal": ","} in [dict(remedy.options) for remedy in problem.remedies]


def test_decimal_commas_after_the_sample_are_offered_a_conversion() -> None:
    rows = b"1;2;a\n" * 20_000 + b"1,5;2;b\n"
    table = table_of(b"x1;x2;label\n" + rows, separator=";")
    problem = select(table, label="label").problems[0]
    assert problem.message == "Column x1, line 20,002: '1,5' is not a number."
    assert {"decimal": ","} in [dict(remedy.options) for remedy in problem.remedies]


def test_commas_in_quotes_do_not_separate() -> None:
    table = table_of(b'name,x1,label\n"Smith, J.",1,a\n"Doe; K.",2,b\n')
    assert table.column("name").texts == ("Smith, J.", "Doe; K.")


def test_numbers_as_column_names_are_asked_about_and_years_among_words_are_not() -> None:
    assert read_table(b"2019,2020,2021\n5,6,7\n").problems.of("no_header")
    assert not read_table(b"city,2020,label\n5,6,a\n7,8,b\n").problems


def test_nameless_columns_get_names_and_empty_ones_go() -> None:
    table, found = read_table(b"x1,,label,\n1,5,a,\n3,4,b,\n")
    assert table is not None
    assert table.names == ("x1", "column 2", "label")
    assert [problem.message for problem in found] == [
        "Column 2 has no name; it is called column 2 here.",
        "Column 4 has no name and no values – left out.",
    ]


def test_labels_keep_the_users_names_in_a_sensible_order() -> None:
    assert data_of(b"x,label\n1,dog\n2,Cat\n3,ant\n").layout.class_names == ("Cat", "ant", "dog")
    numbers = data_of(b"x,label\n1,10\n2,9\n3,-1\n4,9\n")
    assert numbers.layout.class_names == ("-1", "9", "10")
    assert numbers.y is not None
    assert numbers.y.tolist() == [2, 1, 0, 1]
    assert data_of(b"x,label\n1,=\n2,-\n3,+\n").layout.class_names == ("+", "-", "=")


def test_spellings_of_one_number_are_one_class_with_a_note() -> None:
    data, found = select(table_of(b"x,label\n1,1.0\n2,2\n3,1\n4,01\n"), label="label")
    assert data is not None
    assert data.layout.class_names == ("1", "2")
    assert data.y is not None
    assert data.y.tolist() == [0, 1, 0, 0]
    assert [p.message for p in found] == ["Labels '1.0', '1', '01' are the same number; they are read as class 1."]


def test_a_label_with_too_many_values_is_refused() -> None:
    rows = "".join(f"{i % 7},id{i}\n" for i in range(1500)).encode()
    problem = select(table_of(b"x,label\n" + rows), label="label").problems[0]
    assert problem.message.startswith("Column label has 1,500 different values; a label has at most 1,000.")
    rows = "".join(f"{i % 7},id{i}\n" for i in range(9000)).encode()
    problem = select(table_of(b"x,label\n" + rows), label="label").problems[0]
    assert problem.message.startswith("Column label has thousands of different values")


def test_categories_become_features_of_0_and_1_that_are_not_scaled() -> None:
    content = b"size,colour,label\n10,red,a\n20,blue,b\n40,red,a\n40,green,b\n"
    for kind in ("minmax", "standard"):
        data = data_of(content, one_hot=["colour"], scaling=kind)
        assert data.layout.feature_names == ("size", "colour=blue", "colour=green", "colour=red")
        np.testing.assert_array_equal(data.X[:, 1:], [[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0]])
        assert np.linalg.norm(data.X[0, 1:] - data.X[1, 1:]) == pytest.approx(np.sqrt(2))
    units = data_of(content, one_hot=["colour"]).layout.radius_in_units(0.1)
    assert units == {
        "size": pytest.approx(3.0),
        "colour=blue": None,
        "colour=green": None,
        "colour=red": None,
    }


def test_too_many_categories_are_refused_not_offered() -> None:
    rows = "".join(f"{i},city{i},{i % 2}\n" for i in range(150)).encode()
    table = table_of(b"x,city,label\n" + rows)
    problem = select(table, label="label").problems[0]
    assert problem.message == "Column city, line 2: 'city0' is not a number. (149 more cells in this column.)"
    assert not any("one_hot" in remedy.options for remedy in problem.remedies)
    problem = select(table, label="label", one_hot=["city"]).problems[0]
    assert problem.message == "Column city has 150 different values; at most 100 can be encoded."


def test_features_can_be_chosen_and_unlabelled_tables_used() -> None:
    table = table_of(b"x1,x2,x3,label\n1,2,3,a\n4,5,6,b\n")
    data, _ = select(table, labelled=False, features=["x3", "x1"], drop=["x1"])
    assert data is not None
    assert (data.layout.feature_names, data.y) == (("x3",), None)
    with pytest.raises(ValueError, match="there is no column 'x9'; there are x1, x2, x3, label"):
        select(table, label="x9")
    assert select(table, label="label", features=[]).problems[0].kind == "no_features"
    with pytest.raises(ValueError, match="needs labels"):
        data.dataset()


def test_nothing_is_left_when_every_row_is_incomplete() -> None:
    data, found = select(table_of(b"x1,x2,label\n1,,a\n,2,b\n"), label="label", drop_incomplete=True)
    assert data is None
    assert [p.message for p in found.blocking] == ["No row is complete; nothing is left to certify."]


def test_a_later_file_is_read_as_the_model_expects() -> None:
    content = b"size,colour,label\n10,red,a\n20,blue,b\n40,red,a\n"
    layout = data_of(content, one_hot=["colour"]).layout
    later = table_of(b"label,colour,size\nb,blue,25\na,red,10\n")
    data, found = apply_layout(layout, later)
    assert data is not None
    assert not found
    np.testing.assert_allclose(data.X, [[0.5, 1, 0], [0, 0, 1]])
    assert data.y is not None
    assert data.y.tolist() == [1, 0]
    problem = apply_layout(layout, table_of(b"size,colour\n10,pink\n20,red\n5,pink\n")).problems[0]
    assert problem.message == "Column colour, line 2: 'pink' (2 rows) was not in training."
    encoded = table_of(b"size,colour=blue,colour=red\n25,0.25,0.75\n10,0,1\n")
    data, found = apply_layout(layout, encoded)
    assert data is not None
    assert data.raw.tolist() == [[25, 0.25, 0.75], [10, 0, 1]]


def test_a_models_column_can_be_neither_dropped_nor_encoded() -> None:
    layout = data_of(b"x1,x2,label\n1,2,a\n3,4,b\n").layout
    data, found = apply_layout(layout, table_of(b"x1,x2\nabc,1\n2,\ninf,3\n"))
    assert data is None
    kinds = [problem.kind for problem in found]
    assert kinds == ["not_a_number", "missing", "not_finite"]
    offered = {key for problem in found for remedy in problem.remedies for key in remedy.options}
    assert offered == {"drop_incomplete"}


def test_a_model_matches_labels_by_name_or_number() -> None:
    layout = data_of(b"x,label\n1,1\n2,2\n").layout
    data, _ = apply_layout(layout, table_of(b"x,label\n5,2.0\n6,1\n"))
    assert data is not None
    assert data.y is not None
    assert data.y.tolist() == [1, 0]
    renamed = table_of(b"x,other\n5,2\n6,1\n")
    problem = apply_layout(layout, renamed, labelled=True).problems[0]
    assert problem.message == "Which column is the label?"
    data, found = apply_layout(layout, renamed, **problem.remedies[0].apply({}))
    assert not found
    assert data is not None
    assert data.y is not None
    assert data.y.tolist() == [1, 0]


def test_a_layout_survives_being_stored() -> None:
    layout = data_of(b"size,colour,label\n0.1,red,a\n0.7,blue,b\n", one_hot=["colour"]).layout
    again = Layout.from_json(layout.to_json())
    assert (again.columns, again.label, again.class_names) == (layout.columns, "label", ("a", "b"))
    np.testing.assert_array_equal(again.scaling.scale, layout.scaling.scale)
    for damaged in ("", "[]", "{}", layout.to_json().replace('"offset": [0.1, ', '"offset": [')):
        with pytest.raises(ValueError, match="not a stored layout"):
            Layout.from_json(damaged)


def test_a_file_becomes_a_dataset_with_a_fingerprint_of_its_content() -> None:
    content = b"x1,x2,label\n1,2,a\n3,5,b\n5,4,a\n"
    dataset = read_dataset(content, label="label")
    assert (dataset.group, dataset.class_names, dataset.X_test.shape) == ("file", ("a", "b"), (0, 2))
    np.testing.assert_array_equal(dataset.X_train, [[0, 0], [0.5, 1], [1, 2 / 3]])
    semicolons = read_dataset(content.replace(b",", b";"), label="label", separator=";")
    assert semicolons.fingerprint == dataset.fingerprint
    assert read_dataset(content, label="label", drop=["x2"]).fingerprint != dataset.fingerprint
    thousandths = read_dataset(b"x1,x2,label\n1000,2,a\n3000,5,b\n5000,4,a\n", label="label")
    np.testing.assert_array_equal(thousandths.X_train, dataset.X_train)
    assert thousandths.fingerprint != dataset.fingerprint  # equal once scaled, but steps have other units
    with pytest.raises(ValueError, match="Looks separated by ';'"):
        read_dataset(content.replace(b",", b";"), label="label")
    with pytest.raises(ValueError, match="'b' is not a number"):
        read_dataset(b"x1,label\nb,1\n2,2\n", label="label")


@pytest.mark.parametrize("options", [{"separator": ";;"}, {"separator": '"'}, {"decimal": "'"}])
def test_impossible_settings_are_the_callers_mistake(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="must be"):
        read_table(b"a,b\n1,2\n", **options)  # type: ignore[arg-type]


def test_a_query_file_is_read_for_a_dataset_with_categories() -> None:
    table, _ = read_table(b"x,colour,label\n1,red,a\n2,blue,b\n4,red,b\n")
    assert table is not None
    data, _ = select(table, label="label", one_hot=("colour",))
    assert data is not None
    layout = layout_of(data.dataset())
    assert [(c.name, c.categories) for c in layout.columns] == [("x", None), ("colour", ("blue", "red"))]
    query, _ = read_table(b"colour,x\nblue,3\n")
    assert query is not None
    read, _ = apply_layout(layout, query)
    assert read is not None
    assert read.X.tolist() == [[2 / 3, 1.0, 0.0]]


def test_names_with_an_equals_sign_are_not_taken_for_categories() -> None:
    table, _ = read_table(b"p=1,p=2,label\n0.5,1,a\n1,0,b\n0,1,a\n")
    assert table is not None
    data, _ = select(table, label="label", scaling="none")
    assert data is not None
    assert layout_of(data.dataset()).feature_names == ("p=1", "p=2")
    assert [column.name for column in layout_of(data.dataset()).columns] == ["p=1", "p=2"]


GAPS = b"""size,colour,label
10,red,a
,blue,b
20,,a
40,green,b
80,NA,b
30,red,
"""


def test_rows_with_empty_cells_are_kept_as_nan() -> None:
    """An empty category is unknown, not the last one; scaling and training rows are the complete rows."""
    table = table_of(GAPS)
    data, found = select(table, label="label", one_hot=["colour"], keep_missing=True)
    assert data is not None
    assert data.layout.feature_names == ("size", "colour=blue", "colour=green", "colour=red")
    nan = np.nan
    raw = [[10, 0, 0, 1], [nan, 1, 0, 0], [20, nan, nan, nan], [40, 0, 1, 0], [80, nan, nan, nan]]
    np.testing.assert_array_equal(data.raw, raw)
    np.testing.assert_allclose(data.X[:, 0], [0, nan, 1 / 3, 1, 7 / 3])
    assert data.complete.tolist() == [True, False, False, True, False]
    assert data.lines.tolist() == [2, 3, 4, 5, 6]
    assert data.y is not None
    assert data.y.tolist() == [0, 1, 0, 1, 1]
    np.testing.assert_array_equal(data.dataset().X_train, data.X[[0, 3]])
    assert data.dataset().y_train.tolist() == [0, 1]
    assert found.of("rows_left_out")[0].message == "1 row left out: no label (line 7)."
    later, found = apply_layout(data.layout, table_of(b"colour,size\n,15\nred,\n"), keep_missing=True)
    assert later is not None
    np.testing.assert_array_equal(later.raw, [[15, nan, nan, nan], [nan, 0, 0, 1]])
    assert not apply_layout(data.layout, table_of(b"colour,size\n,15\nred,\n")).problems.of("unseen_category")
    problem = apply_layout(data.layout, table_of(b"colour,size\n,15\npink,1\n"), keep_missing=True).problems[0]
    assert problem.message == "Column colour, line 3: 'pink' (1 row) was not in training."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x,z,label\n1,2,a\n3,4,a\n,5,b\n", "Class b has no complete row: rows with empty cells cannot be training"),
        (b"x,z,label\n1,,a\n,4,b\n", "No row is complete; nothing is left to certify."),
        (b"x,c,label\n1,,a\n2,,b\n", "No row is complete; nothing is left to certify."),
        (b"x,z,label\n1,2,\n3,,\n", "Column label is empty; no row has a label."),
        (b"x,z,label\n1,2,a\n3,4,b\ninf,,a\n", "x has infinite values on line 4."),
        (b"x,z,label\n1,2,a\n3,4,b\nNaN,,a\n", "x has NaN values on line 4."),
    ],
)
def test_what_stands_against_keeping_empty_cells(content: bytes, message: str) -> None:
    table = table_of(content)
    encoded = ["c"] if "c" in table.names else []
    data, found = select(table, label="label", one_hot=encoded, keep_missing=True)
    assert data is None
    assert found.blocking[0].message.startswith(message)


def test_infinite_values_can_be_left_out_while_empty_ones_are_kept() -> None:
    content = b"x,z,label\n1,2,a\n3,4,b\ninf,,a\n5,,a\n"
    data, _ = select(table_of(content), label="label", keep_missing=True, drop_incomplete=True)
    assert data is not None
    assert data.lines.tolist() == [2, 3, 5]
