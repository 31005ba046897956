"""``reproduce``: compute the paper's tables and figures with this engine and keep the radii of every point."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..home import home
from ..results import FOLDER

WHAT = ("table1", "table2", "figure1", "figure2", "sensitivity", "runtime", "datasets", "report")
LINE_SECONDS = 60.0
EXAMPLES = """examples:
  python -m arml_core reproduce table1 --dataset splice pendigits
  python -m arml_core reproduce table2 --dataset usps --method arml euclidean --column theorem1 votes
  python -m arml_core reproduce table2 --quick
  python -m arml_core reproduce report

The same command again goes on where it was stopped. Ctrl-C stops watching, not the work:
'python -m arml_core worker stop' does that.
"""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    from ..reproduce.published import METHODS, TITLES

    parser = commands.add_parser(
        "reproduce",
        help="compute the paper's tables and figures",
        description="Compute the paper's tables and figures with this engine and keep the radii of every point. "
        "It all goes through the job store of the app.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("--dataset", nargs="+", choices=tuple(TITLES), help="default: all it has")
    parser.add_argument("--method", nargs="+", choices=tuple(METHODS), help="default: all six")
    parser.add_argument("--column", nargs="+", help="columns of table2 (default: all)")
    parser.add_argument("--points", type=int, help="test points (default: as in the paper, fewer for attacks)")
    parser.add_argument("--steps", type=int, help="steps of the boundary attack (default: 25,000)")
    parser.add_argument("--budget", type=float, help="seconds a point for search (default: 0.5)")
    parser.add_argument("--quick", action="store_true", help="a few points and iterations, for a first look")
    parser.add_argument(
        "--kept", action="store_true", help="take the metrics kept with the results instead of training them again"
    )
    parser.add_argument("--out", type=Path, help="folder of the results (default: data/results; with --quick another)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Compute what is asked for, or write the report."""
    folder = arguments.out or (home() / "quick-results" if arguments.quick else FOLDER)
    if arguments.what == "report":
        _write_report(folder)
        return
    display = _Display()
    try:
        failures = _compute(arguments, folder, display)
    finally:
        display.clear()
    print(f"results are in {folder}")
    if failures:
        raise ValueError(f"{len(failures)} could not be computed; the reasons are above")


def _compute(arguments: argparse.Namespace, folder: Path, display: _Display) -> list[str]:
    from ..jobs.client import Client
    from ..reproduce import figure2, measurements, plan
    from ..reproduce.published import METHODS, TITLES
    from ..reproduce.run import compute

    effort = plan.Effort(arguments.points, arguments.steps, arguments.budget, arguments.quick)
    datasets = arguments.dataset or (["splice"] if arguments.quick else list(TITLES))
    methods = arguments.method or list(METHODS)
    if arguments.what == "datasets":
        measurements.measure_datasets(folder, datasets, display)
        return []
    if arguments.what == "runtime":
        timed = _available(methods, measurements.RUNTIME_PARAMETERS, "runtime")
        return measurements.measure_runtime(Client(shared=False), folder, timed, display)
    if arguments.what == "figure2":
        wanted = figure2.curves(arguments.points, arguments.quick)
        sets = _available(arguments.dataset or figure2.DATASETS, figure2.DATASETS, "figure2")
        return figure2.compute(Client(shared=False), folder / "figure2", sets, wanted, display)
    one_metric = True
    if arguments.what == "figure1":
        steps, folder = plan.figure1(), folder / "figure1"
    elif arguments.what == "sensitivity":
        datasets = _available(datasets, plan.SENSITIVITY_SETS, "sensitivity")
        steps, folder, one_metric = plan.sensitivity(datasets, effort), folder / "sensitivity", False
    else:
        columns = arguments.column or ()
        unknown = sorted(set(columns) - set(plan.TABLES[arguments.what]))
        if unknown:
            known = ", ".join(plan.TABLES[arguments.what])
            raise ValueError(f"{arguments.what} has no column {unknown[0]!r}; it has {known}")
        steps = plan.table(arguments.what, datasets, methods, effort, columns)
    return compute(Client(shared=False), steps, folder, display, one_metric, arguments.kept)


def _available(asked: Iterable[str], known: Iterable[str], what: str) -> list[str]:
    """What it has of what was asked for; a ValueError if that is nothing."""
    asked, known = list(asked), list(known)
    found = [name for name in asked if name in known]
    if not found:
        raise ValueError(f"{what} has nothing for {', '.join(asked)}; it has {', '.join(known)}")
    return found


def _write_report(folder: Path) -> None:
    """The page of the project is about the results of the project; other results have theirs beside them."""
    from ..reproduce.report import DOCUMENT, write_report

    page = DOCUMENT if folder == FOLDER else folder / DOCUMENT.name
    write_report(folder, page)
    print(f"wrote {page}")


class _Display:
    """Lines that stay, and on a terminal one that is drawn over."""

    def __init__(self) -> None:
        self._drawn = sys.stderr.isatty()
        self._next_line = time.monotonic() + LINE_SECONDS

    def print_line(self, line: str) -> None:
        self.clear()
        print(line, flush=True)

    def print_status(self, line: str) -> None:
        if self._drawn:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{line[:width]:<{width}}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_SECONDS
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
