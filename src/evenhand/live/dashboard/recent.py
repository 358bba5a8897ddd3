"""The last decisions of a campaign, and how long outcomes took."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.live.events import Event
from evenhand.live.replies import reply

SHOWN = 20
_STEP = math.log(1.02)  # delays are counted in classes of 2 %


@dataclass
class Line:
    """One of the last decisions."""

    number: int
    key: str
    at: int  # microseconds since 1970
    actions: tuple[str | None, ...]
    probabilities: tuple[float | None, ...]
    state: str


class Recent:
    """The last 20 decisions, the last one first."""

    def __init__(self) -> None:
        """No decision yet."""
        self._lines: deque[Line] = deque(maxlen=SHOWN)

    def decided(self, event: Event, body: Mapping[str, Any], actions: Sequence[str]) -> None:
        """Take in a decision."""
        said = reply(event, body, actions)
        state = "waiting" if body["n"] else "played nothing"
        self._lines.appendleft(Line(said.id, said.key, said.at, said.actions, said.probabilities, state))

    def changed(self, event: Event) -> None:
        """Take in what is said about a decision."""
        for line in self._lines:
            if line.number == event.ref:
                line.state = event.kind

    def lines(self) -> list[Line]:
        """All of them."""
        return list(self._lines)


class Delays:
    """How long outcomes took, to 2 %, in a memory that does not grow with their number.

    >>> delays = Delays()
    >>> for seconds in range(1, 102):
    ...     delays.add(seconds)
    >>> round(delays.quantile(0.5)), round(delays.quantile(0.9))
    (51, 91)
    """

    def __init__(self) -> None:
        """None yet."""
        self._counts = Counter[int]()

    def add(self, seconds: float) -> None:
        """Take in one."""
        self._counts[round(math.log(max(seconds, 1e-6)) / _STEP)] += 1

    def quantile(self, part: float) -> float | None:
        """The seconds that a part of the delays do not exceed, None where there is none."""
        rest = part * self._counts.total()
        for place, count in sorted(self._counts.items()):
            rest -= count
            if rest <= 0.0:
                return math.exp(place * _STEP)
        return None
