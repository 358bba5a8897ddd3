"""Counts of a tally: latest decisions, spans of time, silence, and values out of range."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.core.types import Floats, Ints
from evenhand.live.log.events import Event, is_erased
from evenhand.live.log.ids import Ids
from evenhand.live.log.replies import reply

SHOWN = 20
_STEP = math.log(1.02)  # delays are counted in classes of 2 %


@dataclass
class Line:
    """One line of the table of latest decisions."""

    number: int
    id: int
    key: str
    at: int  # microseconds since 1970
    actions: tuple[str | None, ...]
    probabilities: tuple[float | None, ...]
    state: str


class Recent:
    """The 20 latest decisions, newest first."""

    def __init__(self) -> None:
        self._lines: deque[Line] = deque(maxlen=SHOWN)

    def decided(self, event: Event, body: Mapping[str, Any], actions: Sequence[str], ids: Ids) -> None:
        found = reply(event, body, actions, ids)
        state = "erased" if is_erased(event) else "waiting" if body["n"] else "played nothing"
        plays = found.actions, found.probabilities
        self._lines.appendleft(Line(event.seq, found.id, found.key, found.at, *plays, state))

    def changed(self, event: Event) -> None:
        """Update the state of a decision after an event about it."""
        for line in self._lines:
            if line.number == event.ref and line.state != "erased":
                line.state = event.kind

    def erase(self, decisions: Collection[int]) -> None:
        """Leave out the keys of decisions that were erased, by their numbers."""
        for line in self._lines:
            if line.number in decisions:
                line.key, line.state = "", "erased"

    def lines(self) -> list[Line]:
        return list(self._lines)


class Delays:
    """The distribution of delays of outcomes, to 2 %, in memory that does not grow with their number.

    >>> delays = Delays()
    >>> for seconds in range(1, 102):
    ...     delays.add(seconds)
    >>> round(delays.quantile(0.5)), round(delays.quantile(0.9))
    (51, 91)
    """

    def __init__(self) -> None:
        self._counts = Counter[int]()

    def add(self, seconds: float) -> None:
        self._counts[round(math.log(max(seconds, 1e-6)) / _STEP)] += 1

    def quantile(self, part: float) -> float | None:
        """Return the quantile of the delays in seconds, None without delays."""
        rest = part * self._counts.total()
        for place, count in sorted(self._counts.items()):
            rest -= count
            if rest <= 0.0:
                return math.exp(place * _STEP)
        return None


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

    def restricted_lately(self, n_plays: int = 1) -> tuple[int, int]:
        """Count the latest decisions that a hard limit restricted, and all decisions since these began to occur.

        Both are 0 if the last span has no such decision. Decisions in which nothing fitted are no rounds, but count.

        >>> import numpy as np
        >>> spans = Spans()
        >>> for i in range(100):
        ...     spans.add(Span(1, int(i >= 30), np.array([1, 0]), np.array([0.0])))
        >>> spans.restricted_lately()
        (70, 70)
        """
        restricted = decisions = 0
        for span in reversed(self.all):
            if not span.restricted:
                break
            restricted, decisions = restricted + span.restricted, decisions + int(span.plays.sum()) // n_plays
        return restricted, decisions


class Silence:
    """Decisions that were due while no outcome arrived for longer than the patience of the campaign.

    >>> silence = Silence()
    >>> silence.decided(0)
    >>> silence.expired(100, patience=100)
    >>> silence.due, silence.last
    (1, None)
    >>> silence.came(110)
    >>> silence.expired(150, patience=100)  # decided before that outcome
    >>> silence.due, silence.last
    (0, 110)
    """

    def __init__(self) -> None:
        self.due = 0
        self.last: int | None = None  # the time of the last outcome, in microseconds since 1970
        self._first: int | None = None  # that of the first decision

    def decided(self, at: int) -> None:
        """Enter a decision that waits for its outcome."""
        self._first = at if self._first is None else self._first

    def came(self, at: int) -> None:
        """Enter an outcome."""
        self.due, self.last = 0, at

    def expired(self, at: int, patience: float) -> None:
        """Enter a decision whose outcome is overdue, with the microseconds that are waited for one."""
        since = self._first if self.last is None else self.last
        self.due += since is not None and at - since >= patience


LATEST = 1000  # decisions that an alarm is judged by, so that it says how cases are now


class Clipped:
    """Counts out-of-range values by feature, in all decisions and in the latest 1,000.

    >>> clipped = Clipped()
    >>> for age in range(15, 25):
    ...     clipped.add(["age"] if age < 18 else [])
    >>> clipped.counts["age"], list(clipped.latest())
    (3, [('age', 3, 10)])
    """

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self._latest = deque[list[str]](maxlen=LATEST)

    def add(self, names: Sequence[str]) -> None:
        """Add the next decision, by the features whose values count as others."""
        self.counts.update(names)
        self._latest.append(list(names))

    def latest(self) -> Iterator[tuple[str, int, int]]:
        """Yield every feature that was out of range lately, with the number of decisions, and that of all lately."""
        found = Counter(name for names in self._latest for name in names)
        for name, n in found.items():
            yield name, n, len(self._latest)
