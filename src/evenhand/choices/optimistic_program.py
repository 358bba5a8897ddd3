"""The best lottery for the most hopeful outcomes within their intervals, for any concave objective and convex sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.choices._shared import check_candidates, draw, go_on, place_of
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import counts, number, numbers
from evenhand.numerics.precision import total
from evenhand.numerics.simplex import enter_where_least, maximize, share_alike, sizes, start_at
from evenhand.objectives.base import Objective, point_and_slope
from evenhand.sets.base import ConvexSet

ROUNDS = 60
_STEEP = 1e4  # tangents steeper than this, in slopes at the start, are bad for a solver of numbers of order 1


class Intervals(NamedTuple):
    """The ends of every arm's outcomes: those of the objective, uses of budgets, and coordinates of the regions."""

    wanted: tuple[Floats, Floats]  # (R, m, A) lower and upper ends
    use: Floats  # (R, M, A) lower ends
    placed: tuple[Floats, Floats]  # (R, D, A) lower and upper ends, region after region


class Cuts(NamedTuple):
    """Linear bounds found so far, the first ones of each replica: s <= top + slope.u, and normal.v <= height."""

    slope: Floats  # (R, K, m)
    top: Floats  # (R, K)
    n_slopes: Ints  # (R,)
    normal: Floats  # (R, Q, D)
    height: Floats  # (R, Q)
    unit: Floats  # (R, Q) in which an excess over each half-space counts
    n_normals: Ints  # (R,)


class Plan(NamedTuple):
    """An optimistic lottery, and the averages that it hopes for."""

    lottery: Floats  # (R, A)
    wanted: Floats  # (R, m) u
    placed: Floats  # (R, D) v
    gap: Floats  # (R,) at most how much f(u) is below the optimum


@kernel
def _widest(low: Floats, high: Floats, allowed: Bools, r: int) -> Floats:
    """The longest interval of each outcome, 1 where all are points, `(m,A),(m,A),(A)->(m)`."""
    widest = np.zeros(low.shape[1])
    for i in range(low.shape[1]):
        for a in range(low.shape[2]):
            if allowed[r, a]:
                widest[i] = max(widest[i], high[r, i, a] - low[r, i, a])
        if widest[i] <= 0.0:
            widest[i] = 1.0
    return widest


@kernel
def _largest(low: Floats, high: Floats, allowed: Bools) -> Floats:
    """The largest size that each outcome may have under an allowed arm, `(d,A),(d,A),(A)->(d)`."""
    out = np.zeros(low.shape[:2])
    for r in range(len(low)):
        for i in range(low.shape[1]):
            for a in range(low.shape[2]):
                if allowed[r, a]:
                    out[r, i] = max(out[r, i], abs(low[r, i, a]), abs(high[r, i, a]))
    return out


