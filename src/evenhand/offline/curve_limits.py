"""Any limit of a problem in place of the budget of a curve: its name, its points, and lines within all limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.texts import amount
from evenhand.core.types import Floats
from evenhand.offline.curve_policies import TARGETED, Limit, grid, others_of, plays_logged
from evenhand.offline.evidence import Evidence
from evenhand.offline.plans.allocation import Resource, allocate
from evenhand.offline.plans.fold_plans import Crossed, Fold, Planner, fixed_limits, program
from evenhand.offline.plans.frontier import Point
from evenhand.offline.plans.limits import Bound, demands_of, label_of
from evenhand.offline.plans.objectives import At
from evenhand.offline.plans.planned_policies import Once, Parted, Single, moves
from evenhand.offline.policies import LOGGED
from evenhand.offline.scores import STILL, Average, Estimate
from evenhand.problem.constraints.base import as_limited
from evenhand.problem.constraints.statements import Statement, state

_DOUBLINGS, _HALVINGS = 20, 8  # of the steps by which the last point that is possible is looked for
APART = 0.02  # of the range of a curve: how far its end is from the last point that is possible
_ROOM = 1e-9  # of the largest use of a case, or of a share: sums are rounded
_NONE = float("nan")


class Axis(NamedTuple):
    """What a curve varies, in words."""

    name: str  # of a limit; empty for the first budget of the file
    point: str  # a noun for one of its points
    most: str  # the head of tables
    unit: str
    side: int  # 1 if it is the most that is used of an outcome on average, -1 the least, 0 for another limit
    judged: bool  # whether lines are compared at what they truly use, and not by predictions alone

    @staticmethod
    def of_budget(outcome: str) -> Axis:
        """Return that of the first budget of a file."""
        return Axis("", "budget", f"{outcome} at most", f"{outcome} per case", 1, True)


def names_of(evidence: Evidence) -> dict[str, Statement]:
    """Return the limits of averages by the names that notes on prices have, without their numbers.

    Limits of your own are there if each of their rows has the limit as its bound.
    """
    found, demands = dict[str, Statement](), demands_of(evidence.problem)
    for s in demands.budgets:
        found.setdefault(f"the budget of {s.outcome}", s)
    for s in demands.averages:
        if as_limited(s.constraint) or (np.abs(s.bound) == abs(s.limit)).all():
            found.setdefault(label_of(s).rpartition(" ")[0], s)
    return found


def limit_named(evidence: Evidence, over: str) -> tuple[str, Statement] | None:
    """Return a limit with its name; None if it is the first budget of the file. The number of a limit may follow.

    Raises:
        InvalidInput: the problem has no such limit.
    """
    known, budgets = names_of(evidence), demands_of(evidence.problem).budgets
    for name, s in known.items():
        if over in (name, label_of(s)):
            return None if s in budgets[:1] else (name, s)
    expected = f"a limit of {evidence.problem_file}, one of {list(known)}"
    raise InvalidInput("over", expected, repr(over) + suggestion(over, known))


@dataclass(frozen=True, eq=False)
class Varied:
    """A limit that a curve varies, beside all others of the problem.

    Args:
        crossed: the folds of the log.
        name: as of `names_of`.
        demand: the limit as the file states it.
    """

    crossed: Crossed
    name: str
    demand: Statement

    @property
    def sign(self) -> float:
        """1 for the most of something, -1 for the least."""
        return 1.0 if self.demand.constraint.worst == "high" else -1.0

    @cached_property
    def limit(self) -> Limit:
        """The outcome that is limited, of a ratio the numerator, and the number of the file."""
        p, s = self.crossed.evidence.problem, self.demand
        outcome = p.names[int(np.argmax(self.sign * s.rows.weights[0]))]
        return Limit(outcome, s.total / p.horizon if s.spends else s.limit, self._is_learned(s))

    @property
    def axis(self) -> Axis:
        """The limit in words."""
        s = self.demand
        unit = f"{s.outcome} per case, at most" if s.spends else self.name
        side = int(self.sign) if s.by is None and as_limited(s.constraint) is None else 0
        judged = bool(side or not self.limit.learned) and not any(map(self._is_learned, self.others))
        return Axis(self.name, "limit", unit, unit, side, judged)

    def _is_learned(self, s: Statement) -> bool:
        """Tell whether plans keep to a limit by predictions."""
        return bool(s.rows.weights[:, : len(self.crossed.evidence.problem.learned)].any())

    @cached_property
    def others(self) -> tuple[Statement, ...]:
        """The other limits of the problem."""
        return tuple(s for s in others_of(self.crossed.evidence, None) if s is not self.demand)

    def fixed(self, fold: Fold) -> list[Bound]:
        """Return the other limits, of some rows."""
        return fixed_limits(self.crossed.evidence, self.others)(fold)

    def vary(self, fold: Fold) -> Callable[[float], list[Bound]]:
        """Return the limit of some rows by its number."""
        evidence, s = self.crossed.evidence, self.demand
        stated, limited = fixed_limits(evidence, [s])(fold), as_limited(s.constraint)

        def resources(x: float) -> list[Resource]:
            if limited is None:
                each = (bound.resource for bound in stated)
                return [replace(one, most=np.full(len(one.most), self.sign * x)) for one in each]
            own = state(evidence.problem, limited.at_limit(x))
            return [bound.resource for bound in fixed_limits(evidence, [own])(fold)]

        def bounds(x: float) -> list[Bound]:
            label = self.name if s.spends else f"{self.name} {amount(x, 6)}"
            return [Bound(label, *pair) for pair in zip(resources(x), resources(x + 1.0), strict=True)]

        return bounds

    def planner(self, points: Sequence[float]) -> Planner:
        """Return a planner for the best policies within all limits."""
        return program(self.fixed, None, points, self.vary)

    def points(self, asked: Sequence[float] | int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the points of a curve at which limits can be kept, and those at which they exclude each other.

        Raises:
            InvalidInput: as for `grid`.
            InfeasibleProblem: the limits exclude each other everywhere; it names them.
        """
        low, high = (-np.inf, np.inf) if isinstance(asked, Sequence) else sorted(self._ends())
        at = grid(asked, low, high, self.limit.rate)
        found = tuple(x for x in at if (np.isfinite(low) and low <= x <= high) or self._is_possible(x))
        if not found:
            list(self.crossed.own(self.planner(at[:1]), None))
        return found, tuple(x for x in at if x not in found)

    @cached_property
    def _folds(self) -> list[tuple[Fold, list[Bound], Callable[[float], list[Bound]]]]:
        return [(fold, self.fixed(fold), self.vary(fold)) for fold in self.crossed.each_fold(None)]

    def _is_possible(self, x: float) -> bool:
        try:
            for fold, others, vary in self._folds:
                allocate(fold.aim.worth, [b.resource for b in [*vary(x), *others]], np.arange(len(fold.rows)))
        except (InfeasibleProblem, InvalidInput):  # as of a ratio below 0
            return False
        return True

    def _ends(self) -> tuple[float, float]:
        """Return the number at which the limit does not bind yet, and one near the last that is possible."""
        (free,) = self.crossed.own(program(self.fixed, None, [0.0]), None)
        loose = list[float]()
        for part, (_, _, vary) in zip(free.parts, self._folds, strict=True):
            for bound in vary(0.0):
                use, room = bound.resource.beyond(part.of(bound.resource.use)), bound.gives(part.of)
                loose += (use[room != 0.0] / room[room != 0.0]).tolist()
        start = self.sign * max(self.sign * x for x in loose)
        step = self.sign * (abs(start - self.limit.rate) or abs(start) or 1.0)
        last, beyond = start, start - step
        for _ in range(_DOUBLINGS):
            if not self._is_possible(beyond):
                break
            step *= 2.0
            last, beyond = beyond, beyond - step
        for _ in range(_HALVINGS):
            middle = 0.5 * (last + beyond)
            last, beyond = (middle, beyond) if self._is_possible(middle) else (last, middle)
        return start, last + APART * (start - last)


