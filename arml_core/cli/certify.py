"""``certify``: robust radii for the rows of a dataset, a .npz archive or a table in a file, as CSV."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..certificates import METHODS
from ..certificates.training_rows import KINDS
from ..datasets.table import write_csv
from .common_arguments import QueryArguments, add_arguments, summary, write_output
from .progress import progress_bar

EXAMPLES = """examples:
  python -m arml_core certify usps -k 11 --method theorem1 --points 1000 -o usps.csv
  python -m arml_core certify data/samples/bottles.csv --label machine --method exact
  python -m arml_core certify iris -k 3 --method search --norm inf
  python -m arml_core certify iris -k 3 --training
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
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Certify, write one line per row, and say the robust errors on stderr."""
    query = QueryArguments.parse(arguments)
    with progress_bar("certify", "row") as callback:
        found = query.knn.certify(
            query.x,
            query.y,
            method=arguments.method,
            threat=query.threat,
            exclude=query.exclude,
            ties=query.ties,
            target=query.target,
            budget=arguments.budget,
            at=arguments.at,
            callback=callback,
        )
    columns: dict[str, list[Any]] = {
        "row": list(range(len(query.y))),
        "label": query.class_names(query.y),
        "predicted": query.class_names(found.predicted),
        "lower": found.lower.tolist(),
        "upper": found.upper.tolist(),
        "exact": found.exact.tolist(),
    }
    if arguments.training:
        with progress_bar("training rows", "row") as callback:
            wrong = query.knn.certify_training(query.x, query.y, exclude=query.exclude, callback=callback)
        columns |= {kind: [_count(value) for value in getattr(wrong, kind)] for kind in KINDS}
    write_output(write_csv(list(columns), map(list, zip(*columns.values(), strict=True))), arguments.output)
    print(
        summary(
            found.method + query.question_words(),
            "certified",
            found.lower,
            found.correct,
            found.threat,
            query.data.scaling.kind,
            arguments.at,
        ),
        file=sys.stderr,
    )


def _count(rows: float) -> float:
    """A whole number is written as one."""
    return rows if rows == float("inf") else int(rows)
