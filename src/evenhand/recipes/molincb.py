"""Several objectives by a lottery per case: a baseline from before the reduction of Do et al. 2023."""

from __future__ import annotations

import math

from evenhand.choices import GradientLottery
from evenhand.core.catalogue import named
from evenhand.core.validate import number
from evenhand.goals.linear_reward import LinearReward
from evenhand.models.base import Model
from evenhand.objectives.steepness import worth_of_an_outcome
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.problem.rows import select
from evenhand.recipes.terms import Terms


@named(
    "C8",
    source="Mehrotra, Xue & Lalmas 2020 (MO-LinCB), as in Do et al. 2023, Appendix B.2",
    use="to compare with",
    fits="concave objectives (of every round by itself), contexts, no contexts, late outcomes, no constraints",
)
def molincb(
    problem: Problem, model: Model, *, steps: int = 100, delta: float = 0.05, name: str | None = None
) -> Policy:
    """Draw from the lottery whose expected outcomes are best for this case, found by gradient steps.

    Equation: p <- the lottery nearest to p + eta_t Y_hat' grad f(Y_hat p), `steps` times, from the last round's p;
    eta_t = sqrt(2) / (1 - 1/sqrt(A)) sqrt(ln(2 / delta) / t) / w, A the number of actions and w the most that an
    outcome can add to f by its slope near the middle of the ranges, so that units do not matter: 1 for
    `GeneralizedGini` of outcomes in [0, 1], as in the source.
    A baseline: it maximises f for every single case. Maximising f of the average over cases allows for more.
    Guarantee: none was published.
    Deviations: many steps are taken per round. MO-OGDE takes one (`steps=1`), for arms that stay the same; where
    features change from round to round, one step gets worse with time (on `MultiObjective` 0.73 of what is possible).
    No exploration is forced.

    Args:
        problem: without constraints; its objective should have a slope at every value that estimates can
            take, as `GeneralizedGini` has.
        model: such as `Ridge`; its bonuses, if any, are added to every outcome.
        steps: gradient steps per round.
        delta: in (0, 1).

    Raises:
        InvalidInput: constraints, or a delta out of range; in a run, an estimate where the objective has no slope.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Ridge
    >>> molincb(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, ridge=0.1)).name
    'molincb'
    """
    Terms(problem).without_constraints()
    number("delta", delta, "a number in (0, 1)", lambda x: 0 < x < 1)
    names, actions = tuple(problem.objective.outcomes), len(problem.actions)
    spread = 1.0 - 1.0 / math.sqrt(actions) if actions > 1 else 1.0  # with a single action its value does not matter
    scale = (
        math.sqrt(2.0 * math.log(2.0 / delta)) / spread / worth_of_an_outcome(problem.objective, *problem.ranges(names))
    )
    return Policy(
        problem=problem,
        model=model,
        goals=(LinearReward(rows=select(problem, names), weights=(1.0,) * len(names), optimism="row"),),
        choice=GradientLottery(problem.objective, candidates=actions, scale=scale, steps=steps),
        name=name or "molincb",
    )
