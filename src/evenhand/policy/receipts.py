"""The book of receipts: which committed decisions still wait for their outcome."""

from __future__ import annotations

import os
import random
import zlib
from dataclasses import dataclass, field

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats, Ints

_ROOM = 16

# Tokens decide nothing, so that they need no seed. A process that was forked draws others than its parent.
_tokens = random.Random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tokens.seed)


@dataclass
class Receipts:
    """Decisions are numbered as they are committed; each is settled once, in any order.

    Every receipt bears a token, drawn at random, which the book keeps until the receipt is settled. So a decision of
    another state is refused, and so is one that was committed after the state was copied, or after it was saved, if
    the copy or the file is used. A receipt also bears a checksum of the replicas in which the decision counts, so that
    what is settled is what was committed.

    The tokens from number `base` on are kept. Those at the front are dropped once they are settled, so that memory
    grows with the decisions since the oldest one that waits, and each decision costs a constant time on average.

    >>> book, counted, receipts = Receipts(), np.ones(1), np.full((2, 3), -1)
    >>> for receipt in receipts:
    ...     book.enter(receipt, counted)
    >>> book.settle(receipts[1], counted)
    >>> book.settle(receipts[1], counted)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: decision: expected one that waits for its outcome, got number 1, settled before
    """

    base: int = 0
    count: int = 0
    tokens: Ints = field(default_factory=lambda: np.zeros(_ROOM, np.int64))  # above 0 while a decision waits

    def enter(self, receipt: Ints, counted: Floats) -> None:
        """Write number, token and checksum of a decision into its receipt, `(3),()`."""
        if self.count - self.base == len(self.tokens):
            waits = self.tokens > 0
            done = waits.argmax() if waits.any() else len(waits)
            kept = self.tokens[done:]
            self.base += int(done)
            room = max(_ROOM, len(self.tokens) * (2 if 2 * len(kept) > len(self.tokens) else 1))
            self.tokens = np.concatenate([kept, np.zeros(room - len(kept), np.int64)])
        token = 1 + _tokens.getrandbits(62)
        self.tokens[self.count - self.base] = token
        receipt[0], receipt[1], receipt[2] = self.count, token, zlib.crc32(counted.tobytes())
        self.count += 1

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
        if checksum != zlib.crc32(counted.tobytes()):
            raise InvalidInput("decision.counted", f"what it was when number {number} was committed", counted)
        self.tokens[number - self.base] = 0

    def waiting(self) -> Ints:
        """The numbers of the decisions that wait, in order."""
        return self.base + np.flatnonzero(self.tokens[: self.count - self.base])
