"""The plan of a list: an action per case, within budgets and evenly between groups where the problem says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.faces import amount
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import number
from evenhand.offline.cases import Cases
from evenhand.offline.evidence import Evidence, Tables
from evenhand.offline.resources import Resource
from evenhand.offline.sifting import allocate


class Budget(NamedTuple):
    """The amount of an outcome that a list may use."""

    outcome: str
    total: float
    learned: bool = False  # whether it is kept by predictions alone


class Even(NamedTuple):
    """A grouping whose groups must have about the overall average of an outcome per case."""

    outcome: str
    by: str
    tolerance: float


class Limits(NamedTuple):
    """The limits that a list must keep."""

    budgets: tuple[Budget, ...]
    parities: tuple[Even, ...]


class Held(NamedTuple):
    """The share of cases that a lottery decides, and its chances by action, `(A)`."""

    share: float
    lottery: Floats


class ListPlan(NamedTuple):
    """An action per case."""

    actions: Ints  # (N,)
    prices: tuple[Floats, ...]  # of the limits by resource, budgets first: what one more unit is predicted to be worth


def limits_of(evidence: Evidence, cases: int, budget: float | None) -> Limits:
    """Return the budgets and the parities of a problem for so many cases; `budget` replaces the total of a single one.

    Raises:
        InvalidInput: there are constraints of other kinds.
    """
    p, place = evidence.problem, f"{evidence.problem_file}: constraints"
    budgets, parities = list[Budget](), list[Even]()
    for s in p.stated:
        if s.spends and s.outcome in (*p.known, *p.learned) and s.by is None:
            budgets.append(Budget(str(s.outcome), s.total / p.horizon * cases, s.outcome in p.learned))
        elif s.by is not None and s.by in evidence.groups and s.outcome is not None and s.constraint.worst == "high":
            parities.append(Even(s.outcome, s.by, s.limit))
        else:
            raise InvalidInput(place, "budgets, and parities between groups", s.constraint.label)
    if budget is not None:
        if len(budgets) != 1:
            has = f"{evidence.problem_file} has {len(budgets) or 'no'} budget{'s' if budgets else ''}"
            raise InvalidInput("budget", f"none, as {has}", budget)
        total = number("budget", budget, "a finite number of at least 0", lambda x: 0.0 <= x < np.inf)
        budgets = [budgets[0]._replace(total=total)]
    return Limits(tuple(budgets), tuple(parities))


def planned(
    evidence: Evidence,
    cases: Cases,
    tables: Mapping[str, Tables],
    limits: Limits,
    held: Held,
    less: Floats,
    order: Ints,
    before: ListPlan | None = None,
) -> ListPlan:
    """Plan a list with the average budgets that held-out cases leave, minus stated amounts.

    Budgets leave at least what the cheapest actions cost. Of cases that are alike, those that come first in an order
    are first. Parities are those of the plan: held out cases have the same lottery in all groups. The prices of a plan
    `before` with about the same limits save time.

    Raises:
        InvalidInput: a budget does not pay for the cheapest actions and the holdout.
        InfeasibleProblem: no policy keeps to all limits.
    """
    worth, resources = evidence.worth(tables, len(cases)).predicted, list[Resource]()
    for (outcome, total, _), lower in zip(limits.budgets, less.tolist(), strict=True):
        cost = tables[outcome].predicted
        least, mean = float(cost.min(1).mean()), float((cost @ held.lottery).mean())
        needs = len(cases) * ((1.0 - held.share) * least + held.share * mean)
        if total < needs - 1e-12 * abs(needs):
            field = "budget" if len(limits.budgets) == 1 else f"budget of {outcome!r}"
            raise InvalidInput(
                field, f"at least {amount(needs, 6)}, which the cheapest actions and the holdout cost", total
            )
        rest = max(((total - lower) / len(cases) - held.share * mean) / (1.0 - held.share), least)
        resources.append(Resource.budget(cost, rest + 1e-12 * abs(rest)))  # sums of costs are rounded
    for even in limits.parities:
        resources.append(Resource.parity(tables[even.outcome].predicted, cases.groups[even.by], even.tolerance))
    found = allocate(worth, resources, order, None if before is None else before.prices)
    return ListPlan(found.actions, found.prices)
