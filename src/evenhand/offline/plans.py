"""The plan of a list: an action per case, within budgets and evenly between groups where the problem says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.faces import amount
from evenhand.core.luck import Stream, uniform
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


_STEP = 0.6180339887498949  # the golden ratio less 1: multiples of it fill [0, 1) evenly


def places(strata: Ints, seed: int, part: int = 0) -> Floats:
    """Return a number in [0, 1) per row, uniform for each row and even within each stratum, `(N)->(N)`.

    The rows of a stratum are put in a random order; the k-th has the fractional part of u + k times the golden ratio,
    with one uniform u per stratum. So of n rows, those below p are n p, up to a few, whatever p is. Each part of the
    rows has luck of its own.

    >>> z = places(np.zeros(1000, np.int64), seed=3)
    >>> int((z < 0.25).sum()) in range(248, 253)
    True
    """
    rows = len(strata)
    order = np.argsort(uniform(seed, Stream.ORDER, np.array([part]), np.arange(2, 3), rows)[0], kind="stable")
    order = order[np.argsort(strata[order], kind="stable")]
    here = strata[order]
    first = np.flatnonzero(np.r_[True, here[1:] != here[:-1]])
    rank = np.arange(rows) - np.repeat(first, np.diff(np.r_[first, rows]))
    start = uniform(seed, Stream.CHOICE, np.array([part]), np.arange(1), int(strata.max()) + 1)[0]
    found = np.empty(rows)
    found[order] = (start[here] + rank * _STEP) % 1.0
    return found


def drawn(planned: Ints, place: Floats, holdout: float, lottery: Floats) -> Ints:
    """Return the planned actions, and one of a lottery over actions where the random place is below the holdout.

    >>> drawn(np.array([2, 2, 2]), np.array([0.05, 0.16, 0.7]), 0.2, np.full(4, 0.25)).tolist()
    [1, 3, 2]
    >>> drawn(np.array([2, 2, 2]), np.array([0.0, 0.16, 0.7]), 0.2, np.array([0.0, 1.0, 0.0])).tolist()
    [1, 1, 2]
    """
    if not holdout:
        return planned
    last = int(np.flatnonzero(lottery)[-1])  # of a sum that is rounded below 1
    found = np.minimum(np.searchsorted(np.cumsum(lottery), place / holdout, side="right"), last)
    return np.where(place < holdout, found, planned)


class Used(NamedTuple):
    """The use of a budget by a list."""

    outcome: str
    total: float
    learned: bool  # whether both are of predictions, as the outcome is not known before acting
    spent: float  # by the whole list, exactly where it is known
    price: float  # what one more unit is predicted to be worth

    def __str__(self) -> str:
        how = ", by predictions" if self.learned else ""
        return f"{self.outcome}: {amount(self.spent, 6)} of {amount(self.total, 6)}{how}"


class HeldOut(NamedTuple):
    """The cases of a list that a lottery decides, so that the list can be judged, and what they cost."""

    cases: int
    chances: Mapping[str, float]  # of the lottery, by action
    used: tuple[Used, ...]  # of each budget, by these cases
    less: float  # by predictions, what the list brings less than one without a holdout
    objective: str

    @property
    def lottery(self) -> str:
        """In words."""
        played = {action: chance for action, chance in self.chances.items() if chance > 0.0}
        if len(played) == 1:
            return f"{next(iter(played))!r} for all of them"
        if len(played) == len(self.chances) and max(played.values()) - min(played.values()) < 1e-12:
            return "any action, with the same chance each"
        return ", ".join(f"{action} {chance:.1%}" for action, chance in played.items())

    def __str__(self) -> str:
        if not self.cases:
            return "no case is held out: the share is too small for so few cases, and nothing can judge the list"
        uses = " and ".join(f"{amount(u.spent, 6)} of {amount(u.total, 6)} {u.outcome}" for u in self.used)
        cost = f"the list is predicted to bring {amount(self.less)} {self.objective} less than without a holdout"
        return f"{self.cases:,} cases held out: {self.lottery}; {f'they use {uses}, and ' if uses else ''}{cost}"


class Averages(NamedTuple):
    """The average of an outcome per case, in each group of a parity."""

    outcome: str
    by: str
    tolerance: float
    averages: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.outcome} per case by {self.by}, planned within {amount(self.tolerance, 6)}"
