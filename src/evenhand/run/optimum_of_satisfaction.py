"""The optimum of satisfaction within the constraints: the fluid problem of whole rounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.types import Floats
from evenhand.environments.base import Environment
from evenhand.planning.mixing import Best
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.rows import select
from evenhand.run.optimum import Optimum, solve_and_average
from evenhand.run.samples import draw_sample, expected_rows
from evenhand.welfare.base import Round
from evenhand.welfare.linear_program import fluid
from evenhand.welfare.measure import satisfaction_of


@named("X2", source="evenhand's own")
def opt_satisfaction(
    environment: Environment,
    *,
    margin: float | Floats = 0.0,
    contexts: int = 100,
    replicas: int | Sequence[int] = 20,
    seed: int = 0,
    progress: bool | None = None,
) -> Optimum:
    """Compute an upper bound on the satisfaction per round of any policy, even one that knows all future users.

    Equation: max mean_s sum_a r_a(sum_i m_sia x_sia) s.t. mean_s sum_ia v_sia x_sia <= B, over chances x_si of the arms
    of every user i in every sampled round s, with true means m and constraint rows v. Logarithms and powers enter by
    tangents, within 1e-4. Chances may divide a user, so whole allocations reach a little less: about 1 % in `Matching`
    with 50 users and 10 arms. Capacities of a choice are not known here, and do not lower the bound.

    Args:
        environment: with a known truth, whose problem measures one `Satisfaction`.
        margin, replicas, seed, progress: as for `opt`.
        contexts: rounds sampled per replica; the linear program has as many variables as these have pairs.

    Raises:
        InvalidInput: as for `opt`, or the problem measures no satisfaction, or several.
        InfeasibleProblem: no allocation of the sampled rounds keeps to the constraints.

    >>> from evenhand.environments import Matching
    >>> round(opt_satisfaction(Matching(users=6, arms=2), contexts=20, replicas=1).value, 1)
    4.1
    """
    problem = environment.problem
    measure = satisfaction_of(problem)
    constrained, _ = constraint_rows(problem)
    users, arms = problem.n_plays, measure.arms
    curves = measure.curve.curves(arms)

    def solved(replica: int, bound: Floats) -> Best:
        sample = draw_sample(environment, contexts, seed, replica)
        match, use = (
            expected_rows(rows, sample.cases, sample.shares, sample.truth).reshape(contexts, users, arms, len(rows))
            for rows in (select(problem, (measure.of,)), constrained)
        )
        offered = np.broadcast_to(sample.offered > 0.0, (contexts, users * arms)).reshape(contexts, users, arms)
        case = Round(match[..., 0], np.zeros(offered.shape), offered, np.full(arms, users))
        value, prices, _ = fluid(case, curves, use, bound)
        return Best(value, prices, np.zeros(0), 0.0)

    return solve_and_average(problem, margin, contexts, replicas, seed, progress, solved)
