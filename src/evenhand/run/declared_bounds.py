"""Bounds of optimal prices from what a problem declares: the ranges of outcomes, and what is known of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.core.types import Bools, Floats
from evenhand.goals.linear_reward import reward
from evenhand.problem.constraints import constraint_rows, slack_rows
from evenhand.problem.feasible import reach, sizes
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.recipes._units import group_factors, worth_unit

_FAR = 1e6  # in units of a round: what stands for an outcome without a range
_LARGE = 1e9  # one over a price, from which on it is 0


@dataclass(frozen=True, kw_only=True, eq=False)
class DeclaredBounds:
    """The d of D rows that can bind, in units of what a round can add to them, and rewards in those of its worth."""

    binds: Bools  # (D,)
    unit: Floats  # (d,)
    worth: float
    factor: float  # the largest of a group, by which units are above those of `pgd`
    bound: Floats  # (d,)
    least: Floats  # (A, d) that a play adds at least, whatever the policy
    most: Floats  # (A, d) that it adds at most on average, if actions are drawn alike in all cases
    best: Floats  # (A,) the reward of a play at most, whatever the policy
    sure: Floats  # (A,) and at least, if actions are drawn alike in all cases
    plays: int

    @staticmethod
    def of(problem: Problem) -> DeclaredBounds:
        """Read a problem with a linear objective and constraints with straight sides."""
        rows, bound = constraint_rows(problem)
        binds, goal, plays = ~slack_rows(problem), reward(problem), problem.n_plays
        rows, bound = rows.take(np.flatnonzero(binds)), bound[binds]
        size, factor = sizes(problem, rows), float(group_factors(problem, rows)[0].max(initial=1.0))
        unit, worth = plays * factor * np.where(size > 0.0, size, 1.0), plays * worth_unit(problem, goal)
        least, _, _, most = _ends(problem, rows)
        low, high, sure_low, sure_high = (_times(np.array(goal.weights), z) for z in _ends(problem, goal.rows))
        return DeclaredBounds(
            binds=binds,
            unit=unit,
            worth=worth,
            factor=factor,
            bound=bound / unit,
            least=np.maximum(least / unit, -_FAR),
            most=np.minimum(most / unit, _FAR),
            best=np.maximum(low, high).sum(1) / worth,
            sure=np.maximum(np.minimum(sure_low, sure_high).sum(1) / worth, -_FAR),
            plays=plays,
        )

    def slack(self) -> float:
        """By how much all rows can be tightened together for certain; 0 if no lottery keeps them for certain."""
        n, d = self.most.shape
        uses, one = np.column_stack([self.most.T, np.ones(d)]), np.append(np.ones(n), 0.0)[None]
        found = _solved(np.append(np.zeros(n), -1.0), uses, self.bound, one, [self.plays], [1.0] * n + [None])
        return math.inf if d == 0 else 0.0 if found is None else float(found[-1]) + 0.0

    def price(self, direction: Floats, off: float = 0.0) -> float:
        """Bound direction.lam at all bounds that are tightened by up to `off` in all rows, infinite if nothing does.

        Equation: the least (best.x* - sure.x) / s over lotteries x and s > 0 with most.x + s direction <= bound - off,
        with x* the lottery that is best where least.x* <= bound. In x and s over best.x* - sure.x, it is one over the
        largest s of a linear program.
        """
        if not np.isfinite(self.best).all():
            return math.inf
        n, d = self.most.shape
        top = _solved(-self.best, self.least.T, self.bound, np.ones((1, n)), [self.plays], [1.0] * n)
        if top is None:
            return math.inf
        if float(self.best @ top) <= self.plays * float(self.sure.min()):  # no lottery loses anything
            return 0.0
        uses = np.column_stack([self.most.T, off - self.bound, direction])
        once = np.column_stack([np.eye(n), -np.ones(n), np.zeros(n)])
        equal = np.array([[*np.ones(n), -self.plays, 0.0], [*-self.sure, float(self.best @ top), 0.0]])
        value, limits = np.append(np.zeros(n + 1), -1.0), [None] * (n + 1) + [_LARGE]
        found = _solved(value, np.concatenate([uses, once]), np.zeros(d + n), equal, [0.0, 1.0], limits)
        if found is None or found[-1] <= 0.0:
            return math.inf
        return 1.0 / float(found[-1]) if found[-1] < 0.5 * _LARGE else 0.0


def _ends(problem: Problem, rows: Rows) -> tuple[Floats, Floats, Floats, Floats]:
    """What a play of each action adds to rows: at least and at most, and so on average over the groups, `->4 x (A,d)`.

    A play of a policy may be in either part of the cases, in a group or outside. One that is drawn alike in all cases
    is in the group with the probability of its share. An action is in its group, or is not.
    """
    share = np.append(problem.shares, 1.0)[rows.column]
    alike = np.array([1.0 / len(g.names) for g in problem.groups] + [1.0])[rows.grouping]
    share = np.where(share > 0.0, share, alike)  # where it is estimated
    inside = rows.inside / np.where(rows.by_share, share, 1.0)
    chance = np.tile(share, (len(problem.actions), 1))
    for j in np.flatnonzero(rows.grouping >= 0):
        of = problem.groups[rows.grouping[j]].of
        if of is not None:
            chance[:, j] = [of[a] == problem.columns[rows.column[j]][1] for a in problem.actions]
    out, into = (reach(problem, replace(rows, always=rows.always + f * inside)) for f in (0.0, 1.0))
    can, cannot = chance > 0.0, chance < 1.0
    least = np.minimum(np.where(can, into[0], np.inf), np.where(cannot, out[0], np.inf))
    most = np.maximum(np.where(can, into[1], -np.inf), np.where(cannot, out[1], -np.inf))
    ends = zip(into, out, strict=True)
    low, high = (_times(chance, i) + _times(1.0 - chance, o) for i, o in ends)
    return least, most, low, high


def _times(a: Floats, b: Floats) -> Floats:
    """a b, which is 0 where a is, also of what has no range."""
    return np.multiply(a, b, out=np.zeros_like(b), where=a != 0.0)


def _solved(
    value: Floats,
    rows: Floats,
    limits: Floats,
    equal: Floats,
    sums: Sequence[float],
    highest: Sequence[float | None],
) -> Floats | None:
    """The x of the least value.x with rows.x <= limits, equal.x = sums and 0 <= x <= highest, None if there is none."""
    from scipy.optimize import linprog  # only needed here

    found = linprog(value, rows, limits, equal, sums, bounds=[(0.0, top) for top in highest])
    return np.asarray(found.x) if found.status == 0 else None
