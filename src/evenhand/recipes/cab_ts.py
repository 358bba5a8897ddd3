"""Many users to arms with diminishing returns, with a drawn term for each user beside satisfaction."""

from __future__ import annotations

from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import allocating, need_no_constraints
from evenhand.welfare import Oracle


@named("A2", source="Shibukawa et al. 2026, Algorithm 2 (CAB-TS)")
def cab_ts(problem: Problem, model: Model, *, oracle: Oracle | None = None, name: str | None = None) -> Policy:
    """Allocate for satisfaction at the estimated means plus a drawn linear term per user; no constraints.

    Equation: arms pi(i) with a large sum_a r_a(sum_i mu(x_ia.theta)) + sum_i x_{i pi(i)}.e_i, e_i ~ N(0, a^2 H^-1)
    independently per user: `Perturbed(inner=Logistic(...), scale=a, units=users)`. The paper's experiments have
    a = sqrt(n N). Where users must have an arm, a negative term is a loss like any other; the paper's routine,
    `welfare.Sequential()`, sets what would be lost to 0.
    Guarantee: as for `cab_ucb`, with an exact oracle (`welfare.Exact`), the lambda_0, c1 and a of
    `cab_ucb.theoretical_constants` and delta < 1 / T, for A arms and r <= M: the expected regret is at most (c1 + c2)
    (1 + 2 / (.15 - 2 delta)) (sqrt(2 n N T l) + 2 n N l / sqrt(lambda_0)) + 4 delta A M T with c2 = c1 sqrt(2 (L_mu /
    kappa) N ln(A N / delta)) (Theorem D.5), of order (L_r L_mu D / kappa) (n N sqrt(T) + n N^(3/2)). The constants of
    experiments, and other oracles, have no guarantee.

    Args:
        problem, oracle: as for `cab_ucb`.
        model: one that draws, such as `Perturbed`.
        name: for tables and plots.

    Raises:
        InvalidInput: a problem with constraints, without a satisfaction, or with another objective.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Logistic, Perturbed
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> model = Perturbed(inner=Logistic(n_features=5, ridge=5.0), scale=30**0.5, units=6)
    >>> cab_ts(world.problem, model).name
    'cab_ts'
    """
    need_no_constraints(problem, keeper="resolving_allocation")
    choice = allocating(problem, oracle)
    return Policy(problem=problem, model=model, goals=(reward(problem),), choice=choice, name=name or "cab_ts")
