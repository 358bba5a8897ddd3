"""The order of what a command takes: a store and a file that changed places are told apart."""

from __future__ import annotations

import argparse
import re

# A path drops slashes, so that it has a single one of them.
_STORE = re.compile(r"(sqlite|postgres|postgresql|memory):/")


def refuse_swapped(o: argparse.Namespace) -> None:
    """Refuse a store given where another argument is expected, if the other argument is given in place of the store.

    Raises:
        InvalidInput: says what came, and the order.
    """
    store = getattr(o, "store", None)
    if store is None or _STORE.match(store):
        return
    for action in _listed(o.parser):
        values = getattr(o, action.dest, None)
        for value in values if isinstance(values, list) else [values]:
            if action.dest != "store" and _STORE.match(str(value)):
                from evenhand.core.errors import InvalidInput
                from evenhand.live.stores.base import shown_url

                got = f"{shown_url(store)}, and a store as {action.metavar}; the order is: {_order(o.parser)}"
                raise InvalidInput("store", "one such as sqlite:///email.db", got)


def _listed(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return what a command takes by its place."""
    return [action for action in parser._actions if not action.option_strings]


def _order(parser: argparse.ArgumentParser) -> str:
    """Say the order, as `evenhand switch STORE PROBLEM.toml`."""
    places = [str(z.metavar) for z in _listed(parser) if z.help != argparse.SUPPRESS]
    by_name = [] if "STORE" in places else ["--store STORE"]
    return " ".join([parser.prog, *places, *by_name])
