"""What is said about a user's file: every way it can go wrong, word for word."""

import io
import tomllib
from pathlib import Path

import numpy as np
import pytest

from arml_core.datasets.table import (
    MAX_BYTES,
    Problem,
    Problems,
    TableData,
    apply_layout,
    check_neighbors,
    read_table,
    select,
)

GOOD = b"x1,x2,label\n1,2,a\n3,5,b\n4,1,a\n"


def problems_of(content: bytes, label: str | None = "label", **options: object) -> Problems:
    """The problems of reading and, where that gives a table, of selecting."""
    table, found = read_table(content)
    if table is None:
        return found
    return found + select(table, label=label, **options)[1]  # type: ignore[arg-type]


def only(found: Problems) -> Problem:
    assert len(found) == 1, found
    problem: Problem = found[0]
    return problem


def good(content: bytes = GOOD, **options: object) -> TableData:
    table, found = read_table(content)
    assert table is not None
    assert not found.blocking
    data, found = select(table, label="label", **options)  # type: ignore[arg-type]
    assert data is not None, found
    return data


def test_a_clean_file_has_no_problems() -> None:
    assert list(problems_of(GOOD)) == []


@pytest.mark.parametrize("content", [b"", b"\n\n", b"  \r\n", b"\xef\xbb\xbf"])
def test_empty(content: bytes) -> None:
    problem = only(problems_of(content))
    assert (problem.kind, problem.severity, problem.message) == ("empty", "error", "The file is empty.")


def test_header_only() -> None:
    problem = only(problems_of(b"x1,x2,label\n"))
    assert (problem.severity, problem.message) == ("error", "Found a header but no rows.")


def test_no_header() -> None:
    table, found = read_table(b"1,2,3\n4,5,6\n")
    problem = only(found)
    assert problem.message == "Row 1 looks like data. Does the file have column names?"
    assert (problem.severity, problem.line) == ("question", 1)
    assert table is not None
    assert (table.n_rows, table.names) == (2, ("x1", "x2", "x3"))
    answers = [dict(remedy.options) for remedy in problem.remedies]
    assert answers == [{"header": False}, {"header": True}]
    table, found = read_table(b"1,2,3\n4,5,6\n", header=True)
    assert table is not None
    assert (table.n_rows, table.names, list(found)) == (1, ("1", "2", "3"), [])


@pytest.mark.parametrize(("separator", "name"), [(";", "';'"), ("\t", "tabs"), ("|", "'|'")])
def test_other_separator(separator: str, name: str) -> None:
    content = GOOD.replace(b",", separator.encode())
    problem = only(problems_of(content))
    assert problem.message == f"Looks separated by {name}. Read it that way?"
    assert problem.severity == "question"
    table, found = read_table(content, **problem.remedies[0].apply({}))
    assert table is not None
    assert (table.names, list(found)) == (("x1", "x2", "label"), [])


def test_decimal_comma() -> None:
    content = b"x1;x2;label\n1,5;2;a\n0,25;3,5;b\n"
    table, found = read_table(content, separator=";")
    problem = only(found)
    assert (problem.severity, problem.message) == ("question", "Numbers use a decimal comma (1,5). Convert?")
    assert table is not None
    table, found = read_table(content, **problem.remedies[0].apply({"separator": ";"}))
    assert not found
    assert table is not None
    assert [table.column(name).values.tolist() for name in ("x1", "x2")] == [[1.5, 0.25], [2.0, 3.5]]
    table, found = read_table(content, separator=";", decimal=".")
    assert table is not None
    assert table.column("x1").first_text == (0, "1,5")


@pytest.mark.parametrize(("line", "n"), [("3,5,b,7", 4), ("3,5", 2)])
def test_extra_and_missing_fields(line: str, n: int) -> None:
    content = f"x1,x2,label\n1,2,a\n{line}\n4,1,b\n".encode()
    table, found = read_table(content)
    problem = only(found)
    assert problem.message == f"Line 3 has {n} values; expected 3."
    assert (problem.kind, problem.severity, problem.line) == ("ragged", "error", 3)
    taken = next(remedy for remedy in problem.remedies if remedy.options)
    table, found = read_table(content, **taken.apply({}))
    assert table is not None
    assert table.n_rows == 2
    assert only(found).message == "1 line left out: not 3 values (line 3)."
    assert not found.blocking


