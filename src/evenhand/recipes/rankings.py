"""Published rankings by the users' utility: optimistic, and with two ways to be fair to items."""

from __future__ import annotations

from dataclasses import replace

from evenhand.choices import Choice, FairLearn, TopK, Unbiased
from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem


@named(
    "C8",
    source="Ermis et al. 2020 (LinUCBRank), as in Do et al. 2023, Appendix B.1",
    use="rankings",
    fits="several plays, rankings (by utility alone), contexts, late outcomes, no constraints",
)
def linucb_rank(problem: Problem, model: Model, *, utility: str = "click", name: str | None = None) -> Policy:
    """Show the k items with the highest optimistic utility, best first: a baseline without fairness.

    Equation: the k largest of theta_hat.x_i + bonus_i. Constraints are ignored, and the objective is only measured.
    Guarantee: as for `fw_linucb_rank` with L = 1 and R as there, the most clicks per round that are possible less those
    of the recipe are <= R / T.
    Deviation: bounds are clipped at the range of the outcome unless the model is told `clipped=False`, as printed.

    Args:
        problem: `n_plays` is k.
        model: as for `fw_linucb_rank`.
        utility: the outcome to rank by.

    Raises:
        InvalidInput: no such outcome.

    >>> import numpy as np
    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.models import Bilinear
    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1)
    >>> linucb_rank(world.problem, Bilinear(n_user_features=2, n_item_features=2)).name
    'linucb_rank'
    """
    return _by_utility(problem, model, TopK(problem.n_plays), utility, name or "linucb_rank")


@named(
    "C8",
    source="Mansoury et al. 2021 (Unbiased-LinUCBRank), as in Do et al. 2023, Appendix B.1, equation (14)",
    use="rankings",
    fits=(
        "several plays, rankings (by utility alone, with a bonus for what was rarely shown), contexts, "
        "late outcomes, no constraints"
    ),
)
def unbiased_linucb_rank(problem: Problem, model: Model, *, utility: str = "click", name: str | None = None) -> Policy:
    """Show the k items with the highest utility plus a bonus that shrinks by exposure; arguments as for `linucb_rank`.

    Equation: the k largest of theta_hat.x_i + (1 - k N_i / sum_j N_j) bonus_i, N the exposures so far. All actions are
    always candidates, in order. The bonus vanishes as the model learns, and fairness with it. Constraints are ignored.
    Guarantee: none was published.
    Deviation: the bonus ends where the bound does, at 1, unless the model is told `clipped=False`, as printed. While
    bounds are clipped, the worth of an item is theta_hat.x_i plus a part of what that lacks of 1, and exposures, which
    decide on the part, become even.

    >>> import numpy as np
    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.models import Bilinear
    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1)
    >>> unbiased_linucb_rank(world.problem, Bilinear(n_user_features=2, n_item_features=2)).name
    'unbiased_linucb_rank'
    """
    choice = Unbiased(problem.n_plays, len(problem.actions))
    return _by_utility(problem, model, choice, utility, name or "unbiased_linucb_rank")


@named(
    "C8",
    source="Patil et al. 2020 (FairLearn), for rankings as in Do et al. 2023, Appendix B.1",
    use="rankings",
    fits=(
        "several plays, rankings (every item gets a least share of the rounds), contexts, late outcomes, no constraints"
    ),
)
def fairlearn_rank(
    problem: Problem,
    model: Model,
    *,
    share: float,
    tolerance: float = 1.0,
    utility: str = "click",
    name: str | None = None,
) -> Policy:
    """Show items that were ranked too rarely, then those with the highest optimistic utility.

    Equation: at every place of round t the item with the largest c (t - 1) - N_i if that is above the tolerance, else
    the largest theta_hat.x_i + bonus_i; N_i counts rounds in which i was ranked, at any place. All actions are always
    candidates, in order. Constraints are ignored.
    Guarantee: for all items and rounds, c t - N_i <= 1 + tolerance, whatever the model says. None for utility.
    Deviations: the comparison is that of `FairLearn`. Bounds are clipped as for `linucb_rank`.

    Args:
        problem, model, utility: as for `linucb_rank`.
        share: c, at most k / A.
        tolerance: at least 0.

    Raises:
        InvalidInput: no such outcome, or a number out of its range.

    >>> import numpy as np
    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.models import Bilinear
    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1)
    >>> fairlearn_rank(world.problem, Bilinear(n_user_features=2, n_item_features=2), share=0.3).name
    'fairlearn_rank'
    """
    choice = FairLearn(problem.n_plays, len(problem.actions), share, tolerance)
    return _by_utility(problem, model, choice, utility, name or "fairlearn_rank")


def _by_utility(problem: Problem, model: Model, choice: Choice, utility: str, name: str) -> Policy:
    """Rank by the worth of one outcome, regardless of the problem's objective."""
    goals = (reward(replace(problem, maximize=utility)),)
    return Policy(problem=problem, model=model, goals=goals, choice=choice, name=name)
