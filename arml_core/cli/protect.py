"""``protect``: how many rows would be safe if one column could be trusted, the columns ranked, as CSV."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..datasets.table import write_csv
from ..numerics.directed_rounding import as_written
from ..questions import Protection, columns_to_protect
from .common_arguments import QueryArguments, add_arguments, say_combinations, write_output
from .progress import progress_bar
from .threat_arguments import tolerance_words

METHODS = ("search", "exact", "votes")
HEADER = ["column", "safe", "open", "breakable"]
EXAMPLES = """examples:
  python -m arml_core protect data/samples/bottles.csv --label machine --eps 0.5 --method exact
"""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "protect",
        help="rank the columns to protect",
        description="For the rows that are answered right and not proved safe at ε: how many become safe when a column "
        "can be trusted, so that it does not change. Every column is frozen anew and the rows are certified again.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    add_arguments(parser)
    parser.add_argument("--eps", type=float, required=True, metavar="E", help="the radius of the verdicts")
    parser.add_argument("--method", choices=METHODS, default="search", help="default: search")
    parser.add_argument(
        "--budget", type=float, default=1.0, help="seconds per row and column for 'search' (default: 1)"
    )
    parser.set_defaults(missing=[], run=run)


def run(arguments: argparse.Namespace) -> None:
    """Freeze one column after the other, write a line for each, the best first."""
    query = QueryArguments.parse(arguments)
    if query.ties != "order" or query.target is not None:
        raise ValueError("protect keeps each answer as 'predict' gives it: leave --ties and --target out")
    columns = _columns(query)
    say_combinations(query, arguments.method, arguments.budget)
    with progress_bar("protect", "row") as callback:
        found = columns_to_protect(
            query.knn,
            query.x,
            query.y,
            eps=arguments.eps,
            threat=query.threat,
            columns=columns,
            method=arguments.method,
            budget=arguments.budget,
            exclude=query.exclude,
            callback=callback,
        )
    lines = [[column.name, column.safe, column.open, column.breakable] for column in found.ranked()]
    write_output(write_csv(HEADER, lines), arguments.output)
    print(_words(query, found, arguments), file=sys.stderr)


def _columns(query: QueryArguments) -> dict[str, list[int]]:
    """The columns that can change at all, with the places of their features."""
    names, still = query.layout.feature_names, set(query.threat.frozen or ())
    found = {column.name: [names.index(name) for name in column.feature_names] for column in query.layout.columns}
    return {name: places for name, places in found.items() if not still.issuperset(places)}


def _words(query: QueryArguments, found: Protection, arguments: argparse.Namespace) -> str:
    at, open_ = as_written(found.epsilon), len(found.rows)
    threat = query.threat.describe(query.layout.feature_names)
    text = f"{found.n_asked:,} rows, {threat}: {found.n_safe:,} right and proved safe at {at}, {open_:,} right and not"
    best = found.ranked()[:1]
    for column in best if open_ else []:
        text += f"\nif {column.name} could be trusted, {column.safe:,} of these {open_:,} rows become safe"
    tolerances = tolerance_words(arguments)
    return f"{text}\n{tolerances}" if tolerances else text