def lines_within(varied: Varied, at: Sequence[float]) -> Iterator[tuple[str, Iterator[At]]]:
    """Yield the lines of a curve by name, each within all limits: targeted, and single actions for rows at random.

    The others of those rows get the action that uses least, which is the last line.
    """
    crossed, outcome = varied.crossed, varied.limit.outcome
    evidence, aim = crossed.evidence, crossed.dealt
    use, worth = crossed.cost_dealt(outcome).predicted.mean(0), aim.worth.mean(0)
    each = [Once(Point(np.full(aim.rows, a, np.int32), -1, 0, 0.0, 0.0)) for a in range(len(evidence.names))]
    least = min(range(len(each)), key=lambda a: (use[a], -worth[a]))
    yield TARGETED, _targeted(varied, at)
    for a, name in enumerate(evidence.names):
        if a != least:
            yield f"only {name}", _at_random(varied, each[least], each[a], at)
    if evidence.played.min() >= 0:  # nothing is said of what withdrawn actions use
        yield LOGGED, _at_random(varied, each[least], plays_logged(crossed), at)
    yield f"all {evidence.names[least]}", _at_random(varied, each[least], each[least], at)


def _targeted(varied: Varied, at: Sequence[float]) -> Iterator[At]:
    crossed, aim, cost = varied.crossed, varied.crossed.dealt, varied.crossed.cost_dealt(varied.limit.outcome)
    tables = [*(table.scores for table in aim.tables), cost.scores]
    for own, totals in crossed.plans(varied.planner(at), varied.limit.outcome, tables):
        found = aim.at(Parted(crossed.rows.runs, own.parts), cost, totals[:-1])
        yield _charged(varied, found, moves(totals[-1], aim.rows))