@kernel
def _master(
    known: Intervals,
    bound: Floats,
    cuts: Cuts,
    allowed: Bools,
    active: Bools,
    p: Floats,
    u: Floats,
    v: Floats,
    s: Floats,
    excess: Floats,
) -> None:
    """The linear program of the active replicas under their cuts, into p, u, v, s and the excess, in place.

    Equation: max s s.t. s <= top_k + slope_k.u, u = low.p + x, 0 <= x <= (high - low).p, use.p <= bound,
    normal_q.v <= height_q, v = under.p + y, 0 <= y <= (over - under).p, p a lottery; columns are p, x, y, s in two
    parts, and the excess. Budgets are divided by the largest number in their row, half-spaces by their units.
    """
    (low, high), use, (under, over) = known.wanted, known.use, known.placed
    slope, top, normal, height = cuts.slope, cuts.top, cuts.normal, cuts.height
    (_, m, arms), d, budgets = low.shape, under.shape[1], len(bound)
    others = m + d + 3
    for r in range(len(active)):
        if not active[r]:
            continue
        wide, deep = _widest(low, high, allowed, r), _widest(under, over, allowed, r)
        planes, tangents = cuts.n_normals[r], cuts.n_slopes[r]
        rows = budgets + planes + m + d + tangents
        of_arms, of_others, right = np.zeros((rows, arms)), np.zeros((rows, others)), np.zeros(rows)
        size = sizes(use, bound, allowed, r)
        for j in range(budgets):
            of_arms[j], of_others[j, others - 1], right[j] = use[r, j] / size[j], -1.0, bound[j] / size[j]
        for q in range(planes):
            i, one = budgets + q, cuts.unit[r, q]
            for j in range(d):
                of_arms[i] += normal[r, q, j] / one * under[r, j]
                of_others[i, m + j] = normal[r, q, j] * deep[j] / one
            of_others[i, others - 1], right[i] = -1.0, height[r, q] / one
        first = budgets + planes
        for j in range(m + d):
            i = first + j
            of_arms[i] = (
                (low[r, j] - high[r, j]) / wide[j] if j < m else (under[r, j - m] - over[r, j - m]) / deep[j - m]
            )
            of_others[i, j] = 1.0
        unit = 0.0
        for k in range(tangents):
            for j in range(m):
                for a in range(arms):
                    if allowed[r, a]:
                        unit = max(unit, abs(slope[r, k, j]) * max(abs(low[r, j, a]), abs(high[r, j, a])))
        unit = unit if unit > 0.0 else 1.0
        first += m + d
        for k in range(tangents):
            i = first + k
            for j in range(m):
                of_arms[i] -= slope[r, k, j] / unit * low[r, j]
                of_others[i, j] = -slope[r, k, j] / unit * wide[j]
            of_others[i, m + d], of_others[i, m + d + 1] = 1.0, -1.0
            right[i] = (top[r, k] - top[r, 0]) / unit
        table, basic, free = start_at(of_arms, of_others, right, allowed[r], budgets, 3)
        n = table.shape[1] - 1
        table[rows + 1, n - 1] = -1.0
        table[rows + 2, n - 3], table[rows + 2, n - 2] = 1.0, -1.0
        for j in range(budgets):
            for k in range(n + 1):
                table[rows + 3, k] -= table[j, k]
        table[rows + 3, n - 1], table[rows + 3, n] = 0.0, 0.0
        enter_where_least(table, first, rows, n - 2, basic, free)
        enter_where_least(table, 0, budgets + planes, n - 1, basic, free)
        maximize(table, rows + 1, basic, free)
        p[r], u[r], v[r], s[r], excess[r] = 0.0, 0.0, 0.0, top[r, 0], 0.0
        for i in range(rows + 1):
            x, label = max(table[i, n], 0.0), basic[i]
            if label < arms:
                p[r, label] = x
            elif label < arms + m:
                u[r, label - arms] = x * wide[label - arms]
            elif label < arms + m + d:
                v[r, label - arms - m] = x * deep[label - arms - m]
            elif label < arms + m + d + 2:
                s[r] += unit * (x if label == arms + m + d else -x)
            elif label == arms + m + d + 2:
                excess[r] = x
        whole = total(p[r])
        for a in range(arms):
            p[r, a] /= whole
        for a in range(arms):
            for j in range(m):
                u[r, j] += low[r, j, a] * p[r, a]
            for j in range(d):
                v[r, j] += under[r, j, a] * p[r, a]


