"""Counts and times of answered requests."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from evenhand.live.http.places import OTHER, Place

ENDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # of the histogram, in seconds


class Counted(NamedTuple):
    """The keys by which requests are counted."""

    campaign: str | None
    route: str

    def labels(self) -> dict[str, str]:
        """Return the labels of a metric."""
        found = {} if self.campaign is None else {"campaign": self.campaign}
        return {**found, "route": self.route}


@dataclass
class Times:
    """How long requests of one kind took."""

    bins: list[int] = field(default_factory=lambda: [0] * (len(ENDS) + 1))  # up to each end, and above the last one
    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)


class Requests:
    """Counts answered requests by campaign, route and status; all unknown paths share one line.

    Args:
        names: of the campaigns; requests of a single one are counted without its name.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.labelled = frozenset(names), len(names) > 1
        self._lock, self._times = threading.Lock(), dict[Counted, Times]()

    def add(self, place: Place, status: int, seconds: float) -> None:
        """Count a request."""
        what = self._counted(place)
        with self._lock:
            times = self._times.get(what)
            if times is None:
                times = self._times[what] = Times()
            times.statuses[status] += 1
            times.seconds += seconds
            times.bins[bisect_left(ENDS, seconds)] += 1

    def counts(self) -> list[tuple[Counted, Times]]:
        """Return copies of what was counted, in order."""
        with self._lock:
            found = [(w, Times(list(z.bins), z.seconds, z.statuses.copy())) for w, z in self._times.items()]
        return sorted(found, key=lambda z: (z[0].campaign or "", z[0].route))

    def _counted(self, place: Place) -> Counted:
        """Return what a request is counted by: names of campaigns that are not there would be without end."""
        if place.campaign is not None and place.campaign not in self.names:
            return Counted(None, OTHER)
        return Counted(place.campaign if self.labelled else None, place.route)
