"""The command line, ``python -m arml_core COMMAND``: one module per command, each with a ``register``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ..errors import Cancelled

COMMANDS = ("datasets", "train", "certify", "attack", "protect", "front", "jobs", "worker", "bench", "reproduce")


def build_parser(commands_in_use: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser with the commands named; a command stores its function as ``run``."""
    parser = argparse.ArgumentParser(
        prog="python -m arml_core",
        description="See, train and prove how robust a nearest-neighbour metric is.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in commands_in_use:
        import_module(f".{name}", __name__).register(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; a mistake of the caller's ends with one line on stderr and exit code 2."""
    words = sys.argv[1:] if argv is None else list(argv)
    named = words[:1] if words and words[0] in COMMANDS else COMMANDS  # load no more than the command needs
    arguments = build_parser(named).parse_args(words)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except (KeyboardInterrupt, Cancelled):
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, `head` say, is gone: nothing more can be written at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
