"""The commands of the command line about a pool."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from evenhand.core.errors import InvalidInput
from evenhand.core.faces import amount as written
from evenhand.live.fold.lease import amount, exponent
from evenhand.live.leases.ledger import Ledger
from evenhand.live.leases.pool import Pool
from evenhand.live.stores.opening import connect_to_read, make_folder


def begin_pool(url: str, name: str, totals: Sequence[str], rounds: int) -> str:
    """Begin a pool, or find one with the same totals; returns its books as text.

    Args:
        url: of its store.
        name: its name.
        totals: "OUTCOME=AMOUNT" each.
        rounds: as for `Pool.begin`.

    Raises:
        InvalidInput: a total is invalid, or stated twice.
        Conflict, Busy: as for `Pool.begin`.
    """
    each: dict[str, float] = {}
    for text in totals:
        outcome, _, stated = text.rpartition("=")
        try:
            total = float(stated)
        except ValueError:
            total = 0.0
        if not outcome or outcome in each or not total:
            raise InvalidInput("total", "OUTCOME=AMOUNT, each outcome once", text)
        each[outcome] = total
    make_folder(url)
    with Pool.begin(url, name, each, rounds=rounds) as pool:
        return told(pool.ledger())


def list_pool(url: str, name: str | None) -> str:
    """Return the books of a pool as text; nothing is written.

    Raises:
        Unknown, InvalidInput, Busy: as for `Pool.open`; or there is no such store.
    """
    with closing(connect_to_read(url)) as store:
        return told(Pool.open(store, name).ledger())


def told(ledger: Ledger) -> str:
    """Say what a pool granted, and what is free."""
    lines = [f"pool {ledger.name}: {ledger.rounds:,} rounds expected"]
    for outcome, total in ledger.totals.items():
        unit = exponent(total)
        lines.append(f"{outcome}: {written(ledger.free(outcome))} of {written(total)} free")
        for campaign, line in ledger.lines.items():
            leased = amount(line.granted[outcome] - line.collected[outcome], unit)
            lost = amount(line.lost[outcome], unit) if line.lost[outcome] else 0.0
            gone = f", {written(lost)} used after a backup that was restored" if lost else ""
            state = f"{line.rounds:,} rounds decided, {line.left:,} expected"
            lines.append(f"  {campaign}: {written(leased)} leased, {written(line.used[outcome])} used{gone}; {state}")
    return "\n".join(lines)
