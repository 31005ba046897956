"""Problems that depend on what each column is for: label, feature, or neither. Words only, as in problems.py."""

from __future__ import annotations

from collections.abc import Sequence

from .cells import in_groups
from .problems import FIX_THE_FILE, Lines, Problem, Remedy, abbreviated, counted, first_lines, on_lines, quoted

ONE_HOT_MEANING = (
    "Each value becomes a feature that is 1 or 0. Changing one value into another moves two of these features by 1, "
    "a step of √2 ≈ 1.41 in ℓ2 (2 in ℓ1, 1 in ℓ∞). A certified radius above that says that no such change "
    "alone flips the answer; a smaller one does not say that any does."
)


def which_label(names: Sequence[str]) -> Problem:
    remedies = tuple(Remedy(name, {"label": name}, "select") for name in names)
    without = Remedy("There is no label; certify the predictions", {"labelled": False}, "select")
    return Problem("no_label", "question", "Which column is the label?", remedies=(*remedies, without))


def wrong_columns(expected: int, found: int, missing: Sequence[str], unknown: Sequence[str]) -> Problem:
    details = f"missing {abbreviated(missing)}" + (f"; not in the model: {abbreviated(unknown)}" if unknown else "")
    message = f"The model expects {counted(expected, 'feature')}; the file has {found:,} ({details})."
    return Problem("wrong_columns", "error", message, column=missing[0], remedies=(FIX_THE_FILE,))


def columns_left_out(names: Sequence[str]) -> Problem:
    one = len(names) == 1
    message = f"{abbreviated(names)} {'is' if one else 'are'} not in the model – left out."
    return Problem("columns_left_out", "note", message, column=names[0])


def not_a_number(
    column: str, line: int, text: str, n_more: int, can_encode: bool, decimal: str, fixed: bool
) -> Problem:
    """`fixed`: a model expects the column as a number, so it can be neither left out nor encoded."""
    more = f" ({counted(n_more, 'more cell')} in this column.)" if n_more else ""
    message = f"Column {column}, line {line:,}: {quoted(text)} is not a number.{more}"
    remedies = [] if fixed else list(drop_columns([column]))
    if can_encode and not fixed:
        words = f"Encode {column} as categories (one-hot). {ONE_HOT_MEANING}"
        remedies.append(Remedy(words, {"one_hot": (column,)}, "select"))
    if decimal == "." and (
        in_groups(text, ",") or (text.count(",") == 1 and text.replace(",", "").lstrip("+-").isdigit())
    ):
        remedies.append(Remedy("The comma is the decimal sign", {"decimal": ","}))
    return Problem("not_a_number", "question", message, (line,), column, (*remedies, FIX_THE_FILE))


def missing_values(lines: Lines, columns: Sequence[str], droppable: Sequence[str]) -> Problem:
    one = len(lines) == 1
    message = f"{counted(len(lines), 'row')} {'has' if one else 'have'} empty values ({abbreviated(columns)}). "
    message += f"Drop {'it' if one else 'them'}, or fix the file."
    remedies = (drop_incomplete(len(lines)), *drop_columns(droppable), FIX_THE_FILE)
    return Problem("missing", "question", message, first_lines(lines), columns[0], remedies)


def not_finite(column: str, lines: Lines, has_nan: bool, has_infinite: bool, fixed: bool) -> Problem:
    what = " and ".join(["infinite"] * has_infinite + ["NaN"] * has_nan)
    message = f"{column} has {what} values on {on_lines(lines)}."
    remedies = (drop_incomplete(len(lines)), *([] if fixed else drop_columns([column])), FIX_THE_FILE)
    return Problem("not_finite", "question", message, first_lines(lines), column, remedies)


def drop_incomplete(n_rows: int) -> Remedy:
    it = "it is" if n_rows == 1 else "they are"
    return Remedy(f"Drop {counted(n_rows, 'row')}; {it} counted.", {"drop_incomplete": True}, "select")


def drop_columns(columns: Sequence[str]) -> tuple[Remedy, ...]:
    return tuple(Remedy(f"Leave column {name} out", {"drop": (name,)}, "select") for name in columns)


def rows_left_out(lines: Lines) -> Problem:
    message = f"{counted(len(lines), 'row')} left out: empty or infinite values ({on_lines(lines)})."
    return Problem("rows_left_out", "note", message, first_lines(lines))


def unlabelled_left_out(lines: Lines) -> Problem:
    message = f"{counted(len(lines), 'row')} left out: no label ({on_lines(lines)})."
    return Problem("rows_left_out", "note", message, first_lines(lines))


