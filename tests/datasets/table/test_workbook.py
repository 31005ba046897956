"""Excel files: cells as people see them, rows as the sheet numbers them, and archives that mean harm."""

import datetime
import io
import zipfile
from typing import Any

import numpy as np
import pytest

from arml_core.datasets.table import Table, read_table, select
from arml_core.datasets.table import workbook as workbook_module
from arml_core.datasets.table.workbook import cell_text
from tests.datasets.table.files import with_part, workbook

ROWS = [["x1", "x2", "label"], [1, 2.5, "a"], [3, 4, "b"], [0.1, -1e-300, "a"]]
SHEET = "xl/worksheets/sheet1.xml"


def table_of(content: bytes, **options: Any) -> Table:
    table, found = read_table(content, **options)
    assert table is not None, found
    assert not found.blocking, found
    return table


def refused(content: bytes) -> str:
    table, found = read_table(content)
    assert table is None
    problem = found[0]
    assert problem.severity == "error"
    assert problem.remedies
    return problem.message


def test_a_sheet_is_the_table_that_its_text_would_be() -> None:
    table, found = read_table(workbook(ROWS, names=["Maße"]))
    text, _ = read_table(b"x1,x2,label\n1,2.5,a\n3,4,b\n0.1,-1e-300,a\n")
    assert table is not None
    assert text is not None
    assert (table.names, table.lines.tolist(), table.format) == (text.names, [2, 3, 4], "sheet")
    for a, b in zip(table.columns, text.columns, strict=True):
        np.testing.assert_array_equal(a.values, b.values)
        assert (a.kinds.tolist(), a.texts) == (b.kinds.tolist(), b.texts)
    assert table.preview == text.preview
    assert [problem.message for problem in found] == [
        "Read as an Excel file: the sheet 'Maße'. Lines are the rows of the sheet."
    ]


def test_the_first_sheet_that_is_shown_is_read_and_the_others_are_counted() -> None:
    def hide(book: Any) -> None:
        book.worksheets[0].sheet_state = "hidden"

    _, found = read_table(workbook([["no"]], ROWS, [["z"]], names=["_settings", "=cmd()\n\u202e🐧", "c"], change=hide))
    assert found[0].message == (
        "Read as an Excel file: the first sheet, '=cmd()\ufffd\ufffd🐧' of 3; the 2 others are left out. "
        "Lines are the rows of the sheet."
    )


def test_rows_are_numbered_as_in_the_sheet() -> None:
    rows = [[], ["x1", "x2", "label"], [1, 2, "a"], [], [3, "abc", "b"], [None, 4, "b"]]
    table = table_of(workbook(rows))
    assert table.lines.tolist() == [3, 5, 6]
    data, found = select(table, label="label")
    assert data is None
    messages = [problem.message for problem in found]
    assert "Column x2, line 5: 'abc' is not a number." in messages
    assert [problem.lines for problem in found if problem.kind == "missing"] == [(6,)]


def test_a_row_above_the_table_is_asked_about() -> None:
    content = workbook([["Results of today"], [], ["x1", "label"], [1, "a"], [2, "b"]])
    table, found = read_table(content)
    (problem,) = found.blocking
    assert (problem.kind, problem.line) == ("rows_above", 1)
    assert problem.message == "Row 1 does not look like a part of the table ('Results of today'). Leave it out?"
    assert table is not None
    assert table.names == ("x1", "label")
    assert table_of(content, **problem.remedies[0].apply({})).lines.tolist() == [4, 5]
    kept, found = read_table(content, **problem.remedies[1].apply({}))
    assert kept is not None
    assert kept.names == ("Results of today", "column 2")


def test_merged_cells_hold_their_value_once() -> None:
    def merge(book: Any) -> None:
        book.worksheets[0].merge_cells("B2:B3")

    table = table_of(workbook([["x1", "x2"], [1, 5], [2, None]], change=merge))
    assert table.column("x2").kinds.tolist() == [0, 1]


def test_formulas_give_the_values_saved_with_them() -> None:
    content = workbook([["x", "y"], [1, "=A2*2"], [2, 4]])
    with_value = with_part(
        content, SHEET, lambda xml: xml.replace(b"<v></v>", b"<v>2</v>").replace(b"<v />", b"<v>2</v>")
    )
    assert table_of(with_value).column("y").values.tolist() == [2, 4]
    assert table_of(content).column("y").kinds.tolist() == [1, 0]  # never computed: nothing is guessed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "TRUE"),
        (False, "FALSE"),
        (3.0, "3"),
        (0.125, "0.125"),
        (-(2**53), "-9007199254740992"),
        (1e300, "1e+300"),
        ("Größe 🐧", "Größe 🐧"),
        (datetime.datetime(2026, 11, 18), "2026-11-18"),
        (datetime.datetime(2026, 11, 18, 20, 6), "2026-11-18 20:06:00"),
        (datetime.time(20, 6), "20:06:00"),
        (datetime.timedelta(hours=30), "1 day, 6:00:00"),
    ],
)
def test_cells_as_text(value: object, text: str) -> None:
    assert cell_text(value) == text
    if value is not None:
        column = table_of(workbook([["x", "y"], [value, 1], ["other", 2]])).column("x")
        assert column.texts == (text, "other")


