"""The command that prints the problem file of a campaign."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from evenhand.cli_campaign import add_campaign

ABOUT = """\
Print the problem file that decides at present, as the log keeps it, also after somebody else switched. To change it:

  evenhand problem sqlite:///email.db > email.toml     and edit the file
  evenhand switch sqlite:///email.db email.toml --by WHO --why TEXT --expected MARK

The MARK is printed to stderr: the switch is then refused if somebody else was first."""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    problem = commands.add_parser("problem", help="print the problem file of a live campaign, as it decides at present",
                                  description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add_campaign(problem, _problem)


def _problem(o: argparse.Namespace) -> int:
    from evenhand.live.kept import kept_problem

    kept = kept_problem(o.store, o.campaign)
    for note in kept.notes():
        print(f"note: {note}", file=sys.stderr)
    sys.stdout.buffer.write(kept.text.text.encode())  # as TOML has it: UTF-8, with its line ends
    return 0
