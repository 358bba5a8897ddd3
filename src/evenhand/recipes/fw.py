"""Turn any scalar policy into one for a concave objective of the average outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from evenhand.choices import Staged
from evenhand.choices.base import Choice
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.goals.base import Plans, Weighs
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.objectives import Linear, Smoothing
from evenhand.objectives.steepness import widths, worth_of_an_outcome
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem


@named("C1", source="Do et al. 2023, Section 3, Algorithm 2: the reduction")
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
    slope = frank_wolfe(problem, problem.objective, smoothing)
    goals = tuple(slope if isinstance(g, Weighs) else g for g in scalar.goals)
    choice = _warmed(scalar.choice, warmup)
    return replace(scalar, problem=problem, goals=goals, choice=choice, name=name or f"fw({scalar.name})")


def _warmed(choice: Choice, rounds: int | None) -> Choice:
    """Replace the warm-up of a choice by a uniform one of so many rounds; its own is never kept silently."""
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
