"""Rankings by the users' utility alone."""

from __future__ import annotations

from dataclasses import replace

from evenhand.choices import TopK
from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem


@named("C8", source="Ermis et al. 2020 (LinUCBRank), as in Do et al. 2023, Appendix B.1")
def linucb_rank(problem: Problem, model: Model, *, utility: str = "click", name: str | None = None) -> Policy:
    """Show the k items of highest optimistic utility, best first: a baseline without fairness.

    Equation: the k largest of theta_hat.x_i + bonus_i. Constraints are ignored, and the objective is only measured.
    Guarantee: as for `fw_linucb_rank` with L = 1 and R as there, the most clicks per round that are possible less those
    of the recipe are <= R / T.
    Deviation: bounds are clipped at the range of the outcome unless the model is told `clipped=False`, as printed.

    Args:
        problem: `n_plays` is k.
        model: as for `fw_linucb_rank`.
        utility: the outcome to rank by.
        name: for tables and plots.

    Raises:
        InvalidInput: no such outcome.

    >>> import numpy as np
    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.models import Bilinear
    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1)
    >>> linucb_rank(world.problem, Bilinear(who=2, what=2)).name
    'linucb_rank'
    """
    goals = (reward(replace(problem, maximize=utility)),)
    return Policy(problem=problem, model=model, goals=goals, choice=TopK(problem.n_plays), name=name or "linucb_rank")
