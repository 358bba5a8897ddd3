"""Commands that read or change one campaign: its problem file, its policy as it stands, its life."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.live.campaigns.backups import archive
from evenhand.live.campaigns.commands import only_campaign
from evenhand.live.campaigns.files import kept_campaign, teacher_of, unused
from evenhand.live.campaigns.seals import Seal
from evenhand.live.fold.cases import Case, context_of
from evenhand.live.fold.changes import Ask, refuse_unerasable
from evenhand.live.fold.coded import Coded, Text
from evenhand.live.fold.limits import refuse_soft
from evenhand.live.fold.opening import refuse_no_fallback
from evenhand.live.fold.phases import Switched, begins, mark_in, of_kept
from evenhand.live.log.events import Conflict, read
from evenhand.live.log.life import LIFE, Life
from evenhand.live.log.proof import prove, refuse
from evenhand.live.log.store import Closing
from evenhand.live.log.versions import deciding, other_version
from evenhand.live.stores.opening import connect, connect_to_read
from evenhand.live.worker.erasure import time_of
from evenhand.offline.frozen import Saved
from evenhand.problem.ended import After
from evenhand.version import __version__


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A problem file as the log of a campaign has it.

    Args:
        campaign: the name of the campaign.
        text: the file.
        mark: of its policy, which a switch may expect.
        switched: the switch to it, None if the campaign began with it.
        leased: whether the totals of budgets are those of a lease, whatever the file states.
        after: what follows the horizon at present, which may have been changed since.
    """

    campaign: str
    text: Text
    mark: str
    switched: Switched | None
    leased: bool
    after: After

    def notes(self) -> Iterator[str]:
        """Yield what whoever edits the file should know, in sentences."""
        since = "since the campaign began" if self.switched is None else f"since {self.switched}"
        yield f"{self.campaign} decides by {self.text.name} {since}"
        yield f"`evenhand switch --expected {self.mark}` is refused if somebody else switches meanwhile"
        told = unused(self.text, self.after)
        if told is not None:
            yield told
        if self.leased:
            yield "leased budgets have the totals that the pool grants, not those of the file"


def kept_problem(url: str, campaign: str | None = None) -> Kept:
    """Return the problem file that decides at present.

    Args:
        url: of the store, which is only read.
        campaign: its name, by default the only one in the store.

    Raises:
        Unknown, InvalidInput: as for `only_campaign`; or the campaign was not opened with a problem file.
    """
    with closing(connect_to_read(url)) as store:
        name = only_campaign(store, campaign)
        last = begins(store, name)[-1]
        kept = read(last)["encoding"]
        if "file" not in kept:
            raise InvalidInput("campaign", "one that was opened with a problem file", f"{name!r}, which was not")
        return Kept(
            campaign=name,
            text=Text(*kept["file"]),
            mark=mark_in(last),
            switched=Switched.of(last) if last.kind == "switched" else None,
            leased="lease" in kept,
            after=Life.of(store.scan(name, kinds=("opened", *LIFE))).after,
        )


def served(store: str | Path, campaign: str | None = None, *, log_path: str | Path | None = None) -> Saved:
    """Return the policy of a campaign with its state at the end of its log; the policy no longer learns.

    The latest snapshot is folded to the end of the log; nothing is written, and nothing that is overdue expires. What
    is left of hard budgets, the prices and the model are those of the next decision. Where a run has dates, that
    decision is taken to come at the time of the last event. A campaign that is paused or has ended is judged alike.

    Args:
        store: its URL, such as "sqlite:///shop.db", or the file of a store of SQLite.
        campaign: its name, by default the only one in the store.
        log_path: the log that the policy learned from before its first decision, where the store does not keep that.

    Raises:
        Unknown, InvalidInput: there is no such store or campaign, there are several and none is named, or it was not
            opened with a problem file.
        Conflict: the policy learned from another log, or decided under another version of evenhand.
        Damaged: the log is damaged.
    """
    place = str(store)
    with closing(connect_to_read(place if "://" in place else f"sqlite:///{place}")) as found:
        name = only_campaign(found, campaign)
        refuse(name, prove(found, name))
        made = kept_campaign(found, name, teacher_of(found, name, None if log_path is None else Path(log_path)))
        fold = made._worker.fold
        at = next(found.scan(name, fold.seq - 1)).at
    coded, clock = fold.encoder, fold.policy.problem.clock
    assert isinstance(coded, Coded)  # as it is of a problem file

    def encode(case: Case) -> Context:
        return context_of(coded, clock, {"case": case}, at)

    return Saved(policy=fold.policy, state=fold.state, encode=encode, columns=coded.names, after=fold.life.after)


def write_change(url: str, campaign: str | None, ask: Ask) -> str:
    """Write a change to the log of a campaign; its servers apply it at their next request.

    The policy is not needed for it. Where a campaign is to continue after its horizon, it is asked for if it is of a
    problem file; of a policy of Python, its workers refuse decisions after the horizon that nothing would keep.

    Args:
        url: of the store.
        campaign: its name, by default the only one in the store.
        ask: the change.

    Returns:
        What the campaign is now, and whether it was so before, in words.

    Raises:
        Unknown, InvalidInput: as for `only_campaign`; or there is no such store; or as for `refuse_soft` and
            `refuse_no_fallback`.
        Ended: the campaign has ended.
        Conflict: another version of evenhand decides for it.
        Busy: the store cannot be written.
    """
    with closing(connect_to_read(url)) as found:
        name = only_campaign(found, campaign)
    store = connect(url)
    try:
        with store.write(name) as log:
            version = deciding(store, name)
            if version != __version__:
                raise Conflict(f"{name!r}: {other_version(version)}")
            if (stated := of_kept(begins(store, name)[-1])) is not None:
                if ask.after == "go on":
                    refuse_soft("after", stated.policy)
                if ask.retention not in (None, "off"):
                    refuse_unerasable(store, name, log, stated)
                if ask.on_expiry == "fallback":
                    refuse_no_fallback(stated.policy)
            life = Life.of(store.scan(name, kinds=("opened", *LIFE)))
            body = ask.body(life)
            if body is not None:
                life = life.then(log.append(ask.kind, body))
    finally:
        if isinstance(store, Closing):
            store.close()
    settings = f"patience {life.patience:g} s, on expiry {life.on_expiry}, after the horizon {life.after}"
    settings += "" if life.retention == "off" else f", cases {life.lasting}"
    return f"{name}: {life.told}; {settings}{'' if body is not None else ' (as before)'}"


def seal_file(
    url: str, campaign: str | None, folder: Path, before: str | None, by: str, why: str, log_path: Path | None = None
) -> Seal:
    """Move old events of a campaign of a problem file to a segment; see `Campaign.seal`.

    Raises:
        Unknown, InvalidInput: as for `only_campaign` and `Campaign.seal`; or the date is invalid.
        Conflict, CannotSave, Busy: as for `Campaign.seal`; or the policy learned from another log.
    """
    end = None if before is None else int(before) if before.isdecimal() else time_of(before)
    with closing(connect_to_read(url)) as found:
        name = only_campaign(found, campaign)
    store = connect(url)
    try:
        made = kept_campaign(store, name, teacher_of(store, name, log_path))
        return made.seal(folder, by=by, why=why, before=end)
    finally:
        if isinstance(store, Closing):
            store.close()


def write_archive(url: str, campaign: str | None, out: Path) -> str:
    """Archive a campaign, by default the only one in the store; returns its name and head. See `archive`."""
    with closing(connect_to_read(url)) as found:
        name = only_campaign(found, campaign)
    return f"{name}: head {archive(url, out, name)}"
