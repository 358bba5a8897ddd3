"""Prices by exponentiated gradient, and rows in units that suit them."""

from __future__ import annotations

import math
import sys
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.core.validate import positive
from evenhand.goals.dual import DualHedge
from evenhand.goals.linear_reward import LinearReward
from evenhand.problem.constraints import constraint_rows, per_row
from evenhand.problem.feasible import sizes
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, in_units
from evenhand.recipes._units import group_factors, of_everybody, spread, worth_unit
from evenhand.recipes.defaults import given


class Evened(NamedTuple):
    """Constraints in the unit of the scarcest budget, and defaults for prices by exponentiated gradient."""

    rows: Rows
    bound: Floats  # (d) per round, the same for all budgets
    max_price: float  # Z, per unit of the scarcest budget
    step: float

    def prices(self, max_price: float | None, step: float | None, optimism: Literal["row", "net"]) -> DualHedge:
        """Step prices of these rows by exponentiated gradient, by default with these numbers."""
        return DualHedge(
            rows=self.rows,
            bound=self.bound,
            max_price=given(max_price, lambda: self.max_price),
            step=self.step if step is None else positive("step", step),
            optimism=optimism,
        )


def evened(problem: Problem, goal: LinearReward) -> Evened:
    """Restate all constraints so that all budgets are equal, as the analysis of knapsacks assumes.

    Equation: v_i = c_i b / b_i with b_i the limits per round and b that of the scarcest budget, the one with the least
    b_i / most_i, most_i being what a round of P plays can use. Rows that are not spent become as long as the row of
    the scarcest budget. Z = P worth / b, the price at which it takes all that the best plays are worth;
    step = sqrt(ln(d + 1) / (T b most)), as losses are at most `most` and b on average. Actions do not depend on units.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.goals.linear_reward import reward
    >>> problem = FixedContexts(horizon=100).problem  # a play is worth 2 at most, and uses at most 2
    >>> evened(problem, reward(problem))[1:3]
    (array([0.25, 0.25, 0.25, 0.25]), 8.0)
    """
    rows, bound = constraint_rows(problem)
    most = problem.n_plays * sizes(problem, rows)
    spends = np.array(per_row(problem.stated, lambda s: s.spends), bool)
    unused = most == 0.0
    most = np.where(unused, 1.0, most)
    least = int(np.argmin(np.where(spends, np.where(unused, sys.float_info.max, bound / most), np.inf)))
    one = bound[least]
    rows, bound = in_units(rows, bound, np.where(spends, bound / one, most / most[least]))
    step = math.sqrt(math.log(len(rows) + 1) / (problem.horizon * float(one * most[least])))
    return Evened(rows, bound, problem.n_plays * worth_unit(problem, goal) / float(one), step)


def hedged(problem: Problem, worth: float, rows: Rows, bound: Floats) -> Evened:
    """Return the rows of all constraints in units in which they vary alike, for exponentiated gradient on all of them.

    Equation: row j is divided by u_j, by which a round moves it (`spread`).
    Z = P^(1/2) worth max(2, (most_i / b_i)^(1/2)) over the budgets b_i, for plays that are worth at most `worth`; at
    this price the scarcest budget takes all that the best plays are worth.
    step = 3 sqrt(ln(d + 1) / T). The theory's step is a third of it, and prices then need sqrt(T) rounds from where
    they start to where they belong.

    >>> from evenhand.environments import PackingCovering
    >>> problem = PackingCovering(costs=1, goods=1).problem
    >>> even = hedged(problem, 1.0, *constraint_rows(problem))
    >>> even.rows.learned.round(2), even.max_price
    (array([[ 0.  ,  1.49,  0.  ],
           [-0.  , -0.  , -1.84]]), 2.0)
    """
    size, most, plays = sizes(problem, rows), group_factors(problem, rows)[0], problem.n_plays
    size, each = np.where(size > 0.0, size, 1.0), np.abs(bound) / plays
    everybody = of_everybody(size, most, each)
    spends = np.array(per_row(problem.stated, lambda s: s.spends), bool)
    scarce = np.where(spends & everybody, np.sqrt(size / np.where(everybody, each, 1.0)), 2.0)
    rows, bound = in_units(rows, bound, spread(problem, rows, bound))
    highest = math.sqrt(plays) * worth * float(scarce.max(initial=2.0))
    return Evened(rows, bound, highest, 3.0 * hedge_step(rows, problem.horizon))


def hedge_step(rows: Rows, horizon: int) -> float:
    """sqrt(ln(d + 1) / T) for d rows, the step of exponentiated gradient on losses in [-1, 1]."""
    return math.sqrt(math.log(len(rows) + 1) / horizon)
