"""The command line. Heavy imports wait until a command needs them, so that help appears at once."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn, TypeVar

from evenhand.cli import campaigns, logs, serve, setup, simulations, stores, systems
from evenhand.cli.arguments import guarded, read_defaults, refuse_swapped
from evenhand.cli.output import silence
from evenhand.core.registry import suggestion
from evenhand.experiments.experiment import discover
from evenhand.version import __version__

P = TypeVar("P", bound=argparse.ArgumentParser)

WHAT = """\
evenhand decides, one case after another, who gets what, and learns from what follows. It keeps to budgets,
shares fairly between groups, and pursues goals that are not a plain sum of clicks."""

FIRST = {
    "demo": "see it work: five policies share scarce help, in about a minute",
    "new": "five questions; writes a problem file and a script that runs",
    "draft LOG.csv": "begin with a log of your own: a problem file from its header",
    "serve PROBLEM.toml --store sqlite:///FILE": "decide for real, over HTTP, with a page to watch",
    'systems --for "budgets, parity"': "which algorithm fits, and why",
}

GROUPS = {
    "begin": ("demo", "new", "systems", "completion"),
    "ask a log of your own": ("draft", "value", "curve", "rules", "assign", "replay"),
    "decide for real": ("serve", "pool", "token", "report", "problem", "audit", "export"),
    "change a campaign": ("switch", "pause", "resume", "end", "change", "erase"),
    "keep a campaign": ("archive", "backup", "restore", "seal"),
    "simulate": ("sweep", "reproduce"),
    "set up": ("warm",),
}


def first_screen() -> str:
    """Say in two sentences what this is, and name the commands to begin with.

    >>> "evenhand demo" in first_screen()
    True
    """
    lines = _columns({f"evenhand {command}": text for command, text in FIRST.items()})
    return "\n".join([WHAT, "", "Begin with one of these:", *lines, "", "`evenhand --help` lists all commands."])


def grouped(parser: argparse.ArgumentParser, commands: argparse._SubParsersAction[P],
            experiments: Mapping[str, str]) -> str:  # fmt: skip
    """Write the help of the whole command line: its commands by group, and the experiments by name.

    Args:
        parser: of the whole command line.
        commands: the commands, each with its line of help.
        experiments: lines of help of what `reproduce` runs, by name.
    """
    told = {action.dest: action.help or "" for action in commands._choices_actions}
    lines = ["usage: evenhand COMMAND ...", "", WHAT]
    for group, names in GROUPS.items():
        shown = {name: told[name] for name in names}
        if "reproduce" in shown:
            shown |= {f"  {name}": text for name, text in experiments.items()}
        lines += ["", f"{group}:", *_columns(shown)]
    options = {", ".join(a.option_strings): a.help or "" for a in parser._actions if a.option_strings}
    lines += ["", "options:", *_columns(options)]
    return "\n".join([*lines, "", "`evenhand COMMAND --help` explains a command.", ""])


def _columns(shown: Mapping[str, str]) -> Iterator[str]:
    width = max(map(len, shown), default=0)
    yield from (f"  {name.ljust(width)}  {text}".rstrip() for name, text in shown.items())


class Parser(argparse.ArgumentParser):
    """A parser whose errors suggest the command, option or choice that was probably meant."""

    whole = ""  # a help that is written as a whole, in place of the one that argparse composes

    def format_help(self) -> str:
        return self.whole or super().format_help()

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            guess = suggestion(value, action.choices or ())
            told = f"invalid choice: {value!r}" if guess else error.message  # a list of all would bury the guess
            raise argparse.ArgumentError(action, f"{told}{guess}") from None

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

    def error(self, message: str) -> NoReturn:
        lacks = message.startswith("the following arguments are required: --problem")
        super().error(message + "; `evenhand draft LOG.csv --out PROBLEM.toml` writes one" * lacks)

    def refuse(self, rest: Sequence[str]) -> NoReturn:
        """Exit with an error about the first unknown argument."""
        known = [option.lstrip("-") for option in self._option_string_actions]
        guess = suggestion(rest[0].split("=")[0].lstrip("-"), known).replace("mean ", "mean --")
        given = textwrap.shorten(" ".join(rest), 200)
        self.error(f"unrecognized arguments: {given}{guess if rest[0].startswith('-') else ''}")


def build() -> Parser:
    """Build the parser of all commands, one of them per experiment."""
    experiments = discover()
    parser = Parser(prog="evenhand", description=WHAT, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"evenhand {__version__}")
    parser.set_defaults(run=_begin, parser=parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    simulations.add(commands, experiments)
    for room in (logs, serve, campaigns, stores, systems):
        room.add(commands)
    setup.add(commands, parser)
    read_defaults(parser, os.environ)
    parser.whole = grouped(parser, commands, {n: e.title for n, e in experiments.items() if n != simulations.DEMO})
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    options, rest = build().parse_known_args(arguments)
    if rest:
        options.parser.refuse(rest)
    if getattr(options, "misread", None):
        options.parser.error(options.misread)
    options.said = shlex.join(["evenhand", *(sys.argv[1:] if arguments is None else arguments)])  # for reports

    def run() -> int:
        refuse_swapped(options)
        with silence(options):
            status: int = options.run(options)
        sys.stdout.flush()
        return status

    return guarded(run)


def _begin(o: argparse.Namespace) -> int:
    print(first_screen())
    return 0
