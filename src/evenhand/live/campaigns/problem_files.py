"""The problem files of a campaign, in order: the last one decides, even if a server is started with another one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.errors import EvenhandError, EvenhandWarning, InvalidInput
from evenhand.live.fold.cases import alike
from evenhand.live.fold.column_encoder import FilePolicy, Text, of_log, policy_of_campaign
from evenhand.live.fold.first_event import refuse_pool
from evenhand.live.fold.phases import Phase, mark_in, signature
from evenhand.live.fold.switch import other
from evenhand.live.log.events import Conflict, Event, Unknown, encode, read
from evenhand.live.log.store import Store
from evenhand.live.log.versions import deciding_version, refuse_later


def of_campaign(store: Store, name: str, text: Text | None, log: Path | None) -> FilePolicy | None:
    """Return the policy and encoder of a problem file as the campaign took it; None if it never had such a file.

    A warning says if another file superseded it.

    Raises:
        Unknown, InvalidInput: as for `encoding`.
        Conflict: the campaign never had this log.
    """
    present = encoding(store, name)
    if text is None and log is None:
        return policy_of_campaign(present)
    each = dict[str, Event]()  # by what it states, the present one last
    for event in store.scan(name, kinds=("opened", "switched")):
        kept = read(event)["encoding"]
        stated = encode({**kept, "lease": None, "file": kept.get("file", [None])[1:]})  # none of policies of Python
        if stated != next(reversed(each), None):
            each.pop(stated, None)
            each[stated] = event
    *_, last = each.values()
    others = 0  # that have the file, and encode cases as another log did
    for event in reversed(each.values()):
        kept = read(event)["encoding"]
        if "file" not in kept:
            continue
        try:
            found = policy_of_campaign(kept, text)
        except EvenhandError:  # it has other columns, or is of a version that wrote such files in another way
            if text is None:
                raise
            continue
        own = found.coded.text
        if own.text != kept["file"][1] and found.policy.fingerprint() != mark_in(event):
            continue
        plain = {key: value for key, value in kept.items() if key not in ("taught", "lease")}
        if log is not None and not alike(of_log(own, log, first=first_actions(store, name)).coded, plain):
            others += 1
            continue
        if text is not None and event is not last:
            told = f"{name!r}: {text.name} is superseded: continuing with event {last.seq}'s{signature(read(last))}"
            warnings.warn(told, EvenhandWarning, stacklevel=6)
        return found
    if log is not None and others:
        raise Conflict(f"campaign {name!r} encodes cases as another log did: leave out {log.name}")
    return None


def refusal(store: Store, name: str, text: Text) -> Conflict:
    """Make the error for a problem file that a campaign never had."""
    *_, last = store.scan(name, kinds=("opened", "switched"))
    try:
        given = Phase(*policy_of_campaign(read(last)["encoding"], text))
    except Conflict as error:
        return Conflict(f"{name!r}: {error}")
    return other(name, last, given)


def encoding(store: Store, campaign: str) -> Mapping[str, Any]:
    """Return the stored encoding of a campaign's current policy.

    Raises:
        Unknown: there is no such campaign.
        InvalidInput, Conflict: as for `last_encoding`.
    """
    found = last_encoding(store, campaign)
    if found is None:
        raise Unknown(f"no campaign {campaign!r}; the store has {list(store.campaigns())}")
    return found


def last_encoding(store: Store, campaign: str) -> Mapping[str, Any] | None:
    """Return the stored encoding of a campaign's current policy; None if there is no such campaign.

    Raises:
        InvalidInput: the campaign was not opened with a problem file, or is a pool.
        Conflict: a later version of evenhand decides for it, of which this one may not read the file.
    """
    *_, last = None, *store.scan(campaign, kinds=("opened", "switched"))
    if last is None:
        refuse_pool(store, campaign)
        return None
    refuse_later(campaign, deciding_version(store, campaign))
    found: Mapping[str, Any] = read(last)["encoding"]
    if "units" not in found:
        expected = "one that was opened with a problem file; others have the methods of `Campaign`"
        raise InvalidInput("campaign", expected, f"{campaign!r}, which was not")
    return found


def first_actions(store: Store, campaign: str) -> Sequence[str] | None:
    """Return the actions with which a campaign was opened, of which its log has rows; None if that is not kept."""
    found: list[str] | None = read(next(iter(store.scan(campaign)))).get("actions")
    return found
