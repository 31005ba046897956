"""The command line of the campaign."""

from __future__ import annotations

import argparse
import sys
import time

from . import __doc__ as description
from .paper import run_paper
from .piles import run_piles, run_ruled_piles
from .repeat import run_repeats
from .run import run_chosen, run_crowds, run_problems, run_ruled, run_switched
from .stress import run_apart, run_lines, run_precision, run_units
from .tally import Tally
from .together import run_together
from .training_rows import run_training_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=10_000, help="random problems against the exhaustive oracle")
    parser.add_argument("--first", type=int, default=0, help="number of the first one, to see a single one again")
    parser.add_argument("--stress", type=int, default=300, help="problems of each of the other kinds")
    parser.add_argument("--paper", action="store_true", help="also attack the paper's datasets")
    parser.add_argument("--points", type=int, default=1000, help="evaluation points of each of them")
    parser.add_argument("--minutes", type=float, default=120.0, help="time limit; what is left out is said")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.exit(1 if campaign(options) else 0)


def campaign(options: argparse.Namespace) -> int:
    """Run all parts and print what they saw; returns the number of violations."""
    started = time.monotonic()
    deadline = started + 60 * options.minutes
    print(f"seed {options.seed}")
    numbers = range(options.first, options.first + options.problems)
    total = show("random problems, exhaustive oracle", started, run_problems(options.seed, numbers, deadline))
    stressed = range(options.stress)
    for title, part in (
        ("many rows, K = 1 and 2, exhaustive oracle", run_crowds),
        ("ties as sets and targets, exhaustive oracle", run_ruled),
        ("values that switch whole, exhaustive oracle over combinations", run_switched),
        ("points that are given, pruned or learned, exhaustive oracle", run_chosen),
        ("many rows, several points together and each alone", run_together),
        ("rows on top of each other, in a plane or on a line", run_piles),
        ("the same, ties as sets and targets", run_ruled_piles),
        ("float32 input", run_precision),
        ("units from 1e-6 to 1e6", run_units),
        ("one feature moves, in fractions", run_lines),
        ("the same, units up to 1e40 apart", run_apart),
        ("wrong training rows, all subsets", run_training_rows),
    ):
        begun = time.monotonic()
        total += show(title, begun, part(options.seed, stressed, deadline))
    if options.stress:
        begun = time.monotonic()
        wrong, summary = run_repeats(options.seed)
        total += len(wrong)
        print("\n".join(["", f"== repeated: {summary}; {time.monotonic() - begun:.0f} s", *wrong]), flush=True)
    if options.paper:
        print("\n== the paper's datasets", flush=True)
        total += run_paper(options.points, deadline)
    print(f"\n{total} violations in {(time.monotonic() - started) / 60:.1f} minutes, seed {options.seed}")
    return total


def show(title: str, begun: float, tally: Tally) -> int:
    """Print a part's tables, if it had problems at all."""
    if tally.problems:
        seconds = time.monotonic() - begun
        print(f"\n== {title}: {tally.problems:,} problems, {tally.violations} violations, {seconds:.0f} s")
        print(tally.table(), flush=True)
    return tally.violations


if __name__ == "__main__":
    main()
