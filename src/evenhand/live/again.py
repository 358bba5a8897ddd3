"""A second fold with all corrections in their places, which advances a little at every request."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.live.events import encode
from evenhand.live.fold import Fold, Survey
from evenhand.live.folding import Folding, fits
from evenhand.live.stores.base import Transaction

TURN = 250  # events folded at once: some 30 milliseconds
_SKIMMED = 20 * TURN  # events that are read at once, and not folded
_AGE, _SHARE = 8, 1.5  # see `is_due`
QUIET = 60 * 10**6  # microseconds without an event, after which a storm is over


def is_due(folding: Folding, fold: Fold, now: int | None = None) -> bool:
    """Return whether corrections should be learned, given that folding again from before the first costs n events.

    Corrections wait until n / 8 more events came, as they come in storms, and until 2n / 3 came since the last mark. So
    the folds of corrections cost at most 1.5 times the fold of the log, also in an audit.

    In a campaign where nothing happened for a minute a storm is over: they do not wait for the former. Where the latter
    never comes, times count in place of numbers of events.

    Args:
        folding: of the worker.
        fold: its present fold.
        now: the time of the store in microseconds; None if events come.
    """
    if not fold.reach:
        return False
    quiet = now is not None and now - _at(folding, fold.seq) >= QUIET
    if not quiet and fold.seq - fold.first < (fold.seq - fold.reach) // _AGE:
        return False
    numbers = folding.store.snapshots(folding.name, folding.mark)
    start = max((number for number in numbers if number < fold.reach), default=max(fold.erased, fold.sealed))
    if fold.seq - start <= _SHARE * (fold.seq - fold.marked):
        return True
    if not quiet:
        return False
    assert now is not None
    return now - _at(folding, start) <= _SHARE * (now - _at(folding, fold.marked))


def _at(folding: Folding, seq: int) -> int:
    """Return the time of an event, of the first one where there is none with a number."""
    return next(iter(folding.store.scan(folding.name, max(seq - 1, 0)))).at


class Again:
    """Folds the log again from before the earliest corrected decision.

    Args:
        folding: of the worker.
        fold: its present fold.
    """

    def __init__(self, folding: Folding, fold: Fold) -> None:
        self._folding, self._survey = folding, Survey(folding.terms.on_expiry)
        self._base, self.known, self._reach = _base(fold), fold.seq, fold.reach
        self.fold, self._turns, self.is_long = folding.fresh(), self._go(), False
        self._last, self._most = fold.seq, TURN  # the events to fold in a turn

    def turn(self, last: int) -> None:
        """Fold some more committed events; `last` is the last one of the log, which is to be caught up with."""
        self._most, self._last = TURN + 2 * (last - self._last), last
        next(self._turns)

    def is_of(self, fold: Fold) -> bool:
        """Return whether a fold has the policies and corrections that this began with, and all events folded here.

        It has not where another worker was first, or the log is shorter than it was.
        """
        return self._base == _base(fold) and max(self.known, self.fold.seq) <= fold.seq

    def is_near(self, last: int) -> bool:
        """Return whether a transaction may fold the rest, up to the last event."""
        return self.fold.known == self.known and last - self.fold.seq <= TURN

    def close(self, log: Transaction) -> Fold:
        """Fold the rest, and write the mark after which all workers use this fold."""
        self.fold.fold(log.tail(self.fold.seq))
        event = log.append("refolded", encode({"known": self.known, "from": self._reach}))
        self.fold.apply(event)
        return self.fold

    def _go(self) -> Iterator[None]:
        folding = self._folding
        self.fold = self._start()
        self.is_long = self.known - self.fold.seq > TURN
        for event in folding.store.scan(folding.name, self.fold.seq):
            if event.seq > self.known:
                break
            self._survey.add(event)
            if event.seq % _SKIMMED == 0:
                yield
        self.fold.known, self.fold.corrected = self.known, self._survey.corrected(self.known, self.fold.erased)
        while True:
            begun = self.fold.seq
            for event in folding.store.scan(folding.name, begun):
                if event.seq > self._last:  # it may be the mark of another worker, which the next request meets
                    break
                self.fold.apply(event)
                if self.fold.seq - begun == self._most:
                    break
            yield

    def _start(self) -> Fold:
        """Return the fold of the latest snapshot before the first decision that was corrected, or else the first."""
        folding = self._folding
        for fold, ahead in folding.kept(self._reach):
            marks = folding.survey(folding.store.scan(folding.name, fold.seq, ("switched", "refolded"))).marks
            if fits(fold, ahead, marks):
                return fold
        return folding.begun()


def _base(fold: Fold) -> tuple[int, int, int]:
    """What a fold of the log begins with, and the corrections in it."""
    return fold.base, fold.known, fold.erased
