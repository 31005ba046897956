"""Random input for every door, with other seeds each round, for as long as it is told.

    python -m tests.fuzz [--minutes 10] [--seed 1]

A round is every test marked `fuzz`; a short one, always with the same input, is part of `make test`. The first round
that fails ends it and prints the command that repeats it. A round that hangs fails, too.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROUND_SECONDS = 900
"""A round takes a few minutes; one that takes so long hangs."""


def command(seed: int) -> list[str]:
    options = ["-m", "fuzz", "-x", "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}"]
    return [sys.executable, "-m", "pytest", *options]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="of the first round; a random one by default")
    options = parser.parse_args()
    began, rounds, partly = time.monotonic(), 0, ""
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    while True:
        left = 60 * options.minutes - (time.monotonic() - began)
        if left <= 0:
            break
        sys.stdout.write(f"round {rounds + 1}, seed {seed}\n")
        sys.stdout.flush()
        try:
            code = subprocess.run(command(seed), cwd=ROOT, timeout=min(ROUND_SECONDS, left + 60)).returncode
        except subprocess.TimeoutExpired:
            if left + 60 < ROUND_SECONDS:
                partly = " and a part of another"
                break
            code = 1
        if code:
            sys.stdout.write(f"FAILED; again: {' '.join(command(seed))}\n")
            return 1
        rounds, seed = rounds + 1, seed + 1
    sys.stdout.write(f"{rounds} whole rounds{partly} in {(time.monotonic() - began) / 60:.1f} minutes, nothing found\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
