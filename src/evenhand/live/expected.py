"""Which campaigns a store has to have, or not to have, before a server begins or continues them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import closing

from evenhand.core.errors import InvalidInput, MissingFile
from evenhand.live.events import Unknown, read
from evenhand.live.leases.books import campaigns_of
from evenhand.live.phases import begins
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


def names_of(url: str, names: Sequence[str] | None) -> list[str]:
    """Return the campaigns that a server continues without problem files: those named, or all whose logs keep one.

    Raises:
        InvalidInput: the store is not there, or has no campaign, or none whose log keeps a problem file.
        Unknown: it has none of a name.
    """
    found = there(url)
    if not found:
        expected = (
            "one that has a campaign, or a problem file that begins one: evenhand serve PROBLEM.toml --store STORE"
        )
        raise InvalidInput("store", expected, "neither")
    for name in names or ():
        if name not in found:
            raise Unknown(f"no campaign {name!r}; the store has {found}")
    if names:
        return list(names)
    with closing(connect_to_read(url)) as store:
        kept = [name for name in found if "units" in read(begins(store, name)[-1])["encoding"]]
    if not kept:
        expected = "one that was opened with a problem file; others are served by `evenhand.live.http.serve`"
        raise InvalidInput("store", expected, f"one with {found}, which were not")
    for name in found:
        if name not in kept:
            print(f"note: {name} is not served: its policy was written in Python, and is in no log", file=sys.stderr)
    return kept


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
            f"a stated name, as the store has {found}: `--campaign {shlex.quote(others[0])}` without a file "
            f"continues that one, `--campaign {shlex.quote(missing[0])}` begins another one, with budgets of its own"
        )
        raise InvalidInput("campaign", expected, f"none, and no campaign {missing[0]!r}")
