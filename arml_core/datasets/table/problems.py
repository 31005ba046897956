"""What can be wrong with a user's file: one typed problem each, with where it is and what to do about it.

The dashboard, the command line and a notebook all show :attr:`Problem.message`; the words live here only.
An *error* needs another file, a *question* needs an answer (one of its remedies), a *note* needs nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ...numerics.arrays import IntArray

Severity = Literal["error", "question", "note"]
Step = Literal["read", "select", "certify"]
Lines: TypeAlias = "Sequence[int] | IntArray | array[int]"
NAMED_AT_MOST = 5
LINES_KEPT = 1_000


@dataclass(frozen=True)
class Remedy:
    """One way out: `options` are keyword arguments for the `step` that is then repeated.

    Without options the remedy is the user's: to change the file. The options of "certify" are `method` and
    `n_neighbors`.
    """

    words: str
    options: Mapping[str, Any] = field(default_factory=dict)
    step: Step = "read"

    def apply(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """`options` with this remedy taken; lists of columns grow, other values are replaced."""
        merged = dict(options)
        for key, value in self.options.items():
            merged[key] = (*merged.get(key, ()), *value) if isinstance(value, tuple) else value
        return merged


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong or worth knowing.

    `lines` are the first LINES_KEPT lines concerned, counted from 1 as an editor shows them.
    """

    kind: str
    severity: Severity
    message: str
    lines: tuple[int, ...] = ()
    column: str | None = None
    remedies: tuple[Remedy, ...] = ()

    @property
    def line(self) -> int | None:
        """The first line concerned."""
        return self.lines[0] if self.lines else None


class Problems(Sequence[Problem]):
    """The problems of one file, worst first within each step."""

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        order = {"error": 0, "question": 1, "note": 2}
        self._problems = tuple(sorted(problems, key=lambda problem: order[problem.severity]))

    def __getitem__(self, index: Any) -> Any:
        return self._problems[index]

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._problems)

    def __len__(self) -> int:
        return len(self._problems)

    def __add__(self, other: Iterable[Problem]) -> Problems:
        return Problems((*self._problems, *other))

    def __repr__(self) -> str:
        return f"Problems({[problem.message for problem in self._problems]})"

    @property
    def blocking(self) -> tuple[Problem, ...]:
        """What must be settled before the data may be used: errors and open questions."""
        return tuple(problem for problem in self._problems if problem.severity != "note")

    @property
    def notes(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self._problems if problem.severity == "note")

    def of(self, kind: str) -> tuple[Problem, ...]:
        return tuple(problem for problem in self._problems if problem.kind == kind)

    def raise_if_blocking(self) -> None:
        """A ValueError with every blocking message, one a line, for callers who cannot ask."""
        if self.blocking:
            raise ValueError("\n".join(problem.message for problem in self.blocking))


FIX_THE_FILE = Remedy("Fix the file and load it again.")
FEWER = Remedy("Keep fewer rows or columns.")
FEWER_PARTS = Remedy("Save it as CSV without its formats.")


def quoted(text: str, limit: int = 40) -> str:
    """A cell's text in quotes, printable and cut."""
    plain = "".join(c if c.isprintable() else "\ufffd" for c in text[:limit])
    return f"'{plain}…'" if len(text) > limit else f"'{plain}'"