def _charged(varied: Varied, at: At, moved: Floats = STILL) -> At:
    """Charge what predictions miss of a learned limit at its price, so that policies are compared at the same use.

    Equation: V - price mean_i (s_i - c_i), with the use c by predictions, which is at the limit, and s by scores. Rows
    that are chosen for high predictions have less: a floor would seem cheap. Folds move the use by `moved`, `(K,K)`.
    """
    crossed, limit = varied.crossed, varied.limit
    if not (limit.learned and varied.axis.side):
        return at
    cost = crossed.cost_dealt(limit.outcome)
    missed = Average.of(at.policy.of(cost.scores) - at.policy.of(cost.predicted), crossed.clusters_dealt)
    charge = missed._replace(moves=moved).times(at.price)
    return at._replace(value=at.value - charge.value, psi=at.psi - charge.psi, moves=at.moves - charge.moves)


def _at_random(varied: Varied, start: Once, other: Once, at: Sequence[float]) -> Iterator[At]:
    """Yield the policy that gives a random share of rows to another one; NaN where no share keeps to all limits."""
    crossed, aim = varied.crossed, varied.crossed.dealt
    cost, nothing = crossed.cost_dealt(varied.limit.outcome), np.full(crossed.clusters_dealt.count, _NONE)
    whole = Fold(aim, cost.predicted, crossed.tables_dealt, crossed.rows.order)
    others, vary = varied.fixed(whole), varied.vary(whole)
    for x in at:
        found = share_within([*vary(x), *others], start, other, aim.worth)
        missing = At(_NONE, nothing, _NONE, Estimate(_NONE, _NONE), _NONE, start)
        yield missing if found is None else _charged(varied, aim.at(found, cost))


def share_within(bounds: Sequence[Bound], start: Once, other: Once, worth: Floats) -> Single | None:
    """Return the best lottery of two policies within limits, by what is predicted, `(N,A)`; None if none keeps to them.

    >>> from evenhand.offline.plans.limits import budget_of
    >>> none, letter = (Once(Point(np.array([a, a], np.int32), -1, 0, 0.0, 0.0)) for a in (0, 1))
    >>> post = budget_of("post", np.array([[0.0, 2.0]]), 0.5)
    >>> round(share_within([post], none, letter, np.array([[0.0, 3.0], [0.0, 2.0]])).share, 9)
    0.25
    """
    uses = [b.resource for b in bounds]
    base, there = (np.concatenate([r.beyond(z.of(r.use)) for r in uses]) for z in (start, other))
    step, room = there - base, _ROOM * np.concatenate([r.units for r in uses])
    ends = np.divide(-base, step, out=np.zeros(len(step)), where=step != 0.0)
    low, high = max(0.0, ends.max(where=step < 0.0, initial=0.0)), min(1.0, ends.min(where=step > 0.0, initial=1.0))
    if low > high + _ROOM or (base > room)[step == 0.0].any():
        return None
    upwards = float(other.of(worth).mean()) >= float(start.of(worth).mean())
    share = float(np.clip(high if upwards else low, 0.0, 1.0))
    if not 0.0 < share < 1.0:
        return Single(start, other, share, np.inf)
    binds = int(np.where((step > 0.0) == upwards, np.abs(ends - share), np.inf).argmin())
    bound, row = [(b, m) for b in bounds for m in range(len(b.resource.most))][binds]
    mixed = Single(start, other, share, float(step[binds]), (bound.resource, row))
    return replace(mixed, more=float(bound.gives(mixed.of)[row]))
