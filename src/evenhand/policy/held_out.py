"""Rounds that were held out beside the others: their averages, the difference, and its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.faces import amount
from evenhand.core.types import Floats
from evenhand.goals.base import Compares
from evenhand.numerics.student import reach


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """An outcome per round in held-out rounds, and in the others.

    The difference has a 95% interval. Of one replica it is Welch's, of two independent means; of several it is that of
    the paired differences of the replicas. Both need outcomes that are not too far from normal on average, so some
    tens of rounds held out. NaN stands for what is not known yet.
    """

    name: str
    rounds: float  # that were held out, and whose outcome was observed, per replica
    held_out: float
    others: float
    difference: float  # others - held out
    low: float
    high: float

    @property
    def said(self) -> str:
        """The comparison in words."""
        if math.isnan(self.difference):
            return "nothing to compare yet"
        between = "" if math.isnan(self.low) else f" ({amount(self.low)} to {amount(self.high)})"
        beside = f"{amount(self.held_out)} held out, {amount(self.others)} in other rounds"
        return f"{beside}; difference {amount(self.difference)}{between}"


def held_out(where: tuple[int, Compares] | None, goals: list[Any], replica: int) -> dict[str, Comparison]:
    """Compare the rounds of a replica, by the place of the books and the states of all goals; {} without books."""
    if where is None:
        return {}
    place, goal = where
    found = comparisons(goal.rows.names, goal.compared(goals[place])[replica : replica + 1])
    return {c.name: c for c in found}


def comparisons(names: tuple[str, ...], sums: Floats) -> tuple[Comparison, ...]:
    """Compare every outcome, by rounds, sums and sums of squares of both sides, `(2,d,3)->`.

    Equation: of one replica, d = m_1 - m_0 with variance v_0 / n_0 + v_1 / n_1 and Satterthwaite's degrees of freedom;
    of R replicas, the mean of d with variance s^2 / R and R - 1 degrees.

    >>> sums = np.array([[[[4.0, 1.0, 1.0]], [[100.0, 50.0, 50.0]]]])
    >>> one = comparisons(("sale",), sums)[0]
    >>> one.held_out, one.others, one.difference, round(one.low, 3), round(one.high, 3)
    (0.25, 0.5, 0.25, -0.528, 1.028)
    """
    n, total, squares = np.moveaxis(sums, 3, 0)
    with np.errstate(all="ignore"):
        mean = total / n
        noise = np.where(n > 1.0, np.maximum(squares - total * mean, 0.0) / (n - 1.0), np.nan) / n
    found = []
    for i, name in enumerate(names):
        usable = (n[:, :, i] > 0.0).all(1)
        m, v, count = mean[usable, :, i], noise[usable, :, i], n[usable, :, i]
        difference = m[:, 1] - m[:, 0]
        if not len(m):
            found.append(_compared(name, 0.0, (math.nan, math.nan), math.nan, math.nan))
            continue
        half = _of_one(v[0], count[0]) if len(m) == 1 else _of_several(difference)
        middle = float(difference.mean())
        rounds = float(n[:, 0, i].mean())
        found.append(_compared(name, rounds, tuple(m.mean(0).tolist()), middle, half))
    return tuple(found)


def _compared(name: str, rounds: float, means: tuple[float, ...], middle: float, half: float) -> Comparison:
    low, high = middle - half, middle + half
    held, others = means
    return Comparison(name=name, rounds=rounds, held_out=held, others=others, difference=middle, low=low, high=high)


def _of_one(noise: Floats, count: Floats) -> float:
    whole = float(noise.sum())
    if not whole > 0.0:  # NaN, or outcomes without any variation
        return whole
    return reach(math.sqrt(whole), whole**2 / float((noise**2 / (count - 1.0)).sum()))


def _of_several(difference: Floats) -> float:
    n = len(difference)
    return reach(float(difference.std(ddof=1)) / math.sqrt(n), n - 1)