def no_label_left(column: str) -> Problem:
    message = f"Column {column} is empty; no row has a label."
    return Problem("no_rows_left", "error", message, column=column, remedies=(FIX_THE_FILE,))


def no_complete_row(class_name: str) -> Problem:
    message = f"Class {class_name} has no complete row: rows with empty cells cannot be training rows."
    return Problem("no_complete_row", "error", message, remedies=(FIX_THE_FILE,))


def no_rows_left() -> Problem:
    message = "No row is complete; nothing is left to certify."
    return Problem("no_rows_left", "error", message, remedies=(FIX_THE_FILE,))


def no_features() -> Problem:
    message = "No column is left as a feature. Keep at least one besides the label."
    return Problem("no_features", "error", message, remedies=(FIX_THE_FILE,))


def too_many_categories(column: str, found: int | None, limit: int) -> Problem:
    many = f"{found:,}" if found is not None else "thousands of"
    message = f"Column {column} has {many} different values; at most {limit:,} can be encoded."
    remedies = (Remedy(f"Leave column {column} out", {"drop": (column,)}, "select"),)
    return Problem("too_many_categories", "error", message, column=column, remedies=remedies)


def same_feature(feature: str, columns: Sequence[str]) -> Problem:
    message = f"Columns {abbreviated(columns)} give the same feature, {feature}. Leave one of them out."
    remedies = (*drop_columns(columns), FIX_THE_FILE)
    return Problem("same_feature", "question", message, column=columns[0], remedies=remedies)


def too_many_classes(column: str, found: int | None, limit: int) -> Problem:
    many = f"{found:,}" if found is not None else "thousands of"
    message = f"Column {column} has {many} different values; a label has at most {limit:,}. Is this a measurement?"
    return Problem("too_many_classes", "error", message, column=column, remedies=(Remedy("Choose another label."),))


def one_class(name: str) -> Problem:
    message = f"All rows are class {name}. Certification needs two classes."
    return Problem("one_class", "error", message, remedies=(FIX_THE_FILE,))


def fractional_label(label: str, column: str, line: int) -> Problem:
    remedies = (
        Remedy("It is a measurement: choose another label"),
        Remedy("These are classes; keep their names", {"labels_are_classes": True}, "select"),
    )
    message = f"Label {label} is not a class. Is this a measurement?"
    return Problem("fractional_label", "question", message, (line,), column, remedies)


def unseen_label(label: str, lines: Lines) -> Problem:
    message = f"Label {quoted(label)} ({counted(len(lines), 'row')}) was not in training."
    remedies = (Remedy("Certify the predictions instead of the labels", {"labelled": False}, "select"), FIX_THE_FILE)
    return Problem("unseen_label", "error", message, first_lines(lines), remedies=remedies)


def unseen_category(column: str, text: str, lines: Lines) -> Problem:
    message = f"Column {column}, line {lines[0]:,}: {quoted(text)} ({counted(len(lines), 'row')}) was not in training."
    return Problem("unseen_category", "error", message, first_lines(lines), column, (FIX_THE_FILE,))


def same_number_labels(spellings: Sequence[str], name: str) -> Problem:
    message = f"Labels {', '.join(quoted(s) for s in spellings)} are the same number; they are read as class {name}."
    return Problem("same_number_labels", "note", message)


def constant_column(name: str) -> Problem:
    message = f"{name} never changes; it cannot affect the answer."
    return Problem("constant", "note", message, column=name)


def conflicting_rows(lines: Lines) -> Problem:
    message = f"{counted(len(lines), 'row')} equal another row but differ in the label ({on_lines(lines)}); "
    message += "their radius may be 0."
    return Problem("conflicting_rows", "note", message, first_lines(lines))


def smaller_k(largest: int) -> tuple[Remedy, ...]:
    """Nothing where no K is small enough."""
    return (Remedy("Use a smaller K", {"n_neighbors": largest}, "certify"),) if largest >= 1 else ()


def too_few_rows(class_name: str, found: int, needed: int, n_neighbors: int, largest: int) -> Problem:
    message = f"Class {class_name} has {counted(found, 'row')}; this certificate needs {needed} for K = {n_neighbors}. "
    message += "Use 'votes'."
    votes = Remedy("Use 'votes'", {"method": "votes"}, "certify")
    return Problem("too_few_rows", "error", message, remedies=(votes, *smaller_k(largest)))


def too_few_rows_for_k(found: int, n_neighbors: int, largest: int) -> Problem:
    message = f"K = {n_neighbors} needs {n_neighbors} rows; there {'is' if found == 1 else 'are'} {found:,}."
    return Problem("too_few_rows", "error", message, remedies=smaller_k(largest))
