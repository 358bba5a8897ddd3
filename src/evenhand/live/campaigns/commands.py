"""The command line's operations on stores and campaigns: audits, switches, erasures, seals, exports, reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import InvalidInput
from evenhand.core.progress import SCREEN
from evenhand.core.records import Context
from evenhand.live.campaigns.audits import Audit, audit, damage_audit, of_segment
from evenhand.live.campaigns.backups import archive
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.campaigns.exports import export
from evenhand.live.campaigns.files import (
    Rows,
    continue_campaign,
    horizon_difference,
    switch_campaign,
    taught,
    teacher_of,
    weight_of,
)
from evenhand.live.campaigns.seals import Seal
from evenhand.live.fold.cases import Case, context_of
from evenhand.live.fold.changes import Ask, refuse_unerasable
from evenhand.live.fold.column_encoder import ColumnEncoder, FilePolicy, Text, policy_of_campaign
from evenhand.live.fold.first_event import campaigns_of, refuse_no_fallback
from evenhand.live.fold.limits import exhausted_budgets, refuse_soft
from evenhand.live.fold.phases import Switched, begins, mark_in, phase_of, switches
from evenhand.live.log.events import Conflict, Unknown, read
from evenhand.live.log.life import LIFE, Life
from evenhand.live.log.proof import Head, prove, refuse
from evenhand.live.log.segments import is_segment, refuse_segment
from evenhand.live.log.store import CloseableStore, Store
from evenhand.live.log.versions import deciding_version, other_version
from evenhand.live.stores.opening import Place, connect, connect_to_read, refuse_own
from evenhand.live.worker.erasure import Erasure, time_of
from evenhand.offline.saved_policies import Saved
from evenhand.problem.end import After
from evenhand.version import __version__


def sole_campaign(store: Store, campaign: str | None) -> str:
    """Return the name of the campaign to read, by default the only one in the store.

    Raises:
        Unknown: no such campaign.
        InvalidInput: there are several campaigns and none is named, or there is none; or the store is a segment.
    """
    name = _sole_name(store, campaign)
    refuse_segment("store", store)
    return name


def _sole_name(store: Store, campaign: str | None) -> str:
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


def policies(store: Store, campaign: str) -> list[FilePolicy]:
    """Rebuild the policies of the problem files that a campaign stored, in the order in which they decided."""
    saved = [read(event)["encoding"] for event in store.scan(campaign, kinds=("opened", "switched"))]
    return [policy_of_campaign(z) for z in saved if "units" in z]


def print_unused(problem_path: Path, made: Campaign) -> None:
    """Print the settings of a problem file that a campaign leaves out, if there are any."""
    message = horizon_difference(Text.of(problem_path), made.life.after)
    if message is not None:
        SCREEN.say(f"note: {message}")


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
        Unknown, InvalidInput: as for `sole_campaign`; or as for `switch_campaign`.
        Conflict, Busy: as for `switch_campaign`.
    """
    with closing(connect_to_read(url)) as store:  # so that no store is made
        name = sole_campaign(store, campaign)
        before = len(switches(store, name))
    with switch_campaign(url, name, problem_path, log_path=log_path, by=by, why=why, expected=expected) as made:
        found = switches(made.store, name)
        print_unused(problem_path, made)
        for message in exhausted_budgets(made.status()):
            SCREEN.say(f"note: {message}")
    if len(found) == before:
        return None
    return found[-1]


def write_report(url: str, campaign: str | None, out: Path, log_path: Path | None = None) -> None:
    """Write the dashboard of a campaign from a problem file.

    Raises:
        Unknown, InvalidInput: as for `sole_campaign`; or the file cannot be written, or is the store.
        Damaged: the log is damaged.
        Conflict: the policy learned from another log.
    """
    refuse_own("out", out, url)
    store = connect_to_read(url)
    name = sole_campaign(store, campaign)
    refuse(name, prove(store, name))
    continue_campaign(store, name, teacher_of(store, name, log_path)).save_report(out)


def erase_file(
    url: str,
    campaign: str | None,
    keys: Sequence[str],
    units: Sequence[str],
    before: str | None,
    note: tuple[str, str] = ("", ""),
    log_path: Path | None = None,
    segments: Path | None = None,
) -> Erasure:
    """Erase decisions of a campaign from a problem file; `note` says by whom and why. See `Campaign.erase`.

    Raises:
        Unknown, InvalidInput: as for `sole_campaign` and `Campaign.erase`; or the date is invalid.
        Conflict, CannotErase, Busy: as for `Campaign.erase`; or the policy learned from another log.
    """
    date = None if before is None else time_of(before)
    with closing(connect_to_read(url)) as store:
        name = sole_campaign(store, campaign)
    place = connect(url)
    try:
        made = continue_campaign(place, name, teacher_of(place, name, log_path))
        return made.erase(keys, units=units, before=date, by=note[0], why=note[1], segments=segments)
    finally:
        if isinstance(place, CloseableStore):
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
        Unknown, InvalidInput: as for `sole_campaign`; or no policy is known, or `head` is not NUMBER:HASH.
        Conflict: the policy learned from another log.
    """
    store = connect_to_read(url, segments)
    name = _sole_name(store, campaign)
    saved = None if head is None else Head.of(head)
    if is_segment(store, name):
        return of_segment(store, name, prove(store, name, saved))
    try:
        each = policies(store, name)
        if problem_paths and each:
            begun = each if each[0].coded.lease is not None else each[:1]  # files say nothing of leased totals
            each = [policy_of_campaign(z.coded.to_dict(), Text.of(path)) for path in problem_paths for z in begun]
        teacher = taught(store, name, None) if log_path is None else Rows(log_path, weight_of(store, name))
    except Exception as error:  # anything can be in a damaged log
        proof = prove(store, name, saved)
        if not proof.faults:
            raise
        return damage_audit(name, proof, error)
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
        head=saved,
        jobs=jobs,
    )


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
        Unknown, InvalidInput, MissingExtra: as for `sole_campaign` and `export`; or the file is the store.
        Damaged: the log is damaged.
    """
    refuse_own("out", out, url)
    store = connect_to_read(url, segments)
    name = sole_campaign(store, campaign)
    refuse(name, prove(store, name))
    return export(store, name, out, kind=kind, outcome=outcome, observed=observed, verbatim=verbatim)


