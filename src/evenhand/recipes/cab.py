"""Allocations of many users to arms with diminishing returns: one algorithm, whose variants differ in how they explore.

Source: Shibukawa et al. 2026. Each variant gives the users of a round to arms for a large satisfaction
sum_a r_a(sum of the means of arm a's users), at means m_ia and with a term e_ia beside them:

==================  ==============================================  ====================================
recipe              m_ia                                            e_ia
==================  ==============================================  ====================================
`cab_ucb`           mu(x_ia.theta)                                  c1 ||x_ia||_{V^-1}
`cab_ts`            mu(x_ia.theta)                                  x_ia.e_i, drawn for each user
`cab_ts_parameter`  mu(x_ia.theta_i), drawn for each user           0
`cab_ofu`           mu(x_ia.theta + beta_t ||x_ia||_{Q^-1})         0
`max_match`         as `cab_ucb`, with r(x) = x                     as `cab_ucb`
`fairx`             drawn in proportion to optimistic means         0
==================  ==============================================  ====================================
"""

from __future__ import annotations

from typing import Literal

from evenhand.core.catalogue import named
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.allocation import allocation_choice, theoretical_constants
from evenhand.recipes.terms import Terms
from evenhand.welfare import Curve, Greedy, Linear, Oracle, Proportional

__all__ = ["cab_ofu", "cab_ts", "cab_ts_parameter", "cab_ucb", "fairx", "max_match", "theoretical_constants"]


