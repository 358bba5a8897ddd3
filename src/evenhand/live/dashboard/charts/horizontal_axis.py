"""The horizontal axis of a course: rounds, or time with the dates on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from evenhand.report.drawing import ticks, with_texts

_HOURS = (1, 3, 6, 12, 24, 48, 96, 168, 336, 672, 1344, 2688, 5376)
_DAY, _NONE = timedelta(days=1), timedelta(0)


@dataclass(frozen=True, kw_only=True)
class HorizontalAxis:
    """The numbers from 0 to `last`: rounds, or days after a start.

    >>> HorizontalAxis(last=1000.0).marks(2)
    [(0.0, 'round 0'), (500.0, '500'), (1000.0, '1k')]
    >>> HorizontalAxis(last=4.0, start=datetime(2026, 12, 30, 18)).marks(5)
    [(0.25, '31 Dec'), (1.25, '1 Jan'), (2.25, '2 Jan'), (3.25, '3 Jan')]
    """

    last: float
    start: datetime | None = None  # None for rounds

    def marks(self, most: int = 5) -> list[tuple[float, str]]:
        """Return round numbers, or dates, with their texts; about `most` at most."""
        if self.start is None:
            found = with_texts(ticks(0.0, self.last, most))
            return [(x, f"round {words}" if i == 0 else words) for i, (x, words) in enumerate(found)]
        return list(_dates(self.start, self.last, most))


def _dates(start: datetime, last: float, most: int) -> Iterator[tuple[float, str]]:
    step = next((h for h in _HOURS if 24.0 * last / h <= most + 0.5), _HOURS[-1])
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    for i in range(int(24.0 * (last + 1.0) / step) + 1):
        when = midnight + timedelta(hours=step) * i
        x = (when - start + (start.utcoffset() or _NONE) - (when.utcoffset() or _NONE)) / _DAY  # elapsed
        if 0.0 <= x <= last:
            yield x, f"{when.day} {when:%b}" if when.hour == 0 else f"{when:%H:%M}"
