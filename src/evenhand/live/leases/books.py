"""Reads the books of a pool off its log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenhand.live.events import Conflict, Event, Unknown, read
from evenhand.live.leases.ledger import Ledger, Line, line_in

_NEWS = 0.02  # of the rounds of a campaign, after which its report is written though nothing moved


def books(name: str, events: Iterable[Event]) -> Ledger:
    """Return the books that the events of a pool say.

    Raises:
        Conflict: they are those of a campaign.
        Unknown: there are none.
    """
    every = iter(events)
    first = next(every, None)
    if first is None:
        raise Unknown(f"no pool {name!r}")
    lines, silent, chains = dict[str, Line](), set[str](), dict[str, list[Sequence[int]]]()
    for event in every:
        if event.kind == "restored":
            silent = {name for name, line in lines.items() if not line.ended}  # a switch to more rounds takes in more
            continue
        campaign, line = line_in(read(event))
        lines[campaign] = line
        if line.restores not in (known := chains.setdefault(campaign, [])):
            known.append(line.restores)
        silent.discard(campaign)
    stated = read(pool_event(name, first))
    return Ledger(name=name, **stated, lines=lines, silent=frozenset(silent), chains=chains)


def differs(before: Line | None, line: Line) -> bool:
    """Return whether the books of a campaign say something that others should know."""
    if before is None or (before.granted, before.collected) != (line.granted, line.collected):
        return True
    if (before.restores, before.ended) != (line.restores, line.ended):
        return True
    if bool(before.left) != bool(line.left) or line.seq < before.seq:  # of an older copy
        return True
    return abs(line.rounds - before.rounds) > _NEWS * (line.rounds + line.left)


def pool_event(name: str, event: Event | None) -> Event:
    """Return an event of a pool; refuse that of a campaign."""
    if event is None or event.kind != "leased":
        raise Conflict(f"{name!r} is a campaign, and no pool")
    return event
