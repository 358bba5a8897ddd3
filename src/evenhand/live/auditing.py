"""Audits of a log: every decision is recomputed from the events before it and compared with the stored one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.core import faces
from evenhand.core.checked import shown
from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.records import Context, Decision
from evenhand.core.validate import nonnegative
from evenhand.live.cases import Encoder, Named, Teacher
from evenhand.live.events import Conflict, Damaged, Event, Unknown, is_erased, read
from evenhand.live.fold import Fold
from evenhand.live.folding import Folding
from evenhand.live.folds import Folds
from evenhand.live.opening import Terms
from evenhand.live.packing import chances, pack
from evenhand.live.phases import Phase, Phases, begins
from evenhand.live.proof import Head, Proof, prove
from evenhand.live.stores.base import Store
from evenhand.live.stores.opening import as_store
from evenhand.live.switches import Switched, switches
from evenhand.live.versions import changes
from evenhand.policy.policy import Policy

_EXACT = ("a", "n", "f", "r", "late")  # plays and flags; the other entries of a decision are real numbers


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The findings of an audit; `print` shows them as sentences."""

    campaign: str
    events: int
    decisions: int
    unknown: int  # decisions of policies that were not given
    differing: int
    largest: float  # difference between a stored number and its recomputed value
    first: int | None  # the number of the first decision that differs
    erased: int  # decisions whose cases were erased
    between: int  # others between the first of these and the last erasure, whose states cannot be found again
    versions: tuple[str, ...]  # that differ from those with which the campaign was opened
    switches: tuple[Switched, ...]  # to other policies
    head: Head | None  # the last event, to be kept elsewhere and given to a later audit; None without hashes
    faults: tuple[str, ...]  # what contradicts the hashes of the log, its files, or a head that was kept elsewhere

    @property
    def clean(self) -> bool:
        """Whether all decisions that erasures leave were recomputed, none differs, and the log is as it was written."""
        return self.differing == 0 and self.unknown == 0 and not self.faults

    def __str__(self) -> str:
        found = [f"{self.campaign}: {faces.count(self.events, 'event')}, {faces.count(self.decisions, 'decision')}"]
        if self.unknown:
            found.append(f"{self.unknown:,} decisions of policies that were not given were not recomputed")
        if self.erased:
            others = f"; {self.between:,} others before the last erasure cannot be recomputed" if self.between else ""
            found.append(f"{faces.count(self.erased, 'decision')} erased{others}")
        if self.differing:
            found.append(f"{self.differing:,} decisions differ, the first is number {self.first}")
        elif self.decisions or not self.faults:
            found.append("every decision that was recomputed is as it was stored")
        if self.largest:
            found.append(f"the largest difference of a number is {self.largest:.2g}")
        found += [str(z) for z in self.switches]
        found += self.faults
        found.append(f"head {self.head}" if self.head else "its events have no hashes, as an earlier version wrote it")
        return "\n".join([*found, *self.versions])


