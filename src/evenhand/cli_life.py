"""The commands of the command line that change the life of a campaign, whose servers may run."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from evenhand.cli_campaign import add_campaign
from evenhand.cli_texts import AFTER

if TYPE_CHECKING:
    Kind = Literal["paused", "resumed", "ended", "changed"]

_SERVERS = "Servers follow at their next request; the log records who asked and why."
_COMMANDS: dict[str, tuple[Kind, str, str]] = {
    "pause": (
        "paused",
        "make no decisions for now; outcomes still count",
        "New keys are refused until `evenhand resume`; repeated ones get their stored reply, and outcomes still count.",
    ),
    "resume": ("resumed", "decide again after a pause", "Decide again after `evenhand pause`."),
    "end": (
        "ended",
        "make no more decisions; outcomes still count",
        "New keys are refused for good: there is no way back. Outcomes still count.",
    ),
    "change": (
        "changed",
        "change patience, what happens to expired decisions, what follows the horizon, or the retention",
        "State one of --patience, --on-expiry, --after and --retention, or several. Waiting decisions keep the "
        "deadline that they were given; what expires from now on is treated as --on-expiry says.",
    ),
}


def add_life(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the commands."""
    for command, (kind, brief, more) in _COMMANDS.items():
        parser = commands.add_parser(command, help=brief, description=f"{more} {_SERVERS}")
        add_campaign(parser, partial(_run, kind=kind))
        parser.add_argument("--by", required=True, metavar="WHO", help="who asks for it, for the log")
        parser.add_argument("--why", required=True, metavar="TEXT", help="the reason, for the log, such as a ticket")
        if kind == "changed":
            parser.add_argument("--patience", type=float, default=None, metavar="SECONDS",
                                help="after which the outcome of a new decision is overdue")  # fmt: skip
            parser.add_argument("--on-expiry", choices=("hold", "fallback", "release"), default=None,
                                help="what happens to budgets held by decisions that become overdue")  # fmt: skip
            parser.add_argument("--retention", default=None, metavar="DAYS",
                                help='after which cases and keys are erased, such as "90 days", or "off"')  # fmt: skip
            parser.add_argument("--after", choices=("nothing", "stop", "go on"), default=None, help=AFTER)


def _run(o: argparse.Namespace, kind: Kind) -> int:
    from evenhand.live.changing import Ask, days_of
    from evenhand.live.life_commands import write_change

    settings: tuple[Any, ...] = ()
    if kind == "changed":
        settings = o.patience, o.on_expiry, o.after, None if o.retention is None else days_of(o.retention)
    print(write_change(o.store, o.campaign, Ask(kind, o.by, o.why, *settings)))
    return 0
