"""Folds of a log with a policy, resumed from snapshots where there are any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from evenhand.live.cases import Encoder, Teacher
from evenhand.live.events import Event
from evenhand.live.fold import Fold, Rewritten, corrections
from evenhand.live.opening import Terms
from evenhand.live.snapshots import BrokenSnapshot, dump, restore
from evenhand.live.stores.base import Store
from evenhand.policy.policy import Policy

Events = Callable[[int], Iterable[Event]]  # those after a number, in order
MOST = 16  # snapshots that are kept


@dataclass(frozen=True)
class Folding:
    """How the log of a campaign is folded.

    Args:
        store: where its log and its snapshots are.
        name: of the campaign.
        policy: that decides now.
        encoder: makes contexts of cases.
        terms: of the campaign.
        teacher: what the policy learns before the first decision.
    """

    store: Store
    name: str
    policy: Policy
    encoder: Encoder
    terms: Terms
    teacher: Teacher | None

    @cached_property
    def mark(self) -> str:
        """The fingerprint of the policy."""
        return self.policy.fingerprint()

    def of(self, events: Events, before: int | None = None) -> Fold:
        """The fold of some first events of the log.

        It begins with the last snapshot whose events nothing changed since: an outcome that is revised, or that comes
        after its expiry was settled, asks for one before its decision.

        Args:
            events: those after a number.
            before: only snapshots of fewer events are of use.
        """
        while (kept := self.store.snapshot(self.name, self.mark, before)) is not None:
            fold, before = self.fresh(), kept[0]
            try:
                restore(fold, kept[1])
            except BrokenSnapshot:  # a cache, which is of no use
                continue
            if next(iter(events(fold.seq - 1)), None) is None:  # it is ahead of the log
                continue
            try:
                return _filled(fold, events)
            except Rewritten as error:
                before = min(before, error.ref)
        return self.whole(events)

    def whole(self, events: Events) -> Fold:
        """The fold of some first events of the log, from its beginning."""
        return _filled(self.taught(), events)

    def taught(self) -> Fold:
        """A fold of no events, whose policy learned what it learns before the first decision."""
        fold = self.fresh()
        if self.teacher is not None:
            self.teacher.teach(self.policy, self.encoder, fold.state)
        return fold

    def fresh(self) -> Fold:
        """A fold of no events."""
        terms = self.terms
        return Fold(
            policy=self.policy, mark=self.mark, encoder=self.encoder, seed=terms.seed, on_expiry=terms.on_expiry
        )

    def keep(self, fold: Fold) -> int:
        """Keep a snapshot of a fold; returns how many bytes it has.

        Raises:
            CannotSave: a part of the state says that it cannot be written as arrays.
            Busy: the store cannot be written.
        """
        blob, numbers = dump(fold), self.store.snapshots(self.name, self.mark)
        self.store.keep(self.name, self.mark, fold.seq, blob, drop=surplus(numbers))
        return len(blob)


def _filled(fold: Fold, events: Events) -> Fold:
    """The fold after all events; what is written meanwhile is for the next time."""
    fold.since = fold.seq
    fold.corrected, fold.known = corrections(events(fold.seq), fold.seq)
    fold.fold(event for event in events(fold.seq) if event.seq <= fold.known)
    return fold


def surplus(numbers: Sequence[int]) -> Sequence[int]:
    """Which snapshots to drop, so that many of recent states remain, and some of older ones.

    >>> surplus(range(10)), list(surplus(range(16)))
    ((), [1, 3, 5, 7])
    """
    return () if len(numbers) < MOST else numbers[: MOST // 2][1::2]