def audit(
    store: str | Store,
    campaign: str,
    policies: Sequence[Policy],
    *,
    tolerance: float = 0.0,
    encoders: Sequence[Encoder] | None = None,
    teacher: Teacher | None = None,
    head: Head | str | None = None,
) -> Audit:
    """Recompute every decision of a campaign from the events before it.

    On the versions and the processor on which a campaign ran, decisions are reproduced bit for bit. Elsewhere the last
    bits of real numbers may differ; `tolerance` allows for that. Plays are compared exactly.

    Args:
        store: the store with the log.
        campaign: its name.
        policies: the policies that decided, in any order.
        tolerance: the largest accepted difference of probabilities, prices and other real numbers, relative to
            1 + their size.
        encoders: one for each policy, if cases are not stated by name.
        teacher: what the policy learned before the first decision.
        head: the head that an earlier audit printed, kept where nobody can change it together with the log.

    Raises:
        InvalidInput: the tolerance is not a finite number, `policies` is not a list of policies, or `head` is none.
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
        raise InvalidInput("policies", "a list of policies", shown(policies))
    kept = Head.of(head) if isinstance(head, str) else head
    place = as_store(store)
    proof = prove(place, campaign, kept)
    if proof.last == 0 and not proof.faults:
        raise Unknown(f"no campaign {campaign!r}; the store has {list(place.campaigns())}")
    try:
        found = _recomputed(place, campaign, policies, tolerance, encoders, teacher)
    except Exception as error:  # anything can be in a damaged log
        if not proof.faults:
            raise
        return of_damaged(campaign, proof, error)
    return replace(found, head=proof.head, faults=proof.faults)


def _recomputed(
    place: Store,
    campaign: str,
    policies: Sequence[Policy],
    tolerance: float,
    encoders: Sequence[Encoder] | None,
    teacher: Teacher | None,
) -> Audit:
    """Recompute every decision; the head and the faults of the log are left open."""
    first = next(iter(place.scan(campaign)), None)
    if first is None:
        raise Damaged(f"no event of campaign {campaign!r} can be read")
    each = encoders or [Named(policy) for policy in policies]
    terms, count = Terms.of(first), _Count(tolerance)
    if terms.taught != (None if teacher is None else teacher.mark):
        raise Conflict(f"campaign {campaign!r} learned from another log, or from none, before its first decision")
    given = [Phase(p, e) for p, e in zip(policies, each, strict=True)]
    phases = Phases(given, lambda event: None)  # files that the log keeps are given by who trusts them
    *_, erasure = None, *place.scan(campaign, kinds=("erased",))
    gone = _first_erased(place, campaign)
    folds = after = Folds(Folding(place, campaign, phases, terms, teacher, base=first))
    if erasure is not None:
        since = begins(place, campaign)[0]
        after = Folds(Folding(place, campaign, phases, terms, teacher, base=since), erasure)
    seq = 0
    for event in place.scan(campaign):
        if event.seq > after.last:
            break
        seq = event.seq
        if erasure is not None and event.seq >= gone:
            folds = after
            if event.seq <= erasure.seq:
                count.leave_out(event)
                continue
        body, context, again = dict[str, Any](), None, None
        if event.kind == "decided":
            body = read(event)
            context = folds.context(body, event.at)
            again = count.compare(event, body, folds.main, context)
        folds.apply(event, body, context, again)
    return Audit(
        campaign=campaign,
        events=seq,
        decisions=count.decisions,
        unknown=count.unknown,
        differing=count.differing,
        largest=count.largest,
        first=count.first,
        erased=count.erased,
        between=count.between,
        versions=changes(read(first)["versions"]),
        switches=tuple(switches(place, campaign)),
        head=None,
        faults=(),
    )


def _first_erased(place: Store, campaign: str) -> int:
    """Return the first decision that was erased, 0 if there is none."""
    return min((ref for e in place.scan(campaign, kinds=("erased",)) for ref in read(e)["decisions"]), default=0)


def of_damaged(campaign: str, proof: Proof, error: BaseException) -> Audit:
    """Return the audit of a log that is too damaged for its decisions to be recomputed."""
    kind = "" if isinstance(error, EvenhandError) else f"{type(error).__name__}: "
    faults = (*proof.faults, f"its decisions cannot be recomputed: {kind}{error}")
    return Audit(
        campaign=campaign,
        events=proof.last,
        decisions=0,
        unknown=0,
        differing=0,
        largest=0.0,
        first=None,
        erased=0,
        between=0,
        versions=(),
        switches=(),
        head=proof.head,
        faults=faults,
    )


class _Count:
    """Counts decisions and differences while an audit runs."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance, self.decisions, self.unknown, self.differing = tolerance, 0, 0, 0
        self.largest, self.first = 0.0, None
        self.erased = self.between = 0

    largest: float
    first: int | None

    def leave_out(self, event: Event) -> None:
        """Count a decision that cannot be recomputed."""
        if event.kind == "decided":
            self.decisions += 1
            self.erased += is_erased(event)
            self.between += not is_erased(event)

    def compare(
        self, event: Event, body: dict[str, Any], fold: Fold | None, context: Context | None
    ) -> Decision | None:
        """Make a decision again and compare it with the stored one; it is returned if it has the same bits."""
        self.decisions += 1
        if fold is None or context is None or body["by"] != fold.mark:
            self.unknown += 1
            return None
        decision = fold.decide(context)
        again = {**pack(decision), "late": int(fold.is_late(context))}
        again["late"] *= again["n"]
        again |= chances(fold.state) if "l" in body else {}  # earlier versions did not store them
        gap = 0.0
        for name, value in again.items():
            gap = max(gap, _gap(body.get(name, 0), value, exact=name in _EXACT))
        self.largest = max(self.largest, gap)
        if gap > self.tolerance:
            self.differing += 1
            self.first = event.seq if self.first is None else self.first
        return decision if gap == 0.0 else None


def _gap(stored: Any, again: Any, *, exact: bool) -> float:
    """Return the largest difference of two arrays, relative to 1 + their size; infinite if shapes or plays differ."""
    if stored == again:
        return 0.0
    a, b = (np.array(z, float) for z in (stored, again))  # None becomes NaN
    if exact or a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
        return math.inf
    return float(np.nanmax(np.abs(a - b) / (1.0 + np.abs(a))))
