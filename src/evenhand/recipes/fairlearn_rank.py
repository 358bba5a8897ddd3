"""Rankings by utility in which every item has a guaranteed share of the rounds."""

from __future__ import annotations

from dataclasses import replace

from evenhand.choices import FairLearn
from evenhand.core.catalogue import named
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.linucb_rank import linucb_rank


@named("C8", source="Patil et al. 2020 (FairLearn), for rankings as in Do et al. 2023, Appendix B.1")
def fairlearn_rank(
    problem: Problem,
    model: Model,
    *,
    share: float,
    tolerance: float = 1.0,
    utility: str = "click",
    name: str | None = None,
) -> Policy:
    """Show items that were ranked too rarely, then those of highest optimistic utility: a fair baseline.

    Equation: at every place of round t the item with the largest c (t - 1) - N_i if that is above the tolerance, else
    the largest theta_hat.x_i + bonus_i; N_i counts rounds in which i was ranked, at any place. Constraints are ignored.
    Guarantee: for all items and rounds, c t - N_i <= 1 + tolerance, whatever the model says. None for utility.
    Deviations: the comparison is that of `FairLearn`. Bounds are clipped at the range of the outcome unless the model
    is told `clipped=False`, as printed.

    Args:
        problem: `n_plays` is k; all actions are always candidates, in order.
        model: as for `fw_linucb_rank`.
        share: c, at most k / A.
        tolerance: at least 0.
        utility: the outcome to rank by.
        name: for tables and plots.

    Raises:
        InvalidInput: no such outcome, or a number out of its range.

    >>> import numpy as np
    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.models import Bilinear
    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1)
    >>> fairlearn_rank(world.problem, Bilinear(who=2, what=2), share=0.3).name
    'fairlearn_rank'
    """
    choice = FairLearn(problem.n_plays, len(problem.actions), share, tolerance)
    return replace(linucb_rank(problem, model, utility=utility), choice=choice, name=name or "fairlearn_rank")
