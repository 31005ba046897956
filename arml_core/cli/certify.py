"""``certify``: robust radii for the rows of a dataset, a .npz archive or a table in a file, as CSV."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from ..certificates import METHODS
from ..certificates.training_rows import KINDS
from ..datasets.table import write_csv
from ..numerics.arrays import BoolArray
from ..numerics.directed_rounding import as_written
from ..progress import Callback
from ..questions import certify_missing, fairness
from ..radii import Radii
from ..report import Flips, count_verdicts, counterfactuals, only_by_parts, with_possible_changes
from ..vocabulary import NO_WHOLE_CHANGE
from .common_arguments import QueryArguments, add_arguments, say_combinations, summary, write_output
from .missing_arguments import add_missing_argument, missing_words
from .progress import progress_bar
from .threat_arguments import groups_of, tolerance_words

EXAMPLES = """examples:
  python -m arml_core certify usps -k 11 --method theorem1 --points 1000 -o usps.csv
  python -m arml_core certify data/samples/bottles.csv --label machine --method exact
  python -m arml_core certify iris -k 3 --method search --norm inf
  python -m arml_core certify iris -k 3 --training
  python -m arml_core certify data/samples/bottles.csv --label machine --tolerance weight_g=2 --eps 1
  python -m arml_core certify rows.csv --label outcome --missing range --missing age=18:99
"""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "certify",
        help="prove how far points can move before the answer changes",
        description="Prove, for each row, how far it can move before the nearest neighbours answer differently. "
        "A dataset's test part is certified against its training part; a file without a test part against its own "
        "other rows (leave-one-out).",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    add_arguments(parser)
    add_missing_argument(parser)
    parser.add_argument("--method", choices=tuple(METHODS), default="votes", help="default: votes")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds per point for 'search' (default: 1)")
    parser.add_argument(
        "--at",
        type=float,
        nargs="+",
        metavar="RADIUS",
        help="with 'search': radii at which a verdict is wanted; no time is spent beyond them",
    )
    parser.add_argument(
        "--training",
        action="store_true",
        help="also count how many training rows must be removed, added or relabelled before the answer can change",
    )
    parser.add_argument("--eps", type=float, metavar="E", help="the verdict on each row at this radius")
    parser.add_argument(
        "--sensitive",
        action="append",
        default=[],
        metavar="COLUMN",
        help="also say whose answer depends on the value of this column",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Certify, write one line per row, and say the robust errors on stderr."""
    if arguments.eps is not None and not arguments.eps >= 0:
        raise ValueError(f"--eps must be at least 0; got {arguments.eps:g}")
    query = QueryArguments.parse(arguments)
    say_combinations(query, arguments.method, arguments.budget)
    with progress_bar("certify", "row") as callback:
        found = _certified(query, arguments, callback)
    columns: dict[str, list[Any]] = {
        "row": list(range(len(query.x))),
        **query.label_column(),
        "predicted": query.class_names(found.predicted),
        **query.missing_column(),
    }
    said: list[str] = [] if query.ranges is None else [missing_words(query.layout, query.missing, proved=True)]
    shown = found
    if arguments.eps is not None:
        shown, in_parts = _possible(query, found, arguments.eps)
        said.append(_verdict_words(shown, in_parts, arguments.eps))
    columns |= {"lower": shown.lower.tolist(), "upper": shown.upper.tolist(), "exact": shown.exact.tolist()}
    if arguments.eps is not None:
        columns[f"verdict at {as_written(arguments.eps)}"] = shown.verdict(arguments.eps).tolist()
        columns |= {"note": [NO_WHOLE_CHANGE if part else "" for part in in_parts]} if in_parts.any() else {}
    if query.threat.switches:
        columns["switched"] = found.switch_words(query.layout.feature_names)
    if arguments.sensitive:
        more, words = _fairness(query, arguments)
        columns |= more
        said += words
    if arguments.training:
        with progress_bar("training rows", "row") as callback:
            wrong = query.knn.certify_training(query.x, query.y, exclude=query.exclude, callback=callback)
        columns |= {kind: [_count(value) for value in getattr(wrong, kind)] for kind in KINDS}
    write_output(write_csv(list(columns), map(list, zip(*columns.values(), strict=True))), arguments.output)
    print(_summary(query, found, arguments), *said, sep="\n", file=sys.stderr)


def _certified(query: QueryArguments, arguments: argparse.Namespace, callback: Callback) -> Radii:
    asked = {"threat": query.threat, "callback": callback, **_question(query, arguments)}
    if query.ranges is not None:
        return certify_missing(query.knn, query.x, query.y, **query.about_missing(), **asked)
    return query.knn.certify(query.x, query.y, ties=query.ties, target=query.target, **asked)


def _question(query: QueryArguments, arguments: argparse.Namespace) -> dict[str, Any]:
    """How the rows are certified; with `--eps` a search spends its time where that verdict is open."""
    at = arguments.at
    if at is None and arguments.eps is not None and arguments.method == "search":
        at = [arguments.eps]
    return {"method": arguments.method, "budget": arguments.budget, "at": at, "exclude": query.exclude}


def _possible(query: QueryArguments, found: Radii, eps: float) -> tuple[Radii, BoolArray]:
    """The radii with upper sides of changes that could exist, and which rows have only others up to ε."""
    table = query.as_table(found)
    if table is None or query.ties == "any" or query.target is not None:
        return found, np.zeros(len(found), dtype=bool)
    flips = Flips(table.raw, np.full(len(found), -1, dtype=np.intp))
    if not query.layout.is_continuous:
        flips = counterfactuals(table, query.answers)
    return with_possible_changes(table, flips).radii, only_by_parts(table, flips, eps)


def _verdict_words(found: Radii, in_parts: BoolArray, eps: float) -> str:
    counts = count_verdicts(found.verdict(eps))
    text = f"at ε = {as_written(eps)}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return f"{text}; of {int(in_parts.sum()):,} undecided rows {NO_WHOLE_CHANGE}" if in_parts.any() else text


def _fairness(query: QueryArguments, arguments: argparse.Namespace) -> tuple[dict[str, list[Any]], list[str]]:
    """Whose answer depends on the sensitive columns: columns of the output, and sentences."""
    groups = groups_of(arguments.sensitive, query.layout)
    assert groups is not None
    with progress_bar("sensitive", "row") as callback:
        found = fairness(
            query.knn, query.x, groups, query.y, threat=query.threat, callback=callback, **_question(query, arguments)
        )
    names, classes = query.layout.feature_names, query.layout.class_names
    columns: dict[str, list[Any]] = {
        "depends": found.depends.tolist(),
        "value": found.value_words(names),
        "answer": query.class_names(found.answers),
        "lower for any value": found.radii.lower.tolist(),
    }
    return columns, found.describe(names, classes)


def _summary(query: QueryArguments, found: Radii, arguments: argparse.Namespace) -> str:
    at = arguments.at if arguments.eps is None else [arguments.eps]
    what, kind = found.method + query.question_words(), query.layout.scaling.kind
    tolerances = tolerance_words(arguments)
    text = summary(
        what,
        "certified",
        found.lower,
        found.correct,
        found.threat,
        "none" if tolerances else kind,  # tolerances are in the file's own units
        at,
        query.layout.feature_names,
    )
    return f"{text}\n{tolerances}" if tolerances else text


def _count(rows: float) -> float:
    """A whole number is written as one."""
    return rows if rows == float("inf") else int(rows)