def optimistic_lottery(
    objective: Objective,
    start: Floats,
    known: Intervals,
    bound: Floats,
    regions: tuple[ConvexSet, ...],
    allowed: Bools,
    warm: tuple[Floats, Floats],
    tolerance: float,
) -> Plan:
    """Maximise f(u) over lotteries p with u in wanted.p, use.p <= bound, and some v in placed.p within all regions.

    Equation: max s over tangents s <= f(u_k) + g_k.(u - u_k), and over half-spaces n_q.v <= n_q.P(v_q) with n_q = v_q -
    P(v_q), P the projection; each solution adds the tangent at its u and the half-space at its v (Kelley 1960). The
    averages of the round before, `warm`, add the first of them. `choices.OptimisticProgram` states the program, and the
    excess that is minimised if no lottery keeps to budgets and regions.

    Args:
        objective: f; only its values and supergradients are used.
        start: a point inside the domain of f, `(m)`.
        known: ends of the intervals.
        bound: of each budget, `(M)`.
        regions: sets, whose coordinates are placed one after the other.
        allowed: arms, `(A)`.
        warm: u and v of the round before, `(m),(D)`.
        tolerance: of the gap, per unit of what outcomes can add to f at its slope at the start, and of distances from
            regions, per unit of the largest outcome.
    """
    count, m, arms = known.wanted[0].shape
    ends = np.cumsum([0, *(region.dim for region in regions)])
    d = int(ends[-1])
    fixed = _halfspaces(regions, ends, d)
    room = len(fixed[1]) + (ROUNDS + 1) * max(len(regions), 1)
    cuts = Cuts(
        np.zeros((count, ROUNDS + 2, m)),
        np.zeros((count, ROUNDS + 2)),
        np.zeros(count, np.int64),
        np.zeros((count, room, d)),
        np.zeros((count, room)),
        np.ones((count, room)),
        np.full(count, len(fixed[1])),
    )
    largest = _largest(*known.placed, allowed)
    cuts.normal[:, : len(fixed[1])], cuts.height[:, : len(fixed[1])] = fixed
    cuts.unit[:, : len(fixed[1])] = _or_one((np.abs(fixed[0]) * largest[:, None]).sum(2))
    everybody = np.ones(count, bool)
    steepest = _STEEP * float(np.abs(objective.supergradient(start)).max()) or np.inf
    _touch(objective, cuts, np.tile(start, (count, 1)), start, steepest, everybody)
    _touch(objective, cuts, warm[0], start, steepest, everybody)
    size = np.abs(np.concatenate(known.wanted, 2)).max(2)
    scale = (np.abs(cuts.slope[:, 0]) * size).max(1)
    scale = tolerance * _or_one(scale)
    _separate(regions, ends, cuts, warm[1], everybody, largest, np.full(count, tolerance))
    active: Bools = np.asarray(allowed.any(1))
    p, u, v = np.zeros((count, arms)), np.tile(start, (count, 1)), np.zeros((count, d))
    s, excess, gap = np.zeros(count), np.zeros(count), np.zeros(count)
    for _ in range(ROUNDS):
        _master(known, bound, cuts, allowed, active, p, u, v, s, excess)
        value = np.asarray(objective.value(u))
        gap = np.where(active, s - value, gap)
        missing = np.asarray(active & ~(gap <= scale))
        outside = _separate(regions, ends, cuts, v, active, largest, excess + tolerance)
        active = missing | outside
        if not active.any():
            break
        _touch(objective, cuts, u, start, steepest, missing)
    share_alike(np.concatenate([*known.wanted, known.use, *known.placed], 1), allowed, p)
    return Plan(p, u, v, gap)


def _halfspaces(regions: tuple[ConvexSet, ...], ends: Ints, d: int) -> tuple[Floats, Floats]:
    """The half-spaces of all regions that have few, with normals of length 1, `->(h,D),(h)`."""
    normals, heights = [np.zeros((0, d))], [np.zeros(0)]
    for i, region in enumerate(regions):
        found = region.halfspaces()
        if found is not None:
            length = np.linalg.norm(found[0], axis=1)
            kept = length > 0.0  # rows of zeros say nothing: sets are not empty
            wide = np.zeros((int(kept.sum()), d))
            wide[:, ends[i] : ends[i + 1]] = found[0][kept] / length[kept, None]
            normals.append(wide)
            heights.append(found[1][kept] / length[kept])
    return np.concatenate(normals), np.concatenate(heights)


