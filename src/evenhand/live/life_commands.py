"""Commands of the command line that change the life of a campaign, whose servers may run."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from evenhand.live.backups import archive
from evenhand.live.changing import Ask, refuse_unerasable
from evenhand.live.commands import only_campaign
from evenhand.live.erasing import time_of
from evenhand.live.events import Conflict
from evenhand.live.files import kept_campaign, teacher_of
from evenhand.live.horizon import refuse_soft
from evenhand.live.life import LIFE, Life
from evenhand.live.opening import refuse_no_fallback
from evenhand.live.phases import begins, of_kept
from evenhand.live.seals import Seal
from evenhand.live.stores.base import Closing
from evenhand.live.stores.opening import connect, connect_to_read
from evenhand.live.versions import deciding, other_version
from evenhand.version import __version__


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
