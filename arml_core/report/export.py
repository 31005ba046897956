"""Verdicts and changed rows as CSV, safe in a spreadsheet and exact when read again."""

from __future__ import annotations

from collections.abc import Iterator

from ..datasets.table import write_csv
from ..numerics.directed_rounding import as_written
from ..vocabulary import NO_WHOLE_CHANGE, TRAINING_ROWS
from .certified_table import CertifiedTable, Flips, only_by_parts, with_possible_changes


def verdict_csv(rows: CertifiedTable, radius: float, flips: Flips) -> str:
    """One line per row: where it is in the file, the answer, the interval, the verdict at `radius`, before and after.

    `upper` is empty where no change is known; so are the columns "after …". How many training rows must be wrong stands
    before them where it was counted, and is empty where no number is enough. With categories or whole numbers `upper`
    is the size of a change that could exist, and a note says where only another one is known.
    """
    parts = only_by_parts(rows, flips, radius)
    rows = with_possible_changes(rows, flips)
    names, classes = rows.layout.feature_names, rows.layout.class_names
    labelled = rows.labels is not None
    header = ["line", *(["label"] if labelled else []), "answer", "lower", "upper", "exact"]
    header += [f"verdict at {as_written(radius)}", *([] if rows.layout.is_continuous else ["note"])]
    header += [] if rows.training is None else [words.title for words in TRAINING_ROWS.values()]
    header += ["answer after"]
    header += [f"before: {name}" for name in names] + [f"after: {name}" for name in names]
    verdicts = rows.radii.verdict(radius)

    def lines() -> Iterator[list[object]]:
        for i in range(len(rows)):
            known = bool(flips.known[i])
            row: list[object] = [int(rows.lines[i])]
            if rows.labels is not None:
                row.append(classes[int(rows.labels[i])])
            upper = float(rows.radii.upper[i])
            row += [
                classes[int(rows.radii.predicted[i])],
                float(rows.radii.lower[i]),
                None if upper == float("inf") else upper,
            ]
            row += [bool(rows.radii.exact[i]), str(verdicts[i])]
            if not rows.layout.is_continuous:
                row.append(NO_WHOLE_CHANGE if parts[i] else None)
            if rows.training is not None:
                counts = [float(getattr(rows.training, kind)[i]) for kind in TRAINING_ROWS]
                row += [None if count == float("inf") else int(count) for count in counts]
            row.append(classes[int(flips.answers[i])] if known else None)
            row += rows.raw[i].tolist()
            row += flips.raw[i].tolist() if known else [None] * len(names)
            yield row

    return write_csv(header, lines())


def changed_csv(rows: CertifiedTable, flips: Flips) -> str:
    """The changed rows under the file's own column names: read again, each of them gets another answer.

    Two columns more say which line of the file a row was and what its answer was.
    """
    names = rows.layout.feature_names
    extra = [_unused(name, names) for name in ("line", "answer before")]
    known = [int(i) for i in flips.known.nonzero()[0]]
    classes = rows.layout.class_names
    return write_csv(
        [*extra, *names],
        ([int(rows.lines[i]), classes[int(rows.radii.predicted[i])], *flips.raw[i].tolist()] for i in known),
    )


def _unused(name: str, names: tuple[str, ...]) -> str:
    while name in names:
        name += "'"
    return name
