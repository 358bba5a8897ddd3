"""The limits of a problem on averages, as resources of a linear program, and those that exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InfeasibleProblem
from evenhand.core.texts import amount
from evenhand.core.types import Floats, Ints
from evenhand.offline.evidence import Evidence, Tables
from evenhand.offline.plans.allocation import FREE, Allocation, Resource, allocate, net
from evenhand.problem.constraints.statements import Statement
from evenhand.problem.problem import Problem

_STEPS = 100  # of prices that say by how much limits have to be exceeded
_EXACT = 1e-7  # of the largest use of a case: how far that may be from the least


class Demands(NamedTuple):
    """The constraints of a problem, by how a plan keeps to them."""

    budgets: tuple[Statement, ...]  # of all groups together
    averages: tuple[Statement, ...]  # such as floors, ratios, parities, budgets of a group: what rows state of averages
    others: tuple[Statement, ...]  # such as limits in spans of time, and sets that rows do not describe


def demands_of(problem: Problem) -> Demands:
    """Sort the constraints of a problem."""
    found: Demands = Demands((), (), ())
    for s in problem.stated:
        if s.spends and s.outcome in (*problem.known, *problem.learned) and s.by is None:
            found = found._replace(budgets=(*found.budgets, s))
        elif (s.spans is None or s.spends) and s.whole is None:
            found = found._replace(averages=(*found.averages, s))
        else:
            found = found._replace(others=(*found.others, s))
    return found


class Bound(NamedTuple):
    """A limit in a linear program, and its name."""

    label: str
    resource: Resource
    more: Resource | None = None  # the same limit with one more unit, where a curve varies it

    def gives(self, of: Callable[[Floats], Floats]) -> Floats:
        """Return the room that this unit gives to a policy, by what rows have of a table, `->(M)`; 0 if none varies."""
        if self.more is None:
            return np.zeros(len(self.resource.most))
        return self.resource.beyond(of(self.resource.use)) - self.more.beyond(of(self.more.use))


def budget_of(outcome: str, cost: Floats, rate: float) -> Bound:
    """Limit the average of an outcome, `(N or 1,A)->`; sums of costs are rounded."""
    return Bound(f"the budget of {outcome}", Resource.budget(cost, rate + 1e-12 * abs(rate)))


def use_of(problem: Problem, name: str, tables: Mapping[str, Tables], groups: Mapping[str, Ints]) -> Floats:
    """What a budget reads in every case: the predictions of an outcome, which are 0 outside a group, `->(N or 1,A)`."""
    outcome, grouping, column = problem.row(name)
    use = tables[problem.names[outcome]].predicted
    if column < 0:
        return use
    by, group = problem.columns[column]
    return np.where((groups[by] == problem.groups[grouping].names.index(group))[:, None], use, 0.0)


def label_of(s: Statement) -> str:
    """The demand in words, per case."""
    side = "at most" if s.constraint.worst == "high" else "at least"
    label = s.label.removesuffix(f", {side}").replace(" per round", " per case")
    return f"{label}, {side} {amount(s.limit, 6)}"


class Population(NamedTuple):
    """Some cases within limits."""

    tables: Mapping[str, Tables]  # by outcome, times the weights
    groups: Mapping[str, Ints]  # (N) each
    weights: Floats | None = None  # (N) how many cases each one counts as; None if it is one

    @staticmethod
    def of(evidence: Evidence, tables: Mapping[str, Tables], rows: Ints) -> Population:
        """Return some rows of a log."""
        weights = None if evidence.clusters.weights is None else evidence.clusters.weights[rows]
        groups = {by: each[rows] for by, each in evidence.groups.items()}
        return Population(tables, groups, None if weights is None else weights / weights.mean())


def bounds_of(evidence: Evidence, demands: Iterable[Statement], some: Population) -> Iterator[Bound]:
    """Yield the limits of constraints on some cases."""
    for s in demands:
        if s.spends and s.outcome in evidence.problem.names:
            rate = s.total / evidence.problem.horizon
            yield budget_of(str(s.outcome), some.tables[str(s.outcome)].predicted, rate)
            continue
        label = label_of(s)
        yield from (Bound(label, resource) for resource in _resources(evidence, s, some))


def _resources(evidence: Evidence, s: Statement, some: Population) -> Iterator[Resource]:
    """Yield the limits of a constraint's rows, by the outcomes and the grouping that they read.

    A group counts by its share of the cases; the rows of a group without a case limit nothing.
    """
    p, rows = evidence.problem, s.rows
    kinds, kind = np.unique(np.column_stack([rows.grouping, rows.weights]), axis=0, return_inverse=True)
    for k, (grouping, *weights) in enumerate(kinds):
        read = [q * some.tables[name].predicted for name, q in zip(p.names, weights, strict=True) if q]
        use, which = sum(read, np.zeros((1, len(evidence.names)))), np.flatnonzero(kind.ravel() == k)
        always, inside, most = rows.always[which], rows.inside[which], s.bound[which]
        if grouping < 0:
            yield Resource.of_groups(use, None, always[:, None], most)
            continue
        by = p.groups[int(grouping)]
        own = rows.column[which] - p.columns.index((by.name, by.names[0]))
        if by.of is not None:  # its groups are of actions
            column = [by.names.index(by.of[a]) for a in evidence.names]
            share = np.where(rows.by_share[which], [by.share(by.names[g]) for g in own], 1.0)
            for j in range(len(which)):
                factor = always[j] + inside[j] / share[j] * (np.array(column) == own[j])
                yield Resource.of_groups(use * factor, None, np.ones((1, 1)), most[j : j + 1])
            continue
        each = some.groups[by.name]
        share = np.bincount(each, some.weights, minlength=len(by.names)) / len(each)
        there = share[own] > 0.0
        own, by_share = own[there], rows.by_share[which][there]
        part = (inside[there] / np.where(by_share, share[own], 1.0))[:, None] * (own[:, None] == np.arange(len(share)))
        shared = by_share[:, None] * part
        found = Resource.of_groups(use, each, always[there, None] + part, most[there], shared)
        yield replace(found, weights=some.weights)


def allocate_named(
    worth: Floats, bounds: Sequence[Bound], order: Ints, near: tuple[Floats, ...] | None = None, free: int = FREE
) -> Allocation:
    """Choose the actions with the greatest worth within limits, as `allocate` does, `(N,A)->(N)`.

    Raises:
        InfeasibleProblem: no lotteries keep to the limits; it names those that exclude each other.
    """
    try:
        return allocate(worth, [bound.resource for bound in bounds], order, near, free)
    except InfeasibleProblem as error:
        raise InfeasibleProblem(f"no plan keeps to {conflict(worth, bounds, order)}") from error


def conflict(worth: Floats, bounds: Sequence[Bound], order: Ints) -> str:
    """Name limits that exclude each other, none of which could be left out, and what each would have to give."""
    mine, nothing = list(bounds), np.zeros_like(worth)
    for bound in bounds:
        rest = [one for one in mine if one is not bound]
        if rest and not _is_feasible(nothing, rest, order):
            mine = rest
    found = list[str]()
    for label in dict.fromkeys(bound.label for bound in mine):
        own, others = ([z.resource for z in mine if (z.label == label) == same] for same in (True, False))
        least, most = _least_excess(nothing, own, others, order), np.concatenate([z.most for z in own])
        alike = most[0] and (most == most[0]).all()
        text = amount(abs(float(most[0]) + least), 6) if alike else f"{amount(least, 6)} more"
        found.append(f"{label} ({text} per case is what the others allow)")
    return " and ".join(found)


def _least_excess(nothing: Floats, own: Sequence[Resource], others: Sequence[Resource], order: Ints) -> float:
    """Return by how much limits have to be exceeded, at least one of them, by lotteries within others, `(N,A)->`.

    Equation: min_p max_m (u_m(p) - b_m) over lotteries p within the others. At prices y of the own limits that add up
    to 1, the lotteries with the least y . u are a bound from below; the best mixture of those found is one from above,
    and has the next prices.
    """
    from scipy.optimize import linprog

    ends, most = np.cumsum([len(z.most) for z in own])[:-1], np.concatenate([z.most for z in own])
    size = float(np.concatenate([z.units for z in own]).max())
    prices, found, above, below = np.full(len(most), 1.0 / len(most)), list[Floats](), np.inf, -np.inf
    for _ in range(_STEPS):
        paid = net(nothing, own, np.split(prices, ends))
        plan = allocate(paid, others, order)
        below = max(below, -plan.value - float(prices @ most))
        found.append(np.concatenate([z.summed(plan.of(z.use)) for z in own]) / len(nothing) - most)
        excess = np.column_stack([*found, -np.full(len(most), size)]) / size
        mixed = linprog(
            np.append(np.zeros(len(found)), 1.0),
            A_ub=excess,
            b_ub=np.zeros(len(most)),
            A_eq=np.append(np.ones(len(found)), 0.0)[None],
            b_eq=np.ones(1),
            bounds=[(0.0, None)] * len(found) + [(None, None)],
        )
        above, prices = size * float(mixed.fun or 0.0), np.maximum(-mixed.ineqlin.marginals, 0.0)
        if above - below <= _EXACT * size:
            break
    return above


def _is_feasible(worth: Floats, bounds: Sequence[Bound], order: Ints) -> bool:
    try:
        allocate(worth, [bound.resource for bound in bounds], order)
    except InfeasibleProblem:
        return False
    return True