def test_many_ragged_lines_are_counted_not_listed() -> None:
    table, found = read_table(b"x1,x2,label\n" + b"1,2\n" * 100 + b"1,2,a\n")
    assert len(found) == 6
    assert found[5].message == "95 more lines also have another number of values (lines 7, 8, 9, 10, 11 and 90 more)."
    assert table is not None
    assert table.n_rows == 1


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (1, "Leave out line 2."),
        (2, "Leave out lines 2, 3."),
        (100, "Leave out lines 2, 3, 4, 5, 6 and 95 more."),
    ],
)
def test_one_remedy_leaves_all_ragged_lines_out_and_names_them(n: int, words: str) -> None:
    _, found = read_table(b"x1,x2,label\n" + b"1,2\n" * n + b"1,2,a\n")
    offered = [remedy for problem in found for remedy in problem.remedies if remedy.options]
    assert [remedy.words for remedy in offered] == [f"{words} What is left out is counted."]
    assert found[len(found) - 1].remedies[-1] is offered[0]


def test_text_in_a_feature() -> None:
    content = b"x1,x2,label\n1,abc,a\n3,5,b\n"
    problem = only(problems_of(content))
    assert problem.message == "Column x2, line 2: 'abc' is not a number."
    assert (problem.severity, problem.line, problem.column) == ("question", 2, "x2")
    drop, encode = problem.remedies[:2]
    assert good(content, **drop.apply({})).layout.feature_names == ("x1",)
    assert good(content, **encode.apply({})).layout.feature_names == ("x1", "x2=5", "x2=abc")
    assert "√2 ≈ 1.41" in encode.words


def test_missing_values() -> None:
    content = b"x1,x2,label\n1,,a\n3,5,b\n4,NA,b\n6,2,a\n"
    problem = only(problems_of(content))
    assert problem.message == "2 rows have empty values (x2). Drop them, or fix the file."
    assert (problem.severity, problem.lines, problem.column) == ("question", (2, 4), "x2")
    data, found = select_from(content, **problem.remedies[0].apply({}))
    assert data is not None
    assert data.lines.tolist() == [3, 5]
    assert only(found).message == "2 rows left out: empty or infinite values (lines 2, 4)."
    one = only(problems_of(b"x1,x2,label\n1,2,\n3,5,b\n4,3,a\n"))
    assert one.message == "1 row has empty values (label). Drop it, or fix the file."


def select_from(content: bytes, **options: object) -> tuple[TableData | None, Problems]:
    table, found = read_table(content)
    assert table is not None
    data, more = select(table, label="label", **options)  # type: ignore[arg-type]
    return data, found + more


@pytest.mark.parametrize(
    ("second", "third", "words"),
    [
        ("inf", "1e400", "x2 has infinite values on lines 2, 3."),
        ("-Infinity", "4", "x2 has infinite values on line 2."),
        ("NaN", "4", "x2 has NaN values on line 2."),
        ("inf", "nan", "x2 has infinite and NaN values on lines 2, 3."),
    ],
)
def test_values_that_are_not_finite(second: str, third: str, words: str) -> None:
    problem = only(problems_of(f"x1,x2,label\n1,{second},a\n3,{third},b\n5,6,b\n7,8,a\n".encode()))
    assert (problem.kind, problem.severity, problem.message) == ("not_finite", "question", words)
    assert problem.line == 2


def test_no_label_column() -> None:
    problem = only(problems_of(b"x1,class,x2\n1,a,3\n2,b,4\n", label=None))
    assert (problem.severity, problem.message) == ("question", "Which column is the label?")
    assert [remedy.options for remedy in problem.remedies] == [
        {"label": "class"},
        {"label": "x2"},
        {"label": "x1"},
        {"labelled": False},
    ]


