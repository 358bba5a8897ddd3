"""The checks of a log that replays and estimates have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenhand.replay.checks.balance import balance
from evenhand.replay.checks.drawn import Drawn
from evenhand.replay.checks.groupings import groupings
from evenhand.replay.checks.overlap import overlap
from evenhand.replay.checks.propensities import propensities

Checks = Mapping[str, str | None]  # by check, a sentence; None where nothing was found
_OF_SOME = {"dropped": "Of the rows that were kept", "clipped": "With outcomes clipped to their range"}


def of_log(log: Drawn) -> dict[str, str | None]:
    """Check a log before anything is computed from it.

    Probabilities and features are compared among the rows whose action was not sure: what they would say of the
    others follows from `overlap`, which is told first then.
    """
    unsure, found = log.unsure, overlap(log)
    some = len(unsure.actions) > 0
    compared = {
        "propensities": propensities(unsure) if some else None,
        "features": balance(unsure) if some else None,
    }
    kept = {"overlap": found}
    return {**(compared | kept if unsure is log else kept | compared), "groups": groupings(log)}


def told(checks: Checks) -> Iterator[str]:
    """Yield a line per check that found something."""
    yield from (f"check: {sentence}" for sentence in checks.values() if sentence is not None)


def scope(checks: Checks) -> str:
    """Say what numbers are of, in front of a sentence, if rows were dropped or clipped; nothing otherwise.

    >>> scope({"dropped": "9 rows were dropped", "clipped": None}), scope({})
    ('Of the rows that were kept: ', '')
    """
    return "".join(f"{of}: " for name, of in _OF_SOME.items() if checks.get(name) is not None)
