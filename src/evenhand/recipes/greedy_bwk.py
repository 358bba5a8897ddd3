"""Bandits with knapsacks: the arm of most reward per priced cost, with time as a free or a priced resource.

Source: Badanidiyuru, Kleinberg & Slivkins 2013, *Bandits with knapsacks*, Section 5; Agrawal & Devanur 2014, *Bandits
with concave rewards and convex knapsacks*, Section 6 (Implementability).
"""

from __future__ import annotations

from evenhand.choices import GreedyRatio
from evenhand.core.catalogue import named
from evenhand.goals.dual import DualHedge
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._hedging import evened
from evenhand.recipes.terms import Terms


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
    `DualHedge` changes nothing. Budgets are scaled to be equal (`recipes._hedging.evened`).
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
    (`recipes._hedging.evened`).
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
    even = evened(terms)
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
