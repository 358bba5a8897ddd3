"""The book of receipts: which committed decisions still wait for their outcome."""

from __future__ import annotations

import secrets
import zlib
from dataclasses import dataclass, field

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats, Ints

_ROOM = 16


@dataclass
class Receipts:
    """Decisions are numbered as they are committed; each is settled once, in any order.

    Every receipt bears a token, drawn at random, which the book keeps until the receipt is settled. So a decision of
    another state is refused, and so is one that was committed after the state was copied, or after it was saved, if
    the copy or the file is used. A receipt also bears a checksum of the replicas in which the decision counts, so that
    what is settled is what was committed.

    The tokens from number `base` on are kept. Those at the front are dropped once they are settled, so that memory
    grows with the decisions since the oldest one that waits, and each decision costs a constant time on average.

    >>> book, counted = Receipts(), np.ones(1)
    >>> first, second = book.enter(counted), book.enter(counted)
    >>> book.settle(second, counted)
    >>> book.settle(second, counted)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: decision: expected one that waits for its outcome, got number 1, settled before
    """

    base: int = 0
    count: int = 0
    tokens: Ints = field(default_factory=lambda: np.zeros(_ROOM, np.int64))  # above 0 while a decision waits

    def enter(self, counted: Floats) -> Ints:
        """Number a decision, `()->(3)`: its number, its token and the checksum."""
        if self.count - self.base == len(self.tokens):
            waits = self.tokens > 0
            done = waits.argmax() if waits.any() else len(waits)
            kept = self.tokens[done:]
            self.base += int(done)
            room = max(_ROOM, len(self.tokens) * (2 if 2 * len(kept) > len(self.tokens) else 1))
            self.tokens = np.concatenate([kept, np.zeros(room - len(kept), np.int64)])
        token = 1 + secrets.randbits(62)  # which decides nothing, so that it needs no seed
        self.tokens[self.count - self.base] = token
        self.count += 1
        return np.array([self.count - 1, token, _checksum(counted)])

    def settle(self, receipt: Ints, counted: Floats) -> None:
        """Settle a decision, `(3),()`.

        Raises:
            InvalidInput: one that was never committed here or was settled before, or that counted in other replicas.
        """
        number, token, checksum = receipt.tolist()
        expected = "one that waits for its outcome"
        if number < 0:
            raise InvalidInput("decision", expected, "one that was never committed")
        kept = self.tokens[number - self.base] if self.base <= number < self.count else 0
        if number < self.count and kept == 0:
            raise InvalidInput("decision", expected, f"number {number}, settled before")
        if kept != token:
            raise InvalidInput("decision", expected, f"number {number} of another state")
        if checksum != _checksum(counted):
            raise InvalidInput("decision.counted", f"what it was when number {number} was committed", counted)
        self.tokens[number - self.base] = 0

    def waiting(self) -> Ints:
        """The numbers of the decisions that wait, in order."""
        return self.base + np.flatnonzero(self.tokens[: self.count - self.base])


def _checksum(counted: Floats) -> int:
    return zlib.crc32(counted.astype(bool).tobytes())
