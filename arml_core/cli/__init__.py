"""The command line, ``python -m arml_core COMMAND``: one module per command, each with a ``register``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from ..errors import Cancelled

COMMANDS = ("datasets", "train", "certify", "jobs", "worker", "bench")


def build_parser() -> argparse.ArgumentParser:
    """The parser with every command; a command stores its function as ``run``."""
    parser = argparse.ArgumentParser(
        prog="python -m arml_core",
        description="See, train and prove how robust a nearest-neighbour metric is.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f".{name}", __name__).register(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; a mistake of the caller's ends with one line on stderr and exit code 2."""
    arguments = build_parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except (KeyboardInterrupt, Cancelled):
        print("stopped", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
