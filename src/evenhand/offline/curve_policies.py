"""The policies of a curve, their values at every budget, and their differences to the targeted one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.progress import Work
from evenhand.core.texts import amount
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import number
from evenhand.offline.cautions import Doubt
from evenhand.offline.events import Gap, Share
from evenhand.offline.evidence import Evidence, Tables
from evenhand.offline.plans.fold_plans import Crossed, Planner
from evenhand.offline.plans.frontier import Point, cheapest
from evenhand.offline.plans.limits import demands_of
from evenhand.offline.plans.objectives import Aim, At, add_shares
from evenhand.offline.plans.planned_policies import Constant, Once, Parted, Single
from evenhand.offline.scores import Average, Bands, Estimate, blocks, reach
from evenhand.offline.uplift import Areas
from evenhand.problem.constraints.statements import Statement

TARGETED = "targeted"
MOST = 10_000  # budgets


class Line(NamedTuple):
    """The values of a policy at every budget of a curve."""

    name: str
    value: tuple[Estimate, ...]  # of the objective, per case
    less: tuple[Estimate, ...]  # than `targeted`, by pairs of cases; 0 for that itself
    spent: tuple[float, ...]  # per case, by predictions
    used: tuple[Estimate, ...]  # what is spent, by scores: where it is known, for the population behind the log
    price: tuple[float, ...]  # what one more unit of the budget is predicted to be worth


class Limit(NamedTuple):
    """The budget of a curve."""

    outcome: str
    rate: float  # per case, as the problem states it
    learned: bool  # whether what is used is not known before acting, but predicted


def limit_of(evidence: Evidence) -> Limit | None:
    """Return the budget that a curve varies: the first one of all groups together; None if there is none."""
    p, budgets = evidence.problem, demands_of(evidence.problem).budgets
    if not budgets:
        return None
    first = budgets[0]
    return Limit(str(first.outcome), first.total / p.horizon, first.outcome in p.learned)


def others_of(evidence: Evidence, limit: Limit | None) -> tuple[Statement, ...]:
    """Return the limits that a plan keeps to beside a budget."""
    p, found = evidence.problem, demands_of(evidence.problem)
    own = [s for s in found.budgets if limit and s.outcome == limit.outcome and s.total / p.horizon == limit.rate]
    return tuple(s for s in (*found.budgets, *found.averages) if s not in own[:1])


def beside(others: Sequence[Statement], limit: Limit) -> Iterator[str]:
    """Say which lines keep to the limits beside the budget, if there are some."""
    if others:
        labels = ", ".join(s.label for s in others)
        yield f"{TARGETED!r} and fair lines keep also to {labels}; the others to the budget on {limit.outcome} alone"


def ignored(evidence: Evidence) -> Iterator[str]:
    """Say which constraints of the problem no plan keeps."""
    for s in demands_of(evidence.problem).others:
        yield f"no plan keeps to: {s.label}"
    unit = evidence.problem.unit
    if unit is not None and unit.caps:
        yield f"no plan keeps to the caps of a {unit.name}: every case is planned on its own"


def singles(evidence: Evidence) -> dict[str, Floats]:
    """Return the policies that play one action in every row, `->(N,A)` each: read-only, as one row is held."""
    each, shape = np.eye(len(evidence.names)), (evidence.rows, len(evidence.names))
    return {f"all {name}": np.broadcast_to(each[a], shape) for a, name in enumerate(evidence.names)}


def grid(budgets: Sequence[float] | int, least: float, most: float, stated: float) -> tuple[float, ...]:
    """Return the budgets of a curve: those given, or a grid up to where more is worth nothing, and the stated one."""
    if isinstance(budgets, int | np.integer):
        if not 2 <= budgets <= MOST:
            raise InvalidInput("budgets", f"2 to {MOST:,} of them, or a list", budgets)
        even = np.linspace(least, most, int(budgets)).tolist()
        return tuple(sorted({*even, *([stated] if stated >= least else [])}))
    found = tuple(number(f"budgets[{i}]", b, "a finite number") for i, b in enumerate(budgets))
    if not 1 <= len(found) <= MOST or any(b <= a for a, b in pairwise(found)):
        raise InvalidInput("budgets", f"1 to {MOST:,} rising numbers", budgets)
    if found[0] < least:
        raise InvalidInput("budgets[0]", f"at least {amount(least, 6)}, what the cheapest actions cost", found[0])
    return found


def planned(crossed: Crossed, planner: Planner, outcome: str) -> Iterator[At]:
    """Yield the policies that are planned fold by fold for budgets on an outcome, one fold after the other."""
    aim, cost, runs = crossed.dealt, crossed.cost_dealt(outcome), crossed.rows.runs
    plans = crossed.plans(planner, outcome, [crossed.clusters_dealt.times(table.scores) for table in aim.tables])
    return (aim.at(Parted(runs, own.parts), cost, totals) for own, totals in plans)


def cheapest_of(aim: Aim, cost: Tables) -> Once:
    """Return the policy of the cheapest actions, for rows that get no action from another policy."""
    return Once(cheapest(aim.worth, cost.predicted))


def name_of(start: Once, names: Sequence[str]) -> str:
    """Return the name of the line of the cheapest actions, as of `singles` where all rows have the same one."""
    played = np.unique(start.of(np.arange(float(len(names)))[None])).astype(int)
    return f"all {names[played[0]]}" if len(played) == 1 else "all cheapest"


def constant(policy: Once, aim: Aim, count: int, cost: Tables) -> Iterator[At]:
    """Yield a policy that is the same at so many budgets."""
    yield from repeat(aim.at(policy, cost), count)


def single(action: int, start: Once, aim: Aim, budgets: Sequence[float], cost: Tables) -> Iterator[At]:
    """Yield the policy that plays one action in a random share of rows; the others stay as they start."""
    everywhere = Constant(action, aim.rows)
    costs = cost.predicted if aim.clusters is None else aim.clusters.times(cost.predicted)
    return (aim.at(Single.within(b, start, everywhere, costs), cost) for b in budgets)


def logging_policy(crossed: Crossed, start: Once, budgets: Sequence[float], outcome: str) -> Iterator[At]:
    """Yield the policy of the log in a random share of rows, and in all of them once a budget pays for it."""
    aim, cost, clusters = crossed.dealt, crossed.cost_dealt(outcome), crossed.clusters_dealt
    costs, amounts = clusters.times(cost.predicted), crossed.evidence.used((outcome,))[outcome]
    everywhere = plays_logged(crossed, [(costs, clusters.times(amounts[crossed.rows.order][:, None])[:, 0])])
    return (aim.at(Single.within(b, start, everywhere, costs), cost) for b in budgets)


def plays_logged(crossed: Crossed, more: Iterable[tuple[Floats, Floats]] = ()) -> Once:
    """Return what the log did in every row, with the outcomes that followed, and what rows have of more tables."""
    evidence, aim, order = crossed.evidence, crossed.dealt, crossed.rows.order
    amounts = evidence.used((*evidence.problem.learned, *evidence.problem.known))
    each = [evidence.achieved] if aim.linear else [amounts[name] for name in evidence.problem.objective.outcomes]
    own = [*zip(aim.tables, each, strict=True), *((crossed.tables_dealt[name], z) for name, z in amounts.items())]
    known = [(table, z) for tables, z in ((tables, z[order]) for tables, z in own) for table in tables]
    played = Point(evidence.played[order].astype(np.int32), -1, 0, 0.0, 0.0)
    return Once(played, [*known, *more, (crossed.weights_dealt, np.ones(len(order)))])


def doubtful(crossed: Crossed, each: Iterator[At], ask: Callable[[Floats], Doubt], limit: Limit) -> Iterator[At]:
    """Yield policies, without an error where the log says too little of them, which `ask` tells by their weights.

    What is used of a learned outcome of two values is a share.
    """
    occurrence, clusters = crossed.occurrences_dealt.get(limit.outcome), crossed.clusters_dealt
    for at in each:
        w = at.policy.of(crossed.weights_dealt)
        doubt, used = ask(w), at.used
        if occurrence is not None and occurrence.risks(w):
            few = occurrence.are_few(w, clusters)
            used = used._replace(se=float("nan")) if few else used.counted(doubt.cases, occurrence.ends)
        own = at._replace(used=used, events=_events(crossed, at, w))
        yield own.guess(limit.learned) if doubt.is_guess else own


def _events(crossed: Crossed, at: At, w: Floats) -> Share | Gap | None:
    """Return the share or gap behind the interval of a weighted sum, of rows with weights `(N)`; None without any."""
    weights, tables, clusters = crossed.evidence.share_weights, crossed.tables_dealt, crossed.clusters_dealt
    if not weights:
        return None
    if len(weights) == 1:
        parts = [(name, q, at.average) for name, q in weights.items()]
    else:
        each = {name: at.policy.of(tables[name].scores) for name in weights}
        parts = [(name, q, Average.of(each[name], clusters).times(q)) for name, q in weights.items()]
    return add_shares(parts, crossed.occurrences_dealt, w, clusters).events


def is_parity(evidence: Evidence, s: Statement, outcome: str) -> bool:
    """Tell whether a constraint is a parity on an outcome between groups of cases."""
    return s.outcome == outcome and not s.spends and s.by in evidence.groups and s.constraint.worst == "high"


def tolerances_of(evidence: Evidence, outcome: str, given: Sequence[float]) -> Iterator[tuple[str, float]]:
    """Yield the groupings and tolerances of fair lines: those of parities on an outcome, or others on their groupings.

    Raises:
        InvalidInput: tolerances are given, and no parity says between which groups; or one is below 0.
    """
    own = [(s.by, s.limit) for s in evidence.problem.stated if is_parity(evidence, s, outcome)]
    if given and not own:
        expected = f"none, or a parity on {outcome!r} in {evidence.problem_file}, which names the groups"
        raise InvalidInput("tolerances", expected, list(given))
    for by in dict.fromkeys(by for by, _ in own):
        for i, tolerance in enumerate(given or [limit for name, limit in own if name == by]):
            number(f"tolerances[{i}]", tolerance, "a finite number of at least 0", lambda x: 0.0 <= x < np.inf)
            yield str(by), float(tolerance)


def together(
    policies: Mapping[str, Iterator[At]], budgets: Sequence[float], seed: int, names: Ints
) -> tuple[tuple[Line, ...], dict[str, Bands], Areas]:
    """Follow policies over the budgets together, so that they can be compared row by row; the first is targeted.

    The seed is that of the multipliers of bands, and `(G)` names are those of their clusters.
    """
    areas = Areas(budgets)
    found: dict[str, list[tuple[Estimate, Estimate, float, Estimate, float]]] = {name: [] for name in policies}
    sums: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in policies}
    with Work("weighing", "budget", len(budgets)) as work:
        for b, each in enumerate(zip(*policies.values(), strict=True)):
            first = each[0]
            targeted = first.estimate
            for name, at in zip(policies, each, strict=True):
                own, psi = at.estimate, first.psi - at.psi
                less = first.average.beyond(targeted, at.average, own)
                found[name].append((own, less, at.spent, at.used, at.price))
                sums[name].append((blocks(at.psi, names), blocks(psi, names)))
                areas.add(b, name, at.average)
            del each, first, at, psi  # before those of the next budget are made
            work.update()
    bands = {
        name: Bands(*(reach([sum_[part] for sum_ in each], seed, 2 * i + part) for part in range(2)))
        for i, (name, each) in enumerate(sums.items())
    }
    return tuple(Line(name, *zip(*rows, strict=True)) for name, rows in found.items()), bands, areas
