"""Starts a server of campaigns from their problem files, or from their logs alone."""

from __future__ import annotations

import shlex
import socket
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evenhand.core.compilation import COMPILE_PROGRESS
from evenhand.core.errors import EvenhandWarning, InvalidInput, MissingFile
from evenhand.core.progress import SCREEN
from evenhand.core.validate import on_disk
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.campaigns.commands import print_unused
from evenhand.live.campaigns.files import open_with_settings
from evenhand.live.campaigns.tokens import Tokens
from evenhand.live.fold.first_event import campaigns_of
from evenhand.live.fold.lease import lease_of
from evenhand.live.fold.phases import begins
from evenhand.live.http.app import check_names
from evenhand.live.http.lines import to_stderr
from evenhand.live.http.server import check_address, serve
from evenhand.live.leases.pool import Pool
from evenhand.live.leases.settlement import open_leased, settlement_thread
from evenhand.live.log.events import Busy, Damaged, Leap, Unknown, read
from evenhand.live.log.life import OnExpiry
from evenhand.live.log.segments import refuse_segment
from evenhand.live.log.store import Store
from evenhand.live.stores.opening import connect_to_read, make_folder
from evenhand.live.worker.clocks import accept_clock
from evenhand.live.worker.requests import check_text
from evenhand.problem.end import After

STOPPED = "stopped; the log has everything that was answered"
_LONGEST = 30.0  # seconds for which a server that starts tries to write to its store
_PAUSE = 0.5  # seconds between tries, each of which waits for its turn itself


@dataclass(frozen=True, kw_only=True)
class OpenOptions:
    """The options with which a campaign of a problem file is opened; see `open_campaign`."""

    log_path: Path | None
    learn: bool | float  # the weight of a row, or whether rows are learned at all
    switch: bool  # whether a campaign that runs under another policy continues with this one
    seed: int | None = None  # None takes that of the campaign, or of `open_campaign` for a new one; so the next three
    patience: float | None = None
    on_expiry: OnExpiry | None = None
    after: After | None = None
    accept_clock: bool = False  # whether the clock is right though it is far ahead of the log
    lease: str | None = None  # the store of the pool from which budgets are leased; None if they are own ones
    pool: str | None = None  # its name; None takes the only one there
    new: bool | None = None  # whether the campaign has to be a new one, or one that is there; None takes either
    named: bool = True  # whether the names of campaigns were stated; else they are those of the problem files

    def terms(self) -> dict[str, Any]:
        """Return the stated terms."""
        stated = {name: getattr(self, name) for name in ("seed", "patience", "on_expiry", "after")}
        return {name: value for name, value in stated.items() if value is not None}


class Address(NamedTuple):
    """The place and the guards of a server; see `evenhand.live.http.serve`."""

    host: str
    port: int | socket.socket  # which several processes share
    token: str | Tokens | None
    hosts: Sequence[str]
    known: bool = False
    log: Literal["json", "text"] | None = None
    backups: Path | None = None


def serve_files(
    each: Mapping[str, Path | None],
    url: str,
    opening: OpenOptions,
    at: Address,
    tell: Callable[[], None] | None = None,
) -> str:
    """Open or continue campaigns of problem files, and serve them until the process is told to stop.

    Args:
        each: the problem file of each campaign, by its name; None continues the campaign as its log has it.
        url: of the store of all of them.
        opening: how they are opened.
        at: where the server listens.
        tell: is called before the first request is answered.

    Returns:
        What is said at its end.

    Raises:
        InvalidInput, Conflict, Busy: as for `open_campaign` and `evenhand.live.http.serve`.
        MissingExtra: a package that the server needs is not installed.
    """
    check_address(at.host, at.port, at.token)  # before a campaign is begun, whose settings stay for good
    if at.backups is not None and not at.backups.is_dir():
        raise InvalidInput("backups", "a folder that exists", str(at.backups))
    check_names(list(each))
    for name in each:
        check_text("name", name)
        expect(url, name, opening.new)
    if opening.new is None and not opening.named:
        refuse_neighbour(url, list(each))

    def ready(address: str) -> None:
        print(f"{address} (Ctrl-C stops)", flush=True)
        if tell is not None:
            tell()

    COMPILE_PROGRESS.hint = " (`evenhand warm PROBLEM.toml` does this ahead of time)"
    before = there(url)
    for path in filter(None, each.values()):  # before a folder is made; it may be a pipe, which is read once
        with on_disk(str(path), "a file that can be read"):
            path.stat()
    make_folder(url)
    for name in each if opening.accept_clock else ():
        accept_clock(url, name)
    with ExitStack() as open_:
        pool = None if opening.lease is None else open_.enter_context(Pool.open(opening.lease, opening.pool))
        _note_others(before, each)
        found: list[Campaign] = []
        for name, problem_path in each.items():
            store = found[0].store if found else url  # the first one closes it
            found.append(open_.enter_context(_open_with_notes(problem_path, store, name, opening, pool)))
            _say(found[-1], name not in before)
        open_.enter_context(settlement_thread(found, pool))
        told = STOPPED
        try:
            place = at._asdict()
            with suppress(KeyboardInterrupt), to_stderr(place.pop("log")):
                serve(found, **place, ready=ready)
        finally:
            try:
                for made in found:
                    print(f"{made.name}: head {made.head()}", flush=True)
            except (Busy, Damaged) as error:
                told = f"stopped; the store cannot be read: {error}"
    return told


