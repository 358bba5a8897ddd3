"""The policies of a campaign, one after another, and the switches between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.types import Floats
from evenhand.live.fold.cases import Encoder, alike, same_cases
from evenhand.live.fold.column_encoder import ColumnEncoder, policy_of_campaign
from evenhand.live.log.events import Conflict, Event, read
from evenhand.live.log.store import Readable
from evenhand.models.base import by_action
from evenhand.policy.policy import Policy

BOOKS = "books"  # how a policy adopts that goes on with the sums of a state, and learns again


class Switched(NamedTuple):
    """A switch to another policy."""

    number: int  # of the event
    at: int  # microseconds since 1970
    policy: str  # its name
    adopts: bool | str  # whether the policy adopted the state, or "books"; the log was folded anew else
    because: str | None  # why it could not
    by: str | None
    why: str | None
    unlearned: int | None = None  # decisions with outcomes of which a policy that adopted the books could not learn

    @staticmethod
    def of(event: Event) -> Switched:
        """Read an event `switched`."""
        body = read(event)
        return Switched(
            event.seq,
            event.at,
            str(body.get("name", "")),
            body["adopts"],
            *(body.get(z) for z in ("because", "by", "why", "unlearned")),
        )

    def __str__(self) -> str:
        by = f" by {escape(self.by)}" if self.by else ""
        why = f" ({escape(self.why)})" if self.why else ""
        how = f"it adopted {self.adoption}" if self.adopts else "the log was folded anew"
        return f"event {self.number}: switched to policy {self.policy!r}{by}{why}; {how}"

    @property
    def adoption(self) -> str:
        """The part that the policy took over, in words: the state, the books, or the log folded anew."""
        if self.adopts == BOOKS:
            return f"the books, and learned again, but not from {self.unlearned:,} decisions"
        return "the state" if self.adopts else "the log, folded anew"


def escape(text: str) -> str:
    """Escape characters that are not printable, such as new lines, which earlier versions took.

    >>> escape("Ada\\nevent 99"), escape("Jürgen")
    ('Ada\\\\nevent 99', 'Jürgen')
    """
    return "".join(z if z.isprintable() else repr(z)[1:-1] for z in text)


def policies(store: Readable, campaign: str) -> dict[str, str]:
    """Return the names of all policies that decided, by their fingerprints."""
    begun = (read(event) for event in store.scan(campaign, kinds=("opened", "switched")))
    return {body.get("first") or body["mark"]: str(body.get("name", "")) for body in begun}


def switches(store: Readable, campaign: str) -> list[Switched]:
    """Return the switches of a campaign, in order."""
    return [Switched.of(event) for event in store.scan(campaign, kinds=("switched",))]


class MissingPolicy(Conflict):
    """The log cannot be folded without an earlier policy, which was not given and whose problem file is not kept."""


@dataclass(frozen=True)
class Phase:
    """A policy that decides from an event on, and the encoder of its cases."""

    policy: Policy
    encoder: Encoder

    @cached_property
    def mark(self) -> str:
        return self.policy.fingerprint()


class Stated(NamedTuple):
    """The amounts of the policy that an event begins, None where nothing tells them."""

    declared: Floats | None = None  # known outcomes by action, which decisions have that state none of their own, (A,L)
    fallback: Floats | None = None  # by which decisions were settled that expired while it ran, (M+B)


class Phases:
    """Finds the policy that begins with an event.

    Args:
        given: policies, in any order.
        rebuild: makes one that was not given, None if it cannot; by default of the problem file that its event keeps.
    """

    def __init__(self, given: Iterable[Phase], rebuild: Callable[[Event], Phase | None] | None = None) -> None:
        self._given = {phase.mark: phase for phase in given}
        self._rebuild, self._rebuilt = rebuild or phase_of, dict[int, Phase | None]()
        self._stated = dict[str, Stated]()

    def give(self, phase: Phase) -> None:
        """Add a policy."""
        self._given[phase.mark] = phase

    def of(self, event: Event) -> Phase | None:
        """Return the policy that an event `opened` or `switched` begins, None if it is not known."""
        saved = read(event)["encoding"]
        given = self._given.get(mark_in(event))
        if given is not None and alike(given.encoder, saved):
            return given
        if given is not None and isinstance(given.encoder, ColumnEncoder) and same_cases(given.encoder, saved):
            return Phase(given.policy, given.encoder.with_lease(saved.get("lease")))  # other counters of the same total
        if event.seq not in self._rebuilt:
            self._rebuilt[event.seq] = self._rebuild(event)
        return self._rebuilt[event.seq]

    def stated(self, store: Readable, campaign: str, mark: str) -> Stated:
        """Return the amounts of the policy of a fingerprint.

        The event that began it states them. Where an earlier version wrote that, they are those of the policy.
        """
        if mark not in self._stated:
            for event in store.scan(campaign, kinds=("opened", "switched")):
                if mark_in(event) == mark:
                    self._stated[mark] = self._stated_at(event)
        return self._stated.get(mark, Stated())

    def fallback(self, store: Readable, campaign: str, seq: int) -> Floats | None:
        """Return the fallbacks of the policy that ran at an event, None if nothing tells them."""
        begun = takewhile(lambda event: event.seq < seq, store.scan(campaign, kinds=("opened", "switched")))
        return self.stated(store, campaign, [mark_in(event) for event in begun][-1]).fallback

    def _stated_at(self, event: Event) -> Stated:
        body, phase = read(event), self.of(event)
        own = Stated() if phase is None else Stated(phase.policy.problem.declared, phase.policy.problem.fallback)
        each = (np.array(body[z], float) if z in body else getattr(own, z) for z in Stated._fields)  # None becomes NaN
        return Stated(*each)


def phase_of(event: Event) -> Phase | None:
    """Rebuild a policy of the problem file that its event keeps, None if there is none."""
    saved = read(event)["encoding"]
    if "units" not in saved:
        return None
    try:
        found = Phase(*policy_of_campaign(saved))
    except EvenhandError:  # a file of an earlier version, which this one does not read
        return None
    return found if found.mark == mark_in(event) else None


def stated(policy: Policy) -> dict[str, Any]:
    """Return the amounts of a policy, for the body of the event that begins it."""
    problem = policy.problem
    known = {"declared": problem.declared.tolist()} if problem.known else {}
    return known | {"fallback": [None if z != z else z for z in problem.fallback.tolist()]}


def mark_in(event: Event) -> str:
    """Return the fingerprint of the policy that an event `opened` or `switched` begins."""
    body = read(event)
    found: str = body["first"] if event.kind == "opened" else body["mark"]
    return found


def adopts(event: Event) -> bool:
    """Return whether an event `switched` adopts the state; the log is folded anew at others."""
    return event.kind == "switched" and bool(read(event)["adopts"])


def adopts_books(event: Event) -> bool:
    """Return whether an event `switched` adopts the books alone, and learns again from what the log still has."""
    return event.kind == "switched" and read(event)["adopts"] == BOOKS


def begins(store: Readable, campaign: str) -> list[Event]:
    """Return the events that begin the policies of the fold: the last that folds the log anew, and later adoptions.

    Raises:
        Unknown: there is no such campaign.
    """
    found: list[Event] = []
    for event in store.scan(campaign, kinds=("opened", "switched")):
        found = [*found, event] if adopts(event) else [event]
    return found


def missing_policy(campaign: str, event: Event) -> MissingPolicy:
    """Make the error for a policy that is not known."""
    body = read(event)
    policy = f"policy {body.get('name')!r} ({mark_in(event)}), which decides from event {event.seq} on{signature(body)}"
    expected = "open it with all policies that it was switched from, and the present one last"
    return MissingPolicy(f"{campaign!r}: {policy}, was not given: {expected}")


def signature(body: dict[str, object]) -> str:
    """Say who switched a campaign and why, as far as its event states it.

    >>> signature({"by": "Ada", "why": "half of the budget"}), signature({})
    (', switched by Ada (half of the budget)', '')
    """
    by, why = (None if body.get(z) is None else escape(str(body[z])) for z in ("by", "why"))
    return (f", switched by {by}" if by else ", switched" if why else "") + (f" ({why})" if why else "")


def same_features(old: Encoder, new: Encoder) -> bool:
    """Return whether two encoders encode every case with the same features for the actions that both have.

    These may be followed by features of appended actions, which are 0 for the others.
    """
    if not same_cases(new, old.to_dict()):
        return False
    if isinstance(old, ColumnEncoder) and isinstance(new, ColumnEncoder):  # and otherwise names are read alike
        before, now = old.layout, new.layout[: len(old.layout)]
        return np.array_equal(before, now[:, : before.shape[1]]) and bool((now[:, before.shape[1] :] == -1).all())
    return True


def same_contexts(old: Phase, new: Phase) -> bool:
    """Return whether contexts that goals of one policy keep are those that the other one would have."""
    before, now = old.policy, new.policy
    of_problem = [
        (p.problem.features, p.problem.actions, p.problem.described, p.model.n_features, by_action(p.model))
        for p in (before, now)
    ]
    same = of_problem[0] == of_problem[1] and np.array_equal(before.problem.declared, now.problem.declared)
    return same and same_features(old.encoder, new.encoder)
