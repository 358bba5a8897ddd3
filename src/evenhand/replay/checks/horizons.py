"""How many rounds a log lasts for in a replay, which skips the rows where another action was logged."""

from __future__ import annotations

from evenhand.core.faces import amount
from evenhand.replay.checks.drawn import Drawn

_SHORT = 0.9  # of the horizon


def lasts(log: Drawn) -> float:
    """Return the expected number of rounds: a row is accepted with its lowest probability."""
    return len(log.actions) * float(log.propensities.min())


def horizon(log: Drawn, rounds: int) -> str | None:
    """Say whether a log ends before the horizon."""
    expected = lasts(log)
    if expected >= _SHORT * rounds:
        return None
    return (
        f"this log lasts for some {expected:,.0f} rounds of {rounds:,}: its rows times "
        f"{amount(expected / len(log.actions), 3)}, the least probability that it has"
    )
