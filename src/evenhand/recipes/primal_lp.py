"""The primal policy of the small-budgets paper: solve a program on the contexts so far, play its solution.

Source: Chzhen, Giraud, Li & Stoltz 2023, Appendix F, Box D; for finite context sets Li & Stoltz 2022.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.choices import Gibbs, Staged
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.goals.linear_reward import LinearReward
from evenhand.goals.primal import Primal
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.recipes.terms import Terms, with_limits


class Slack(NamedTuple):
    """A signed slack b_t = scale / sqrt(t) - margin, added to the bounds in round t.

    >>> Slack(scale=0.5, margin=0.01).margin
    0.01
    """

    scale: float
    margin: float


class Program(NamedTuple):
    """The program on the contexts so far, and when it is solved again.

    >>> Program(every=1).contexts
    1000
    """

    contexts: int = 1000  # kept at most; if none has to be dropped, the program is exact
    growth: float = 0.05  # solved again when t has grown by this fraction
    every: int = 100  # or by this many rounds
    temperature: float | None = None  # in units of the objective, 0.002 of its declared range by default


@named(
    "K3",
    source="Chzhen et al. 2023, Box D; Proposition 1, Theorems 3 and 4",
    use="budgets and fairness",
    fits=(
        "budgets (on average; never exceeded with hard=True), hard budgets (with hard=True), parity, floors, "
        "ratios, known costs, learned costs, contexts, no contexts, late outcomes"
    ),
)
def primal_lp(
    problem: Problem,
    model: Model,
    *,
    slack: Slack | None = None,
    program: Program | None = None,
    warmup: int = 50,
    hard: bool = False,
    name: str | None = None,
) -> Policy:
    """Play the policy that is best for the contexts so far, at optimistic rewards and costs; soft budgets.

    Equation: pi_t = argmax mean_s sum_a pi_sa r_ucb(s, a) s.t. mean_s sum_a pi_sa c_lcb(s, a) <= B + b_t; a ~ pi_t.
    Guarantee: for rewards in [0, 1], costs in [-1, 1], a finite set of contexts, and widths that hold at risk delta / 4
    and add up to beta over the plays: with alpha = sqrt(2 T ln(4 (d + 1) / delta)), Xi = sum_t xi_t and
    D = 2 alpha + beta + 2 Xi, of order sqrt(T), with probability 1 - delta: for `soft` slacks, sum_t c_t <= T B + D and
    regret <= D; for those of `with_null_action`, if an action costs nothing and (D - Xi) / T < min B, sum_t c_t <= T B
    and regret <= D (1 + (OPT(B) - OPT(0)) / min B); for those of `general`, if the problem is feasible at some B - m,
    m of at least D / T, sum_t c_t <= T B and regret <= D (1 + (OPT(B) - OPT(B - m)) / min m). They hold for the program
    solved in every round (`Program(every=1)`); the default margin is that of experiments.
    Budgets are soft, as in the paper. Deviations: a small entropy term makes the solution unique and extends it to new
    contexts (`goals.Primal`); the margin is taken off budgets only, as in `pgd`; the program is solved on a schedule
    unless `Program(every=1)`. Where it is infeasible, prices rise to their cap.

    Args:
        problem: with at least one constraint.
        model: for the learned outcomes, with optimism of its own.
        slack: made by `soft`, `with_null_action` or `general`; by default only the margin of `pgd`.
        program: how many contexts it keeps, when it is solved again, and its temperature, a `Program` (`from
            evenhand.recipes.primal_lp import Program`); the value of the lottery is within temperature ln A of the best
            one.

    Raises:
        InvalidInput: no constraints, a margin that leaves nothing of a budget, or an objective without a finite range
            and no temperature.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import Logistic
    >>> primal_lp(Court().problem, Logistic(n_features=5)).name
    'primal_lp'
    """
    terms = Terms(problem).with_constraints()
    scale, margin = (0.0, terms.margin) if slack is None else slack
    rows, bound = terms.straight(margin)
    objective, limits = terms.reward, terms.limits(hard)
    contexts, growth, every, stated = Program() if program is None else program
    temperature = 0.002 * _range(problem, objective) if stated is None else stated
    plan = Primal(
        problem=problem,
        objective=objective,
        rows=rows,
        bound=bound,
        slack=scale,
        temperature=temperature,
        contexts=contexts,
        growth=growth,
        every=every,
    )
    return Policy(
        problem=problem,
        model=model,
        goals=(objective, plan, *limits),
        choice=Staged(warmup, Gibbs(temperature)),
        name=name or with_limits("primal_lp", limits),
    )


def _range(problem: Problem, objective: LinearReward) -> float:
    """Compute the range of the objective over the declared ranges of its outcomes."""
    ends = dict(zip(problem.observed, np.ptp(problem.amount_span, axis=0), strict=True))
    ends |= dict(zip(problem.known, np.ptp(problem.declared, axis=0), strict=True))
    total = sum(abs(w) * float(ends[n]) for n, w in zip(objective.rows.names, objective.weights, strict=True))
    if not 0 < total < math.inf:
        raise InvalidInput("temperature", "a number, as the objective's declared range is not finite", None)
    return total


def soft(contexts: int, delta: float = 0.05) -> Slack:
    """b_t = xi_(t-1) for a finite set of contexts, at risk delta: budgets are kept up to O(sqrt T), Proposition 1.

    >>> round(soft(4).scale, 2)
    4.19
    """
    return Slack(_xi(contexts, delta), 0.0)


def with_null_action(problem: Problem, contexts: int, width_sum: float, delta: float = 0.05) -> Slack:
    """b_t = -(2 alpha + beta + Xi) / T, with which budgets hold at risk delta if doing nothing is free, Theorem 3.

    `width_sum` bounds beta, the sum of the played widths. For a finite set of contexts. The margin is larger than
    small budgets.

    >>> from evenhand.environments import Court
    >>> round(with_null_action(Court().problem, contexts=4, width_sum=30.0).margin, 3)
    0.16
    """
    return Slack(0.0, _margin(problem, contexts, width_sum, delta, 1))


def general(problem: Problem, contexts: int, width_sum: float, delta: float = 0.05) -> Slack:
    """b_t = xi_(t-1) - (2 alpha + beta + 2 Xi) / T, which needs no free action, Theorem 4.

    >>> from evenhand.environments import Court
    >>> [round(z, 3) for z in general(Court().problem, contexts=4, width_sum=30.0)]
    [4.187, 0.244]
    """
    return Slack(_xi(contexts, delta), _margin(problem, contexts, width_sum, delta, 2))


def _xi(contexts: int, delta: float) -> float:
    """xi_t sqrt(t), at a quarter of the risk delta, as in the theorems."""
    if contexts < 1 or not 0 < delta < 1:
        raise InvalidInput("contexts, delta", "at least 1, and a number in (0, 1)", (contexts, delta))
    return math.sqrt(contexts * math.log(4 / delta))


def _margin(problem: Problem, contexts: int, width_sum: float, delta: float, times: int) -> float:
    """(2 alpha + beta + times Xi) / T, with alpha = sqrt(2 T ln(4 (d + 1) / delta)) and Xi = sum of xi_(t-1)."""
    rounds = problem.horizon
    rows = len(constraint_rows(problem)[0])
    alpha = math.sqrt(2 * rounds * math.log(4 * (rows + 1) / delta))
    total = _xi(contexts, delta) * (1.0 + sum(1 / math.sqrt(t) for t in range(1, rounds)))
    return (2 * alpha + width_sum + times * total) / rounds
