"""The book of receipts: which committed decisions still wait for their outcome."""

from __future__ import annotations

import secrets
import zlib
from dataclasses import dataclass, field

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats, Ints

_ROOM = 16


@dataclass
class Receipts:
    """Decisions are numbered as they are committed; each is settled once, in any order.

    The book has a number of its own, drawn at random, which goes with every receipt: no other state settles it. A copy
    of a state, and one that was saved and loaded, keep it. A receipt also bears a checksum of the replicas in which the
    decision counts, so that what is settled is what was committed, and not a copy that counts elsewhere.

    The flags from number `base` on are kept. Those at the front are dropped once they are settled, so that memory
    grows with the decisions since the oldest one that waits, and each decision costs a constant time on average.

    >>> book, counted = Receipts(), np.ones(1)
    >>> first, second = book.enter(counted), book.enter(counted)
    >>> book.settle(second, counted)
    >>> book.settle(second, counted)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: decision: expected one that waits for its outcome, got number 1, settled before
    """

    book: int = field(default_factory=lambda: secrets.randbits(62))  # decides nothing, so that it needs no seed
    base: int = 0
    count: int = 0
    settled: Bools = field(default_factory=lambda: np.zeros(_ROOM, bool))

    def enter(self, counted: Floats) -> Ints:
        """Number a decision, `()->(3)`: this book's number, the decision's in it, and the checksum."""
        if self.count - self.base == len(self.settled):
            done = self.settled.argmin() if not self.settled.all() else len(self.settled)
            kept = self.settled[done:]
            self.base += int(done)
            room = max(_ROOM, len(self.settled) * (2 if 2 * len(kept) > len(self.settled) else 1))
            self.settled = np.concatenate([kept, np.zeros(room - len(kept), bool)])
        self.count += 1
        return np.array([self.book, self.count - 1, _checksum(counted)])

    def settle(self, receipt: Ints, counted: Floats) -> None:
        """Settle a decision, `(3),()`.

        Raises:
            InvalidInput: one that was never committed here or was settled before, or that counted in other replicas.
        """
        book, number, checksum = receipt.tolist()
        expected = "one that waits for its outcome"
        if number < 0:
            raise InvalidInput("decision", expected, "one that was never committed")
        if book != self.book or number >= self.count:
            raise InvalidInput("decision", expected, f"number {number} of another state")
        if number < self.base or self.settled[number - self.base]:
            raise InvalidInput("decision", expected, f"number {number}, settled before")
        if checksum != _checksum(counted):
            raise InvalidInput("decision.counted", f"what it was when number {number} was committed", counted)
        self.settled[number - self.base] = True

    def waiting(self) -> Ints:
        """The numbers of the decisions that wait, in order."""
        return self.base + np.flatnonzero(~self.settled[: self.count - self.base])


def _checksum(counted: Floats) -> int:
    return zlib.crc32(counted.astype(bool).tobytes())
