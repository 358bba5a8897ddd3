"""What a newcomer sees first: the first screen, and the help that lists all commands by what they are for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TypeVar

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
    "ask a log of your own": ("draft", "value", "curve", "assign", "replay"),
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