@named(
    "A1",
    source="Shibukawa et al. 2026, Algorithm 1 (CAB-UCB)",
    use="many users to arms at once",
    fits="allocation, contexts, late outcomes, no constraints",
)
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
    Deviations: our oracle by default; the paper's is `welfare.Sequential()`. In place of its ridge, footnote 6 of the
    paper has a start that explores: `replace(policy, choice=Staged(rounds, policy.choice))`, with a ridge close to 0.

    Args:
        problem: measures one `welfare.Satisfaction`, from which r and the number of arms are taken, and maximises the
            outcome that it sums up.
        model: with a width per pair, which is added as it is; without one, nothing is explored.
        oracle: finds the allocation; `welfare.Priced` by default.
        capacity: the most users of each arm; by default there is no limit.
        may_stay: whether users may stay without an arm where that is worth more.

    Raises:
        InvalidInput: a problem with constraints, without a satisfaction, or with another objective.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Fixed, Logistic
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> model = Logistic(n_features=5, ridge=5.0, width=Fixed(5**0.5), clipped=False)
    >>> cab_ucb(world.problem, model).name
    'cab_ucb'
    """
    return _cab(problem, model, name or "cab_ucb", oracle, capacity=capacity, may_stay=may_stay)


@named(
    "A2",
    source="Shibukawa et al. 2026, Algorithm 2 (CAB-TS)",
    use="many users to arms at once",
    fits="allocation, contexts, late outcomes, no constraints",
)
def cab_ts(problem: Problem, model: Model, *, oracle: Oracle | None = None, name: str | None = None) -> Policy:
    """Allocate for satisfaction at the estimated means plus a drawn linear term per user; arguments as for `cab_ucb`.

    Equation: as `cab_ucb`, with x_{i pi(i)}.e_i in place of the bonus, e_i ~ N(0, a^2 H^-1) independently per user:
    `Perturbed(inner=Logistic(...), scale=a, n_blocks=users)`. The paper's experiments have a = sqrt(n N). Where users
    must have an arm, a negative term is a loss like any other; the paper's routine, `welfare.Sequential()`, sets what
    would be lost to 0.
    Guarantee: as for `cab_ucb`, with an exact oracle (`welfare.Exact`), the lambda_0, c1 and a of
    `theoretical_constants` and delta < 1 / T, for A arms and r <= M: the expected regret is at most (c1 + c2)
    (1 + 2 / (.15 - 2 delta)) (sqrt(2 n N T l) + 2 n N l / sqrt(lambda_0)) + 4 delta A M T with c2 = c1 sqrt(2 (L_mu /
    kappa) N ln(A N / delta)) (Theorem D.5), of order (L_r L_mu D / kappa) (n N sqrt(T) + n N^(3/2)). The constants of
    experiments, and other oracles, have no guarantee.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Logistic, Perturbed
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> model = Perturbed(inner=Logistic(n_features=5, ridge=5.0), scale=30**0.5, n_blocks=6)
    >>> cab_ts(world.problem, model).name
    'cab_ts'
    """
    return _cab(problem, model, name or "cab_ts", oracle)


@named(
    "A3",
    source="Shibukawa et al. 2026, Algorithm 3 (CAB-TS(theta), a heuristic)",
    use="many users to arms at once",
    fits="allocation, contexts, late outcomes, no constraints",
)
def cab_ts_parameter(
    problem: Problem, model: Model, *, oracle: Oracle | None = None, name: str | None = None
) -> Policy:
    """Allocate for satisfaction at the means under a drawn parameter per user; arguments as for `cab_ucb`.

    Equation: arms pi(i) with a large sum_a r_a(sum_i mu(x_ia.theta_i)), theta_i ~ N(theta, a^2 H^-1) independently per
    user: `Sampled(inner=Logistic(...), scale=a, n_blocks=users)`.
    Guarantee: none; the source has it as a heuristic.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Logistic, Sampled
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> model = Sampled(inner=Logistic(n_features=5, ridge=5.0), scale=30**0.5, n_blocks=6)
    >>> cab_ts_parameter(world.problem, model).name
    'cab_ts_parameter'
    """
    return _cab(problem, model, name or "cab_ts_parameter", oracle, optimism="inside")


@named(
    "A4",
    source="Shibukawa et al. 2026, Algorithm 4 (CAB-OFU, one-pass)",
    use="many users to arms at once",
    fits="allocation, contexts, late outcomes, no constraints",
)
def cab_ofu(problem: Problem, model: Model, *, oracle: Oracle | None = None, name: str | None = None) -> Policy:
    """Maximise the satisfaction of optimistic means; arguments as for `cab_ucb`.

    Equation: arms pi(i) with a large sum_a r_a(sum_i mu(x_ia.theta + beta_t ||x_ia||_{Q^-1})), with theta and Q of
    `OnePass`. With the paper's beta_t it loses about 1 % of the satisfaction of `cab_ucb` on `Matching`.
    Guarantee: for links with |mu''| <= R mu', a model with step eta = 1 + R D and ridge of at least
    max(14 n eta R^2, 6 eta R D L_mu N), and an allocation of at least the part alpha of the best one under any theta of
    the confidence set: with probability 1 - delta (Theorem E.1), sum_t [alpha f_t(best) - f_t(played)] <=
    2 kappa^(-1/2) L_r L_mu beta_T (sqrt(2 n N T l) + 2 n N l / sqrt(ridge)) + 16 (R L_mu L_r / kappa) n N beta_T^2 l,
    l = ln(1 + N T / (n ridge)), which is of order max(n, N) (sqrt(n N T) + n N) / kappa. Here, as in the source's
    experiments, each pair has an optimistic theta of its own, which this does not cover; nor does it cover the defaults
    of `OnePass`.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import OnePass
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> cab_ofu(world.problem, OnePass(n_features=5)).name
    'cab_ofu'
    """
    return _cab(problem, model, name or "cab_ofu", oracle, optimism="inside")


@named(
    "A6",
    source="Shibukawa et al. 2026, Appendix F.1 (Algorithm 5, Max match)",
    use="many users to arms at once",
    fits="allocation, contexts, late outcomes, no constraints",
)
def max_match(problem: Problem, model: Model, *, name: str | None = None) -> Policy:
    """Give each user the arm with the largest optimistic mean, without diminishing returns; arguments as for `cab_ucb`.

    Equation: pi(i) = argmax_a mu(x_ia.theta) + c1 ||x_ia||_{V^-1}, which is `cab_ucb` with r(x) = x.
    Guarantee: none for satisfaction; the source has it as a baseline.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Logistic
    >>> max_match(Matching(users=6, arms=3, horizon=100).problem, Logistic(n_features=5)).name
    'max_match'
    """
    return _cab(problem, model, name or "max_match", Greedy(), curve=Linear())


@named(
    "A6",
    source="FairX: Wang et al. 2021, as in Shibukawa et al. 2026, Appendix F.1 (Algorithm 6)",
    use="many users to arms at once",
    fits="allocation, contexts, late outcomes, no constraints",
)
def fairx(problem: Problem, model: Model, *, name: str | None = None) -> Policy:
    """Draw each user's arm in proportion to its mean under an optimistic parameter; arguments as for `cab_ucb`.

    Equation: P_i(a) = mu(x_ia.theta~) / sum_c mu(x_ic.theta~), theta~ the best of some parameters that are drawn from
    the confidence ellipsoid (`OptimisticDraw`).
    Guarantee: none for satisfaction; the source has it as a baseline.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Logistic, OptimisticDraw
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> fairx(world.problem, OptimisticDraw(inner=Logistic(n_features=5, ridge=5.0), n_blocks=6)).name
    'fairx'
    """
    return _cab(problem, model, name or "fairx", Proportional(), optimism="inside")


def _cab(
    problem: Problem,
    model: Model,
    name: str,
    oracle: Oracle | None,
    *,
    optimism: Literal["beside", "inside"] = "beside",
    curve: Curve | None = None,
    capacity: tuple[int, ...] | None = None,
    may_stay: bool = False,
) -> Policy:
    """Allocate at the values of the model, with optimism beside satisfaction or inside of it."""
    terms = Terms(problem).without_constraints(keeper="resolving_allocation")
    choice = allocation_choice(problem, oracle, curve=curve, optimism=optimism, capacity=capacity, may_stay=may_stay)
    return Policy(problem=problem, model=model, goals=(terms.reward,), choice=choice, name=name)
