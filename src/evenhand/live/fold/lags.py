"""Lags of a worker behind the log: of its snapshots, and of the corrections that it has learned."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.live.fold.fold import Fold
from evenhand.live.fold.loader import Loader


class Lags(NamedTuple):
    """The ages of a worker's tasks behind a log: times of events, in microseconds, None where nothing is behind.

    Args:
        unsaved: the events after the latest snapshot of the store, which a process folds when it opens the campaign.
        unsaved_since: the time of the first of them.
        unlearned_since: the time of the first correction that prices and the model have not learned.
    """

    unsaved: int
    unsaved_since: int | None
    unlearned_since: int | None

    @staticmethod
    def of(folding: Loader, fold: Fold) -> Lags:
        """Return the lags behind the log of a fold."""
        latest = max(folding.store.snapshots(folding.name, folding.mark), default=0)

        def time_of(number: int) -> int | None:
            event = next(iter(folding.store.about(folding.name, number)), None) if number else None
            return event.at if event is not None and event.seq == number else None

        return Lags(fold.seq - latest, time_of(latest + 1), time_of(fold.first))
