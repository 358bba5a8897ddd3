"""The objective beside its reference: rounds held out, or rounds at random, with the interval of the difference."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.uses import Moments
from evenhand.objectives import Objective
from evenhand.policy.standings import Comparison, comparisons
from evenhand.policy.status import Status
from evenhand.problem.problem import Problem

TOO_FEW = "too few rounds to tell"
FEW = 20  # rounds: with fewer on a side, an interval that leans on the normal distribution says nothing


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """The objective in rounds that a policy decided, beside that in others, `reference`; NaN means unknown."""

    of: str  # what the others are
    rounds: int  # of these others
    reference: float
    decided: float
    difference: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Say whether the interval separates the two from each other."""
        if math.isnan(self.low):
            return TOO_FEW
        return "better" if self.low > 0.0 else "worse" if self.high < 0.0 else "no clear difference"


def contrast(problem: Problem, status: Status, tally: Tally) -> Contrast | None:
    """Compare the objective with the held-out rounds, else with the random rounds; None if there are none."""
    if isinstance(problem.maximize, str) and problem.maximize in status.held_out:
        held = status.held_out[problem.maximize]
        found = _of_holdout(held, is_few(held, tally))
        if not math.isnan(found.difference):
            return found
    moments = tally.moments()
    return None if moments is None else contrast_of(problem.objective, *moments)


def contrast_of(f: Objective, random: Moments, others: Moments) -> Contrast | None:
    """Compare the objective at the averages of random rounds with that of others; None if it is not defined.

    Equation: d = f(m_1) - f(m_0). Its interval is Welch's for the means of g_i.z, g_i a supergradient of f at the
    averages m_i: exact for sums, and to first order elsewhere. Plays that depend on earlier outcomes change neither,
    as outcomes less their means given the past are uncorrelated. A world that changes does: the rounds of a warm-up are
    the first ones.
    """
    if min(random.rounds, others.rounds) < 0.5:
        return None
    means = [z.sums / z.rounds for z in (random, others)]
    values = [float(f.value(m[None, None])[0, 0]) for m in means]
    if not all(math.isfinite(value) for value in values):
        return None
    difference, half = values[1] - values[0], math.nan
    if min(random.rounds, others.rounds) >= FEW:
        half = _half(f, means, (random, others))
    return Contrast(
        of="at random",
        rounds=round(random.rounds),
        reference=values[0],
        decided=values[1],
        difference=difference,
        low=difference - half,
        high=difference + half,
    )


def _half(f: Objective, means: list[Floats], sides: tuple[Moments, Moments]) -> float:
    """Half the length of the interval; NaN if outcomes do not vary, so that nothing is known of their noise."""
    try:
        slopes = [f.supergradient(m[None, None])[0, 0] for m in means]
    except InvalidInput:
        return math.nan
    rows = [[z.rounds, g @ z.sums, g @ z.products @ g] for g, z in zip(slopes, sides, strict=True)]
    (one,) = comparisons(("objective",), np.array(rows)[None, :, None])
    half = one.high - one.difference
    return half if half > 0.0 else math.nan


def is_few(c: Comparison, tally: Tally) -> bool:
    """Return whether held-out rounds, or the others, are too few for an interval, or their outcomes do not vary."""
    return min(c.rounds, round(tally.n_with_outcomes()) - c.rounds) < FEW or not c.high > c.low


def _of_holdout(c: Comparison, few: bool) -> Contrast:
    return Contrast(
        of="held out",
        rounds=round(c.rounds),
        reference=c.held_out,
        decided=c.others,
        difference=c.difference,
        low=math.nan if few else c.low,
        high=math.nan if few else c.high,
    )
