"""The plan of a list: a lottery per case, within a budget and evenly between groups where the problem says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import number
from evenhand.offline.cases import Cases
from evenhand.offline.evidence import Evidence, Tables
from evenhand.offline.fair import FairFrontier
from evenhand.offline.frontier import Frontier


class Wanted(NamedTuple):
    """What a list may use."""

    outcome: str
    total: float
    by: str | None  # the grouping whose groups are to use about as much per case
    tolerance: float


class Plan(NamedTuple):
    """A lottery per case."""

    lottery: Floats  # (N,A)
    strata: Ints  # (N,) cases of one stratum have the same lottery, but for those with a real one
    price: float


def wanted_of(evidence: Evidence, cases: int, budget: float | None) -> Wanted | None:
    """Return the budget and the parity of a problem, None without a budget.

    Raises:
        InvalidInput: there are others than one budget on a known outcome and one parity on the same outcome.
    """
    p, place = evidence.problem, f"{evidence.problem_file}: constraints"
    budgets = [s for s in p.stated if s.spends]
    others = [s for s in p.stated if not s.spends]
    if len(budgets) > 1 or any(s.outcome not in p.known or s.by is not None for s in budgets):
        told = " and ".join(s.constraint.label for s in budgets)
        raise InvalidInput(place, "one budget, on an outcome that is known before acting", told)
    outcome = budgets[0].outcome if budgets else None
    for s in others:
        if outcome is None or s.outcome != outcome or s.by not in evidence.groups or s.constraint.worst != "high":
            raise InvalidInput(place, "a budget, and at most a parity on the same outcome", s.constraint.label)
    if len(others) > 1:
        raise InvalidInput(place, "one parity", " and ".join(s.constraint.label for s in others))
    if outcome is None:
        if budget is not None:
            raise InvalidInput("budget", f"none, as {evidence.problem_file} has no budget", budget)
        return None
    total = budgets[0].total / p.horizon * cases
    if budget is not None:
        total = number("budget", budget, "a finite number of at least 0", lambda x: 0.0 <= x < np.inf)
    by, tolerance = (others[0].by, others[0].limit) if others else (None, 0.0)
    return Wanted(outcome, total, by, tolerance)


def planned(
    evidence: Evidence,
    cases: Cases,
    tables: Mapping[str, Tables],
    wanted: Wanted | None,
    holdout: float,
    less: float,
    order: Ints,
) -> Plan:
    """Plan a list with what held out cases leave on average, and a stated amount less, but for the cheapest actions.

    A case that would get a dearer action with some probability gets the cheaper one, so that budgets hold. Of cases
    that are worth the same, those that come first in an order are first.

    Raises:
        InvalidInput: the budget does not pay for the cheapest actions and the holdout.
        InfeasibleProblem: no policy within the budget is as even as the parity demands.
    """
    worth, count = evidence.worth(tables, len(cases)).predicted, len(evidence.names)
    if wanted is None:
        best = worth.argmax(1)
        return Plan(np.eye(count)[best], best, 0.0)
    cost = tables[wanted.outcome].predicted
    least = float(cost.min(1).mean())
    needs = len(cases) * ((1.0 - holdout) * least + holdout * float(cost.mean()))
    if wanted.total < needs - 1e-12 * abs(needs):
        expected = f"at least {needs:,.6g}, which the cheapest actions and the holdout cost"
        raise InvalidInput("budget", expected, wanted.total)
    rate = (wanted.total - less) / len(cases)
    rest = max((rate - holdout * float(cost.mean())) / (1.0 - holdout), least)
    rest += 1e-12 * abs(rest)  # sums of costs are rounded
    worth, cost = worth[order], cost if len(cost) == 1 else cost[order]
    lottery = np.zeros((len(cases), count))
    if wanted.by is None:
        point = Frontier.of(worth, cost).at(rest)._replace(share=0.0)
        lottery[order] = point.probabilities(count)
        return Plan(lottery, lottery.argmax(1), point.price)
    groups = cases.groups[wanted.by]
    fair = FairFrontier.of(worth, cost, groups[order])
    split = fair.split(rest, wanted.tolerance)
    for rows, frontier, budget in zip(fair.members, fair.frontiers, split.budgets.tolist(), strict=True):
        lottery[order[rows]] = frontier.beyond(budget)._replace(share=0.0).probabilities(count)
    return Plan(lottery, groups * count + lottery.argmax(1), max(split.slope, 0.0))
