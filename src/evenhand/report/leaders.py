"""Sentences on who ends best, from pairs of replicas, as headlines of pictures state them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.core.texts import amount
from evenhand.core.types import Floats
from evenhand.numerics.student import reach
from evenhand.report.summary import standard_error


def leads(ends: Mapping[str, Floats], best: float, of: str) -> str:
    """Say what part of a best value the two reach that end highest, and whether a difference is told from chance.

    Args:
        ends: the value of each replica, which met the same luck under all names, `(R)` each; NaN where it is unknown.
        best: the value that is 100 %.
        of: its name.

    >>> leads({"a": np.array([0.5, 0.6]), "b": np.array([0.9, 1.0]), "c": np.array([0.2, 0.3])}, 1.0, "the optimum")
    'b reaches 95.0% of the optimum, 40.0 points more than the next best, a (95 %: 40.0 to 40.0)'
    >>> leads({"a": np.array([0.5, 0.6, 0.7]), "b": np.array([0.6, 0.5, 0.8])}, 1.0, "the optimum")
    'b reaches 63.3% of the optimum, which is indistinguishable from the 60.0% of a'
    """
    known = _known(ends)
    if not known or not best > 0.0:
        return f"{next(iter(known))} ends highest" if known else "no run has ended"
    first, *rest = known
    said = f"{first} reaches {known[first].mean() / best:.1%} of {of}"
    if not rest:
        return said
    second = known[rest[0]]
    mean, low, high = _interval(100.0 * (known[first] - second) / best)  # in percentage points
    if not low > 0.0:
        return f"{said}, which is indistinguishable from the {second.mean() / best:.1%} of {rest[0]}"
    return f"{said}, {mean:.1f} points more than the next best, {rest[0]} (95 %: {low:.1f} to {high:.1f})"


def highest(ends: Mapping[str, Floats], what: str) -> str:
    """Say which name ends highest in the units of a quantity, and whether a difference is told from chance.

    >>> highest({"a": np.array([0.5, 0.6]), "b": np.array([0.9, 1.0])}, "reward")
    'b has the highest reward, 0.95: 0.4 more than the next best, a (95 %: 0.4 to 0.4)'
    """
    known = _known(ends)
    if not known:
        return "no run has ended"
    first, *rest = known
    middle = amount(known[first].mean())
    if not rest:
        return f"{first} has {what} of {middle}"
    second = known[rest[0]]
    mean, low, high = _interval(known[first] - second)
    said = f"{first} has the highest {what}, {middle}"
    if not low > 0.0:
        return f"{said}, which is indistinguishable from the {amount(second.mean())} of {rest[0]}"
    return f"{said}: {amount(mean)} more than the next best, {rest[0]} (95 %: {amount(low)} to {amount(high)})"


def _known(ends: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the ends that are known in all replicas, the highest first."""
    known = {name: values for name, values in ends.items() if np.isfinite(values).all()}
    return dict(sorted(known.items(), key=lambda end: -float(end[1].mean())))


def _interval(gaps: Floats) -> tuple[float, float, float]:
    """Return the mean of differences, and the ends of its interval at 95 %, which are NaN for a single replica."""
    mean, half = float(gaps.mean()), reach(standard_error(gaps), len(gaps) - 1)
    return mean, mean - half, mean + half


def least(middles: Mapping[str, Sequence[float]], main: str, what: str) -> str:
    """Say at how many points of a sweep a name has the least, and how much the next best has there.

    Args:
        middles: a number of each name at every point.
        main: the name.
        what: is counted.

    >>> least({"a": [1.0, 2.0], "b": [4.0, 5.0], "c": [9.0, 4.0]}, "a", "regret")
    'a has the least regret at 2 of 2 points: 1 to 2, where the next best has 4 to 4'
    """
    ours = np.asarray(middles[main], float)
    others = [np.asarray(v, float) for name, v in middles.items() if name != main]
    if not others:
        return f"{main} has a {what} of {ours.min():,.0f} to {ours.max():,.0f}"
    next_best = np.min(others, 0)
    won = int((ours < next_best).sum())
    mine, theirs = (f"{z.min():,.0f} to {z.max():,.0f}" for z in (ours, next_best))
    return f"{main} has the least {what} at {won} of {len(ours)} points: {mine}, where the next best has {theirs}"