def test_decimal_commas_in_text_are_asked_about_and_numbers_stay_numbers() -> None:
    content = workbook([["x", "label"], ["1,5", "a"], ["2,5", "b"]])
    _, found = read_table(content)
    (problem,) = found.blocking
    assert problem.message == "Numbers use a decimal comma (1,5). Convert?"
    mixed = workbook([["x", "y", "label"], ["1,5", 0.25, "a"], ["2,5", 4, "b"]])
    table = table_of(mixed, decimal=",")
    assert table.column("x").values.tolist() == [1.5, 2.5]
    assert table.column("y").values.tolist() == [0.25, 4]


def test_labels_may_be_numbers_and_names_any_text() -> None:
    table = table_of(workbook([["länge", "клас"], [1, 1], [2, 2.0], [3, 1]]))
    data, _ = select(table, label="клас")
    assert data is not None
    assert data.layout.class_names == ("1", "2")


@pytest.mark.parametrize("rows", [[], [[None, None]], [["  "]]])
def test_an_empty_sheet(rows: list[list[Any]]) -> None:
    _, found = read_table(workbook(rows, ROWS))
    assert found[0].message == "The first sheet, 'Sheet0', is empty."


def test_a_header_alone() -> None:
    assert refused(workbook([["x", "y"]])) == "Found a header but no rows."


def test_a_row_wider_than_the_first_ones_is_named() -> None:
    rows = [["x", "y"], *([[1, 2]] * 300), [1, 2, 3]]
    _, found = read_table(workbook(rows))
    assert found.blocking[0].message == "Line 302 has 3 values; expected 2."


def _stored(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>"""


@pytest.mark.parametrize("part", [SHEET, "xl/workbook.xml", "xl/styles.xml", "[Content_Types].xml", "xl/hidden.bin"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_in_every_part(part: str, encoding: str) -> None:
    laughs = LAUGHS.decode().encode(encoding) + b""
    content = with_part(workbook(ROWS), part, lambda xml: laughs + xml.removeprefix(b"<?xml version='1.0'?>"))
    assert refused(content).startswith(f"This Excel file declares a document type in '{part[:40]}")


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook_module, "_declares_a_document_type", lambda stream: pytest.fail("it was opened"))
    bomb = with_part(workbook(ROWS), SHEET, lambda xml: xml + b" " * (120 * 2**20))
    assert refused(bomb) == "The file unpacks to 120.0 MB; the limit is 100 MB."
    dense = with_part(workbook(ROWS), SHEET, lambda xml: xml + b" " * (50 * 2**20))
    assert "unpacks to 50.0 MB; the limit is" in refused(dense)
    many = _stored({"[Content_Types].xml": b"", "xl/workbook.xml": b"", **{f"xl/{k}": b"" for k in range(3000)}})
    assert refused(many) == "The file is in 3,002 parts; the limit is 2,000."
    monkeypatch.setattr(workbook_module, "MAX_RATIO", 10**9)
    styled = with_part(workbook(ROWS), "xl/styles.xml", lambda xml: xml + b" " * (9 * 2**20))
    assert refused(styled) == "The part 'xl/styles.xml' of the file unpacks to 9.0 MB; the limit is 8 MB."


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (b'<row r="9"><c r="XFD9"><v>1</v></c></row>', "The file has 16,384 columns; the limit is 2,000."),
        (b'<row r="9999999"><c r="A9999999"><v>1</v></c></row>', "The sheet goes on after row 1,048,576"),
        (b'<row r="9"><c r="A9" t="s"><v>99999</v></c></row>', "This Excel file cannot be read: it is damaged"),
        (b'<row r="9"><c r="A9"><v>abc</v></c></row>', "This Excel file cannot be read: it is damaged"),
        (b'<row r="9"><c r="A9"><v>' + b"9" * 5000 + b"</v></c></row>", "This Excel file cannot be read"),
        (b'<row r="9"><c r="A9"><v>1</c></row>', "This Excel file cannot be read"),
    ],
)
def test_hostile_rows(row: bytes, words: str) -> None:
    content = with_part(workbook(ROWS), SHEET, lambda xml: xml.replace(b"</sheetData>", row + b"</sheetData>"))
    _, found = read_table(content)
    assert words in found.blocking[0].message


def test_a_size_that_the_file_claims_is_not_believed() -> None:
    for claimed in (b'ref="A1:A1"', b'ref="A1:XFD1048576"', b'ref="nonsense"'):
        content = with_part(workbook(ROWS), SHEET, lambda xml, claimed=claimed: xml.replace(b'ref="A1:C4"', claimed))
        table, found = read_table(content)
        assert (table is not None and table.n_rows == 3) or found[0].kind == "damaged"


def test_other_archives_are_named() -> None:
    assert refused(_stored({"[Content_Types].xml": b"", "word/document.xml": b""})) == (
        "This is an Office document, not CSV."
    )
    binary = {"[Content_Types].xml": b"", "xl/workbook.bin": b""}
    assert refused(_stored(binary)) == "This is an Excel file in the binary format (.xlsb), not CSV."
    assert "cannot be read: it is damaged" in refused(b"PK\x03\x04\x14\x00\x06\x00[Content_Types].xml")
    assert "cannot be read: it is damaged" in refused(workbook(ROWS)[:-30])


def test_without_the_package_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    assert (
        refused(workbook(ROWS))
        == "Reading an Excel file needs the Python package openpyxl, which is not installed here."
    )
