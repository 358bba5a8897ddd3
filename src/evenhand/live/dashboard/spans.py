"""The history of a campaign over its rounds, in a bounded number of spans."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.core.types import Floats, Ints

MOST = 60


@dataclass
class Span:
    """Consecutive rounds, with the counts and sums of the events during them."""

    rounds: int  # decided rounds that count
    restricted: int  # decisions in which a hard limit masked an offered action
    plays: Ints  # by action; the last number counts empty places
    moved: Floats  # the increments of the campaign's sums, see `Uses`
    at: int = 0  # the time of the latest event, in microseconds since 1970

    def add(self, other: Span) -> None:
        """Merge the span that follows."""
        self.rounds += other.rounds
        self.restricted += other.restricted
        self.plays += other.plays
        self.moved += other.moved
        self.at = other.at


class Spans:
    """The rounds of a campaign in at most 60 spans of equal length; the last may be shorter.

    Neighbours are merged when there would be more, so a log of any length takes the same memory.

    >>> import numpy as np
    >>> spans = Spans()
    >>> for _ in range(1000):
    ...     spans.add(Span(1, 0, np.array([1, 0]), np.array([2.0])))
    >>> len(spans.all), spans.all[0].rounds, spans.all[-1].rounds, spans.all[0].moved.tolist()
    (32, 32, 8, [64.0])
    """

    def __init__(self) -> None:
        self.all: list[Span] = []
        self._width = 1

    def add(self, one: Span) -> None:
        """Add the next event: a decision, or an event about an earlier one."""
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

    def restricted_lately(self) -> tuple[int, int]:
        """Count the latest decisions that a hard limit restricted, and the rounds since these began to occur.

        Both are 0 if the last span has no such decision.

        >>> import numpy as np
        >>> spans = Spans()
        >>> for i in range(100):
        ...     spans.add(Span(1, int(i >= 30), np.array([1, 0]), np.array([0.0])))
        >>> spans.restricted_lately()
        (70, 70)
        """
        restricted = rounds = 0
        for span in reversed(self.all):
            if not span.restricted:
                break
            restricted, rounds = restricted + span.restricted, rounds + span.rounds
        return restricted, rounds

    def set_back(self, at: int) -> None:
        """Let no span be later than a time to which the clock was set back."""
        for span in self.all:
            span.at = min(span.at, at)
