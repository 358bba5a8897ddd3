"""The commands of the command line that read or serve the log of a campaign."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.audits import Audit, audit, of_damaged, of_segment
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.campaigns.exports import export
from evenhand.live.campaigns.files import Rows, kept_campaign, switch_campaign, taught, teacher_of, unused, weight_of
from evenhand.live.fold.coded import Stated, Text, of_stored
from evenhand.live.fold.limits import used_up
from evenhand.live.fold.opening import campaigns_of
from evenhand.live.fold.phases import Switched, switches
from evenhand.live.log.events import Unknown, read
from evenhand.live.log.proof import Head, prove, refuse
from evenhand.live.log.segments import is_segment, refuse_segment
from evenhand.live.log.store import Closing, Store
from evenhand.live.stores.opening import Place, connect, connect_to_read, refuse_own
from evenhand.live.worker.clocks import set_clock
from evenhand.live.worker.erasure import Erasure, time_of


def only_campaign(store: Store, campaign: str | None) -> str:
    """Return the name of the campaign to read, by default the only one in the store.

    Raises:
        Unknown: no such campaign.
        InvalidInput: there are several campaigns and none is named, or there is none; or the store is a segment.
    """
    name = _only(store, campaign)
    refuse_segment("store", store)
    return name


def _only(store: Store, campaign: str | None) -> str:
    """Return the name of the campaign to read, also of a segment."""
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


def note_unused(problem_path: Path, made: Campaign) -> None:
    """Print what a campaign leaves out of a problem file, if there is anything."""
    told = unused(Text.of(problem_path), made.life.after)
    if told is not None:
        print(f"note: {told}", file=sys.stderr)


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
        note_unused(problem_path, made)
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
    segments: Path | None = None,
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
        return made.erase(keys, before=date, by=note[0], why=note[1], segments=segments)
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
    name = _only(store, campaign)
    kept = None if head is None else Head.of(head)
    if is_segment(store, name):
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
    """Write the decisions of a campaign to a file; returns their number. See `evenhand.live.campaigns.exports.export`.

    Raises:
        Unknown, InvalidInput, MissingExtra: as for `only_campaign` and `export`; or the file is the store.
        Damaged: the log is damaged.
    """
    refuse_own("out", out, url)
    store = connect_to_read(url, segments)
    name = only_campaign(store, campaign)
    refuse(name, prove(store, name))
    return export(store, name, out, kind=kind, outcome=outcome, observed=observed, verbatim=verbatim)
