"""The best static policy of lists, by a linear program with HiGHS or a primal-dual method with one sort per case."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.types import Bools, Floats, Ints
from evenhand.numerics.permutahedron import ascend, best_lists
from evenhand.objectives import GeneralizedGini, Linear, Objective, WeightedSum
from evenhand.objectives.base import Proximal, able, point_and_slope
from evenhand.planning.mixing import Best
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Cases, Rows, in_units, select, stack


class Lists(NamedTuple):
    """Cases in which candidates are put into an order; outcomes are those of exposed plays.

    Known outcomes and groups of candidates are the same in all cases.
    """

    learned: Floats  # (S, A, M) expected learned outcomes of every candidate where it is exposed
    offered: Bools  # (S or 1, A)
    weight: Floats  # (S,) how often each case comes; they sum to 1
    position: Floats  # (S or 1, P) how likely each place is exposed, never increasing
    known: Floats  # (1, A, L)
    groups: Ints  # (1, A, G)


@runtime_checkable
class Listed(Protocol):
    """An environment whose places differ, and whose cases can be counted."""

    @property
    def problem(self) -> Problem: ...

    def lists(self, cases: int, seed: int, replica: int) -> Lists:
        """All cases, or about so many of them if they depend on luck; one object for all replicas that share them."""


def pool(lists: Lists) -> Lists:
    """Return all cases as one, with their mean outcomes: for lists that are the same for everybody.

    Raises:
        InvalidInput: not all cases have the same offer, or look at places alike.
    """
    mean = np.einsum("s,sam->am", lists.weight, lists.learned)[None]
    if (lists.offered != lists.offered[:1]).any():
        raise InvalidInput("environment", "one that offers everybody the same items", "one that does not")
    if (lists.position != lists.position[:1]).any():
        raise InvalidInput("environment", "one whose users look at places alike", "one with a position for each user")
    return lists._replace(learned=mean, offered=lists.offered[:1], weight=np.ones(1), position=lists.position[:1])


def pull_back(rows: Rows, problem: Problem, lists: Lists, q: Floats) -> tuple[Floats, Floats]:
    """Return prices of learned outcomes and the offset of every candidate at prices of rows, `(d)->(1|A,M),(A)`."""
    price, offset = rows.pull(Cases(lists.known, lists.groups), problem.shares[None], q[None, None])
    return price[0, 0], offset[0, 0]


def rows_of_lists(rows: Rows, problem: Problem, lists: Lists, y: Floats, exposed: Floats) -> Floats:
    """Return the rows of all candidates together, from their learned outcomes and exposures, `(A,M),(A)->(d)`."""
    frame = Cases(lists.known, lists.groups)
    return np.asarray(rows.post(frame, problem.shares[None], y[None], exposed[None, :, None] * lists.known)[0])


def places_matter(rows: Rows) -> bool:
    """Whether any row reads a known outcome that counts without exposure: a list is then an assignment."""
    return bool((rows.known[:, rows.sure] != 0.0).any())


LARGEST = 100_000  # chances: 50 users, 50 items and 10 places are 25,000, which take some seconds


def is_linear_program(objective: Objective, lists: Lists) -> bool:
    """Whether an objective is made of linear parts and generalised Gini functions, and the cases are few enough."""
    terms = objective.terms if isinstance(objective, WeightedSum) else ((1.0, objective),)
    cases, candidates = lists.learned.shape[:2]
    few = cases * candidates * lists.position.shape[1] <= LARGEST
    return few and all(isinstance(part, Linear | GeneralizedGini) for _, part in terms)


def solve_lists(objective: Objective, problem: Problem, lists: Lists, rows: Rows, limit: Floats) -> Best:
    """Maximise f(z) over the averages z that lotteries of lists within the limits can reach, exactly.

    Equation: chances P(s, a, p) of candidate a at place p in case s, which sum to 1 over candidates for every place and
    to at most 1 over places for every candidate, are a mixture of lists (Birkhoff 1946). A generalised Gini function
    sum_h w_h z_(h) is the least sum over ways to assign weights to outcomes, so it is the largest sum of numbers
    alpha_i + beta_h with alpha_i + beta_h <= w_h z_i, by duality.

    Args:
        objective: f, of linear parts and generalised Gini functions (`is_linear_program`).
        problem: for the shares of groups.
        lists: the cases.
        rows, limit: of the constraints, `(d)`.

    Raises:
        InfeasibleProblem: no policy of lists keeps to the limits.
    """
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    terms = objective.terms if isinstance(objective, WeightedSum) else ((1.0, objective),)
    names = tuple(objective.outcomes)
    index, reads = _chances(lists), _reads(stack([select(problem, names), rows]), problem, lists)
    m, n = len(names), int(index.max()) + 1
    gain, inside, size = np.zeros(m), list[tuple[Any, int, Floats]](), n + m
    for c, part in terms:
        at = np.array([names.index(name) for name in part.outcomes])
        if isinstance(part, Linear):
            gain[at] += c * np.array(list(part.weights.values()))
        elif isinstance(part, GeneralizedGini):
            inside.append((at + n, size, c * np.array(part.weights, float)))
            size += 2 * len(at)
    uses = reads[m:]
    most = np.abs(uses).max(1, initial=0.0)
    unit = np.where(most > 0.0, most, 1.0)
    places, alone = _each(index, (0, 2), size), _each(index, (0, 1), size)
    filled = (places.sum(1) > 0.0).astype(float)
    sums = _wide(np.hstack([reads[:m], -np.eye(m)]), size)
    above = [alone, _wide(uses / unit[:, None], size), *(_assignment(*part, size) for part in inside)]
    right = [np.ones(alone.shape[0]), limit / unit, *(np.zeros(len(w) ** 2) for _, _, w in inside)]
    cost = np.concatenate([np.zeros(n), -gain, -np.ones(size - n - m)])
    result = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
        cost,
        A_ub=vstack(above).tocsr(),
        b_ub=np.concatenate(right),
        A_eq=vstack([places, sums]).tocsr(),
        b_eq=np.concatenate([filled, np.zeros(m)]),
        bounds=np.stack([np.where(np.arange(size) < n, 0.0, -np.inf), np.full(size, np.inf)], 1),
        method="highs-ipm",
    )
    if result.status != 0:
        raise InfeasibleProblem(f"no policy of lists keeps to the constraints: {result.message}")
    duals = result.ineqlin.marginals[alone.shape[0] : alone.shape[0] + len(limit)]
    end = reads[:m] @ result.x[:n]
    return Best(float(objective.value(end)), np.maximum(-duals, 0.0) / unit, end, 0.0)


def _chances(lists: Lists) -> Any:
    """The number of every chance, -1 where a candidate is not offered or a place stays empty, `->(S,A,P)`."""
    cases, candidates = lists.learned.shape[:2]
    offered = np.broadcast_to(lists.offered, (cases, candidates))
    filled = np.arange(lists.position.shape[1]) < offered.sum(1)[:, None]
    possible = offered[:, :, None] & filled[:, None, :]
    return np.where(possible, np.cumsum(possible).reshape(possible.shape) - 1, -1)


def _each(index: Any, axes: tuple[int, int], size: int) -> Any:
    """Sums of the chances over the third axis, a row for each pair of the two others, `->(pairs,size)`."""
    from scipy.sparse import csr_array

    at = np.nonzero(index >= 0)
    row = at[axes[0]] * index.shape[axes[1]] + at[axes[1]]
    shape = (index.shape[axes[0]] * index.shape[axes[1]], size)
    return csr_array((np.ones(len(row)), (row, index[at])), shape=shape)


def _reads(rows: Rows, problem: Problem, lists: Lists) -> Floats:
    """The use of every row by every chance, `->(d,n)`: by exposure, and at once where an outcome is sure."""
    possible, found = _chances(lists) >= 0, []
    at_once = lists._replace(known=lists.known * rows.sure)
    waits = lists._replace(known=lists.known * ~rows.sure)
    for j in range(len(rows)):
        q = np.eye(len(rows))[j]
        price = pull_back(rows, problem, lists, q)[
            0
        ]  # factors are due with their outcomes, whether or not they are sure
        exposed = (lists.learned * price).sum(2) + pull_back(rows, problem, waits, q)[1]
        placed = pull_back(rows, problem, at_once, q)[1]
        each = exposed[:, :, None] * lists.position[:, None, :] + placed[:, None]
        found.append((lists.weight[:, None, None] * each)[possible])
    return np.array(found).reshape(len(rows), -1)


def _wide(z: Floats, size: int) -> Any:
    """Rows with zeros for the variables that come after, `(d,n)->(d,size)`."""
    from scipy.sparse import csr_array, hstack

    return hstack([csr_array(z), csr_array((len(z), size - z.shape[1]))]) if len(z) else csr_array((0, size))


def _assignment(at: Any, first: int, w: Floats, size: int) -> Any:
    """alpha_i + beta_h - w_h z_i <= 0, with alpha and beta from `first` on, `->(m*m,size)`."""
    from scipy.sparse import csr_array

    m = len(w)
    i, h = np.divmod(np.arange(m * m), m)
    row = np.tile(np.arange(m * m), 3)
    column = np.concatenate([first + i, first + m + h, at[i]])
    return csr_array((np.concatenate([np.ones(2 * m * m), -w[h]]), (row, column)), shape=(m * m, size))


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
            price, offset = pull_back(rows, problem, lists, np.eye(len(rows))[j])
            most = float((np.abs(price) * np.abs(lists.learned).max((0, 1))).sum(1).max() + np.abs(offset).max())
            unit[j] = most if most > 0.0 else 1.0
        self.unit = unit
        scaled, self.limit = in_units(rows, limit, unit)
        self.rows = stack([select(problem, weights), select(problem, names), scaled])
        self.order = [(*weights, *names).index(name) for name in objective.outcomes]

    def pull(self, side: _Side, linear: float = 1.0) -> tuple[Floats, Floats]:
        """Price of learned outcomes and offset of every candidate, `->(1|A,M),(A)`."""
        q = np.concatenate([linear * self.weights, side.slope, -side.lam])
        price, offset = pull_back(self.rows, self._problem, self._lists, q)
        return np.ascontiguousarray(price), offset

    def post(self, y: Floats, exposed: Floats) -> Floats:
        """All rows, `(A,M),(A)->(m+d)`."""
        return rows_of_lists(self.rows, self._problem, self._lists, y, exposed)

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
    x = _equal_exposure(lists)
    z = p.post(np.einsum("s,sa,sam->am", lists.weight, x, lists.learned), lists.weight @ x)
    ahead, best, bound, prices = z, Best(-np.inf, np.zeros(0), z, np.inf), np.inf, np.zeros(len(limit))
    now = _Side(np.zeros(m), np.zeros(len(limit)), 0.0)
    even, middle = z[: n + m][p.order], np.array(problem.middle(tuple(objective.outcomes)))
    worth = float(np.abs(point_and_slope(objective.supergradient, even, middle)[1]) @ np.abs(even)) or 1.0
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


def _equal_exposure(lists: Lists) -> Floats:
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
        slope = point_and_slope(p.curved.supergradient, start, middle)[1]
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