def _open_with_notes(
    problem_path: Path | None, store: str | Store, name: str, opening: OpenOptions, pool: Pool | None
) -> Campaign:
    """Open a campaign, and print its warnings and the options that it does not use."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", EvenhandWarning)
        made = _retry(lambda: _open(problem_path, store, name, opening, pool))
    for note in notes:
        SCREEN.say(f"note: {note.message}")
    stated = opening.terms()
    for term, value in stated.items():
        kept = made.terms.seed if term == "seed" else getattr(made.life, term)
        if value != kept:
            option = term.replace("_", "-")
            SCREEN.say(f"note: --{option} {value} is not used: the campaign has {kept}")
    if "after" not in stated and problem_path is not None:
        print_unused(problem_path, made)
    return made


def _retry(call: Callable[[], Campaign]) -> Campaign:
    """Open a campaign, and wait while others keep the store busy, as while they switch or erase."""
    end = time.monotonic() + _LONGEST
    while True:
        try:
            return call()
        except Leap:
            raise
        except Busy as error:
            if time.monotonic() > end:
                raise
            SCREEN.say(f"note: it is tried again: {error}")
            time.sleep(_PAUSE)


def _note_others(before: Collection[str], named: Collection[str]) -> None:
    """Print a note on other campaigns in the store where one begins, as a mistyped name begins a new one."""
    others = [name for name in before if name not in named]
    if others and not set(named) <= set(before):
        SCREEN.say(f"note: the store has {others} as well; --campaign NAME continues one of them")


def _say(made: Campaign, new: bool) -> None:
    found = "new campaign" if new else f"found {made.head().seq:,} events"
    told = f"{made.status().rounds:,} of {made.policy.problem.horizon:,} decided"
    life = "" if made.life.state == "running" else f"; {made.life.summary}"
    print(f"{made.name}: {made.policy.name}; {found}, {told}{life}")


def _open(
    problem_path: Path | None, store: str | Store, name: str, opening: OpenOptions, pool: Pool | None
) -> Campaign:
    """Open a campaign; no store is made for a problem file that cannot be read."""
    log, learn, switch, terms = opening.log_path, opening.learn, opening.switch, opening.terms()
    if pool is not None:
        return open_leased(pool, store, name, problem_path, log_path=log, learn=learn, terms=terms, switch=switch)
    made = open_with_settings(store, name, problem_path, log_path=log, learn=learn, stated=terms, switch=switch)
    if (lease := lease_of(made.encoder)) is not None:
        told = f"takes in no more of pool {lease.pool!r} and returns nothing, as --lease does not name its store"
        SCREEN.say(f"note: {name} {told}")
    return made


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
        InvalidInput: the store is not there, is a segment, or has no campaign, or none whose log keeps a problem file.
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
        refuse_segment("store", store)
        kept = [name for name in found if "units" in read(begins(store, name)[-1])["encoding"]]
    if not kept:
        expected = "one that was opened with a problem file; others are served by `evenhand.live.http.serve`"
        raise InvalidInput("store", expected, f"one with {found}, which were not")
    for name in found:
        if name not in kept:
            SCREEN.say(f"note: {name} is not served: its policy was written in Python, and is in no log")
    return kept


def there(url: str) -> list[str]:
    """Return the names of the campaigns in a store; none where there is no store, which is not made."""
    try:
        with closing(connect_to_read(url)) as store:
            return campaigns_of(store)
    except MissingFile:
        return []


def refuse_neighbour(url: str, names: Sequence[str]) -> None:
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