def test_wrong_columns_for_a_saved_model() -> None:
    names = [f"pix_{i}" for i in range(64)]
    rows = [",".join(str((i * k) % 7) for i in range(64)) + f",{'ab'[k % 2]}" for k in range(1, 5)]
    layout = good("\n".join([",".join(names) + ",label", *rows]).encode()).layout
    without = [name for name in names if name != "pix_12"]
    table, _ = read_table((",".join(without) + "\n" + ",".join("1" * 63) + "\n").encode())
    assert table is not None
    problem = only(apply_layout(layout, table)[1])
    assert problem.severity == "error"
    assert problem.message == "The model expects 64 features; the file has 63 (missing pix_12)."
    table, _ = read_table((",".join([*without, "pixel_12"]) + "\n" + ",".join("1" * 64) + "\n").encode())
    assert table is not None
    message = only(apply_layout(layout, table)[1]).message
    assert message == "The model expects 64 features; the file has 64 (missing pix_12; not in the model: pixel_12)."


def test_columns_a_model_does_not_know_are_left_out_with_a_note() -> None:
    table, _ = read_table(b"comment,x2,x1\nhello,2,1\n")
    assert table is not None
    data, found = apply_layout(good().layout, table)
    assert only(found).message == "comment is not in the model – left out."
    assert data is not None
    assert (data.raw.tolist(), data.y) == ([[1.0, 2.0]], None)


def test_one_class_only() -> None:
    problem = only(problems_of(b"x1,label\n1,0\n2,0\n"))
    assert problem.severity == "error"
    assert problem.message == "All rows are class 0. Certification needs two classes."


def test_not_utf8() -> None:
    content = "größe,länge,label\n1,2,süß\n3,4,herb\n".encode("cp1252")
    table, found = read_table(content)
    problem = only(found)
    assert problem.severity == "question"
    assert problem.message == "The file is not UTF-8. It looks like cp1252: 'größe,länge,label'. Read it that way?"
    assert table is not None
    assert table.names == ("größe", "länge", "label")
    assert not read_table(content, **problem.remedies[0].apply({})).problems


def test_the_preview_of_an_encoding_shows_what_tells_it_from_others() -> None:
    content = f"{'a_long_name;' * 8}größe;label\n{'1;' * 9}a\n{'2;' * 9}b\n".encode("cp1252")
    problem = next(problem for problem in read_table(content).problems if problem.kind == "encoding")
    offers = {str(remedy.options["encoding"]): remedy.words for remedy in problem.remedies if remedy.options}
    assert "größe" in offers["cp1252"]
    assert "…" in offers["cp1252"]
    assert len({offer.partition(": ")[2] for offer in offers.values()}) > 1


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1251", "цена,вес,класс\n1,2,груша\n3,4,яблоко зелёное\n"),
        ("shift_jis", "高さ,重さ,ラベル\n1,2,りんご\n3,4,みかん\n"),
        ("utf-16", "größe,label\n1,a\n2,b\n"),
        ("utf-32", "größe,label\n1,a\n2,b\n"),
    ],
)
def test_other_encodings_are_offered(encoding: str, text: str) -> None:
    table, found = read_table(text.encode(encoding))
    assert only(found).kind == "encoding"
    assert table is not None
    assert table.names == tuple(text.split("\n")[0].split(","))


def test_a_wrong_encoding_names_the_line() -> None:
    problem = only(read_table("a,b\n1,2\n3,ö\n".encode("cp1252"), encoding="utf-8").problems)
    assert (problem.severity, problem.message) == ("error", "Line 3 cannot be read as utf-8.")
    for name in ("klingon", "zip", "hex"):
        with pytest.raises(ValueError, match=f"there is no text encoding '{name}'"):
            read_table(GOOD, encoding=name)


def test_unseen_label() -> None:
    table, _ = read_table(b"x1,x2,label\n1,2,cat\n3,5,b\n4,1,cat\n4,1,cat\n")
    assert table is not None
    data, found = apply_layout(good().layout, table)
    problem = only(found)
    assert (data, problem.severity, problem.lines) == (None, "error", (2, 4, 5))
    assert problem.message == "Label 'cat' (3 rows) was not in training."
    data, found = apply_layout(good().layout, table, **problem.remedies[0].apply({}))
    assert data is not None
    assert data.y is None


