"""The goals of recipes that divide rewards by priced costs."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.goals.dual import DualHedge
from evenhand.goals.linear_reward import LinearReward, reward
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import evened, given, need_budgets_only, need_spending


class Ratio(NamedTuple):
    """A reward, prices of costs, and the budget per round that all costs were scaled to."""

    gain: LinearReward
    prices: DualHedge
    rate: float


def ratio(problem: Problem, step: float | None) -> Ratio:
    """The reward, and prices on the simplex by exponentiated gradient, of budgets that are scaled to be equal.

    Raises:
        InvalidInput: no budget, other constraints, an objective that is not linear, or a negative step.

    >>> from evenhand.environments import MixedArms
    >>> ratio(MixedArms().problem, None).rate
    0.3
    """
    need_spending(problem)
    need_budgets_only(problem)
    gain = reward(problem)
    even = evened(problem, gain)
    by = given(step, lambda: even.step)
    prices = DualHedge(rows=even.rows, bound=even.bound, max_price=1.0, step=by, optimism="net")
    return Ratio(gain, prices, float(even.bound[0]))
