"""The latest decisions of a campaign, and the delays of outcomes."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.live.events import Event, is_erased
from evenhand.live.ids import Ids
from evenhand.live.replies import reply

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