@dataclass(frozen=True, kw_only=True)
class StoredProblem:
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
        """Yield notes for editors of the file, in sentences."""
        since = "since the campaign began" if self.switched is None else f"since {self.switched}"
        yield f"{self.campaign} decides by {self.text.name} {since}"
        yield f"`evenhand switch --expected {self.mark}` is refused if somebody else switches meanwhile"
        message = horizon_difference(self.text, self.after)
        if message is not None:
            yield message
        if self.leased:
            yield "leased budgets have the totals that the pool grants, not those of the file"


def stored_problem(url: str, campaign: str | None = None) -> StoredProblem:
    """Return the problem file that decides at present.

    Args:
        url: of the store, which is only read.
        campaign: its name, by default the only one in the store.

    Raises:
        Unknown, InvalidInput: as for `sole_campaign`; or the campaign was not opened with a problem file.
    """
    with closing(connect_to_read(url)) as store:
        name = sole_campaign(store, campaign)
        last = begins(store, name)[-1]
        saved = read(last)["encoding"]
        if "file" not in saved:
            raise InvalidInput("campaign", "one that was opened with a problem file", f"{name!r}, which was not")
        return StoredProblem(
            campaign=name,
            text=Text(*saved["file"]),
            mark=mark_in(last),
            switched=Switched.of(last) if last.kind == "switched" else None,
            leased="lease" in saved,
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
        name = sole_campaign(found, campaign)
        refuse(name, prove(found, name))
        made = continue_campaign(found, name, teacher_of(found, name, None if log_path is None else Path(log_path)))
        fold = made._worker.fold
        at = next(found.scan(name, fold.seq - 1)).at
    coded, clock = fold.encoder, fold.policy.problem.clock
    assert isinstance(coded, ColumnEncoder)  # as it is of a problem file

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
        Unknown, InvalidInput: as for `sole_campaign`; or there is no such store; or as for `refuse_soft` and
            `refuse_no_fallback`.
        Ended: the campaign has ended.
        Conflict: another version of evenhand decides for it.
        Busy: the store cannot be written.
    """
    with closing(connect_to_read(url)) as found:
        name = sole_campaign(found, campaign)
    store = connect(url)
    try:
        with store.write(name) as log:
            version = deciding_version(store, name)
            if version != __version__:
                raise Conflict(f"{name!r}: {other_version(version)}")
            if (stated := phase_of(begins(store, name)[-1])) is not None:
                if ask.after == "go on":
                    refuse_soft("after", stated.policy)
                if ask.retention not in (None, "off"):
                    refuse_unerasable(store, name, log, stated)
                if ask.on_expiry == "fallback":
                    refuse_no_fallback(stated.policy)
            life = Life.of(store.scan(name, kinds=("opened", *LIFE)))
            body = ask.body(life)
            if body is not None:
                life = life.apply(log.append(ask.kind, body))
    finally:
        if isinstance(store, CloseableStore):
            store.close()
    settings = f"patience {life.patience:g} s, on expiry {life.on_expiry}, after the horizon {life.after}"
    settings += "" if life.retention == "off" else f", cases {life.retention_text}"
    return f"{name}: {life.summary}; {settings}{'' if body is not None else ' (as before)'}"


def seal_file(
    url: str, campaign: str | None, folder: Path, before: str | None, by: str, why: str, log_path: Path | None = None
) -> Seal:
    """Move old events of a campaign of a problem file to a segment; see `Campaign.seal`.

    Raises:
        Unknown, InvalidInput: as for `sole_campaign` and `Campaign.seal`; or the date is invalid.
        Conflict, CannotSave, Busy: as for `Campaign.seal`; or the policy learned from another log.
    """
    end = None if before is None else int(before) if before.isdecimal() else time_of(before)
    with closing(connect_to_read(url)) as found:
        name = sole_campaign(found, campaign)
    store = connect(url)
    try:
        made = continue_campaign(store, name, teacher_of(store, name, log_path))
        return made.seal(folder, by=by, why=why, before=end)
    finally:
        if isinstance(store, CloseableStore):
            store.close()


def write_archive(url: str, campaign: str | None, out: Path) -> str:
    """Archive a campaign, by default the only one in the store; returns its name and head. See `archive`."""
    with closing(connect_to_read(url)) as found:
        name = sole_campaign(found, campaign)
    return f"{name}: head {archive(url, out, name)}"
