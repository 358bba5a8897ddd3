"""A clock far ahead of the log, which is refused when a campaign is opened unless it is accepted."""

from __future__ import annotations

import getpass
from collections.abc import Callable

from evenhand.core.texts import count
from evenhand.live.fold.first_event import refuse_pool
from evenhand.live.log.events import Event, Leap, encode, time_text
from evenhand.live.log.life import LIFE, Life
from evenhand.live.log.store import ClockTransaction, CloseableStore, Store, Transaction
from evenhand.live.log.versions import deciding_version, refuse_later
from evenhand.live.stores.opening import as_store

_SECOND, _DAY = 10**6, 86_400 * 10**6  # microseconds
# A worker that starts knows the time of the last event and no more: to open or copy a file sets its time by the same
# clock. Services stand still for a weekend or for holidays, so less than a week tells nothing. A month is rare, but
# does no harm where nothing waits that would expire by it. The error of a wrong year does, as times cannot go back.
_QUIET, _LONG = 7 * _DAY, 92 * _DAY


def refuse_leap(log: Transaction, name: str, patience: float, overdue: Callable[[], int]) -> None:
    """Refuse a clock that is further ahead of the last event than is likely.

    Args:
        log: the campaign's log, which has an event.
        name: of the campaign.
        patience: the seconds that it waits for outcomes.
        overdue: counts the decisions that would expire by this clock.

    Raises:
        Leap: the clock is ahead by more than a week and the patience, and decisions would expire by it; or it is ahead
            by more than 92 days.
    """
    last = log.get(log.last)
    assert last is not None
    lead = log.now - last.at
    if not _is_leap(lead, patience):
        return
    expired = overdue()
    if expired == 0 and lead <= _LONG:
        return
    if isinstance(log, ClockTransaction):
        log.distrust()
    would = f", and {count(expired, 'decision')} would expire by it" if expired else ""
    raise Leap(
        f"the clock says {time_text(log.now)}, {lead // _DAY:,} days after the last event of {name!r}{would}: set it "
        "right, or accept it by `--accept-clock` or `evenhand.live.accept_clock`"
    )


def seconds_ahead(log: Transaction) -> float:
    """Return the seconds by which a log is ahead of its clock; 0 if it is not, or if the store does not know."""
    clock: int = getattr(
        log, "clock", log.now
    )  # to ask whether it is `ClockTransaction` takes a twentieth of a decision
    return max(log.now - clock, 0) / _SECOND


def accept_clock(store: str | Store, campaign: str) -> Event | None:
    """Record in a log that the clock is right though it is far ahead of the last event; None if it is not far ahead.

    Args:
        store: the store, or its URL.
        campaign: its name; if the store has none of this name, nothing is written.

    Raises:
        Conflict: a later version of evenhand decides for the campaign.
        InvalidInput: the name is that of a pool.
        Busy: the store cannot be written.

    >>> import evenhand as eh
    >>> from evenhand.live.stores.memory import MemoryStore
    >>> coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    >>> now = [1_800_000_000_000_000]
    >>> store = MemoryStore(now=lambda: now[0])
    >>> campaign = eh.Campaign.open(store, "coins", eh.uniform(coin, 1))
    >>> now[0] += 100 * 86_400_000_000
    >>> accept_clock(store, "coins").kind, accept_clock(store, "coins")
    ('clock', None)
    """
    place = as_store(store)
    try:
        with place.write(campaign) as log:
            last = log.get(log.last)
            if last is None:
                return None
            refuse_pool(place, campaign)
            refuse_later(campaign, deciding_version(place, campaign))
            patience = Life.of(place.scan(campaign, kinds=("opened", *LIFE))).patience
            if not _is_leap(log.now - last.at, patience):
                return None
            body = {"why": "accepted at the start", "who": getpass.getuser(), "from": last.at}
            return log.append("clock", encode({**body, "due": log.now + int(patience * _SECOND)}))
    finally:
        if place is not store and isinstance(place, CloseableStore):
            place.close()


def _is_leap(lead: int, patience: float) -> bool:
    return lead > max(_QUIET, patience * _SECOND)
