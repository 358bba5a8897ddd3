"""The welfare of rounds as a linear program over probabilities, by HiGHS: bounds, prices and fluid bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.welfare._kernels import steepness, utility
from evenhand.welfare.base import Round
from evenhand.welfare.curves import CAPPED, PIECEWISE, Curves

ERROR = 1e-4  # the most that tangents are above a curved function, relative to it


class Lines(NamedTuple):
    """Lines of all arms; r_a(x) is at most height + slope x for every line of arm a."""

    arm: Ints  # (L,)
    slope: Floats  # (L,)
    height: Floats  # (L,) at x = 0


def lines(curves: Curves, most: Floats, error: float = ERROR) -> Lines:
    """Compute lines whose minimum is r_a on [0, most_a], or at most `error` r_a above it if r_a is curved, `(A)->`.

    Capped and piecewise linear functions consist of lines; curved ones are bounded by tangents.

    >>> from evenhand.welfare.curves import Capped
    >>> lines(Capped(5.0).curves(1), np.array([9.0]))
    Lines(arm=array([0, 0]), slope=array([1., 0.]), height=array([0., 5.]))
    """
    arm, slope, height = [], [], []
    for a, kind in enumerate(curves.kind):
        if kind == CAPPED:
            some = np.array([[1.0, 0.0], [0.0, curves.size[a]]])
            some = some[:, : 2 if np.isfinite(curves.size[a]) else 1]
        elif kind == PIECEWISE:
            x, y = curves.knots[a], curves.values[a]
            rise = np.diff(y) / np.diff(x)
            some = np.stack([np.append(rise, 0.0), np.append(y[:-1] - rise * x[:-1], y[-1])])
        else:
            x = _tangent_points(curves, a, float(most[a]), error)
            rise = np.array([steepness(curves, a, z)[0] for z in x])
            y = np.array([utility(curves, a, z) for z in x])
            some = np.stack([rise, y - rise * x])
        arm.append(np.full(some.shape[1], a))
        slope.append(some[0])
        height.append(some[1])
    return Lines(np.concatenate(arm), np.concatenate(slope), np.concatenate(height))


@kernel
def _excess(curves: Curves, a: int, x: float, y: float) -> float:
    """Compute the largest relative excess over r of the tangents at x < y, which is where they meet."""
    rx, ry = utility(curves, a, x), utility(curves, a, y)
    sx, sy = steepness(curves, a, x)[0], steepness(curves, a, y)[0]
    if sx - sy <= 1e-14 * sx:  # the lines are the same up to rounding
        return 0.0
    at = min(max((ry - sy * y - rx + sx * x) / (sx - sy), x), y)
    r = utility(curves, a, at)
    return (rx + sx * (at - x)) / r - 1.0 if r > 0.0 else 0.0


@kernel
def _tangent_points(curves: Curves, a: int, most: float, error: float) -> Floats:
    """Choose points from 0 on, as sparse as possible, whose tangents are within the error on [0, most]."""
    found, x, step = [0.0], 0.0, error * max(most, 1e-300)
    while True:
        r = utility(curves, a, most)
        last = utility(curves, a, x) + steepness(curves, a, x)[0] * (most - x)
        if not (r > 0.0 and last > (1.0 + error) * r):
            return np.array(found)
        while x + step < most and _excess(curves, a, x, x + step) <= error:
            step *= 2.0
        low, high = 0.0, step
        for _ in range(30):
            middle = 0.5 * (low + high)
            if _excess(curves, a, x, x + middle) <= error:
                low = middle
            else:
                high = middle
        step = max(low, 2.0**-30 * step)
        x += step
        found.append(x)


_Entries = tuple[Ints, Ints, Floats | float]  # rows, columns and numbers of a sparse matrix


class Program(NamedTuple):
    """max gain.v s.t. equal v = equal_to, below v <= at_most, low <= v <= high, in units of its own.

    The columns v are the chances x of all eligible pairs, then per user the chance o of being left without an arm, then
    per arm of every round the sum s of its matches, its satisfaction z, and f, whether it is full.
    """

    gain: Floats
    equal: Any  # sparse; its last rows, one per arm of every round, define s as the sum of matches
    equal_to: Floats
    below: Any  # sparse
    at_most: Floats
    low: Floats
    high: Floats
    pairs: tuple[Ints, ...]  # round, user and arm of the first columns
    unit: float  # of gain
    matches: float  # unit of values and sums


class Relaxation(NamedTuple):
    """The optimum of a linear program over probabilities."""

    value: Floats  # (R,) at least that of any allocation
    chances: Floats  # (R, N, A) the optimal probabilities
    prices: Floats  # (R, A) the marginal worth of a match of an arm


def bound(case: Round, curves: Curves) -> Floats:
    """Compute an upper bound on the welfare of any allocation, `(N,A),(N,A),(N,A),(A)->()`.

    Equation: max sum_a z_a + sum b x s.t. z_a <= every line of r_a at sum_i m_ia x_ia, chances x_i of the eligible arms
    that add up to 1, and sum_i x_ia <= capacity_a. Logarithms and powers enter by tangents that are at most 1e-4 of
    their value too high. A user may be left without an arm only as far as its eligible arms are full.

    >>> from evenhand.welfare.curves import Capped
    >>> ones = np.ones((1, 3, 2))
    >>> case = Round(ones, 0 * ones, ones > 0, np.array([3, 3]))
    >>> bound(case, Capped(1.25).curves(2)).round(6)
    array([2.5])
    """
    return solve_relaxation(case, curves).value


def solve_relaxation(case: Round, curves: Curves) -> Relaxation:
    """Solve the linear program of each replica separately, `(N,A),(N,A),(N,A),(A)->(),(N,A),(A)`."""
    count, _, arms = case.value.shape
    value, chances, prices = np.zeros(count), np.zeros(case.value.shape), np.zeros((count, arms))
    for r in range(count):
        program = relaxation(select_round(case, r), curves)
        value[r], x, prices[r] = solve(program)
        _, i, a = program.pairs
        chances[r, i, a] = x
    return Relaxation(value, chances, prices)


def select_round(case: Round, r: int) -> Round:
    """Select the round of one replica."""
    return case._replace(value=case.value[r : r + 1], bonus=case.bonus[r : r + 1], eligible=case.eligible[r : r + 1])


def relaxation(case: Round, curves: Curves, *, may_stay: bool = False) -> Program:
    """Build the program that maximises the total welfare of all rounds, `(N,A),(N,A),(N,A),(A)->`.

    With `may_stay` any user may stay without an arm, otherwise only users whose arms can all be full.
    """
    count, users, arms = case.value.shape
    pairs = np.nonzero(case.eligible)
    r, i, a = pairs
    value, bonus, n = case.value[pairs], case.bonus[pairs], len(r)
    cuts = lines(curves, _most(case))
    matches = float(value.max(initial=0.0)) or 1.0
    unit = max(float(np.abs(bonus).max(initial=0.0)), matches * float(cuts.slope.max())) or 1.0

    user, arm = r * users + i, r * arms + a  # of every pair
    each, every = np.arange(count * users), np.arange(count * arms)
    x = np.arange(n)
    o = n + each
    s = o[-1] + 1 + every
    z, f = s + len(s), s + 2 * len(s)
    capacity = np.tile(np.minimum(case.capacity, users), count)
    leaves = _may_be_left(case).ravel() & (not may_stay)
    stays = leaves | ~case.eligible.any(2).ravel() | may_stay
    out = np.flatnonzero(leaves[user])  # pairs of users who may stay without an arm
    cut = (np.arange(count)[:, None] * arms + cuts.arm).ravel()  # the arm of every line
    slope, height = np.tile(cuts.slope, count) * matches / unit, np.tile(cuts.height, count) / unit

    equal: list[_Entries] = [
        (user, x, 1.0),  # sum x + o = 1
        (each, o, 1.0),
        (len(each) + arm, x, value / matches),  # sum m x - s = 0
        (len(each) + every, s, -1.0),
    ]
    line, fits = np.arange(len(cut)), len(cut) + every
    fills, leave = fits + len(every), len(cut) + 2 * len(every) + np.arange(len(out))
    below: list[_Entries] = [
        (line, z[cut], 1.0),  # z - slope s <= height
        (line, s[cut], -slope),
        (fits[arm], x, 1.0),  # sum x <= capacity
        (fills, f, capacity),  # capacity f - sum x <= 0
        (fills[arm], x, -1.0),
        (leave, o[user[out]], 1.0),  # o - f <= 0
        (leave, f[arm[out]], -1.0),
    ]
    width, none = f[-1] + 1, np.zeros(len(every))
    full = capacity < case.eligible.sum(1).ravel()
    return Program(
        gain=np.concatenate([bonus / unit, 0.0 * each, none, none + 1.0, none]),
        equal=matrix(equal, len(each) + len(every), width),
        equal_to=np.append(0.0 * each + 1.0, none),
        below=matrix(below, len(cut) + 2 * len(every) + len(out), width),
        at_most=np.concatenate([height, capacity, none, np.zeros(len(out))]),
        low=np.zeros(width),
        high=np.concatenate([0.0 * x + 1.0, stays, *2 * [none + np.inf], full]),
        pairs=pairs,
        unit=unit,
        matches=matches,
    )


def solve(program: Program) -> tuple[float, Floats, Floats]:
    """Solve a program; returns its value, the probabilities of the pairs, and the prices of matches.

    Raises:
        InvalidInput: HiGHS finds no optimum, for example because values are not finite.
    """
    found = highs(program)
    if found.status != 0:
        raise InvalidInput("case", "one that HiGHS can solve", found.message)
    arms = program.equal_to == 0.0
    prices = np.maximum(found.eqlin.marginals[arms], 0.0) * program.unit / program.matches
    return float(-found.fun * program.unit), np.clip(found.x[: len(program.pairs[0])], 0.0, 1.0), prices


def highs(program: Program, rows: Any = None, limits: Floats | None = None) -> Any:
    """Run HiGHS, optionally with further inequality rows."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    p = program
    below, at_most = p.below, p.at_most
    if rows is not None and limits is not None:
        below, at_most = vstack([below, rows]).tocsr(), np.append(at_most, limits)
    bounds = np.stack([p.low, p.high], 1)
    return linprog(-p.gain, below, at_most, p.equal, p.equal_to, bounds, method="highs")  # type: ignore[call-overload]


