"""Ways to do the same work, timed by turns: seconds of a core, with their spread over the repeats."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Way = Callable[[], Callable[[], object]]  # prepares the work, which is not timed, and returns it


class Spread(NamedTuple):
    """The median of some repeats, between their quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(*(float(z) for z in np.quantile(values, (0.25, 0.5, 0.75))))

    def times(self, factor: float) -> Spread:
        return Spread(*(factor * z for z in self))

    def text(self, digits: int = 1) -> str:
        """Median and quartiles, such as `12.0 (11.8-12.6)`."""
        low, median, high = (f"{z:,.{digits}f}" for z in self)
        return f"{median} ({low}-{high})"


def by_turns(ways: dict[str, Way], times: int, warm: bool = True) -> dict[str, list[float]]:
    """Return seconds of a core per repeat and way: A B C A B C, after one uncounted turn that compiles."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(-int(warm), times):
        for name, way in ways.items():
            work = way()
            start = time.process_time()
            work()
            if turn >= 0:
                seconds[name].append(time.process_time() - start)
    return seconds


def ratios(seconds: Sequence[float], base: Sequence[float]) -> Spread:
    """Return the spread of the ratio to a base, turn by turn, so that load of the machine cancels."""
    return Spread.of([a / b for a, b in zip(seconds, base, strict=True)])


def spread(values: Spread) -> dict[str, Any]:
    """Return a spread as it is written to JSON."""
    return {name: round(z, 6) for name, z in zip(("quartile_1", "median", "quartile_3"), values, strict=True)}
