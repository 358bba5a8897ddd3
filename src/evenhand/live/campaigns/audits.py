"""Audits of a log: every decision is recomputed from the events before it and compared with the stored one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from evenhand.core import texts
from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.signatures import value_text
from evenhand.core.validate import nonnegative
from evenhand.live.fold.cases import Encoder, NameEncoder, Teacher
from evenhand.live.fold.event_schema import naming_damage
from evenhand.live.fold.first_event import refuse_pool
from evenhand.live.fold.fold import StaleFold
from evenhand.live.fold.phases import Phase, Switched, switches
from evenhand.live.fold.recomputation import AuditInput, recompute
from evenhand.live.log.events import Damaged, Unknown, read
from evenhand.live.log.ids import Ids, Restored
from evenhand.live.log.proof import Head, Proof, prove
from evenhand.live.log.segments import LINK
from evenhand.live.log.store import Readable, Store
from evenhand.live.log.versions import changes
from evenhand.live.stores.opening import Place
from evenhand.policy.policy import Policy
from evenhand.run.parallel import check_jobs


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The findings of an audit; `print` shows them as sentences."""

    campaign: str
    events: int
    decisions: int
    unknown: int  # decisions of policies that were not given
    differing: int
    largest: float  # difference between a stored number and its recomputed value
    first: int | None  # the id of the first decision that differs
    erased: int  # decisions whose cases were erased
    between: int  # others before the state with which folds begin, whose states cannot be found again
    sealed: int  # decisions in segments that were not given
    versions: tuple[str, ...]  # that differ from those with which the campaign was opened
    switches: tuple[Switched, ...]  # to other policies
    restores: tuple[Restored, ...]  # from backups: decisions after each backup may be missing
    head: Head | None  # the last event, to be kept elsewhere and given to a later audit; None if the log is empty
    faults: tuple[str, ...]  # what contradicts the hashes of the log, its files, or a head that was kept elsewhere
    segment: int | None = None  # the first event of a segment that was read alone, of which nothing is recomputed

    @property
    def clean(self) -> bool:
        """Whether all decisions that erasures leave were recomputed, none differs, and the log is as it was written."""
        return self.differing == 0 and self.unknown == 0 and not self.faults

    def to_dict(self) -> dict[str, object]:
        """Return the findings by the names above, with `clean`, and the head as NUMBER:HASH."""
        marks = {"switches": [z._asdict() for z in self.switches], "restores": [z._asdict() for z in self.restores]}
        return vars(self) | marks | {"clean": self.clean, "head": None if self.head is None else str(self.head)}

    def __str__(self) -> str:
        if self.segment is not None:
            return "\n".join(self._of_segment(self.segment))
        found = [f"{self.campaign}: {texts.count(self.events, 'event')}, {texts.count(self.decisions, 'decision')}"]
        if self.unknown:
            found.append(f"{self.unknown:,} decisions of policies that were not given were not recomputed")
        if self.sealed:
            message = "are in segments that were not read, and were not recomputed"
            between = f"; nor were {self.between:,} after them" if self.between and not self.erased else ""
            found.append(f"{texts.count(self.sealed, 'decision')} {message}{between}")
        if self.erased:
            others = f"; {self.between:,} others before the last erasure cannot be recomputed" if self.between else ""
            found.append(f"{texts.count(self.erased, 'decision')} erased{others}")
        if self.differing:
            found.append(f"{self.differing:,} decisions differ, the first is number {self.first}")
        elif self.decisions or not self.faults:
            found.append("every decision that was recomputed is as it was stored")
        if self.largest:
            found.append(f"the largest difference of a number is {self.largest:.2g}")
        marks: list[Restored | Switched] = [*self.restores, *self.switches]
        found += map(str, sorted(marks, key=lambda z: z.number))
        found += self.faults
        return "\n".join([*found, *([f"head {self.head}"] if self.head else []), *self.versions])

    def _of_segment(self, first: int) -> list[str]:
        message = f"events {first:,} to {first + self.events - 1:,}, {texts.count(self.decisions, 'decision')}"
        hashes = self.faults or ("its hashes are right",)
        rest = "nothing was recomputed, as it is a segment: audit the store it is of, with --segments FOLDER"
        return [f"{self.campaign}: {message}", *hashes, rest, *([f"head {self.head}"] if self.head else [])]


