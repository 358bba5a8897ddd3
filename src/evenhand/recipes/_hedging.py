"""Prices by exponentiated gradient, and rows in units that suit them."""

from __future__ import annotations

import math
import sys
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.core.validate import positive
from evenhand.goals.dual import DualHedge
from evenhand.problem.rows import Rows, in_units
from evenhand.recipes.terms import Terms


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
            max_price=self.max_price if max_price is None else max_price,
            step=self.step if step is None else positive("step", step),
            optimism=optimism,
        )


def evened(terms: Terms) -> Evened:
    """Restate all constraints so that all budgets are equal, as the analysis of knapsacks assumes.

    Equation: v_i = c_i b / b_i with b_i the limits per round and b that of the scarcest budget, the one with the least
    b_i / most_i, most_i being what a round of P plays can use. Rows that are not spent become as long as the row of
    the scarcest budget. Z = P worth / b, the price at which it takes all that the best plays are worth;
    step = sqrt(ln(d + 1) / (T b most)), as losses are at most `most` and b on average. Actions do not depend on units.

    >>> from evenhand.environments import FixedContexts
    >>> terms = Terms(FixedContexts(horizon=100).problem)  # a play is worth 2 at most, and uses at most 2
    >>> evened(terms)[1:3]
    (array([0.25, 0.25, 0.25, 0.25]), 8.0)
    """
    worth = terms.worth  # refuses objectives before sets
    (rows, bound), plays, spends = terms.straight(), terms.problem.n_plays, np.array(terms.problem.demands.sums, bool)
    most = plays * terms.most
    unused = most == 0.0
    most = np.where(unused, 1.0, most)
    least = int(np.argmin(np.where(spends, np.where(unused, sys.float_info.max, bound / most), np.inf)))
    one = bound[least]
    rows, bound = in_units(rows, bound, np.where(spends, bound / one, most / most[least]))
    step = math.sqrt(math.log(len(rows) + 1) / (terms.problem.horizon * float(one * most[least])))
    return Evened(rows, bound, plays * worth / float(one), step)


def hedged(terms: Terms) -> Evened:
    """Return the rows of all constraints in units in which they vary alike, for exponentiated gradient on all of them.

    Equation: row j is divided by u_j, by which a round moves it (`Terms.spread`).
    Z = P^(1/2) worth max(2, (most_i / b_i)^(1/2)) over the budgets b_i, for plays that are worth at most `worth`; at
    this price the scarcest budget takes all that the best plays are worth.
    step = 3 sqrt(ln(d + 1) / T). The theory's step is a third of it, and prices then need sqrt(T) rounds from where
    they start to where they belong.

    >>> from evenhand.environments import PackingCovering
    >>> problem = PackingCovering(costs=1, goods=1).problem
    >>> even = hedged(Terms(problem))
    >>> even.rows.learned.round(2), even.max_price
    (array([[ 0.  ,  1.49,  0.  ],
           [-0.  , -0.  , -1.84]]), 2.0)
    """
    worth, (rows, bound), plays = terms.worth, terms.straight(), terms.problem.n_plays
    everybody, each = terms.everybody, np.abs(bound) / plays
    spends = np.array(terms.problem.demands.sums, bool)
    scarce = np.where(spends & everybody, np.sqrt(terms.unit / np.where(everybody, each, 1.0)), 2.0)
    rows, bound = in_units(rows, bound, terms.spread)
    highest = math.sqrt(plays) * worth * float(scarce.max(initial=2.0))
    return Evened(rows, bound, highest, 3.0 * hedge_step(rows, terms.problem.horizon))


def hedge_step(rows: Rows, horizon: int) -> float:
    """sqrt(ln(d + 1) / T) for d rows, the step of exponentiated gradient on losses in [-1, 1]."""
    return math.sqrt(math.log(len(rows) + 1) / horizon)
