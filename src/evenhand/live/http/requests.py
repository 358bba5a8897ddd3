"""Counts of answered requests."""

from __future__ import annotations

import threading
from collections import Counter

from evenhand.live.http.places import Place


class Requests:
    """Counts answered requests by route and status; all unknown paths share one line."""

    def __init__(self) -> None:
        self._lock, self._counts = threading.Lock(), Counter[tuple[str, int]]()

    def add(self, place: Place, status: int) -> None:
        """Count a request."""
        with self._lock:
            self._counts[place.route, status] += 1

    def counts(self) -> list[tuple[tuple[str, int], int]]:
        """Return the counts, sorted by route and status."""
        with self._lock:
            return sorted(self._counts.items())