def _touch(objective: Objective, cuts: Cuts, u: Floats, start: Floats, steepest: float, which: Bools) -> None:
    """Add the tangents at u, or near u on the way to the start where f has no slope there, in place, `(m),()->`."""
    mine = np.flatnonzero(which)
    here = u[mine]
    try:
        slope = objective.supergradient(here)
    except InvalidInput:  # some are outside the domain
        slope = np.full(here.shape, np.inf)
    for i in np.flatnonzero(~(np.abs(slope).max(1) <= steepest)):
        here[i], slope[i] = point_and_slope(objective.supergradient, here[i], start, steepest)
    at = mine, cuts.n_slopes[mine]
    cuts.slope[at], cuts.top[at] = slope, objective.value(here) - (slope * here).sum(1)
    cuts.n_slopes[mine] += 1


def _separate(
    regions: tuple[ConvexSet, ...], ends: Ints, cuts: Cuts, v: Floats, which: Bools, largest: Floats, allowance: Floats
) -> Bools:
    """Add a half-space for every region that v is too far from, and say where there was one, in place, `(D),()->()`.

    The allowance is a part of the largest outcome of the region.
    """
    outside = np.zeros(len(v), bool)
    for i, region in enumerate(regions):
        if region.halfspaces() is not None:
            continue  # all of them are there
        place = slice(ends[i], ends[i + 1])
        near = np.asarray(region.project(v[:, place]))
        gap, unit = v[:, place] - near, _or_one(largest[:, place].max(1))
        far = np.sqrt((gap**2).sum(1))
        mine = which & (far > allowance * unit)
        for r in np.flatnonzero(mine):
            q, normal = cuts.n_normals[r], gap[r] / far[r]
            cuts.normal[r, q, place] = normal
            cuts.height[r, q], cuts.unit[r, q] = float((normal * near[r]).sum()), unit[r]
            cuts.n_normals[r] += 1
        outside |= mine
    return outside


def _or_one(size: Floats) -> Floats:
    """Replace sizes of 0 by 1."""
    return np.where(size > 0.0, size, 1.0)


@dataclass
class OptimisticProgramState:
    """The last lottery and the averages that it hoped for; chances of 0 before the first."""

    lottery: Floats  # (R, A)
    wanted: Floats  # (R, m)
    placed: Floats  # (R, D)