def test_a_category_named_as_another_column() -> None:
    content = b"colour,colour=red,size,label\nred,5,1,a\nblue,6,2,b\nred,7,3,b\n"
    problem = only(problems_of(content, one_hot=("colour",)))
    assert (problem.kind, problem.severity) == ("same_feature", "question")
    assert problem.message == "Columns colour, colour=red give the same feature, colour=red. Leave one of them out."
    assert [remedy.options for remedy in problem.remedies[:2]] == [{"drop": ("colour",)}, {"drop": ("colour=red",)}]
    assert good(content, **problem.remedies[1].apply({"one_hot": ("colour",)})).layout.feature_names == (
        "colour=blue",
        "colour=red",
        "size",
    )


def test_too_few_rows_for_k() -> None:
    y = np.repeat([0, 1], [20, 4])
    found = check_neighbors(["0", "1"], y, 11, "theorem1")
    assert [problem.message for problem in found] == [
        "Class 1 has 4 rows; this certificate needs 6 for K = 11. Use 'votes'."
    ]
    votes, smaller = found[0].remedies
    assert (votes.step, votes.options) == ("certify", {"method": "votes"})
    assert (smaller.step, smaller.options) == ("certify", {"n_neighbors": 7})
    assert check_neighbors(["0", "1"], y, 30)[0].remedies[0].options == {"n_neighbors": 24}
    assert check_neighbors(["0", "1"], y, 30, "theorem1", leave_one_out=True)[0].remedies[0].options == {
        "n_neighbors": 5
    }
    lonely = np.array([0, 0, 0, 1])  # each row left out of its own vote, no K is small enough for class 1
    for k in (1, 3):
        (problem,) = check_neighbors(["0", "1"], lonely, k, "theorem1", leave_one_out=True)
        assert [remedy.options for remedy in problem.remedies] == [{"method": "votes"}]
    assert check_neighbors(["0", "1"], y, 11, "votes") == []
    assert check_neighbors(["0", "1"], y, 7, "theorem1") == []
    assert check_neighbors(["0", "1"], y, 7, "theorem1", leave_one_out=True)[0].message == (
        "Class 1 has 4 rows; this certificate needs 5 for K = 7. Use 'votes'."
    )
    assert check_neighbors(["0", "1"], y[:3], 11)[0].message == "K = 11 needs 11 rows; there are 3."


@pytest.mark.parametrize(("header", "often"), [("x1,x1,label", "twice"), ("x1,x1,x1", "3 times")])
def test_duplicate_column_names(header: str, often: str) -> None:
    problem = only(read_table(f"{header}\n1,2,a\n3,4,b\n".encode()).problems)
    assert (problem.severity, problem.message) == ("error", f"Column x1 appears {often}.")
    assert problem.column == "x1"


def test_too_large_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    sparse = tmp_path / "large.csv"
    with sparse.open("wb") as file:
        file.truncate(61 * 2**20)
    problem = only(read_table(sparse).problems)
    assert (problem.severity, problem.message) == ("error", "The file has 61.0 MB; the limit is 50 MB.")
    assert only(read_table(b"a,b\n1,2\n", max_bytes=4).problems).kind == "too_large"


def test_too_large_an_upload_is_refused_before_it_is_read() -> None:
    class Upload(io.BytesIO):
        def seek(self, offset: int, whence: int = 0) -> int:
            return 70 * 2**20

        def read(self, size: int | None = -1) -> bytes:
            raise AssertionError("it was read")

    assert only(read_table(Upload()).problems).message == "The file has 70.0 MB; the limit is 50 MB."


def test_a_stream_of_unknown_size_is_read_no_further_than_the_limit() -> None:
    class Stream(io.BytesIO):
        def seekable(self) -> bool:
            return False

    stream = Stream(GOOD * 2**18)
    problem = only(read_table(stream, max_bytes=2**20).problems)
    assert problem.message == "The file has more than 1 MB; the limit is 1 MB."
    assert stream.tell() == 2**20 + 1


def test_the_servers_upload_limit_is_the_same_number() -> None:
    settings = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())
    assert settings["server"]["maxUploadSize"] * 2**20 == MAX_BYTES


