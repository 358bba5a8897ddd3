"""Several objectives by a lottery per case: what was done before the slope of the average was known to suffice."""

from __future__ import annotations

import math

from evenhand.choices import GradientLottery
from evenhand.core.catalogue import named
from evenhand.core.validate import number
from evenhand.goals.linear_reward import LinearReward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.problem.rows import select
from evenhand.recipes.defaults import need_no_constraints


@named("C8", source="Mehrotra, Xue & Lalmas 2020 (MO-LinCB), as in Do et al. 2023, Appendix B.2")
def molincb(problem: Problem, model: Model, *, steps: int = 100, delta: float = 0.05) -> Policy:
    """Draw from the lottery whose expected outcomes are best for this case, found by gradient steps.

    Equation: p <- the lottery nearest to p + eta_t Y_hat' grad f(Y_hat p), `steps` times, from the last round's p;
    eta_t = sqrt(2) / (1 - 1/sqrt(A)) sqrt(ln(2 / delta) / t), A the number of actions.
    A baseline. It is fair to the outcomes of every single case, not of their average, which allows for more.
    Deviation: one step a round, as MO-OGDE takes where arms stay the same (`steps=1`), gets worse with time where
    features of arms change from round to round (on `MultiObjective` 0.73 of what is possible), so many are taken. No
    exploration is forced.

    Args:
        problem: without constraints; its objective should have a slope wherever estimates may lead, as
            `GeneralizedGini` has.
        model: such as `Ridge`; its bonuses, if any, are added to every outcome.
        steps: each round.
        delta: in (0, 1).

    Raises:
        InvalidInput: constraints, or a delta out of range; in a run, an estimate where the objective has no slope.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Ridge
    >>> molincb(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, ridge=0.1)).name
    'molincb'
    """
    need_no_constraints(problem)
    number("delta", delta, "a number in (0, 1)", lambda x: 0 < x < 1)
    names, actions = tuple(problem.objective.outcomes), len(problem.actions)
    return Policy(
        problem=problem,
        model=model,
        goals=(LinearReward(rows=select(problem, names), weights=(1.0,) * len(names), optimism="row"),),
        choice=GradientLottery(problem.objective, candidates=actions, scale=_scale(actions, delta), steps=steps),
        name="molincb",
    )


def _scale(actions: int, delta: float) -> float:
    """eta_t sqrt(t) of the equation; a lottery of one action has nowhere to go."""
    spread = 1.0 - 1.0 / math.sqrt(actions) if actions > 1 else 1.0
    return math.sqrt(2.0 * math.log(2.0 / delta)) / spread
