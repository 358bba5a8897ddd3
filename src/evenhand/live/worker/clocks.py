"""Clocks that are wrong: a leap forward is refused when a campaign is opened, and a log ahead of its clock set back."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from evenhand.core.errors import InvalidInput
from evenhand.core.faces import count
from evenhand.core.signatures import shown
from evenhand.live.fold.opening import refuse_pool
from evenhand.live.log.events import Conflict, Event, Leap, Unknown, encode, written
from evenhand.live.log.life import LIFE, Life
from evenhand.live.log.store import Clocked, Closing, Store, Transaction
from evenhand.live.log.versions import deciding, refuse_later
from evenhand.live.stores.opening import as_store

_SECOND, _DAY = 10**6, 86_400 * 10**6  # microseconds
# A worker that starts knows the time of the last event and no more: to open or copy a file sets its time by the same
# clock. Services stand still for a weekend or for holidays, so less than a week tells nothing. A month is rare, but
# does no harm where nothing waits that would expire by it. The error of a wrong year does, as times cannot go back.
_QUIET, _LONG = 7 * _DAY, 92 * _DAY
_NEVER_SET = 1_704_067_200 * _SECOND  # 2024: an earlier clock is one that nobody set
_LONGEST = 500  # characters of a reason


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
    if isinstance(log, Clocked):
        log.distrust()
    would = f", and {count(expired, 'decision')} would expire by it" if expired else ""
    raise Leap(
        f"the clock says {written(log.now)}, {lead // _DAY:,} days after the last event of {name!r}{would}: set it "
        "right, or accept it by `--accept-clock` or `evenhand.live.set_clock`"
    )


def ahead(log: Transaction) -> float:
    """Return the seconds by which a log is ahead of its clock; 0 if it is not, or if the store does not know."""
    clock: int = getattr(log, "clock", log.now)  # to ask whether it is `Clocked` takes a twentieth of a decision
    return max(log.now - clock, 0) / _SECOND


def set_clock(store: str | Store, campaign: str, *, why: str, who: str | None = None) -> Event:
    """Record in a log that it follows the present clock, if it is ahead of the clock or far behind.

    Where the clock was wrong once, times stand still until it has caught up with the last event. From this event on
    they are those of the clock again: the event is the only one whose time may be earlier than the one before. What
    waits is then due after `patience` at the latest, and decisions that expired wrongly take their outcomes as late
    ones. Earlier events keep the times that they have.

    Where the clock is right, and a campaign is refused as it stood still for long, the event says that this was so.

    Args:
        store: the store, or its URL; servers may keep running.
        campaign: its name.
        why: the reason, for the log.
        who: who says so, for the log; by default the name of the user.

    Raises:
        Unknown: no such campaign.
        Conflict: the log is less than a second ahead of the clock, and less than a week behind; or a later version of
            evenhand decides for the campaign.
        InvalidInput: an invalid reason, a clock that was never set, the name of a pool, or a store of a kind that
            has no clock.
        Busy: the store cannot be written.

    >>> import evenhand as eh
    >>> from evenhand.live.stores.memory import MemoryStore
    >>> coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    >>> now = [3_000_000_000_000_000]
    >>> store = MemoryStore(now=lambda: now[0])
    >>> campaign = eh.Campaign.open(store, "coins", eh.uniform(coin, 1))
    >>> now[0] = 1_800_000_000_000_000
    >>> campaign.refresh(), campaign.ahead
    (False, 1200000000.0)
    >>> set_clock(store, "coins", why="the clock was wrong until today", who="operator").at
    1800000000000000
    >>> campaign.refresh(), campaign.ahead
    (False, 0.0)
    """
    who = getpass.getuser() if who is None else who
    for field, text in (("why", why), ("who", who)):
        if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST or not text.isprintable():
            raise InvalidInput(field, f"a text of 1 to {_LONGEST} characters", shown(text))
    event, is_new = go_by_clock(store, campaign, why=why, who=who)
    if not is_new:
        raise Conflict(f"campaign {campaign!r} already follows the clock: its last event is of {written(event.at)}")
    return event


def go_by_clock(store: str | Store, campaign: str, *, why: str, who: str) -> tuple[Event, bool]:
    """Do what `set_clock` does with texts that were checked; where a log goes by the clock already, return its last
    event, and False.
    """
    with _writing(store, campaign) as (log, last, patience):
        if last.at - log.clock < _SECOND and not _is_leap(log.clock - last.at, patience):
            return last, False
        return _set(log, last, patience, {"why": why, "who": who}), True


def accept_clock(store: str | Store, campaign: str) -> Event | None:
    """Accept a clock that is far ahead of the log, as `set_clock` does; None if it is not, or there is no log."""
    try:
        with _writing(store, campaign) as (log, last, patience):
            if _is_leap(log.clock - last.at, patience):
                return _set(log, last, patience, {"why": "accepted at the start", "who": getpass.getuser()})
    except Unknown:
        pass
    return None


@contextmanager
def _writing(store: str | Store, campaign: str) -> Iterator[tuple[Any, Event, float]]:
    """Open a transaction that knows its clock; yields also the last event, and the present patience."""
    place = as_store(store)
    try:
        with place.write(campaign) as log:
            first, last = log.get(1), log.get(log.last)
            if first is None or last is None:
                raise Unknown(f"no campaign {campaign!r}; the store has {list(place.campaigns())}")
            refuse_pool(place, campaign)
            if not isinstance(log, Clocked):
                raise InvalidInput("store", "one of a kind that has a clock", type(place).__name__)
            refuse_later(campaign, deciding(place, campaign))
            life = Life.of(place.scan(campaign, kinds=("opened", *LIFE)))
            yield log, last, life.patience
    finally:
        if place is not store and isinstance(place, Closing):
            place.close()


def _set(log: Any, last: Event, patience: float, body: dict[str, Any]) -> Event:
    if log.clock < _NEVER_SET:
        raise InvalidInput("clock", "one that is set", written(log.clock))
    log.set_back()
    due = log.now + int(patience * _SECOND)
    event: Event = log.append("clock", encode({**body, "from": last.at, "due": due}))
    return event


def _is_leap(lead: int, patience: float) -> bool:
    return lead > max(_QUIET, patience * _SECOND)
