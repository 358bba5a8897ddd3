"""Knapsacks with prices by exponentiated gradient (Hedge), and rows in units that suit such prices."""

from __future__ import annotations

import math
import sys
from typing import Literal, NamedTuple

import numpy as np

from evenhand.choices import GreedyRatio, InverseGap, Rate, Schedule
from evenhand.core.catalogue import named
from evenhand.core.types import Floats
from evenhand.core.validate import positive
from evenhand.goals.dual import DualHedge
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, in_units
from evenhand.recipes.terms import Terms


class EvenBudgets(NamedTuple):
    """Constraints in the unit of the scarcest budget, and defaults for prices by exponentiated gradient."""

    rows: Rows
    bound: Floats  # (d) per round, the same for all budgets
    max_price: float  # Z, per unit of the scarcest budget
    step: float

    def prices(self, max_price: float | None, step: float | None, optimism: Literal["row", "net"]) -> DualHedge:
        """Step prices of these rows by exponentiated gradient, by default with these numbers."""
        return DualHedge(
            rows=self.rows,
            bound=self.bound,
            max_price=self.max_price if max_price is None else max_price,
            step=self.step if step is None else positive("step", step),
            optimism=optimism,
        )


def even_budgets(terms: Terms) -> EvenBudgets:
    """Restate all constraints so that all budgets are equal, as the analysis of knapsacks assumes.

    Equation: v_i = c_i b / b_i with b_i the limits per round and b that of the scarcest budget, the one with the least
    b_i / most_i, most_i being what a round of P plays can use. Rows that are not spent become as long as the row of
    the scarcest budget. Z = P worth / b, the price at which it takes all that the best plays are worth;
    step = sqrt(ln(d + 1) / (T b most)), as losses are at most `most` and b on average. Actions do not depend on units.

    >>> from evenhand.environments import FixedContexts
    >>> terms = Terms(FixedContexts(horizon=100).problem)  # a play is worth 2 at most, and uses at most 2
    >>> even_budgets(terms)[1:3]
    (array([0.25, 0.25, 0.25, 0.25]), 8.0)
    """
    worth = terms.worth  # refuses objectives before sets
    (rows, bound), plays, spends = terms.straight(), terms.problem.n_plays, np.array(terms.problem.demands.sums, bool)
    most = plays * terms.most
    unused = most == 0.0
    most = np.where(unused, 1.0, most)
    least = int(np.argmin(np.where(spends, np.where(unused, sys.float_info.max, bound / most), np.inf)))
    one = bound[least]
    rows, bound = in_units(rows, bound, np.where(spends, bound / one, most / most[least]))
    step = math.sqrt(math.log(len(rows) + 1) / (terms.problem.horizon * float(one * most[least])))
    return EvenBudgets(rows, bound, plays * worth / float(one), step)


def hedge_rows(terms: Terms) -> EvenBudgets:
    """Return the rows of all constraints in units in which they vary alike, for exponentiated gradient on all of them.

    Equation: row j is divided by u_j, by which a round moves it (`Terms.spread`).
    Z = P^(1/2) worth max(2, (most_i / b_i)^(1/2)) over the budgets b_i, for plays that are worth at most `worth`; at
    this price the scarcest budget takes all that the best plays are worth.
    step = 3 sqrt(ln(d + 1) / T). The theory's step is a third of it, and prices then need sqrt(T) rounds from where
    they start to where they belong.

    >>> from evenhand.environments import PackingCovering
    >>> problem = PackingCovering(costs=1, goods=1).problem
    >>> even = hedge_rows(Terms(problem))
    >>> even.rows.learned.round(2), even.max_price
    (array([[ 0.  ,  1.49,  0.  ],
           [-0.  , -0.  , -1.84]]), 2.0)
    """
    worth, (rows, bound), plays = terms.worth, terms.straight(), terms.problem.n_plays
    everybody, each = terms.everybody, np.abs(bound) / plays
    spends = np.array(terms.problem.demands.sums, bool)
    scarce = np.where(spends & everybody, np.sqrt(terms.unit / np.where(everybody, each, 1.0)), 2.0)
    rows, bound = in_units(rows, bound, terms.spread)
    highest = math.sqrt(plays) * worth * float(scarce.max(initial=2.0))
    return EvenBudgets(rows, bound, highest, 3.0 * hedge_step(rows, terms.problem.horizon))


def hedge_step(rows: Rows, horizon: int) -> float:
    """sqrt(ln(d + 1) / T) for d rows, the step of exponentiated gradient on losses in [-1, 1]."""
    return math.sqrt(math.log(len(rows) + 1) / horizon)