def audit(
    store: str | Store | Place,
    campaign: str,
    policies: Sequence[Policy],
    *,
    tolerance: float = 0.0,
    encoders: Sequence[Encoder] | None = None,
    teacher: Teacher | None = None,
    head: Head | str | None = None,
    jobs: int = 1,
) -> Audit:
    """Recompute every decision of a campaign from the events before it.

    On the versions and the processor on which a campaign ran, decisions are reproduced bit for bit. Elsewhere the last
    bits of real numbers may differ; `tolerance` allows for that. Plays are compared exactly.

    Args:
        store: the store with the log, or its URL, which is read without writing; or a `Place` that has the folder of
            its segments as well. Without it, the audit begins with the state and the hash that the last seal states.
        campaign: its name.
        policies: the policies that decided, in any order.
        tolerance: the largest accepted difference of probabilities, prices and other real numbers, relative to
            1 + their size.
        encoders: one for each policy, if cases are not stated by name.
        teacher: what the policy learned before the first decision.
        head: the head that an earlier audit printed, kept where nobody can change it together with the log.
        jobs: the processes that share the work, from one snapshot to the next; `store` is then a URL.

    Raises:
        InvalidInput: the tolerance is not a finite number, `policies` is not a list of policies, `head` is invalid,
            `jobs` is not in [1, 1024], or is above 1 where `store` is not a URL that processes can share; or the
            name of a pool.
        Unknown: no such campaign.
        Conflict: the policy learned from other data before the first decision.

    >>> import evenhand as eh
    >>> coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    >>> from evenhand.live.stores.memory import MemoryStore
    >>> store, policy = MemoryStore(), eh.resolving(coin, eh.PerAction.of(coin))
    >>> campaign = eh.Campaign.open(store, "coins", policy)
    >>> for i in range(3):
    ...     _ = campaign.observe(campaign.decide({}, key=f"coin {i}").id, {"gain": i % 2})
    >>> found = audit(store, "coins", [policy])
    >>> found.decisions, found.clean, found.head.seq
    (3, True, 7)
    """
    nonnegative("tolerance", tolerance)
    if not isinstance(policies, Sequence) or not all(isinstance(policy, Policy) for policy in policies):
        raise InvalidInput("policies", "a list of policies", value_text(policies))
    saved = Head.of(head) if isinstance(head, str) else head
    check_jobs(jobs)
    phases = [Phase(p, e) for p, e in zip(policies, encoders or map(NameEncoder, policies), strict=True)]
    given = AuditInput(store, campaign, phases, teacher, tolerance)
    place = given.place
    proof = prove(place, campaign, saved)
    if proof.last == 0 and not proof.faults:
        raise Unknown(f"no campaign {campaign!r}; the store has {list(place.campaigns())}")
    try:
        with naming_damage(place, campaign):
            refuse_pool(place, campaign)
            count = recompute(given, jobs)
            versions = changes(read(next(iter(place.scan(campaign))))["versions"])
            switched, ids = tuple(switches(place, campaign)), Ids.in_log(place, campaign)
    except Exception as error:  # anything can be in a damaged log
        if not (proof.faults or isinstance(error, StaleFold)):  # what the log says that it has, is not there
            raise
        return damage_audit(campaign, proof, error)
    return Audit(
        campaign=campaign,
        events=count.events,
        decisions=count.decisions,
        unknown=count.unknown,
        differing=count.differing,
        largest=count.largest,
        first=None if count.first is None else ids.of(count.first),
        erased=count.erased,
        between=count.between,
        sealed=count.sealed,
        versions=versions,
        switches=switched,
        restores=ids.restores,
        head=proof.head,
        faults=(*proof.faults, *(f"seal {z} keeps another state than the log folds to" for z in count.apart)),
    )


def damage_audit(campaign: str, proof: Proof, error: BaseException) -> Audit:
    """Return the audit of a log that is too damaged for its decisions to be recomputed."""
    kind = "" if isinstance(error, EvenhandError) else f"{type(error).__name__}: "
    return _of_hashes(campaign, proof, proof.last, (f"its decisions cannot be recomputed: {kind}{error}",))


def of_segment(store: Readable, campaign: str, proof: Proof) -> Audit:
    """Return the audit of a segment alone, whose decisions cannot be recomputed without the events before it."""
    link, decisions = store.snapshot(campaign, LINK), 0
    before = 0 if link is None else link[0]
    with suppress(Damaged):  # which the proof says
        decisions = sum(1 for _ in store.scan(campaign, kinds=("decided",)))
    found = _of_hashes(campaign, proof, proof.last - before, ())
    return replace(found, decisions=decisions, segment=before + 1)


def _of_hashes(campaign: str, proof: Proof, events: int, more: tuple[str, ...]) -> Audit:
    return Audit(
        campaign=campaign,
        events=events,
        decisions=0,
        unknown=0,
        differing=0,
        largest=0.0,
        first=None,
        erased=0,
        between=0,
        sealed=0,
        versions=(),
        switches=(),
        restores=(),
        head=proof.head,
        faults=(*proof.faults, *more),
    )
