"""The command that takes cases and keys out of the log of a campaign."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from evenhand.cli_campaign import add_campaign

ERASE = """\
Take the cases and keys of decisions out of the log of a campaign of a problem file, and out of the files of the store:
those of some keys, or all before a date. What was played, what it cost and its outcomes stay, so sums and hashes do not
change. Decisions that wait for their outcomes are refused by --key, and skipped by --before.

Earlier states can then no longer be computed: audit first. The campaign continues and can be switched. A policy that
adopts the state, as with another rate, total, horizon, objective or an appended action, keeps all that was learned;
another model, recipe or set of constraints keeps the books, and learns again from the decisions that are left.
Earlier backups and exports still contain what was erased. Without --key and --before the files are cleaned again, as
after an erasure that was interrupted."""

_WARNING = (
    "note: after an erasure, a switch to another model, recipe or constraints keeps the books, but has to learn again "
    "from the decisions that are left; one to other groups or spans of time is refused"
)


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    erase = commands.add_parser("erase", help="remove cases and keys from the log of a live campaign",
                                description=ERASE, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add_campaign(erase, _erase)
    chosen = erase.add_mutually_exclusive_group()
    chosen.add_argument(
        "--key", action="append", default=[], metavar="KEY", help="the key of a decision (may be repeated)"
    )
    chosen.add_argument("--before", default=None, metavar="DATE",
                        help="all decisions before a date or time, such as 2026-01-31, in UTC")  # fmt: skip
    erase.add_argument("--by", default="", metavar="WHO", help="who asks for it, for the log; needed to erase")
    erase.add_argument("--why", default="", metavar="TEXT", help="the reason, for the log; needed to erase")
    erase.add_argument("--log", type=Path, default=None, metavar="LOG.csv", help="the log that the policy learned from")


def _erase(o: argparse.Namespace) -> int:
    from evenhand.live.commands import erase_file

    if o.key or o.before is not None:
        if not (o.by and o.why):
            o.parser.error("--by and --why: state who asks for it and why, for the log")
        print(_WARNING, file=sys.stderr)
    print(erase_file(o.store, o.campaign, o.key, o.before, (o.by, o.why), o.log))
    return 0
