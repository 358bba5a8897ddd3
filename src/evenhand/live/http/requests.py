"""Counts of answered requests."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from evenhand.live.http.places import OTHER, Place


class Counted(NamedTuple):
    """What requests are counted by."""

    campaign: str | None
    route: str

    def labels(self) -> dict[str, str]:
        """Return the labels of a metric."""
        return {} if self.campaign is None else {"campaign": self.campaign}


class Requests:
    """Counts answered requests by campaign, route and status; all unknown paths share one line.

    Args:
        names: of the campaigns; requests of a single one are counted without its name.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.labelled = frozenset(names), len(names) > 1
        self._lock, self._counts = threading.Lock(), Counter[tuple[Counted, int]]()

    def counted(self, place: Place) -> Counted:
        """Return what a request is counted by: names of campaigns that are not there would be without end."""
        if place.campaign is not None and place.campaign not in self.names:
            return Counted(None, OTHER)
        return Counted(place.campaign if self.labelled else None, place.route)

    def add(self, place: Place, status: int) -> None:
        """Count a request."""
        with self._lock:
            self._counts[self.counted(place), status] += 1

    def counts(self) -> list[tuple[Counted, int, int]]:
        """Return what was counted, its status and the number, in order."""
        with self._lock:
            found = [(what, status, number) for (what, status), number in self._counts.items()]
        return sorted(found, key=lambda z: (z[0].campaign or "", z[0].route, z[1]))
