"""The best static policy of lists by a primal-dual method, which needs one sort per case and pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.types import Floats
from evenhand.numerics.permutahedron import ascend, best_lists
from evenhand.objectives import Linear, Objective, WeightedSum
from evenhand.objectives.base import Proximal, able, sloped
from evenhand.planning.lists import Lists, places_matter, posted, pulled
from evenhand.planning.mixing import Best
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, in_units, select, stack

EVERY = 40  # passes between two looks at the bounds
PASSES, WORK = 20_000, 1e10  # at most, and over cases times candidates
SMALL = 1e-4  # by how much a row may exceed its limit, in units of what a play adds


def split(objective: Objective) -> tuple[dict[str, float], tuple[tuple[float, Objective], ...]]:
    """Return the weights of the linear parts of an objective, and the other parts with their factors.

    >>> split(WeightedSum(((2.0, Linear({"a": 1.0})), (1.0, Linear({"a": 0.5})))))
    ({'a': 2.5}, ())
    """
    terms = objective.terms if isinstance(objective, WeightedSum) else ((1.0, objective),)
    weights: dict[str, float] = {}
    for c, part in terms:
        if isinstance(part, Linear):
            for name, weight in part.weights.items():
                weights[name] = weights.get(name, 0.0) + c * weight
    return weights, tuple((c, part) for c, part in terms if not isinstance(part, Linear))


class _Side(NamedTuple):
    """Prices of all rows, and the constant of the tangents that they are made of."""

    slope: Floats  # (m,) of the part that is not linear
    lam: Floats  # (d,) of the constraints, in their units
    constant: float

    def mean(self, times: int) -> _Side:
        return _Side(self.slope / times, self.lam / times, self.constant / times)

    def plus(self, other: _Side) -> _Side:
        return _Side(self.slope + other.slope, self.lam + other.lam, self.constant + other.constant)


class _Program:
    """The maps between points, rows, values and bounds."""

    def __init__(self, objective: Objective, problem: Problem, lists: Lists, rows: Rows, limit: Floats) -> None:
        weights, others = split(objective)
        self.curved = WeightedSum(others) if others else None
        if self.curved is not None and not able(self.curved, Proximal):
            expected = "parts that have a prox and share no outcomes, for the optimum over lists"
            raise InvalidInput("objective", expected, type(objective).__name__)
        names = tuple(self.curved.outcomes) if self.curved is not None else ()
        self._problem, self._lists, self.weights = problem, lists, np.array(list(weights.values()))
        self.m = len(weights), len(names)
        unit = np.ones(len(rows))
        for j in range(len(rows)):
            price, offset = pulled(rows, problem, lists, np.eye(len(rows))[j])
            most = float((np.abs(price) * np.abs(lists.learned).max((0, 1))).sum(1).max() + np.abs(offset).max())
            unit[j] = most if most > 0.0 else 1.0
        self.unit = unit
        scaled, self.limit = in_units(rows, limit, unit)
        self.rows = stack([select(problem, weights), select(problem, names), scaled])
        self.order = [(*weights, *names).index(name) for name in objective.outcomes]

    def pull(self, side: _Side, linear: float = 1.0) -> tuple[Floats, Floats]:
        """Price of learned outcomes and offset of every candidate, `->(1|A,M),(A)`."""
        q = np.concatenate([linear * self.weights, side.slope, -side.lam])
        price, offset = pulled(self.rows, self._problem, self._lists, q)
        return np.ascontiguousarray(price), offset

    def post(self, y: Floats, exposed: Floats) -> Floats:
        """All rows, `(A,M),(A)->(m+d)`."""
        return posted(self.rows, self._problem, self._lists, y, exposed)

    def norm(self) -> float:
        """The norm of the map to all rows that are not linear in the objective, by power iteration."""
        lists, (n, m) = self._lists, self.m
        q, norm = np.ones(len(self.rows) - n), 0.0
        for _ in range(20 if len(q) else 0):
            price, offset = self.pull(_Side(q[:m], -q[m:], 0.0), linear=0.0)
            worth = (lists.weight[:, None]) * ((lists.learned * price).sum(2) + offset)
            q = self.post(np.einsum("sa,sam->am", worth, lists.learned), worth.sum(0))[n:]
            norm = float(np.linalg.norm(q))
            if norm == 0.0:
                break
            q = q / norm
        return 1.05 * float(np.sqrt(norm)) or 1.0  # the iteration approaches it from below

    def value(self, z: Floats, lam: Floats) -> tuple[float, float]:
        """The objective less the priced excess over limits, and the largest excess of a row over its limit."""
        (n, m), over = self.m, np.maximum(z[sum(self.m) :] - self.limit, 0.0)
        curved = float(self.curved.value(z[n : n + m])) if self.curved is not None else 0.0
        return float(self.weights @ z[:n]) + curved - float(lam @ over), float(over.max(initial=0.0))

    def bound(self, side: _Side) -> float:
        """An upper bound on the value of every policy, from any prices."""
        d = self._lists
        best = best_lists(d.learned, d.offered, d.weight, d.position, *self.pull(side))
        return side.constant + float(side.lam @ self.limit) + best


def maximize_lists(
    objective: Objective,
    problem: Problem,
    lists: Lists,
    rows: Rows,
    limit: Floats,
    *,
    tolerance: float = 1e-6,
    passes: int | None = None,
) -> Best:
    """Maximise f(z) over the averages z of lotteries of lists within the limits, with a gap from both sides.

    Equation: max_x min_{q, lam >= 0} q.Kx - f_*(q) + lam.(limit - Cx) over points x of one permutahedron per case,
    by the primal-dual method of Chambolle & Pock 2011: a prox of f, a step on lam, and a projection per case. Linear
    parts of f keep their weights. Every slope q is that of a tangent f(p) + q.(z - p), so all prices, and their
    means, bound the optimum by f(p) - q.p + lam.limit + sum_s w_s (best list of case s). Averages start anew when
    their gap has halved, and the ratio of the step sizes follows the side that lags (as in Applegate et al. 2021).

    The value is that of an average of points. The excess of its rows over limits, at most 1e-4 of a play's addition, is
    charged at the prices.

    Args:
        objective: f, whose parts that are not linear have a prox and share no outcomes.
        problem: for the shares of groups.
        lists: the cases.
        rows, limit: of the constraints, `(d)`.
        tolerance: of the gap, per unit of what averages of even exposure add to f by its slope there.
        passes: at most, over all cases; by default 20,000, or fewer where there are many cases, but at least 1,000.

    Raises:
        InvalidInput: an objective without a prox, or an outcome that is sure: then lists are assignments.
        InfeasibleProblem: no policy was found that keeps to the limits.
    """
    if places_matter(rows) or places_matter(select(problem, objective.outcomes)):
        expected = "outcomes that count only where a play is exposed, where no linear program can be solved"
        raise InvalidInput("opt", expected, "one that is sure")
    p = _Program(objective, problem, lists, rows, limit)
    (n, m), (cases, candidates) = p.m, lists.learned.shape[:2]
    passes = passes or int(np.clip(WORK / (cases * candidates), 1000, PASSES))
    x = _even(lists)
    z = p.post(np.einsum("s,sa,sam->am", lists.weight, x, lists.learned), lists.weight @ x)
    ahead, best, bound, prices = z, Best(-np.inf, np.zeros(0), z, np.inf), np.inf, np.zeros(len(limit))
    now = _Side(np.zeros(m), np.zeros(len(limit)), 0.0)
    even, middle = z[: n + m][p.order], np.array(problem.middle(tuple(objective.outcomes)))
    worth = float(np.abs(sloped(objective.supergradient, even, middle)[1]) @ np.abs(even)) or 1.0
    norm, ratio = p.norm(), 1.0 / _steepest(p, z[n : n + m], problem, now)
    sums, z_sum, count, last, before = now, 0.0 * z, 0, np.inf, (-np.inf, np.inf)
    for i in range(1, passes + 1):
        step, back = ratio / norm, 1.0 / (ratio * norm)
        now = _step_back(p, now, ahead, back)
        moved = p.post(*ascend(*lists[:4], *p.pull(now), step, x))
        ahead, z = 2.0 * moved - z, moved
        sums, z_sum, count = sums.plus(now), z_sum + z, count + 1
        if i % EVERY and i < passes:
            continue
        mean = sums.mean(count)
        gap = np.inf
        for side, here in ((mean, z_sum / count), (now, z)):
            above, (value, over) = p.bound(side), p.value(here, side.lam)
            gap = min(gap, above - value)
            if above < bound:
                bound, prices = above, side.lam / p.unit
            if over <= SMALL and value > best.value:
                best = best._replace(value=value, end=here[: n + m][p.order])
        if np.isfinite(best.value) and bound - best.value <= tolerance * worth:
            break
        if gap < 0.5 * last or count >= 8 * EVERY:
            lags = best.value - before[0] > before[1] - bound
            ratio *= 0.7 if lags else 1.0 / 0.7
            sums, z_sum, count = _Side(0.0 * now.slope, 0.0 * now.lam, 0.0), 0.0 * z, 0
            last, before = gap, (best.value, bound)
    if not np.isfinite(best.value):
        raise InfeasibleProblem(f"no policy of lists was found that keeps to the constraints, in {passes} passes")
    return best._replace(prices=prices, gap=max(bound - best.value, 0.0))


def _even(lists: Lists) -> Floats:
    """The point at which all offered candidates are exposed alike, `->(S,A)`."""
    count, (rows, places) = lists.offered.sum(1), lists.position.shape
    sums = np.concatenate([np.zeros((rows, 1)), lists.position.cumsum(1)], 1)
    reach = sums[np.arange(rows), np.minimum(count, places)]  # (S or 1)
    even = np.where(lists.offered, (reach / np.maximum(count, 1))[:, None], 0.0)
    return np.tile(even, (len(lists.weight) // len(even), 1))


def _steepest(p: _Program, start: Floats, problem: Problem, none: _Side) -> float:
    """The size of the prices: the most that a play is worth at the start."""
    slope = none.slope
    if p.curved is not None:
        middle = np.array(problem.middle(tuple(p.curved.outcomes)))
        slope = sloped(p.curved.supergradient, start, middle)[1]
    price, offset = p.pull(none._replace(slope=slope))
    return float(np.abs(price).max(initial=0.0) + np.abs(offset).max()) or 1.0


def _step_back(p: _Program, side: _Side, z: Floats, step: float) -> _Side:
    """Slopes and prices after a step against the rows, `(m+d),()->`."""
    (n, m), d = p.m, sum(p.m)
    lam = np.maximum(side.lam + step * (z[d:] - p.limit), 0.0)
    if p.curved is None:
        return side._replace(lam=lam)
    y = z[n : n + m] - side.slope / step
    point = p.curved.prox(y, 1.0 / step)
    slope = step * (point - y)
    return _Side(slope, lam, float(p.curved.value(point)) - float(slope @ point))
