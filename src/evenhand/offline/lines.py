"""The policies of a curve, their values at every budget, and what they bring less than the targeted one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.core.validate import number
from evenhand.offline.bands import Bands, blocks, reach
from evenhand.offline.evidence import Evidence, Tables
from evenhand.offline.fair import FairFrontier, influence
from evenhand.offline.frontier import Frontier
from evenhand.offline.scores import Estimate

TARGETED = "targeted"
MOST = 10_000  # budgets


class Line(NamedTuple):
    """The values of a policy at every budget of a curve."""

    name: str
    value: tuple[Estimate, ...]  # of the objective, per row
    less: tuple[Estimate, ...]  # than `targeted`, by pairs of rows; 0 for that itself
    spent: tuple[float, ...]  # per row
    price: tuple[float, ...]  # what one more unit of the budget is predicted to be worth


class Limit(NamedTuple):
    """The budget of a curve."""

    outcome: str
    rate: float  # per row, as the problem states it


class At(NamedTuple):
    """A policy at one budget."""

    value: float
    psi: Floats  # (N,) the influence of every row
    spent: float
    price: float


def limit_of(evidence: Evidence) -> Limit:
    """Return the budget that a curve is over: the first one on an outcome that is known before acting.

    Raises:
        InvalidInput: there is none.
    """
    p = evidence.problem
    for s in p.stated:
        if s.spends and s.outcome in p.known:
            return Limit(s.outcome, s.total / p.horizon)
    learned = next((s.outcome for s in p.stated if s.spends), None)
    got = "no budget" if learned is None else f"one on {learned!r}, whose use is learned"
    raise InvalidInput(f"{evidence.problem_file}: budget", "a budget on an outcome that is known before acting", got)


def singles(evidence: Evidence) -> dict[str, Floats]:
    """Return the policies that play one action in every row, `->(N,A)` each."""
    count = len(evidence.names)
    return {f"all {name}": np.tile(np.eye(count)[a], (evidence.rows, 1)) for a, name in enumerate(evidence.names)}


def grid(budgets: Sequence[float] | int, frontier: Frontier, stated: float) -> tuple[float, ...]:
    """Return the budgets of a curve: those given, or so many up to where money is worth nothing, and the stated one."""
    if isinstance(budgets, int | np.integer):
        if not 2 <= budgets <= MOST:
            raise InvalidInput("budgets", f"2 to {MOST:,} of them, or a list", budgets)
        even = np.linspace(frontier.least, frontier.enough, int(budgets)).tolist()
        return tuple(sorted({*even, *([stated] if stated >= frontier.least else [])}))
    found = tuple(number(f"budgets[{i}]", b, "a finite number") for i, b in enumerate(budgets))
    if not 1 <= len(found) <= MOST or any(b <= a for a, b in pairwise(found)):
        raise InvalidInput("budgets", f"1 to {MOST:,} rising numbers", budgets)
    if found[0] < frontier.least:
        raise InvalidInput("budgets[0]", f"at least {frontier.least:g}, what the cheapest actions cost", found[0])
    return found


def targeted(frontier: Frontier, budgets: Sequence[float], worth: Tables, cost: Floats) -> Iterator[At]:
    """Yield the policy that gives dear actions first where they are predicted to bring most per unit."""
    for point in frontier.along(budgets):
        values, spent = point.of(worth.scores), point.of(cost)
        psi = values - point.price * (spent - spent.mean())
        yield At(float(values.mean()), psi - psi.mean(), float(spent.mean()), point.price)


def single(action: int, frontier: Frontier, budgets: Sequence[float], worth: Tables, cost: Floats) -> Iterator[At]:
    """Yield the policy that draws the rows with one action at random; the others get their cheapest action."""
    rows = np.arange(len(frontier.start))
    base, paid = worth.scores[rows, frontier.start], cost[rows % len(cost), frontier.start]
    more = worth.scores[:, action] - base
    dearer = np.broadcast_to(cost[:, action], len(rows)) - paid
    step = float(dearer.mean())
    predicted = float((worth.predicted[:, action] - worth.predicted[rows, frontier.start]).mean())
    for budget in budgets:
        share = min(max(budget - frontier.least, 0.0) / step, 1.0) if step > 0.0 else 1.0
        slope = float(more.mean()) / step if 0.0 < share < 1.0 else 0.0  # the share follows from what the rows cost
        values, spent = base + share * more, paid + share * dearer
        psi = values - slope * (spent - spent.mean())
        price = predicted / step if share < 1.0 else 0.0
        yield At(float(values.mean()), psi - psi.mean(), float(spent.mean()), price)


def fair(
    frontiers: FairFrontier, tolerance: float, budgets: Sequence[float], worth: Tables, cost: Floats
) -> Iterator[At]:
    """Yield the targeted policy whose average use by group is within a tolerance of everybody's."""
    for budget in budgets:
        split = frontiers.split(budget, tolerance)
        values, psi = influence(frontiers, split, worth.scores, cost)
        yield At(float(values.mean()), psi, float(frontiers.shares @ split.budgets), max(split.slope, 0.0))


def tolerances_of(evidence: Evidence, outcome: str, given: Sequence[float]) -> Iterator[tuple[str, float]]:
    """Yield the groupings and tolerances of fair lines: those of parities on an outcome, or others on their groupings.

    Raises:
        InvalidInput: tolerances are given, and no parity says between which groups; or one is below 0.
    """
    stated = [s for s in evidence.problem.stated if s.outcome == outcome and not s.spends]
    own = [(s.by, s.limit) for s in stated if s.by in evidence.groups and s.constraint.worst == "high"]
    if given and not own:
        expected = f"none, or a parity on {outcome!r} in {evidence.problem_file}, which names the groups"
        raise InvalidInput("tolerances", expected, list(given))
    for by in dict.fromkeys(by for by, _ in own):
        for i, tolerance in enumerate(given or [limit for name, limit in own if name == by]):
            number(f"tolerances[{i}]", tolerance, "a finite number of at least 0", lambda x: 0.0 <= x < np.inf)
            yield str(by), float(tolerance)


def together(policies: Mapping[str, Iterator[At]], seed: int) -> tuple[tuple[Line, ...], dict[str, Bands]]:
    """Take policies from budget to budget at once, so that they can be compared row by row; the first is targeted.

    The seed is that of the multipliers of bands.
    """
    found: dict[str, list[tuple[Estimate, Estimate, float, float]]] = {name: [] for name in policies}
    sums: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in policies}
    for each in zip(*policies.values(), strict=True):
        first = each[0]
        for name, at in zip(policies, each, strict=True):
            less = Estimate.of(first.psi - at.psi, first.value - at.value)
            found[name].append((Estimate.of(at.psi, at.value), less, at.spent, at.price))
            sums[name].append((blocks(at.psi), blocks(first.psi - at.psi)))
    bands = {
        name: Bands(*(reach([sum_[part] for sum_ in each], seed, 2 * i + part) for part in range(2)))
        for i, (name, each) in enumerate(sums.items())
    }
    return tuple(Line(name, *zip(*rows, strict=True)) for name, rows in found.items()), bands
