"""The commands of the command line that read or serve the log of a campaign."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evenhand.core.compiling import COMPILING
from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.core.validate import on_disk
from evenhand.live.auditing import Audit, audit, of_damaged, of_segment
from evenhand.live.campaign import Campaign
from evenhand.live.clocks import accept_clock, set_clock
from evenhand.live.coded import Stated, Text, of_stored
from evenhand.live.elsewhere import make_folder, refuse_own
from evenhand.live.erasing import Erasure, time_of
from evenhand.live.events import Busy, Damaged, Leap, Unknown, read
from evenhand.live.expected import expect, refuse_beside, there
from evenhand.live.exports import export
from evenhand.live.files import Rows, kept_campaign, open_stated, switch_campaign, taught, teacher_of, unused, weight_of
from evenhand.live.leases.books import campaigns_of
from evenhand.live.leases.lease import lease_of
from evenhand.live.leases.opening import open_leased
from evenhand.live.leases.pool import Pool
from evenhand.live.leases.serving import settling
from evenhand.live.life import OnExpiry
from evenhand.live.limits import used_up
from evenhand.live.proof import Head, prove, refuse
from evenhand.live.stores._segments import LINK
from evenhand.live.stores.base import Closing, Store
from evenhand.live.stores.opening import Place, connect, connect_to_read
from evenhand.live.switches import Switched, switches
from evenhand.live.tokens import Tokens
from evenhand.live.verbs import check_text
from evenhand.problem.ended import After

_LONGEST = 30.0  # seconds for which a server that starts tries to write to its store
_PAUSE = 0.5  # seconds between tries, each of which waits for its turn itself


def only_campaign(store: Store, campaign: str | None) -> str:
    """Return the name of the campaign to read, by default the only one in the store.

    Raises:
        Unknown: no such campaign.
        InvalidInput: there are several campaigns and none is named, or there is none.
    """
    found = campaigns_of(store)
    if campaign is None:
        if not found:
            raise InvalidInput("store", "one that has a campaign", "an empty one")
        if len(found) != 1:
            raise InvalidInput("campaign", f"one of {found}", "none")
        return found[0]
    if campaign not in found:
        raise Unknown(f"no campaign {campaign!r}; the store has {found}")
    return campaign


def policies(store: Store, campaign: str) -> list[Stated]:
    """Rebuild the policies of the problem files that a campaign stored, in the order in which they decided."""
    kept = [read(event)["encoding"] for event in store.scan(campaign, kinds=("opened", "switched"))]
    return [of_stored(z) for z in kept if "units" in z]


@dataclass(frozen=True, kw_only=True)
class Opening:
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
    port: int
    token: str | Tokens | None
    hosts: Sequence[str]
    known: bool = False
    log: Literal["json", "text"] | None = None


def serve_files(each: Mapping[str, Path | None], url: str, opening: Opening, at: Address) -> None:
    """Open or continue campaigns of problem files, and serve them until the process is told to stop.

    Args:
        each: the problem file of each campaign, by its name; None continues the campaign as its log has it.
        url: of the store of all of them.
        opening: how they are opened.
        at: where the server listens.

    Raises:
        InvalidInput, Conflict, Busy: as for `open_campaign` and `evenhand.live.http.serve`.
        MissingExtra: a package that the server needs is not installed.
    """
    from evenhand.live.http import serve  # before a long log is read
    from evenhand.live.http.app import check_names
    from evenhand.live.http.server import check_address

    check_address(at.host, at.port, at.token)  # before a campaign is begun, whose settings stay for good
    check_names(list(each))
    for name in each:
        check_text("name", name)
        expect(url, name, opening.new)
    if opening.new is None and not opening.named:
        refuse_beside(url, list(each))

    def ready(address: str) -> None:
        print(f"{address} (Ctrl-C stops)", flush=True)

    COMPILING.hint = " (`evenhand warm PROBLEM.toml` does this ahead of time)"
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
            found.append(open_.enter_context(_noted(problem_path, store, name, opening, pool)))
            _say(found[-1], name not in before)
        open_.enter_context(settling(found, pool))
        try:
            serve(found, **at._asdict(), ready=ready)
        finally:
            with suppress(Busy, Damaged):  # which the clients were told
                for made in found:
                    print(f"{made.name}: head {made.head()}", flush=True)


def _noted(problem_path: Path | None, store: str | Store, name: str, opening: Opening, pool: Pool | None) -> Campaign:
    """Open a campaign, and print what it warns of, and which options it does not use."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", EvenhandWarning)
        made = _retry(lambda: _opened(problem_path, store, name, opening, pool))
    for note in notes:
        print(f"note: {note.message}", file=sys.stderr)
    stated = opening.terms()
    for term, value in stated.items():
        kept = made.terms.seed if term == "seed" else getattr(made.life, term)
        if value != kept:
            option = term.replace("_", "-")
            print(f"note: --{option} {value} is not used: the campaign has {kept}", file=sys.stderr)
    if "after" not in stated and problem_path is not None:
        _note_unused(problem_path, made)
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
            print(f"note: it is tried again: {error}", file=sys.stderr, flush=True)
            time.sleep(_PAUSE)


