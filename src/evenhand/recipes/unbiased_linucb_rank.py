"""Rankings by utility, with less optimism about items that were often exposed."""

from __future__ import annotations

from dataclasses import replace

from evenhand.choices import Unbiased
from evenhand.core.catalogue import named
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.linucb_rank import linucb_rank


@named("C8", source="Mansoury et al. 2021 (Unbiased-LinUCBRank), as in Do et al. 2023, Appendix B.1, equation (14)")
def unbiased_linucb_rank(problem: Problem, model: Model, *, utility: str = "click", name: str | None = None) -> Policy:
    """Show the k items of highest utility plus a bonus that shrinks by exposure: a fair baseline.

    Equation: the k largest of theta_hat.x_i + (1 - k N_i / sum_j N_j) bonus_i, N the exposures so far.
    The bonus vanishes as the model learns, and fairness with it. Constraints are ignored.
    Guarantee: none was published.
    Deviation: the bonus ends where the bound does, at 1, unless the model is told `clipped=False`, as printed. While
    bounds are clipped, the worth of an item is theta_hat.x_i plus a part of what that lacks of 1, and exposures, which
    decide on the part, become even.

    Args:
        problem: `n_plays` is k; all actions are always candidates, in order.
        model: with widths, as for `fw_linucb_rank`.
        utility: the outcome to rank by.
        name: for tables and plots.

    Raises:
        InvalidInput: no such outcome.

    >>> import numpy as np
    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.models import Bilinear
    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1)
    >>> unbiased_linucb_rank(world.problem, Bilinear(who=2, what=2)).name
    'unbiased_linucb_rank'
    """
    choice = Unbiased(problem.n_plays, len(problem.actions))
    return replace(linucb_rank(problem, model, utility=utility), choice=choice, name=name or "unbiased_linucb_rank")