def _most(case: Round) -> Floats:
    """Compute the largest sum that each arm can reach in any round, `->(A)`."""
    best = -np.sort(-np.where(case.eligible, case.value, 0.0), axis=1)
    fits = np.arange(case.value.shape[1])[:, None] < case.capacity
    return np.asarray(np.where(fits, best, 0.0).sum(1).max(0))


def _may_be_left(case: Round) -> Bools:
    """Whether the other users can fill all eligible arms of a user, `(N,A),(A)->(N)`."""
    left = np.zeros(case.eligible.shape[:2], bool)
    full = case.capacity < case.eligible.sum(1)  # (R, A) arms that can be full for some user
    for r, eligible in enumerate(case.eligible):
        some = eligible.any(1) & ~(eligible & ~full[r]).any(1)
        mine = eligible[some].astype(float)
        left[r, some] = mine @ case.capacity < (mine @ eligible.T > 0.0).sum(1)  # of all rivals for these arms
    return left


def matrix(parts: Sequence[_Entries], rows: int, columns: int) -> Any:
    """Build a sparse matrix from its entries (row, column, number)."""
    from scipy.sparse import csr_array

    row, column = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    numbers = np.concatenate([np.broadcast_to(z, at.shape) for at, _, z in parts])
    return csr_array((numbers, (row, column)), (rows, columns))