def _note_unused(problem_path: Path, made: Campaign) -> None:
    told = unused(Text.of(problem_path), made.life.after)
    if told is not None:
        print(f"note: {told}", file=sys.stderr)


def _note_others(before: Collection[str], named: Collection[str]) -> None:
    """Say what else the store has where a campaign begins there, as a mistyped name begins one with whole budgets."""
    others = [name for name in before if name not in named]
    if others and not set(named) <= set(before):
        print(f"note: the store has {others} as well; --campaign NAME continues one of them", file=sys.stderr)


def _say(made: Campaign, new: bool) -> None:
    found = "new campaign" if new else f"found {made.head().seq:,} events"
    told = f"{made.status().rounds:,} of {made.policy.problem.horizon:,} decided"
    life = "" if made.life.state == "running" else f"; {made.life.told}"
    print(f"{made.name}: {made.policy.name}; {found}, {told}{life}")


def _opened(problem_path: Path | None, store: str | Store, name: str, opening: Opening, pool: Pool | None) -> Campaign:
    """Open a campaign; no store is made for a problem file that cannot be read."""
    log, learn, switch, terms = opening.log_path, opening.learn, opening.switch, opening.terms()
    if pool is not None:
        return open_leased(pool, store, name, problem_path, log_path=log, learn=learn, terms=terms, switch=switch)
    made = open_stated(store, name, problem_path, log_path=log, learn=learn, stated=terms, switch=switch)
    if (lease := lease_of(made.encoder)) is not None:
        told = f"takes in no more of pool {lease.pool!r} and returns nothing, as --lease does not name its store"
        print(f"note: {name} {told}", file=sys.stderr)
    return made


def switch_file(
    url: str,
    campaign: str | None,
    problem_path: Path,
    log_path: Path | None,
    by: str,
    why: str,
    expected: str | None = None,
) -> Switched | None:
    """Switch a campaign to another problem file, which servers that run take from the log; None if it has that one.

    Raises:
        Unknown, InvalidInput: as for `only_campaign`; or as for `switch_campaign`.
        Conflict, Busy: as for `switch_campaign`.
    """
    with closing(connect_to_read(url)) as store:  # so that no store is made
        name = only_campaign(store, campaign)
        before = len(switches(store, name))
    with switch_campaign(url, name, problem_path, log_path=log_path, by=by, why=why, expected=expected) as made:
        found = switches(made.store, name)
        _note_unused(problem_path, made)
        for told in used_up(made.status()):
            print(f"note: {told}", file=sys.stderr)
    if len(found) == before:
        return None
    return found[-1]


def write_report(url: str, campaign: str | None, out: Path, log_path: Path | None = None) -> None:
    """Write the dashboard of a campaign from a problem file.

    Raises:
        Unknown, InvalidInput: as for `only_campaign`; or the file cannot be written, or is the store.
        Damaged: the log is damaged.
        Conflict: the policy learned from another log.
    """
    refuse_own("out", out, url)
    store = connect_to_read(url)
    name = only_campaign(store, campaign)
    refuse(name, prove(store, name))
    kept_campaign(store, name, teacher_of(store, name, log_path)).save_report(out)


