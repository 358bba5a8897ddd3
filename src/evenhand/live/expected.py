"""Which campaigns a store has to have, or not to have, before a server begins or continues them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import closing

from evenhand.core.errors import InvalidInput, MissingFile
from evenhand.live.events import Unknown
from evenhand.live.leases.books import campaigns_of
from evenhand.live.stores.opening import connect_to_read


def expect(url: str, name: str, new: bool | None) -> None:
    """Refuse a campaign that is there and has to be new, or the other way round; no store is made for that.

    Raises:
        InvalidInput: there is no such store; or the campaign exists, and has to be new.
        Unknown: the campaign is not there, and has to be.
    """
    if new is None:
        return
    try:
        with closing(connect_to_read(url)) as store:
            found = list(store.campaigns())
    except MissingFile:
        if not new:
            raise
        return
    if not new and name not in found:
        raise Unknown(f"no campaign {name!r}; the store has {found}")
    if new and name in found:
        raise InvalidInput("campaign", "a new one, as --new says", f"{name!r}, which is in the store")


def there(url: str) -> list[str]:
    """Return the names of the campaigns in a store; none where there is no store, which is not made."""
    try:
        with closing(connect_to_read(url)) as store:
            return campaigns_of(store)
    except MissingFile:
        return []


def refuse_beside(url: str, names: Sequence[str]) -> None:
    """Refuse to begin a campaign beside others, with whole budgets, under a name that only its problem file states.

    Raises:
        InvalidInput: the store has campaigns other than these, and not all of these.
    """
    found = there(url)
    missing = [name for name in names if name not in found]
    others = [name for name in found if name not in names]
    if missing and others:
        expected = (
            f"a stated name, as the store has {found}: `--campaign {shlex.quote(others[0])} --existing` continues "
            f"that one, `--campaign {shlex.quote(missing[0])}` begins another one, with budgets of its own"
        )
        raise InvalidInput("campaign", expected, f"none, and no campaign {missing[0]!r}")