def fluid(
    case: Round, curves: Curves, use: Floats, limit: Floats, *, may_stay: bool = True
) -> tuple[float, Floats, Floats]:
    """Compute the best mean welfare of given rounds if rows are kept on average, `(R,N,A,d),(d)->(),(d),(R,N,A)`.

    Equation: max mean_s welfare_s(x_s) s.t. mean_s sum_ia use_sia x_sia <= limit, over probabilities x_s in every round
    s. No policy can reach more in these rounds, whatever it knows. As hard limits may leave users without an arm,
    probabilities of a user sum to at most 1, unless `may_stay` is False. Returns the value, the prices of the rows, and
    the probabilities.

    Raises:
        InfeasibleProblem: no allocation of these rounds keeps to the limits.

    >>> from evenhand.welfare.curves import Capped
    >>> ones = np.ones((1, 4, 2))
    >>> case, cost = Round(ones, 0 * ones, ones > 0, np.array([4, 4])), np.zeros((1, 4, 2, 1))
    >>> cost[0, :, 1] = 1.0  # of the second arm
    >>> value, price, _ = fluid(case, Capped(3.0).curves(2), cost, np.array([0.5]))
    >>> value, price
    (3.5, array([1.]))
    """
    count = len(case.value)
    program = relaxation(case, curves, may_stay=may_stay)
    rows = use[program.pairs].T  # (d, pairs)
    size = np.abs(rows).max(1, initial=0.0)
    size[size == 0.0] = 1.0
    row, pair = np.nonzero(rows)
    entries = [(row, pair, rows[row, pair] / size[row])]
    found = highs(program, matrix(entries, len(limit), len(program.gain)), limit * count / size)
    if found.status != 0:
        raise InfeasibleProblem(f"no allocation of {count} sampled rounds keeps to the constraints: {found.message}")
    prices = np.maximum(-found.ineqlin.marginals[len(program.at_most) :], 0.0) * program.unit / size
    chances = np.zeros(case.value.shape)
    chances[program.pairs] = np.clip(found.x[: len(program.pairs[0])], 0.0, 1.0)
    return float(-found.fun * program.unit / count), prices, chances
