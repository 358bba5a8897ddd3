"""The command line. Heavy imports wait until a command needs them, so that help appears at once."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Sequence
from typing import NoReturn

from evenhand.cli import campaigns, logs, serve, setup, simulations, stores, systems
from evenhand.cli.arguments import refuse_swapped
from evenhand.cli.help import WHAT, first_screen, grouped
from evenhand.core.registry import meant
from evenhand.experiments.experiment import discover
from evenhand.version import __version__


class Parser(argparse.ArgumentParser):
    """A parser whose errors suggest the command, option or choice that was probably meant."""

    whole = ""  # a help that is written as a whole, in place of the one that argparse composes

    def format_help(self) -> str:
        return self.whole or super().format_help()

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            guess = meant(value, action.choices or ())
            raise argparse.ArgumentError(action, f"{error.message}{guess}") from None

    def _get_value(self, action: argparse.Action, arg_string: str) -> object:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type is not float:
                raise
            told = [f"expected a number, got {arg_string!r}"]
            if re.fullmatch(r"[-+]?\d*,\d+", arg_string):
                told.append(f"write {arg_string.replace(',', '.')}, with a decimal point")
            if "," in arg_string and isinstance(action, argparse._AppendAction):
                told.append(f"for several numbers, repeat {action.option_strings[0]}")
            raise argparse.ArgumentError(action, "; ".join(told)) from None

    def refuse(self, rest: Sequence[str]) -> NoReturn:
        """Exit with an error about the first unknown argument."""
        known = [option.lstrip("-") for option in self._option_string_actions]
        guess = meant(rest[0].split("=")[0].lstrip("-"), known).replace("mean ", "mean --")
        given = textwrap.shorten(" ".join(rest), 200)
        self.error(f"unrecognized arguments: {given}{guess if rest[0].startswith('-') else ''}")


def build() -> Parser:
    """Build the parser of all commands, one of them per experiment."""
    experiments = discover()
    parser = Parser(prog="evenhand", description=WHAT)
    parser.add_argument("--version", action="version", version=f"evenhand {__version__}")
    parser.set_defaults(run=_begin, parser=parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    simulations.add(commands, experiments)
    for room in (logs, serve, campaigns, stores, systems):
        room.add(commands)
    setup.add(commands, parser)
    parser.whole = grouped(parser, commands, {n: e.title for n, e in experiments.items() if n != simulations.DEMO})
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    options, rest = build().parse_known_args(arguments)
    if rest:
        options.parser.refuse(rest)
    from evenhand.core.errors import EvenhandError

    options.said = shlex.join(["evenhand", *(sys.argv[1:] if arguments is None else arguments)])  # for reports
    try:
        refuse_swapped(options)
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("evenhand: interrupted", file=sys.stderr)
        return 130
    except MemoryError:
        print("evenhand: not enough memory; take fewer replicas or rounds", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (EvenhandError, OSError) as error:  # for example a full disk
        print(f"evenhand: {error}", file=sys.stderr)
        return 2


def _begin(o: argparse.Namespace) -> int:
    print(first_screen())
    return 0
