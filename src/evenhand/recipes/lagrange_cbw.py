"""Packing and covering constraints with regression oracles: inverse gaps on the Lagrangian, prices by Hedge.

Source: Slivkins, Zhou, Sankararaman & Foster, *Contextual bandits with packing and covering constraints: a modular
Lagrangian approach via regression*, JMLR 25(394), 2024. Budgets are hard here, all other constraints are soft.
"""

from __future__ import annotations

from evenhand.choices import InverseGap, Rate, Schedule
from evenhand.core.catalogue import named
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._hedging import hedged
from evenhand.recipes.terms import Terms


@named(
    "X16",
    source="Slivkins, Zhou, Sankararaman & Foster 2024, LagrangeCBwLC with SquareCB and Hedge",
    use="budgets and fairness",
    fits=(
        "budgets (never exceeded), hard budgets, parity, floors, ratios, known costs, learned costs, "
        "several plays, contexts, no contexts, late outcomes"
    ),
)
def lagrange_cbw(
    problem: Problem,
    model: Model,
    *,
    rate: Rate | Schedule | float | None = None,
    max_price: float | None = None,
    step: float | None = None,
    hard: bool = True,
    name: str | None = None,
) -> Policy:
    """Draw by inverse gaps of predicted rewards minus priced rows of all constraints, prices by Hedge; hard budgets.

    Equation: l_a = r_hat_a - lam.(v_hat_a - bound), p by inverse gaps on l; lam on {lam >= 0, ||lam||_1 <= Z} by
    exponentiated gradient on the observed v - bound of all rows: those of budgets, of floors with the other sign, of
    both sides of parities. Outcomes may be signed, and no action has to be free.
    Guarantee: for cases drawn i.i.d., means in the oracle's class, a policy that keeps to every row by zeta, and
    Z = 2 / zeta for worths in [0, 1], regret and the excess of each row over T rounds are of order
    (1 / zeta) sqrt(A T (Reg_r + d Reg_v)), up to logarithms, for oracles of square-loss regret Reg. It is stated
    for soft budgets, the rate of theory and a single play.
    Deviations: budgets are hard; rows are in units of what they vary by (`recipes._hedging.hedged`), with a slack
    coordinate instead of a resource of time; the default Z is not a function of zeta, which nobody knows at the start,
    so that a row whose optimal price is higher than Z is missed: pass a larger `max_price`. The defaults of `rate` and
    `step` explore less and move faster than theory.

    Args:
        problem: with a linear objective and any constraints on sums; outcomes may be learned or known.
        model: any oracle; its bonuses are not read.
        rate: learning rate of the choice, as for `InverseGap`; Rate(2 A / w, 1/2) by default, with w what a play is
            worth at most.
        max_price: Z, in units of worth per unit of rows as `hedged` states them.
        step: of the dual, on rows as `hedged` states them; 3 sqrt(ln(d + 1) / T) by default.

    Raises:
        InvalidInput: no constraints, a concave objective, or numbers that are not positive.

    >>> from evenhand.environments import PackingCovering
    >>> from sklearn.linear_model import Ridge
    >>> lagrange_cbw(PackingCovering().problem, Ridge()).name
    'lagrange_cbw'
    """
    terms = Terms(problem).with_constraints()
    hedge = hedged(terms).prices(max_price, step, "net")  # no bonus is read
    default: Rate | Schedule | float = Rate(2.0 * len(problem.actions) / terms.worth, 0.5)
    return Policy(
        problem=problem,
        model=model,
        goals=(terms.reward, hedge, *terms.limits(hard)),
        choice=InverseGap(default if rate is None else rate, problem.n_plays),
        name=name or "lagrange_cbw",
    )