@checked
@dataclass(frozen=True, kw_only=True)
class OptimisticProgram:
    """Draw from the best lottery when all outcomes, within their intervals, are as good as they can be together.

    Equation: max f(u) s.t. low.p <= u <= high.p, use.p <= bound, low'.p <= v <= high'.p, v in all regions, over
    lotteries p, with ends of intervals that `goals.Intervals` reads: both ends of the outcomes of f, the lower ends of
    budgets, both ends of what is to be in the regions. Solved by cutting planes in every round, or in every `every`-th.
    If no lottery keeps to budgets and regions, the largest excess is made as small as can be: of a budget, or a
    half-space that a region states, as a part of the largest number in its row, of the distance from another region
    as a part of the largest of its outcomes. Identical candidates share equally.
    Source: Agrawal & Devanur 2014, Algorithm 1, in its convex form: U p is u, and V p is v.

    Args:
        objective: f; only values and supergradients are used, so kinks need no smoothing.
        start_at: a point in the domain of f.
        candidates: A.
        bound: of the budgets.
        regions: convex sets (`evenhand.sets`); their coordinates are placed one region after the other.
        nothing: the candidate that does nothing, whose outcomes are 0 whatever the model says, if there is one.
        every: how many rounds one lottery serves; hard limits mask candidates in every round.
        tolerance: of what is missing to the optimum and of distances from regions, per unit of what outcomes can add.

    Raises:
        InvalidInput: sizes below 1, bounds that are not finite, or, from `pick`, another number of readings.

    >>> from evenhand.objectives import GeneralizedGini
    >>> gini = GeneralizedGini(("a", "b"), (1.0, 0.0))  # the smaller of the two averages
    >>> choice = OptimisticProgram(objective=gini, start_at=(0.5, 0.5), candidates=2)
    >>> high, low = np.array([[1.0, 0.0], [0.0, 0.5]]), np.zeros((2, 2))
    >>> worth = Worth(np.concatenate([high, -low])[None], np.zeros((1, 4, 2)))
    >>> offer = Offer(np.ones((1, 2), bool), worst=np.zeros((1, 2, 0)), left=np.zeros((1, 0)))
    >>> choice.pick(choice.start(1), worth, offer, np.zeros(1), np.array([[0.5]])).lottery.round(3)
    array([[0.333, 0.667]])
    """

    objective: Objective
    start_at: tuple[float, ...]
    candidates: int
    bound: tuple[float, ...] = ()
    regions: tuple[ConvexSet, ...] = ()
    nothing: int | None = None
    every: int = 1
    tolerance: float = 1e-4
    n_plays: ClassVar[int] = 1
    reads_bonus = True
    goes_on: ClassVar[bool] = True

    def __post_init__(self) -> None:
        counts(self, {"candidates": 1, "every": 1})
        m = len(self.bound)
        numbers("OptimisticProgram.bound", self.bound, m, f"{m} finite numbers")
        number("OptimisticProgram.tolerance", self.tolerance, "a number above 0", lambda x: 0.0 < x < np.inf)
        self.objective.check(self._start, "OptimisticProgram.start_at")

    def draws(self, candidates: int) -> int:
        return 1

    def start(self, n_replicas: int) -> OptimisticProgramState:
        wanted = np.tile(self._start, (n_replicas, 1))
        return OptimisticProgramState(
            np.zeros((n_replicas, self.candidates)), wanted, np.zeros((n_replicas, self._n_coordinates))
        )

    def pick(self, state: OptimisticProgramState, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        check_candidates("OptimisticProgram", self.candidates, worth)
        m, placed, budgets = len(self.start_at), self._n_coordinates, len(self.bound)
        if worth.mean.shape[1] != 2 * (m + placed) + budgets:
            expected = f"2 ({m} + {placed}) + {budgets}, both ends of outcomes and one of budgets"
            raise InvalidInput("readings", expected, worth.mean.shape[1])
        ends = worth.mean + worth.bonus
        nothing = place_of("OptimisticProgram", self.nothing, worth)
        if nothing >= 0:
            ends[:, :, nothing] = 0.0
        due = (t % self.every == 0.0) | ~state.lottery.any(1)
        lottery, wanted, there = state.lottery.copy(), state.wanted.copy(), state.placed.copy()
        if due.any():
            cut = np.cumsum([m, m, budgets, placed])
            high, low, use, over, under = np.split(ends[due], cut, axis=1)
            known = Intervals((-low, np.maximum(high, -low)), -use, (-under, np.maximum(over, -under)))
            plan = optimistic_lottery(
                self.objective,
                self._start,
                known,
                np.array(self.bound, float),
                self.regions,
                offer.playable[due],
                (state.wanted[due], state.placed[due]),
                self.tolerance,
            )
            lottery[due], wanted[due], there[due] = plan.lottery, plan.wanted, plan.placed
        made = draw(lottery, offer.playable, offer.worst, offer.left, u, 1)
        return Pick(*made, np.zeros(len(due)), np.concatenate([lottery, wanted, there], 1))

    def on_decision(self, state: OptimisticProgramState, decision: Decision) -> None:
        go_on(decision, state.lottery, state.wanted, state.placed)

    @cached_property
    def _n_coordinates(self) -> int:
        return sum(region.dim for region in self.regions)

    @cached_property
    def _start(self) -> Floats:
        return np.array(self.start_at, float)