def abbreviated(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    listed = ", ".join(names[:NAMED_AT_MOST])
    return listed if len(names) <= NAMED_AT_MOST else f"{listed} and {len(names) - NAMED_AT_MOST} more"


def on_lines(lines: Lines) -> str:
    """'line 2' or 'lines 2, 3'."""
    listed = ", ".join(str(line) for line in lines[:NAMED_AT_MOST])
    more = f" and {len(lines) - NAMED_AT_MOST:,} more" if len(lines) > NAMED_AT_MOST else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {listed}{more}"


def first_lines(lines: Lines) -> tuple[int, ...]:
    """The lines a problem keeps: a file at the size limit has millions."""
    return tuple(int(line) for line in lines[:LINES_KEPT])


def counted(n: int, singular: str, plural: str = "") -> str:
    """'1 row', '2 rows'."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


# Files that are not a table


def empty_file() -> Problem:
    return Problem("empty", "error", "The file is empty.", remedies=(FIX_THE_FILE,))


def header_only() -> Problem:
    return Problem("no_rows", "error", "Found a header but no rows.", lines=(1,), remedies=(FIX_THE_FILE,))


def no_values() -> Problem:
    return Problem("empty", "error", "The file has neither names nor values.", remedies=(FIX_THE_FILE,))


def too_large(size: int | None, limit: int) -> Problem:
    has = f"more than {limit / 2**20:,.0f} MB" if size is None else f"{size / 2**20:,.1f} MB"
    message = f"The file has {has}; the limit is {limit / 2**20:,.0f} MB."
    return Problem("too_large", "error", message, remedies=(FEWER,))


def too_wide(n_columns: int, limit: int) -> Problem:
    message = f"The file has {n_columns:,} columns; the limit is {limit:,}."
    return Problem("too_wide", "error", message, remedies=(Remedy("Keep fewer columns."),))


SAVE_AS = Remedy("Save it as CSV (in a spreadsheet: File, Save as, CSV UTF-8) and load that file.")


def not_csv(what: str) -> Problem:
    return Problem("not_csv", "error", f"This is {what}, not CSV.", remedies=(SAVE_AS,))


def too_many_cells(n_rows: int | None, n_columns: int | None, limit: int) -> Problem:
    has = f"more than {limit:,} cells"
    if n_rows is not None and n_columns is not None:
        has = f"{n_rows:,} rows and {n_columns:,} columns, {n_rows * n_columns:,} cells"
    return Problem("too_many_cells", "error", f"The file has {has}; the limit is {limit:,}.", remedies=(FEWER,))


def too_many_sheet_rows(limit: int) -> Problem:
    message = f"The sheet goes on after row {limit:,}, the last one that Excel has."
    return Problem("damaged", "error", message, remedies=(SAVE_AS,))


def too_many_parts(found: int, limit: int) -> Problem:
    message = f"The file is in {found:,} parts; the limit is {limit:,}."
    return Problem("too_large", "error", message, remedies=(SAVE_AS,))


def unpacks_to_too_much(size: int | None, limit: float, part: str = "") -> Problem:
    what = f"The part {quoted(part)} of the file" if part else "The file"
    has = f"more than {limit / 2**20:,.0f} MB" if size is None else f"{size / 2**20:,.1f} MB"
    message = f"{what} unpacks to {has}; the limit is {limit / 2**20:,.0f} MB."
    return Problem("too_large", "error", message, remedies=(FEWER,))


def several_members() -> Problem:
    message = "The gzip archive goes on after its first file; only an archive of one file is read."
    return Problem("damaged", "error", message, remedies=(Remedy("Unpack it and load the table that is meant."),))


def damaged(what: str, reason: str) -> Problem:
    message = f"This {what} cannot be read: it is damaged, or not what it seems ({reason})."
    return Problem("damaged", "error", message, remedies=(Remedy("Save or download it again."), SAVE_AS))


def declares_entities(part: str) -> Problem:
    message = f"This Excel file declares a document type in {quoted(part)}, which no spreadsheet program writes."
    return Problem("damaged", "error", message, remedies=(SAVE_AS,))


def missing_package(what: str, package: str) -> Problem:
    message = f"Reading {what} needs the Python package {package}, which is not installed here."
    install = Remedy(f"Install it (pip install {package}).")
    return Problem("missing_package", "error", message, remedies=(SAVE_AS, install))


def no_cells(column: str, what: str) -> Problem:
    message = f"Column {quoted(column)} has {what}; a table needs a number or a text in each."
    leave_out = Remedy("Leave this column out, or make several of it, and save the file again.")
    return Problem("nested", "error", message, column=column, remedies=(leave_out,))


def took_too_long(seconds: float) -> Problem:
    message = f"Reading this file took longer than {seconds:,.0f} seconds and was stopped."
    return Problem("too_slow", "error", message, remedies=(FEWER, FEWER_PARTS))


def took_too_much_memory(limit: float) -> Problem:
    message = f"Reading this file took more than {limit / 2**20:,.0f} MB of memory and was stopped."
    return Problem("too_much_memory", "error", message, remedies=(FEWER, FEWER_PARTS))


def reader_ended() -> Problem:
    message = "The process that read this file ended before it was done. The file may be damaged."
    return Problem("damaged", "error", message, remedies=(Remedy("Load it again."), SAVE_AS))


# What was read, where it was no text


def read_as_sheet(name: str, n_sheets: int) -> Problem:
    others = {1: "", 2: " of 2; the other one is left out"}.get(
        n_sheets, f" of {n_sheets:,}; the {n_sheets - 1:,} others are left out"
    )
    which = "the sheet" if n_sheets == 1 else "the first sheet,"
    message = f"Read as an Excel file: {which} {quoted(name)}{others}. Lines are the rows of the sheet."
    return Problem("sheet", "note", message)


def read_as_parquet() -> Problem:
    return Problem("parquet", "note", "Read as a Parquet file. Lines are its rows, counted from 1.")


def empty_sheet(name: str) -> Problem:
    message = f"The first sheet, {quoted(name)}, is empty."
    return Problem("empty", "error", message, remedies=(Remedy("Move the sheet with the table to the front."),))


def no_sheet() -> Problem:
    return Problem("empty", "error", "The Excel file has no sheet with cells that is shown.", remedies=(SAVE_AS,))


def rows_above_table(first: int, skipped: int, text: str) -> Problem:
    which, them = (f"Row {first} does", "it") if first == skipped else (f"Rows {first} to {skipped} do", "them")
    message = f"{which} not look like a part of the table ({quoted(text)}). Leave {them} out?"
    remedies = (
        Remedy("Yes, the table begins below", {"skip_lines": skipped}),
        Remedy("No, the table begins there", {"skip_lines": 0}),
    )
    return Problem("rows_above", "question", message, (first,), remedies=remedies)


def undecodable(encoding: str, line: int) -> Problem:
    message = f"Line {line:,} cannot be read as {encoding}."
    return Problem("undecodable", "error", message, (line,), remedies=(Remedy("Choose another encoding."),))


def unclosed_quote(line: int) -> Problem:
    message = f'Line {line:,}: a quote (") is opened and never closed.'
    return Problem("quote", "error", message, (line,), remedies=(FIX_THE_FILE,))


def text_after_quote(line: int) -> Problem:
    message = f'Line {line:,}: text follows a closing quote ("). A quote inside a value is written twice ("").'
    return Problem("quote", "error", message, (line,), remedies=(FIX_THE_FILE,))


def huge_value(line: int, limit: int) -> Problem:
    message = f'Line {line:,} has a value of more than {limit:,} characters. Is a quote (") not closed?'
    return Problem("quote", "error", message, (line,), remedies=(FIX_THE_FILE,))


def one_column(name: str) -> Problem:
    message = f"Found only one column ({name}). A table needs a label and at least one feature."
    return Problem("one_column", "error", message, column=name, remedies=(Remedy("Check the separator."),))


# How the file is to be read


def not_utf8(offers: Sequence[tuple[str, str]]) -> Problem:
    """`offers` are encodings with a preview each, the likeliest first."""
    encoding, preview = offers[0]
    message = f"The file is not UTF-8. It looks like {encoding}: {preview}. Read it that way?"
    remedies = tuple(Remedy(f"Read as {name}: {text}", {"encoding": name}) for name, text in offers)
    return Problem("encoding", "question", message, remedies=remedies)


SEPARATOR_NAMES = {"\t": "tabs", ",": "','", ";": "';'", "|": "'|'"}


def other_separator(separator: str) -> Problem:
    name = SEPARATOR_NAMES.get(separator, repr(separator))
    remedies = (
        Remedy(f"Yes, it is separated by {name}", {"separator": separator}),
        Remedy("No, it is separated by ','", {"separator": ","}),
    )
    return Problem("separator", "question", f"Looks separated by {name}. Read it that way?", remedies=remedies)


def no_header() -> Problem:
    remedies = (
        Remedy("No: row 1 is data", {"header": False}),
        Remedy("Yes: row 1 holds the column names", {"header": True}),
    )
    message = "Row 1 looks like data. Does the file have column names?"
    return Problem("no_header", "question", message, lines=(1,), remedies=remedies)


def decimal_comma(example: str) -> Problem:
    remedies = (
        Remedy("Yes, the comma is the decimal sign", {"decimal": ","}),
        Remedy("No, leave these cells as they are", {"decimal": "."}),
    )
    message = f"Numbers use a decimal comma ({example}). Convert?"
    return Problem("decimal_comma", "question", message, remedies=remedies)


def ragged_line(line: int, found: int, expected: int) -> Problem:
    message = f"Line {line:,} has {counted(found, 'value')}; expected {expected:,}."
    return Problem("ragged", "error", message, (line,), remedies=(FIX_THE_FILE,))


def endless_line(line: int, found: int, limit: int) -> Problem:
    message = f"Line {line:,} has {found:,} values; no line may have more than {limit:,}."
    return Problem("ragged", "error", message, (line,), remedies=(FIX_THE_FILE,))


def more_ragged_lines(lines: Lines) -> Problem:
    verb = "line also has" if len(lines) == 1 else "lines also have"
    message = f"{len(lines):,} more {verb} another number of values ({on_lines(lines)})."
    return Problem("ragged", "error", message, first_lines(lines), remedies=(FIX_THE_FILE,))


def no_row_fits(expected: int) -> Problem:
    message = f"No line has {counted(expected, 'value')}, as the first one does."
    return Problem("no_rows", "error", message, remedies=(FIX_THE_FILE, Remedy("Check the separator.")))


def leave_ragged_lines_out(lines: Lines) -> Remedy:
    """One for all of them: the reader cannot leave out some."""
    return Remedy(f"Leave out {on_lines(lines)}. What is left out is counted.", {"skip_ragged": True})


def ragged_lines_left_out(lines: Lines, expected: int) -> Problem:
    message = f"{counted(len(lines), 'line')} left out: not {expected:,} values ({on_lines(lines)})."
    return Problem("ragged_left_out", "note", message, first_lines(lines))


def duplicate_column(name: str, times: int) -> Problem:
    often = "twice" if times == 2 else f"{times:,} times"
    return Problem("duplicate_column", "error", f"Column {name} appears {often}.", (1,), name, remedies=(FIX_THE_FILE,))


def nameless_column(position: int, name: str) -> Problem:
    message = f"Column {position:,} has no name; it is called {name} here."
    return Problem("nameless_column", "note", message, (1,), name)


def empty_column_left_out(position: int) -> Problem:
    return Problem("empty_column", "note", f"Column {position:,} has no name and no values – left out.")


def row_numbers(name: str) -> Problem:
    remedies = (Remedy("Keep it as a column", {"keep_row_numbers": True}),)
    message = "First column looks like row numbers – left out."
    return Problem("row_numbers", "note", message, column=name or None, remedies=remedies)
