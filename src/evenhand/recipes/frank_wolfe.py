"""A concave objective of the average outcomes, by Frank-Wolfe: candidates are valued at the objective's slope.

`fw` does so with any scalar policy. The other recipes differ in the choice alone: the best optimistic candidate,
inverse-gap weighting, or epsilon-greedy.

Source: Do, Dohmatob, Pirotta, Lazaric & Usunier 2023, *Contextual bandits with concave rewards, and an application to
fair ranking*.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from evenhand.choices import (
    Choice,
    EpsilonGreedy,
    GradientLottery,
    InverseGap,
    OracleRate,
    Rate,
    Schedule,
    Staged,
    TopK,
)
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.validate import number
from evenhand.goals.base import Plans, Weighs
from evenhand.goals.linear_reward import LinearReward
from evenhand.models.base import Model
from evenhand.objectives import Linear, Smoothing
from evenhand.objectives.steepness import widths, worth_of_an_outcome
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.problem.rows import select
from evenhand.recipes.terms import Terms


@named(
    "C1",
    source="Do et al. 2023, Section 3, Algorithm 2: the reduction",
    use="objectives that are not a plain sum",
    fits=(
        "budgets (as the recipe inside keeps them), known costs, learned costs, concave objectives, "
        "several plays, contexts, no contexts, late outcomes, no constraints"
    ),
)
def fw(
    problem: Problem,
    recipe: Callable[[Problem], Policy],
    *,
    smoothing: Smoothing | None = None,
    warmup: int | None = None,
    name: str | None = None,
) -> Policy:
    """Make a recipe for a linear objective maximise a concave one: its reward becomes the objective's slope.

    Equation: the scalar policy is run on the reward g_t.y, g_t = grad f_{t-1}(z_{t-1}).
    Guarantee: for contexts that are i.i.d., outcomes in a convex set of diameter D, an f that is L-Lipschitz around it,
    and no constraints, with probability at least 1 - delta (Theorems 2 and 3)
    f* - f(average) <= (R + L D sqrt(2 T ln(1/delta)) + C ln(e T)) / T if the slope of f is 2 C / D^2-Lipschitz, and
    f* - f(average) <= R / T + L D / sqrt(T) (D / (L beta) + 3 L beta / D + sqrt(2 ln(1/delta))) with `Moreau(beta)`;
    beta = D / L makes the first two terms 4. R is the regret of the scalar policy, the sum over T rounds of
    max_a g_t.mu(x_t, a) - g_t.y_t, and f* the value of the best stationary policy.
    The recipe is told to maximise the mean of the outcomes. `lin_cbwk` and `square_cbwk` bound their prices by what a
    play is then worth at most: give them a `max_price` where slopes make it worth more.

    Args:
        problem: with any objective; the recipe decides how constraints are kept.
        recipe: such as `lambda p: lin_cbwk(p, model)`.
        smoothing: as for `fw_linucb`.
        warmup: rounds drawn uniformly first, in place of the recipe's own warm-up. A slope needs none, and each such
            round counts in the average that the objective reads, so a recipe with a warm-up is taken only if this is
            stated: 0 for none. A first stage that draws in another way is a part of its algorithm, and stays.

    Raises:
        InvalidInput: a recipe that is concave already, or plans ahead, which needs more than the slope where the
            average stands; a recipe with a warm-up, and no `warmup` here.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Fixed, Ridge
    >>> from evenhand.recipes import ucb
    >>> model = Ridge(n_features=10, n_outcomes=5, width=Fixed(0.1))
    >>> fw(MultiObjective().problem, lambda p: ucb(p, model), warmup=0).name
    'fw(ucb)'
    """
    names = problem.objective.outcomes
    low, high = problem.ranges(tuple(names))
    worth = worth_of_an_outcome(problem.objective, low, high) / len(names)
    weights = dict(zip(names, (worth / widths(low, high)).tolist(), strict=True))
    scalar = recipe(replace(problem, maximize=Linear(weights)))  # whose worth is that of f
    _check(scalar)
    slope = Terms(problem).slope(smoothing)
    goals = tuple(slope if isinstance(g, Weighs) else g for g in scalar.goals)
    choice = _with_warmup(scalar.choice, warmup)
    return replace(scalar, problem=problem, goals=goals, choice=choice, name=name or f"fw({scalar.name})")


@named(
    "C2",
    source="Do et al. 2023, Algorithm 3 (FW-LinUCB) and Section 5",
    use="objectives that are not a plain sum",
    fits="concave objectives, several plays, contexts, no contexts, late outcomes, no constraints",
)
def fw_linucb(
    problem: Problem,
    model: Model,
    *,
    optimism: Literal["row", "net"] = "row",
    smoothing: Smoothing | None = None,
    name: str | None = None,
) -> Policy:
    """Play the candidate with the highest optimistic worth at the objective's slope.

    Equation: a = argmax over arms of g.y_hat + bonus, g = grad f_{t-1}(z_{t-1}).
    With `Ridge` every outcome has its own bonus, scaled by |g_i|, as in the paper's experiments (their width is
    sqrt(epsilon) alpha_t, ours is the model's). With `Scalarised` and optimism="net" it is Algorithm 3.
    Guarantee: as for `fw`, where with probability 1 - delta, d = n M and X = L D_X (Theorem 19)
    R <= 4 alpha sqrt(T d ln(1 + T X^2 / (ridge d))) + L D sqrt(2 T ln(2/delta)),
    alpha = L D / 2 sqrt(2 ln(2/delta) + d ln(1 + T X^2 / (ridge d))) + sqrt(ridge) D_theta, for Algorithm 3 with
    `Scalarised(width=SelfNormalised(delta=delta / 2, noise=L D / 2, norm_bound=D_theta))`, if means are linear in
    features with norms of up to D_X, and the parameters of all outcomes together have a norm of up to D_theta, in units
    of the outcomes' ranges. (The paper prints X for X^2 / ridge.) Its alpha_t (equation 76) is
    `WorstCase(n_parameters=n M, delta=delta / 2, noise=L D / 2, norm_bound=D_theta, length=L D_X)`, whose last radius
    is then alpha. For `Ridge` it proves nothing.
    Deviation: where outcomes have ranges, bounds of `Ridge` are clipped at them unless it is told `clipped=False`.

    Args:
        problem: with any objective, and no constraints (`fw_dual` takes some).
        model: with widths.
        optimism: "row" gives every outcome its own bonus, "net" gives one to the priced sum.
        smoothing: where the objective has kinks; `objectives.smoothing.default_smoothing` by default.

    Raises:
        InvalidInput: constraints, or an objective that cannot be smoothed.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Fixed, Ridge
    >>> fw_linucb(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, width=Fixed(0.1))).name
    'fw_linucb'
    """
    return _at_slope(problem, model, TopK(problem.n_plays), name or "fw_linucb", smoothing, optimism)


@named(
    "C3",
    source="Do et al. 2023, Algorithm 4 (FW-SquareCB)",
    use="objectives that are not a plain sum",
    fits="concave objectives, several plays, contexts, no contexts, late outcomes, no constraints",
)
def fw_squarecb(
    problem: Problem,
    model: Model,
    *,
    rate: Rate | Schedule | float,
    smoothing: Smoothing | None = None,
    name: str | None = None,
) -> Policy:
    """Draw by inverse-gap weighting of the worth at the objective's slope.

    Equation: p_a = 1 / (A + gamma_t (s_b - s_a)), s = y_hat g, b the best; gamma_t = gamma_0 sqrt(t) in experiments.
    Guarantee: as for `fw`, where with probability 1 - delta (Theorem 20)
    R <= 4 L sqrt(A T (R_o(T) + 8 D^2 ln(4 T^2 / delta))) + L D sqrt(2 T ln(2/delta)), if the rate is the theory's,
    gamma_t = (2 / L) sqrt(t A / (R_o(t) + 8 D^2 ln(4 t^2 / delta))) (`fw_squarecb_rate`), the means are in the model's
    class, its square loss exceeds the least of the class by at most R_o(t), and predictions and outcomes lie in a set
    of diameter D.

    Args:
        problem, smoothing: as for `fw_linucb`.
        model: any; bonuses are not read.
        rate: of the choice, such as Rate(1e4, 0.5), what `fw_squarecb_rate` gives, or a number for a fixed one.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Ridge
    >>> fw_squarecb(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, ridge=0.1), rate=Rate(1e4, 0.5)).name
    'fw_squarecb'
    """
    return _at_slope(problem, model, InverseGap(rate, problem.n_plays), name or "fw_squarecb", smoothing, "net")


@named(
    "C4",
    source="Do et al. 2023, Section 5 (FW-epsilon-greedy)",
    use="objectives that are not a plain sum",
    fits="concave objectives, several plays, contexts, no contexts, late outcomes, no constraints",
)
def fw_epsilon_greedy(
    problem: Problem,
    model: Model,
    *,
    epsilon: float = 0.01,
    smoothing: Smoothing | None = None,
    name: str | None = None,
) -> Policy:
    """Play the candidate with the highest worth at the objective's slope, or a random one with probability epsilon.

    Equation: a = argmax g.y_hat with probability 1 - epsilon, else uniform, g = grad f_{t-1}(z_{t-1}).
    Guarantee: none of its own. That of `fw` holds for whatever scalar regret it has, which the paper does not bound.
    Playing at random alone costs up to epsilon L D per round for ever.

    Args:
        problem, smoothing: as for `fw_linucb`.
        model: any; bonuses are not read.
        epsilon: in [0, 1].

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Ridge
    >>> fw_epsilon_greedy(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, ridge=0.1)).name
    'fw_epsilon_greedy'
    """
    choice = EpsilonGreedy(epsilon, problem.n_plays)
    return _at_slope(problem, model, choice, name or "fw_epsilon_greedy", smoothing, "net")


def _at_slope(
    problem: Problem,
    model: Model,
    choice: Choice,
    name: str,
    smoothing: Smoothing | None,
    optimism: Literal["row", "net"],
) -> Policy:
    """Choose by the worth at the slope of the objective at the average outcomes."""
    slope = Terms(problem).without_constraints().slope(smoothing, optimism=optimism)
    return Policy(problem=problem, model=model, goals=(slope,), choice=choice, name=name)


def _with_warmup(choice: Choice, rounds: int | None) -> Choice:
    """Replace the warm-up of a choice by a uniform one of the given rounds; its own is never kept silently."""
    if isinstance(choice, Staged) and choice.warmup is None:
        if rounds is None and choice.rounds:
            own = f"the recipe's own of {choice.rounds} rounds would count in the average that the objective reads"
            raise InvalidInput("warmup", f"a number of rounds, 0 for none, as {own}", "nothing")
        choice = choice.then
    return Staged(rounds, choice) if rounds else choice


def _check(scalar: Policy) -> None:
    """Refuse a policy without a linear reward to replace, or one that needs more than the objective's slope."""
    if not isinstance(scalar, Policy):
        raise InvalidInput("recipe", "a function from a problem to a policy", scalar)
    if not any(isinstance(g, Weighs) for g in scalar.goals):
        raise InvalidInput("recipe", "one whose reward is a linear goal, to be replaced by the slope", scalar.name)
    if any(isinstance(g, Plans) for g in scalar.goals):
        raise InvalidInput("recipe", "one whose goals do not plan on a linear objective", scalar.name)


def fw_squarecb_rate(problem: Problem, *, regret: float, growth: float = 0.0, delta: float = 0.05) -> OracleRate:
    """Compute gamma_t of Theorem 20, from a bound regret + growth ln(1 + t) on the regret of the regression.

    L is that of the objective, and D the diagonal of the ranges of its outcomes, each of a round.

    Raises:
        InvalidInput: an objective without a Lipschitz constant, an outcome without a range, or a number out of its
            range.

    >>> from evenhand.environments import Lessons
    >>> rate = fw_squarecb_rate(Lessons().problem, regret=10.0)
    >>> round(rate.lipschitz, 3), rate.diameter
    (1.152, 2.0)
    """
    low, high = problem.ranges(problem.objective.outcomes)
    return OracleRate(
        regret=regret,
        growth=growth,
        delta=delta,
        lipschitz=problem.objective.lipschitz,
        diameter=float(np.linalg.norm(high - low)),
    )


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
