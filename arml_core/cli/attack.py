"""``attack``: a small change of each row of a dataset, an archive or a file that changes the answer, as CSV."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..attacks import METHODS
from ..attacks.boundary import STEPS
from ..datasets.table import counterfactuals_in_units, write_csv
from ..numerics.arrays import BoolArray, FloatArray
from ..progress import Callback
from ..questions import attack_missing
from ..radii import Radii
from ..report import counterfactuals
from .common_arguments import QueryArguments, add_arguments, say_combinations, summary, write_output
from .missing_arguments import add_missing_argument, missing_words
from .progress import progress_bar

EXAMPLES = """examples:
  python -m arml_core attack iris -k 3
  python -m arml_core attack data/samples/bottles.csv --label machine
  python -m arml_core attack usps -k 11 --method boundary --steps 2000 --points 20 --box 0 1
"""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "attack",
        help="find small changes that really change the answer",
        description="Find, for each row, a small change after which the nearest neighbours answer differently; every "
        "one has been given to the classifier as it is written here. The columns after 'becomes' are the changed row, "
        "in the file's own units. They are empty where no change was found, or none that these units can hold.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    add_arguments(parser)
    add_missing_argument(parser)
    parser.add_argument("--method", choices=METHODS, default=METHODS[0], help="default: whitebox")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of the boundary attack (default: {STEPS:,})")
    parser.add_argument("--seed", type=int, default=0, help="of the boundary attack (default: 0)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Attack, write one line per row, and say the robust errors on stderr."""
    query = QueryArguments.parse(arguments)
    say_combinations(query, "votes")
    with progress_bar("attack", "row" if arguments.method == "whitebox" else "step") as callback:
        found = _attacked(query, arguments, callback)
    answers, moved, upper = _changed_rows(query, found)
    kept: BoolArray = np.asarray(np.isfinite(moved).all(axis=1))
    columns: dict[str, list[Any]] = {"row": list(range(len(found))), **query.label_column()}
    columns["predicted"] = query.class_names(found.predicted)
    columns |= query.missing_column()
    columns["upper"] = upper.tolist()
    columns["becomes"] = [name if known else "" for name, known in zip(query.class_names(answers), kept, strict=True)]
    columns |= {"switched": found.switch_words(query.layout.feature_names)} if query.threat.switches else {}
    rows = zip(*columns.values(), strict=True)
    changed = ([value if np.isfinite(value) else "" for value in row] for row in moved.tolist())
    header = [*columns, *query.layout.feature_names]
    write_output(
        write_csv(header, ([*row, *features] for row, features in zip(rows, changed, strict=True))), arguments.output
    )
    lost = int((np.isfinite(found.upper) & ~kept).sum())
    if lost:
        why = "are too small for the file's own units" if query.layout.is_continuous else "hold parts of whole numbers"
        print(f"{lost} of the changes {why} and are left out", file=sys.stderr)
    if query.ranges is not None:
        print(missing_words(query.layout, query.missing, proved=False), file=sys.stderr)
    kind = query.layout.scaling.kind
    print(
        summary(
            found.describe(), "empirical", upper, found.correct, found.threat, kind, names=query.layout.feature_names
        ),
        file=sys.stderr,
    )


def _attacked(query: QueryArguments, arguments: argparse.Namespace, callback: Callback) -> Radii:
    asked: dict[str, Any] = {
        "method": arguments.method,
        "threat": query.threat,
        "exclude": query.exclude,
        "steps": arguments.steps,
        "random_state": arguments.seed,
        "callback": callback,
    }
    if query.ranges is not None:
        return attack_missing(query.knn, query.x, query.y, **query.about_missing(), **asked)
    return query.knn.attack(query.x, query.y, ties=query.ties, target=query.target, **asked)


def _changed_rows(query: QueryArguments, found: Radii) -> tuple[NDArray[np.integer[Any]], FloatArray, FloatArray]:
    """Answers to changed rows, the rows in the file's own units, and the sizes of the changes.

    In a file categories switch whole and whole numbers stay whole.
    """
    table, is_continuous = query.as_table(found), query.layout.is_continuous and not query.missing.any()
    if table is None or is_continuous or query.ties == "any" or query.target is not None:
        answers, moved = _as_written(query, found)
        return answers, moved, _sizes(query, found, moved, np.asarray(np.isfinite(moved).all(axis=1)))
    flips = counterfactuals(table, query.answers)
    upper = found.upper if flips.upper is None else flips.upper
    as_it_is = ~found.correct & ~query.missing.any(axis=1)
    moved = np.where(as_it_is[:, None], table.raw, flips.raw)
    sizes = _sizes(query, replace(found, upper=upper), moved, flips.known)
    return np.where(flips.known, flips.answers, found.predicted), moved, sizes


def _as_written(query: QueryArguments, found: Radii) -> tuple[NDArray[np.integer[Any]], FloatArray]:
    """The answers to the changed rows in the file's units, and these rows; NaN where they do not hold the change."""
    answers = np.array(found.predicted)
    settled = np.zeros(len(answers), dtype=bool)
    classes = query.knn.classes_
    kept = found.predicted if query.y is None else query.y
    wanted_class = classes != kept[:, None] if query.target is None else np.array([classes == query.target])

    def flips(points: FloatArray) -> BoolArray:
        if query.ties == "any":
            possible = query.knn.possible_answers(points, query.exclude)
        else:
            possible = classes == query.knn.predict(points, exclude=query.exclude)[:, None]
        changed = possible & wanted_class
        settles = changed.any(axis=1)
        found_now = classes[np.where(settles, changed.argmax(axis=1), possible.argmax(axis=1))]
        answers[~settled] = found_now[~settled]
        settled[:] |= settles
        return settled.copy()

    x, wanted = query.x.astype(np.float64), found.adversarial.astype(np.float64)
    threat = query.threat.without_switches().resolve(len(query.layout.feature_names))
    return answers, counterfactuals_in_units(query.layout.scaling, x, wanted, flips, limits=threat.limits(x))


def _sizes(query: QueryArguments, found: Radii, moved: FloatArray, kept: BoolArray) -> FloatArray:
    """The size of each change, not less than that of the row as it is written; what did not move has not."""
    x = query.x[kept].astype(np.float64)
    changes = np.where(found.adversarial[kept] != query.x[kept], query.layout.scaling.transform(moved[kept]) - x, 0.0)
    changes[query.missing[kept]] = 0.0  # what an empty cell may hold costs nothing
    changes[:, [int(feature) for switch in query.threat.switches for feature in switch.features]] = 0.0
    written = query.threat.without_switches().resolve(len(query.layout.feature_names)).size_rounded_up(changes)
    sizes: FloatArray = found.upper.copy()
    sizes[kept] = np.maximum(sizes[kept], written)
    return sizes
