"""The commands of the command line that change the life of a campaign, whose servers may run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    Kind = Literal["paused", "resumed", "ended", "changed"]
    Run = Callable[[argparse.Namespace], int]
    P = TypeVar("P", bound=argparse.ArgumentParser)

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
        "change patience, what happens to expired decisions, or what follows the horizon",
        "State one of --patience, --on-expiry and --after, or several. Waiting decisions keep the deadline that they "
        "were given; what expires from now on is treated as --on-expiry says.",
    ),
}


def add_life(commands: argparse._SubParsersAction[P], of_campaign: Callable[[P, Run], None]) -> None:
    """Add the commands.

    Args:
        commands: the parsers of all commands.
        of_campaign: lets a parser take a store and a campaign, and run a function.
    """
    for command, (kind, brief, more) in _COMMANDS.items():
        parser = commands.add_parser(command, help=brief, description=f"{more} {_SERVERS}")
        of_campaign(parser, partial(_run, kind=kind))
        parser.add_argument("--by", required=True, metavar="WHO", help="who asks for it")
        parser.add_argument("--why", required=True, metavar="REASON", help="such as a ticket")
        if kind == "changed":
            parser.add_argument("--patience", type=float, default=None, metavar="SECONDS", help="for new decisions")
            fates = ("hold", "fallback", "release")
            parser.add_argument(
                "--on-expiry", choices=fates, default=None, help="for decisions that expire from now on"
            )
            parser.add_argument("--after", choices=("nothing", "stop", "go on"), default=None,
                                help="what follows the horizon: nothing is played, nothing is decided, or decisions "
                                "go on with what is left of the budgets")  # fmt: skip


def _run(o: argparse.Namespace, kind: Kind) -> int:
    from evenhand.live.changing import Ask
    from evenhand.live.life_commands import write_change

    settings = (o.patience, o.on_expiry, o.after) if kind == "changed" else ()
    print(write_change(o.store, o.campaign, Ask(kind, o.by, o.why, *settings)))
    return 0
