"""Many users to arms with diminishing returns, at optimistic means from one-pass estimates."""

from __future__ import annotations

from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import allocating, need_no_constraints
from evenhand.welfare import Oracle


@named("A4", source="Shibukawa et al. 2026, Algorithm 4 (CAB-OFU, one-pass)")
def cab_ofu(problem: Problem, model: Model, *, oracle: Oracle | None = None, name: str | None = None) -> Policy:
    """Allocate for satisfaction at optimistic means, which enter r themselves; no constraints.

    Equation: arms pi(i) with a large sum_a r_a(sum_i mu(x_ia.theta + beta_t ||x_ia||_{Q^-1})), with theta and Q of
    `OnePass`. With the paper's beta_t it loses about 1 % of the satisfaction of `cab_ucb` on `Matching`.
    Guarantee: for links with |mu''| <= R mu', a model with step eta = 1 + R D and ridge of at least
    max(14 n eta R^2, 6 eta R D L_mu N), and an allocation of at least the part alpha of the best one under any theta of
    the confidence set: with probability 1 - delta (Theorem E.1), sum_t [alpha f_t(best) - f_t(played)] <=
    2 kappa^(-1/2) L_r L_mu beta_T (sqrt(2 n N T l) + 2 n N l / sqrt(ridge)) + 16 (R L_mu L_r / kappa) n N beta_T^2 l,
    l = ln(1 + N T / (n ridge)), which is of order max(n, N) (sqrt(n N T) + n N) / kappa. Here, as in the source's
    experiments, each pair has an optimistic theta of its own, which this does not cover; nor does it the defaults of
    `OnePass`.

    Args:
        problem, oracle: as for `cab_ucb`.
        model: with optimism, such as `OnePass`.
        name: for tables and plots.

    Raises:
        InvalidInput: a problem with constraints, without a satisfaction, or with another objective.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import OnePass
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> cab_ofu(world.problem, OnePass(n_features=5)).name
    'cab_ofu'
    """
    need_no_constraints(problem, keeper="resolving_allocation")
    choice = allocating(problem, oracle, optimism="inside")
    return Policy(problem=problem, model=model, goals=(reward(problem),), choice=choice, name=name or "cab_ofu")
