"""What happened over the rounds of a campaign, in a bounded number of spans."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.core.types import Floats, Ints

MOST = 60


@dataclass
class Span:
    """Some rounds in a row, and what happened while they were decided."""

    rounds: int  # that were decided and count
    restricted: int  # decisions in which a hard limit masked something that was offered
    plays: Ints  # by action; the last number is of places where nothing was played
    moved: Floats  # what the sums of the campaign gained, see `Uses`

    def add(self, other: Span) -> None:
        """Take in the span that follows."""
        self.rounds += other.rounds
        self.restricted += other.restricted
        self.plays += other.plays
        self.moved += other.moved


class Spans:
    """The rounds of a campaign in at most 60 spans of equal length, of which the last may be shorter.

    Neighbours are merged when there would be more, so that a log of any length takes the same memory.

    >>> import numpy as np
    >>> spans = Spans()
    >>> for _ in range(1000):
    ...     spans.add(Span(1, 0, np.array([1, 0]), np.array([2.0])))
    >>> len(spans.all), spans.all[0].rounds, spans.all[-1].rounds, spans.all[0].moved.tolist()
    (32, 32, 8, [64.0])
    """

    def __init__(self) -> None:
        """No round yet."""
        self.all: list[Span] = []
        self._width = 1

    def add(self, one: Span) -> None:
        """Take in what happened next: a decision, or news about an earlier one."""
        if self.all and (self.all[-1].rounds + one.rounds <= self._width):
            self.all[-1].add(one)
            return
        if len(self.all) == MOST:
            self._width *= 2
            pairs = [self.all[i : i + 2] for i in range(0, MOST, 2)]
            for first, second in pairs:
                first.add(second)
            self.all = [first for first, _ in pairs]
        self.all.append(one)