def test_too_wide() -> None:
    content = ",".join(f"c{i}" for i in range(2301)).encode() + b"\n"
    problem = only(read_table(content).problems)
    assert (problem.severity, problem.message) == ("error", "The file has 2,301 columns; the limit is 2,000.")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 100, "an old Excel file (.xls) or one with a password"),
        (b"PK\x03\x04\x14\x00data.txt", "a ZIP archive"),
        (b"PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "an OpenDocument spreadsheet"),
        (b"<!DOCTYPE html>\n<html>", "an HTML page"),
        (b"\n  <HTML><body>", "an HTML page"),
        (b"<?xml version='1.0'?>", "an XML file"),
        (b'{"a": [1, 2]}', "a JSON file"),
        (b"%PDF-1.7", "a PDF file"),
        (b"a,b\n1,\x002\n", "a binary file"),
    ],
)
def test_other_files_renamed_csv(content: bytes, what: str) -> None:
    problem = only(read_table(content).problems)
    assert (problem.severity, problem.message) == ("error", f"This is {what}, not CSV.")


def test_fractional_labels() -> None:
    content = b"x1,label\n1,2\n2,1.5\n3,1\n"
    problem = only(problems_of(content))
    assert (problem.severity, problem.line) == ("question", 3)
    assert problem.message == "Label 1.5 is not a class. Is this a measurement?"
    data = good(content, **problem.remedies[1].apply({}))
    assert data.layout.class_names == ("1", "1.5", "2")


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "index", "id"])
def test_exported_index_column(name: str) -> None:
    content = f"{name},x1,label\n0,5,a\n1,3,b\n2,4,a\n".encode()
    table, found = read_table(content)
    problem = only(found)
    assert (problem.severity, problem.message) == ("note", "First column looks like row numbers – left out.")
    assert table is not None
    assert table.names == ("x1", "label")
    table, found = read_table(content, **problem.remedies[0].apply({}))
    assert table is not None
    assert len(table.names) == 3


def test_a_feature_that_happens_to_count_is_kept() -> None:
    table, found = read_table(b"dose,x1,label\n1,5,a\n2,3,b\n3,4,a\n")
    assert table is not None
    assert (table.names, list(found)) == (("dose", "x1", "label"), [])


def test_constant_column() -> None:
    problem = only(problems_of(b"x1,x3,label\n1,7,a\n2,7.0,b\n"))
    assert (problem.severity, problem.column) == ("note", "x3")
    assert problem.message == "x3 never changes; it cannot affect the answer."


def test_equal_rows_with_different_labels_are_counted_and_named() -> None:
    problem = only(problems_of(b"x1,x2,label\n0,2,a\n3,5,b\n-0.0,2.0,b\n3,5,b\n"))
    assert (problem.severity, problem.lines) == ("note", (2, 4))
    assert problem.message == ("2 rows equal another row but differ in the label (lines 2, 4); their radius may be 0.")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'x1,label\n1,"a\n2,b\n', 'Line 2: a quote (") is opened and never closed.'),
        (
            b'x1,label\n1,a\n2,"b"c\n',
            'Line 3: text follows a closing quote ("). A quote inside a value is written twice ("").',
        ),
        (
            b"x1,label\n1,a\n2," + b"b" * 200_000 + b"\n",
            'Line 3 has a value of more than 131,072 characters. Is a quote (") not closed?',
        ),
        (b"x1,label\n1,a\n" + b"," * 150_000 + b"\n", "Line 3 has 150,001 values; no line may have more than 100,000."),
        (b"x1\n1\n2\n", "Found only one column (x1). A table needs a label and at least one feature."),
    ],
)
def test_other_damage_is_named_too(content: bytes, words: str) -> None:
    found = read_table(content).problems
    assert (found[0].severity, found[0].message) == ("error", words)


def test_raise_if_blocking_says_everything_at_once() -> None:
    found = problems_of(b"x1,x2,label\n1,,a\nabc,5,b\n")
    with pytest.raises(ValueError, match=r"not a number.*\n1 row has empty values"):
        found.raise_if_blocking()
