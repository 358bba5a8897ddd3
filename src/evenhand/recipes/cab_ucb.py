"""Many users to arms with diminishing returns, with the bonus of each pair beside satisfaction."""

from __future__ import annotations

from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._allocation_theory import theoretical_constants
from evenhand.recipes.defaults import allocating, need_no_constraints
from evenhand.welfare import Oracle

__all__ = ["cab_ucb", "theoretical_constants"]


@named("A1", source="Shibukawa et al. 2026, Algorithm 1 (CAB-UCB)")
def cab_ucb(
    problem: Problem,
    model: Model,
    *,
    oracle: Oracle | None = None,
    capacity: tuple[int, ...] | None = None,
    may_stay: bool = False,
    name: str | None = None,
) -> Policy:
    """Allocate for satisfaction at the estimated means plus the bonus of every pair; no constraints.

    Equation: arms pi(i) with a large sum_a r_a(sum_i mu(x_ia.theta)) + sum_i c1 ||x_{i pi(i)}||_{V^-1}. The paper's
    experiments have lambda_0 = n and c1 = sqrt(n); kappa, which they do not state, is 1 here:
    `Logistic(n_features=n, ridge=n, width=Fixed(sqrt(n)), clipped=False)`.
    Guarantee: for features of length 1 at most, |theta| <= D, r L_r-Lipschitz, noise that is sigma-sub-Gaussian, kappa
    <= mu' <= L_mu, and the lambda_0 and c1 of `theoretical_constants` at risk delta: with probability 1 - 2 delta,
    sum_t [alpha f_t(best) - f_t(played)] <= 2 c1 (sqrt(2 n N T l) + 2 n N l / sqrt(lambda_0)), l = ln(1 + N T / (n
    lambda_0)), for n features, N users, f_t the satisfaction of round t, and an oracle that finds at least the part
    alpha of what can be had (Theorem D.4): 1 - 1/e for `ContinuousGreedy`, 1/2 for `Greedy`, 1 for `Exact`; `Priced`
    has no such alpha in advance, only a `welfare.certificate` of each round. So regret is of order (L_r L_mu D / kappa)
    (n sqrt(N T) + n N). The constants of experiments have no guarantee.
    Deviations: our oracle by default; the paper's is `welfare.Sequential()`.

    Args:
        problem: measures one `welfare.Satisfaction`, from which r and the number of arms are taken, and maximises the
            outcome that it sums up.
        model: with a width per pair, which is added as it is; without one, nothing is explored.
        oracle: finds the allocation; `welfare.Priced` by default.
        capacity: the most users of each arm; by default there is no limit.
        may_stay: whether users may stay without an arm where that is worth more.
        name: for tables and plots.

    Raises:
        InvalidInput: a problem with constraints, without a satisfaction, or with another objective.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Fixed, Logistic
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> model = Logistic(n_features=5, ridge=5.0, width=Fixed(5**0.5), clipped=False)
    >>> cab_ucb(world.problem, model).name
    'cab_ucb'
    """
    need_no_constraints(problem, keeper="resolving_allocation")
    return Policy(
        problem=problem,
        model=model,
        goals=(reward(problem),),
        choice=allocating(problem, oracle, capacity=capacity, may_stay=may_stay),
        name=name or "cab_ucb",
    )
