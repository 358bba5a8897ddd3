"""The command `evenhand pool`."""

from __future__ import annotations

import argparse
from typing import Any

_POOL = """\
Begin a pool of hard budgets that several campaigns share, or list its leases. Each campaign is served by
`evenhand serve --lease STORE`, has its own store, and plays under the part that the pool grants; the parts together
never exceed the totals."""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    pool = commands.add_parser("pool", help="begin a pool of budgets that several campaigns share, or list its leases",
                               description=_POOL)  # fmt: skip
    pool.add_argument("store", metavar="STORE", help="such as sqlite:///pool.db")
    pool.add_argument("--name", default=None, metavar="NAME", help="(default: the only one in the store, else pool)")
    pool.add_argument("--total", action="append", default=[], metavar="OUTCOME=AMOUNT",
                      help="for a new pool: a budget of all campaigns together (may be repeated)")  # fmt: skip
    pool.add_argument("--rounds", type=int, default=None, metavar="N",
                      help="for a new pool: the rounds that all campaigns together expect")  # fmt: skip
    pool.set_defaults(run=_pool, parser=pool)


def _pool(o: argparse.Namespace) -> int:
    from evenhand.live.leases.commands import begin_pool, list_pool

    if bool(o.total) != (o.rounds is not None):
        o.parser.error("--total and --rounds: state both to begin a pool, and none to list its leases")
    print(begin_pool(o.store, o.name or "pool", o.total, o.rounds) if o.total else list_pool(o.store, o.name))
    return 0
