"""Every arm drawn for a user in proportion to how well it matches: a baseline of fair exposure."""

from __future__ import annotations

from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import allocating, need_no_constraints
from evenhand.welfare import Proportional


@named("A6", source="FairX: Wang et al. 2021, as in Shibukawa et al. 2026, Appendix F.1 (Algorithm 6)")
def fairx(problem: Problem, model: Model, *, name: str | None = None) -> Policy:
    """Draw each user's arm in proportion to its mean under an optimistic parameter; no constraints.

    Equation: P_i(a) = mu(x_ia.theta~) / sum_c mu(x_ic.theta~), theta~ the best of some parameters that are drawn from
    the confidence ellipsoid (`OptimisticDraw`).
    Guarantee: none for satisfaction; the source has it as a baseline.

    Args:
        problem: as for `cab_ucb`.
        model: one that draws, such as `OptimisticDraw`.
        name: for tables and plots.

    Raises:
        InvalidInput: a problem with constraints, without a satisfaction, or with another objective.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Logistic, OptimisticDraw
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> fairx(world.problem, OptimisticDraw(inner=Logistic(n_features=5, ridge=5.0), units=6)).name
    'fairx'
    """
    need_no_constraints(problem, keeper="resolving_allocation")
    choice = allocating(problem, Proportional(), optimism="inside")
    return Policy(problem=problem, model=model, goals=(reward(problem),), choice=choice, name=name or "fairx")
