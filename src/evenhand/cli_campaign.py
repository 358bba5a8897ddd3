"""The store and the campaign that a command is about, which all commands name in the same way."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence


class Once(argparse.Action):
    """Takes a name that is stated once, by an option or by its place."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the name, and refuse another one.

        Raises:
            argparse.ArgumentError: there is one already.
        """
        before = getattr(namespace, self.dest, None)
        if before is not None:
            raise argparse.ArgumentError(self, f"expected one name, got {before!r} and {values!r}")
        setattr(namespace, self.dest, values)


def add_campaign(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    """Let a parser take a store and the name of a campaign, and run a function.

    The name also stands where earlier versions took it, after the store; the help does not show this.
    """
    add_store(parser)
    parser.add_argument("campaign", nargs="?", action=Once, default=argparse.SUPPRESS, metavar="CAMPAIGN",
                        help=argparse.SUPPRESS)  # fmt: skip
    add_name(parser)
    parser.set_defaults(run=run, parser=parser)


def add_store(parser: argparse.ArgumentParser) -> None:
    """Let a parser take a store."""
    parser.add_argument("store", metavar="STORE", help="the store, such as sqlite:///email.db")


def add_name(parser: argparse.ArgumentParser, where: str = "the store") -> None:
    """Let a parser take the name of a campaign in a store.

    Args:
        parser: of the command.
        where: the store, in words.
    """
    parser.add_argument("--campaign", action=Once, default=None, metavar="NAME",
                        help=f"its name (default: the only campaign in {where})")  # fmt: skip