@named(
    "B8",
    source="Agrawal & Devanur 2014, Section 6 (Implementability): the greedy ratio, where not playing is allowed",
    use="no features of cases",
    fits="budgets (never exceeded), hard budgets, known costs, learned costs, no contexts, late outcomes",
)
def greedy_bwk(
    problem: Problem, model: Model, *, step: float | None = None, hard: bool = True, name: str | None = None
) -> Policy:
    """Play the best optimistic reward per priced optimistic cost, as often as budgets allow; hard budgets.

    Equation: a = argmax r_ucb(a) / phi.c_lcb(a), with probability min(1, B / (T phi.c_lcb(a))), else the action that
    does nothing; phi on the simplex, by exponentiated gradient. Only the ratios of phi count, so the slack of
    `DualHedge` changes nothing. Budgets are scaled to be equal (`recipes.hedge.even_budgets`).
    Guarantee: none: the source's rests on the claim that the greedy ratio solves the linear program, which is wrong
    (see below). `hard=True` keeps budgets.
    The source says that this solves the linear program of `bwcr`, which is wrong: chances may add up to 1 only, and an
    arm of high reward that would use what is left over is never mixed in. Prefer `bwcr` or `ucb_bwk`.
    Deviations: prices step on observed costs; without an action that does nothing arms are played for certain.

    Args:
        problem: with a linear objective and budgets, on learned or known outcomes.
        model: with widths.
        step: of the prices, per unit of the scarcest budget, as for `lin_cbwk`.

    Raises:
        InvalidInput: no budget, other constraints, an objective that is not linear, or a negative step.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> greedy_bwk(MixedArms().problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)).name
    'greedy_bwk'
    """
    return _by_ratio(problem, model, step, hard, False, name or "greedy_bwk")


@named(
    "B8",
    source="Badanidiyuru et al. 2013, Bandits with knapsacks, Algorithm 2 (PD-BwK)",
    use="no features of cases",
    fits="budgets (never exceeded), hard budgets, known costs, learned costs, no contexts, late outcomes",
)
def pd_bwk(
    problem: Problem, model: Model, *, step: float | None = None, hard: bool = True, name: str | None = None
) -> Policy:
    """Play the best optimistic reward per priced optimistic cost, time being a resource with a price; hard budgets.

    Equation: a = argmax r_ucb(a) / (w.c_lcb(a) + w_0 b), w on the simplex of d + 1 coordinates by multiplicative
    weights, the last one that of time, of which every play uses b, the budget per round. Budgets are scaled to be equal
    (`recipes.hedge.even_budgets`).
    Guarantee: without contexts, for rewards and costs in [0, 1], A arms, d budgets of B each, and intervals of
    confidence of order ln(A T d): T OPT - sum_t r_t is at most of order sqrt(ln(A T d)) (sqrt(A T OPT) + T OPT sqrt(A /
    B) + A sqrt(ln(A T d))), as in the source. `hard=True` keeps budgets without any condition.
    Deviations: weights step on observed costs rather than their lower bounds, by exp(epsilon c) rather than
    (1 + epsilon)^c; hard budgets mask arms that no longer fit, where the source stops; the source plays each arm once
    at first, which optimism does by itself if the model's intervals begin as whole ranges; an action that is declared
    to do nothing is not learned.

    Args:
        problem, model: as for `greedy_bwk`.
        step: epsilon, per unit of the scarcest budget; sqrt(ln(d + 1) / B) by default, for costs of at most 1.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> pd_bwk(MixedArms().problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)).name
    'pd_bwk'
    """
    return _by_ratio(problem, model, step, hard, True, name or "pd_bwk")


def _by_ratio(problem: Problem, model: Model, step: float | None, hard: bool, rents: bool, name: str) -> Policy:
    """Divide rewards by costs at prices on the simplex; where time has a price, every play uses of it."""
    terms = Terms(problem).with_budgets_only()
    even = even_budgets(terms)
    by = even.step if step is None else step
    prices = DualHedge(rows=even.rows, bound=even.bound, max_price=1.0, step=by, optimism="net")
    rent = float(even.bound[0]) if rents else 0.0
    return Policy(
        problem=problem,
        model=model,
        goals=(terms.reward, prices, *terms.limits(hard)),
        choice=GreedyRatio(1, terms.idle, rent=rent),
        name=name,
    )


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
    Deviations: budgets are hard; rows are in units of what they vary by (`recipes.hedge.hedge_rows`), with a slack
    coordinate instead of a resource of time; the default Z is not a function of zeta, which nobody knows at the start,
    so that a row whose optimal price is higher than Z is missed: pass a larger `max_price`. The defaults of `rate` and
    `step` explore less and move faster than theory.

    Args:
        problem: with a linear objective and any constraints on sums; outcomes may be learned or known.
        model: any oracle; its bonuses are not read.
        rate: learning rate of the choice, as for `InverseGap`; Rate(2 A / w, 1/2) by default, with w what a play is
            worth at most.
        max_price: Z, in units of worth per unit of rows as `hedge_rows` states them.
        step: of the dual, on rows as `hedge_rows` states them; 3 sqrt(ln(d + 1) / T) by default.

    Raises:
        InvalidInput: no constraints, a concave objective, or numbers that are not positive.

    >>> from evenhand.environments import PackingCovering
    >>> from sklearn.linear_model import Ridge
    >>> lagrange_cbw(PackingCovering().problem, Ridge()).name
    'lagrange_cbw'
    """
    terms = Terms(problem).with_constraints()
    hedge = hedge_rows(terms).prices(max_price, step, "net")  # no bonus is read
    default: Rate | Schedule | float = Rate(2.0 * len(problem.actions) / terms.worth, 0.5)
    return Policy(
        problem=problem,
        model=model,
        goals=(terms.reward, hedge, *terms.limits(hard)),
        choice=InverseGap(default if rate is None else rate, problem.n_plays),
        name=name or "lagrange_cbw",
    )