def erase_file(
    url: str,
    campaign: str | None,
    keys: Sequence[str],
    before: str | None,
    note: tuple[str, str] = ("", ""),
    log_path: Path | None = None,
) -> Erasure:
    """Erase decisions of a campaign from a problem file; `note` says by whom and why. See `Campaign.erase`.

    Raises:
        Unknown, InvalidInput: as for `only_campaign` and `Campaign.erase`; or the date is invalid.
        Conflict, CannotErase, Busy: as for `Campaign.erase`; or the policy learned from another log.
    """
    date = None if before is None else time_of(before)
    with closing(connect_to_read(url)) as store:
        name = only_campaign(store, campaign)
    place = connect(url)
    try:
        made = kept_campaign(place, name, teacher_of(place, name, log_path))
        return made.erase(keys, before=date, by=note[0], why=note[1])
    finally:
        if isinstance(place, Closing):
            place.close()


def audit_files(
    url: str,
    campaign: str | None = None,
    problem_paths: Sequence[Path] = (),
    log_path: Path | None = None,
    tolerance: float = 0.0,
    head: str | None = None,
    jobs: int = 1,
    segments: Path | None = None,
) -> Audit:
    """Audit a campaign from problem files, by default with the files that it stored; a segment has hashes alone.

    Raises:
        Unknown, InvalidInput: as for `only_campaign`; or no policy is known, or `head` is not NUMBER:HASH.
        Conflict: the policy learned from another log.
    """
    store = connect_to_read(url, segments)
    name = only_campaign(store, campaign)
    kept = None if head is None else Head.of(head)
    if store.snapshot(name, LINK) is not None:
        return of_segment(store, name, prove(store, name, kept))
    try:
        each = policies(store, name)
        if problem_paths and each:
            begun = each if each[0].coded.lease is not None else each[:1]  # files say nothing of leased totals
            each = [of_stored(z.coded.to_dict(), Text.of(path)) for path in problem_paths for z in begun]
        teacher = taught(store, name, None) if log_path is None else Rows(log_path, weight_of(store, name))
    except Exception as error:  # anything can be in a damaged log
        proof = prove(store, name, kept)
        if not proof.faults:
            raise
        return of_damaged(name, proof, error)
    if not each:
        expected = "one that was opened with a problem file; `evenhand.audit` takes policies of Python"
        raise InvalidInput("campaign", expected, f"{name!r}, which was not")
    own = {stated.policy.fingerprint(): stated for stated in each}.values()
    return audit(
        url if segments is None else Place(url, segments),
        name,
        [stated.policy for stated in own],
        encoders=[stated.coded for stated in own],
        tolerance=tolerance,
        teacher=teacher,
        head=kept,
        jobs=jobs,
    )


def reset_clock(url: str, campaign: str | None, why: str, who: str | None) -> str:
    """Let a campaign follow the clock again; returns what was done, as a sentence. See `evenhand.live.set_clock`.

    Raises:
        Unknown, InvalidInput: as for `only_campaign` and `set_clock`.
        Conflict: the log is not ahead of the clock.
        Busy: the store cannot be written.
    """
    with closing(connect_to_read(url)) as store:  # which makes no store where there is none
        name = only_campaign(store, campaign)
    event = set_clock(url, name, why=why, who=who)
    back = (read(event)["from"] - event.at) / 1e6
    return f"{name}: event {event.seq} sets the log {'back' if back > 0 else 'forward'} by {abs(back):,.0f} seconds"


def write_decisions(
    url: str,
    campaign: str | None,
    out: Path,
    kind: str | None = None,
    outcome: str | None = None,
    observed: bool = False,
    verbatim: bool = False,
    segments: Path | None = None,
) -> int:
    """Write the decisions of a campaign to a file; returns their number. See `evenhand.live.exports.export`.

    Raises:
        Unknown, InvalidInput, MissingExtra: as for `only_campaign` and `export`; or the file is the store.
        Damaged: the log is damaged.
    """
    refuse_own("out", out, url)
    store = connect_to_read(url, segments)
    name = only_campaign(store, campaign)
    refuse(name, prove(store, name))
    return export(store, name, out, kind=kind, outcome=outcome, observed=observed, verbatim=verbatim)
