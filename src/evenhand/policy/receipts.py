"""The book of receipts: which committed decisions still wait for their outcome."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Ints

_ROOM = 16


@dataclass
class Receipts:
    """Decisions are numbered as they are committed; each is settled once, in any order.

    The flags from number `base` on are kept. Those at the front are dropped once they are settled, so that memory
    grows with the decisions since the oldest one that waits, and each decision costs a constant time on average.

    >>> book = Receipts()
    >>> [book.enter(), book.enter()]
    [0, 1]
    >>> book.settle(1)
    >>> book.settle(1)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: decision: expected one that waits for its outcome, got number 1, settled before
    """

    base: int = 0
    count: int = 0
    settled: Bools = field(default_factory=lambda: np.zeros(_ROOM, bool))

    def enter(self) -> int:
        """Number a decision."""
        if self.count - self.base == len(self.settled):
            done = self.settled.argmin() if not self.settled.all() else len(self.settled)
            kept = self.settled[done:]
            self.base += int(done)
            room = max(_ROOM, len(self.settled) * (2 if 2 * len(kept) > len(self.settled) else 1))
            self.settled = np.concatenate([kept, np.zeros(room - len(kept), bool)])
        self.count += 1
        return self.count - 1

    def settle(self, number: int) -> None:
        """Settle a decision.

        Raises:
            InvalidInput: one that was never committed here, or was settled before.
        """
        expected = "one that waits for its outcome"
        if number < 0 or number >= self.count:
            said = "one that was never committed" if number < 0 else f"number {number}, of another state"
            raise InvalidInput("decision", expected, said)
        if number < self.base or self.settled[number - self.base]:
            raise InvalidInput("decision", expected, f"number {number}, settled before")
        self.settled[number - self.base] = True

    def waiting(self) -> Ints:
        """The numbers of the decisions that wait, in order."""
        return self.base + np.flatnonzero(~self.settled[: self.count - self.base])
