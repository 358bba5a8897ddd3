"""The fluid problem on sampled contexts, by a damped Newton method on its smoothed dual.

For samples s of weight w_s with rewards g_sa and consumption u_ska of k directions, each to be kept on average within
[lo_k, hi_k], and places that are exposed with probabilities b:

    minimise over mu   sum_k (hi_k mu_k^+ - lo_k mu_k^-)  +  sum_s w_s h_b(g_s - mu.u_s)

with h_b the worth of the best list, smoothed (`soft_lists`); for one place, temp log sum_a exp(x_a / temp). It tends to
the dual of the linear program as the temperature falls. The first part has kinks at 0, so each step
stays in one orthant: a coordinate that would change its sign stops at 0, and leaves 0 only if the value decreases that
way. Where users share arms, every arm adds a price of its own and what the arm gains at it (`shared_arms`).
Far from the optimum the second part is almost flat; damping then keeps a step below the price at which decisions
change. It falls while whole steps are taken, so that an infeasible problem, whose prices end at their cap, gets there
in a few steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.numerics.newton import solve
from evenhand.planning.shared_arms import Arms, Shared, add_satisfaction, arms_of, soft_arms, units_of
from evenhand.planning.soft_lists import Moments, ScaledSample, soft_lists

_STEPS = 40  # Newton steps per temperature, at most; two or three are usual
_CAP = 50.0  # largest price, in units of the price at which decisions change
_ROUNDING = 1e-9  # rewards that differ by no more than this part of the largest are equal
_LONGER = 4.0  # times as long is a step in the flat part, after one that needed no halving
_LEAST = 1.0 / 64.0  # of the damping: a step from one cap to the other
_TOLERANCE = 1e-9  # of the value, in units of the spread of rewards


class Places(NamedTuple):
    """The probability that each place is exposed, never increasing."""

    first: Floats  # (R,)
    further: Floats | None  # (R, P - 1)


def places(position: Floats) -> Places:
    """Separate the first place from further ones, `(P)->(),(P-1)`."""
    return Places(position[:, 0].copy(), position[:, 1:].copy() if position.shape[1] > 1 else None)


class Fluid(NamedTuple):
    """The fluid problem of every replica, without the uses of candidates.

    Code for further places, and for shared arms, is compiled where there are some: a half of all.
    """

    weight: Floats  # (R, S) of the contexts
    gain: Floats  # (R, S, A)
    kept: Ints  # (R,) contexts
    places: Places
    shared: Shared | None
    spread: Floats  # (R,) of the rewards
    low: Floats  # (R, k)
    high: Floats  # (R, k)
    temperatures: Floats  # (R, l) falling


class Solution(NamedTuple):
    """Prices and the plan that follows from them; a solve starts from the prices, and writes all of these in place."""

    mu: Floats  # (R, k) of the directions
    lam: Floats  # (R, A or 0) of the matches of arms, where users share them
    plan: Floats  # (R, k) mean consumption
    noise: Floats  # (R, k) mean square of the consumption
    mixed: Floats  # (R, k) variance of the consumption in a context, by the lottery of its candidates


class Program(NamedTuple):
    """The fluid problem of one replica, in the units of a solver."""

    sampled: ScaledSample
    arms: Arms | None
    low: Floats  # (k + A,)
    high: Floats  # (k + A,)


@kernel
def _smooth(arms: Arms | None, sampled: ScaledSample, price: Floats, temperature: float, moments: Moments) -> float:
    """The smoothed worth of the best lists, or of the best arms where users share them."""
    if arms is None:
        return soft_lists(sampled, price, temperature, moments)
    return soft_arms(sampled, arms, price, temperature, moments)


@kernel
def _further(further: Floats | None, r: int) -> Floats | None:
    if further is None:
        return None
    own: Floats = further[r]
    return own


@kernel
def dual(program: Program, mu: Floats, temperature: float, gradient: Floats, hessian: Floats) -> float:
    """The smoothed dual at mu; fills gradient and lower Hessian of its smooth part, `(k+A),()->()`.

    Where users share arms, the prices of their matches follow those of the rows in mu, and have bounds of 0.
    """
    sampled, arms, low, high = program
    value = _smooth(arms, sampled, mu, temperature, Moments(gradient, np.empty(sampled.use.shape[1]), hessian))
    for i in range(len(mu)):
        gradient[i] = -gradient[i]
        for j in range(i + 1):
            hessian[i, j] /= temperature
        if mu[i] > 0.0:
            value += high[i] * mu[i]
        elif mu[i] < 0.0:
            value += low[i] * mu[i]
    return value + add_satisfaction(arms, mu, temperature, gradient, hessian)


@kernel
def _orthant(mu: Floats, gradient: Floats, low: Floats, high: Floats, free: Ints, slope: Floats) -> int:
    """Fill in the coordinates that may move and the full slope along each; returns their number."""
    count = 0
    for i in range(len(mu)):
        up, down = gradient[i] + high[i], gradient[i] + low[i]
        if (mu[i] > 0.0 or (mu[i] == 0.0 and up < 0.0)) and not (mu[i] >= _CAP and up < 0.0):
            slope[count] = up
        elif (mu[i] < 0.0 or (mu[i] == 0.0 and down > 0.0)) and not (mu[i] <= -_CAP and down > 0.0):
            slope[count] = down
        else:
            continue
        free[count] = i
        count += 1
    return count


@kernel
def _move(mu: Floats, slope: Floats, step: Floats, free: Ints, count: int, size: float, trial: Floats) -> None:
    """A step within the orthant and the cap, into `trial`, which may be mu itself."""
    for i in range(len(mu)):
        trial[i] = mu[i]
    for i in range(count):
        c = free[i]
        positive = mu[c] > 0.0 or (mu[c] == 0.0 and slope[i] < 0.0)
        moved = mu[c] - size * step[i]
        trial[c] = min(max(moved, 0.0), _CAP) if positive else max(min(moved, 0.0), -_CAP)


@kernel
def _descend(program: Program, mu: Floats, temperature: float) -> int:
    """Newton steps at one temperature, mu in place, in units of the problem; returns the number of evaluations."""
    low, high, k = program.low, program.high, len(mu)
    gradient, hessian, trial = np.empty(k), np.empty((k, k)), np.empty(k)
    free, slope, step = np.empty(k, np.int64), np.empty(k), np.empty(k)
    value = dual(program, mu, temperature, gradient, hessian)
    evaluations, damping = 1, 1.0
    for _ in range(_STEPS):
        count = _orthant(mu, gradient, low, high, free, slope)
        if count == 0:
            break
        matrix = np.empty((count, count))
        for i in range(count):
            for j in range(i + 1):
                matrix[i, j] = hessian[free[i], free[j]]
            matrix[i, i] += 1e-6 * matrix[i, i] + damping * abs(slope[i]) + 1e-12
        solve(matrix, slope, step)
        decrement = 0.0
        for i in range(count):
            decrement += slope[i] * step[i]
        if decrement < _TOLERANCE:  # the last step squares the error, and needs no evaluation
            _move(mu, slope, step, free, count, 1.0, mu)
            break
        size, reached = 1.0, np.inf
        while size > 1e-4:
            _move(mu, slope, step, free, count, size, trial)
            reached = dual(program, trial, temperature, gradient, hessian)
            evaluations += 1
            if reached <= value - 1e-4 * size * decrement:
                break
            size *= 0.5
        if not reached < value:
            break
        damping = max(damping / _LONGER, _LEAST) if size == 1.0 else 1.0
        for i in range(k):
            mu[i] = trial[i]
        value = reached
    return evaluations


@kernel
def spread(weight: Floats, g: Floats, kept: Ints) -> Floats:
    """Difference d between the best and the worst reward, averaged over contexts with weights proportional to d.

    `(S),(S,A),()->()`: sum of d^2 over sum of d, so that contexts in which all rewards are equal do not count. If they
    never differ, it is the largest reward, or 1 if all are 0.
    """
    out = np.ones(len(kept))
    for r in range(len(kept)):
        first, second, largest = 0.0, 0.0, 0.0
        for s in range(kept[r]):
            d = _difference(g[r, s])
            first += weight[r, s] * d
            second += weight[r, s] * d * d
            for a in range(g.shape[2]):
                if g[r, s, a] > -np.inf:
                    largest = max(largest, abs(g[r, s, a]))
        if first > 0.0:
            out[r] = second / first
        elif largest > 0.0:
            out[r] = largest
    return out


@kernel
def alike(g: Floats, kept: Ints) -> Bools:
    """Whether several candidates have the best reward, within rounding, in some context, `(S,A),()->()`."""
    out = np.zeros(len(kept), np.bool_)
    for r in range(len(kept)):
        for s in range(kept[r]):
            best, size, count = -np.inf, 0.0, 0
            for a in range(g.shape[2]):
                if g[r, s, a] > -np.inf:
                    best, size = max(best, g[r, s, a]), max(size, abs(g[r, s, a]))
            for a in range(g.shape[2]):
                if g[r, s, a] > -np.inf and g[r, s, a] >= best - _ROUNDING * size:
                    count += 1
            if count > 1:
                out[r] = True
                break
    return out


@kernel
def ties(solution: Solution) -> Floats:
    """The share of the variance of consumption that lotteries bring, and not contexts, `.->(k)` in [0, 1]."""
    out = np.zeros(solution.mixed.shape)
    for r in range(len(out)):
        for i in range(solution.mixed.shape[1]):
            square = solution.noise[r, i]
            variance = square - solution.plan[r, i] * solution.plan[r, i]
            out[r, i] = min(solution.mixed[r, i] / variance, 1.0) if variance > _ROUNDING * square else 0.0
    return out


@kernel
def _difference(g: Floats) -> float:
    """The best minus the worst reward; 0 if that is within rounding, `(A)->()`."""
    top, bottom = -np.inf, np.inf
    for a in range(len(g)):
        if g[a] > -np.inf:
            top, bottom = max(top, g[a]), min(bottom, g[a])
    return top - bottom if top - bottom > _ROUNDING * max(abs(top), abs(bottom)) else 0.0


@kernel
def _sizes(share: Floats, g: Floats, u: Floats, r: int, size: Floats) -> None:
    """Typical consumption per direction in contexts where rewards differ, `->(k)`; 0 if there is none.

    The spread of rewards over this size is the price at which decisions change.
    """
    for i in range(len(size)):
        weighted, total, plain = 0.0, 0.0, 0.0
        for s in range(len(share)):
            most = 0.0
            for a in range(g.shape[2]):
                most = max(most, abs(u[r, s, i, a]))
            d = _difference(g[r, s])
            weighted += share[s] * d * most
            total += share[s] * d
            plain += share[s] * most
        size[i] = weighted / total if weighted > 0.0 else plain


@kernel
def _misses(mu: Floats, plan: Floats, low: Floats, high: Floats, k: int) -> bool:
    """Whether a plan misses its bounds, or prices a slack one, by 1% of typical consumption, `(k),(k),(k),(k)`."""
    for i in range(k):
        over, under = plan[i] - high[i], low[i] - plan[i]
        if abs(mu[i]) < _CAP and (over > 0.01 or under > 0.01):
            return True
        if (mu[i] > 0.0 and over < -0.01) or (mu[i] < 0.0 and under < -0.01):
            return True
    return False


@kernel
def _shares(weight: Floats, r: int, kept: int) -> Floats:
    share, total = np.empty(kept), 0.0
    for s in range(kept):
        total += weight[r, s]
    for s in range(kept):
        share[s] = weight[r, s] / total
    return share


@kernel
def _in_units(g: Floats, u: Floats, r: int, kept: int, spread: float, size: Floats) -> tuple[Floats, Floats]:
    """Divide a replica's rewards by their spread and uses by their sizes, `(S,A),(S,k,A),(),(),(k)->(S,A),(S,k,A)`."""
    k, actions = len(size), g.shape[2]
    rewards, uses = np.empty((kept, actions)), np.empty((kept, k, actions))
    for s in range(kept):
        for a in range(actions):
            rewards[s, a] = g[r, s, a] / spread
            for i in range(k):
                uses[s, i, a] = u[r, s, i, a] / size[i]
    return rewards, uses


@kernel
def solve_fluid(fluid: Fluid, use: Floats, due: Bools, warm: Bools, solution: Solution) -> int:
    """Solve for every replica that is due, from its present prices, at falling temperatures, `.,(S,k,A),(),(),.->()`.

    If prices are warm, the last temperature is tried alone first, and all of them only if that fails. Prices are capped
    at fifty times the price at which decisions change, because an infeasible problem would let them grow without bound.
    Returns the number of evaluations of the dual.
    """
    weight, gain, kept, exposed, shared, spread, low, high, temperatures = fluid
    mu, lam, plan, noise, mixed = solution
    evaluations, k, width = 0, mu.shape[1], mu.shape[1] + lam.shape[1]
    size, price, mean = np.empty(k), np.empty(width), np.empty(width)
    least, most, second = np.empty(width), np.empty(width), np.empty((width, width))
    last = temperatures.shape[1] - 1
    for r in range(len(mu)):
        if not due[r] or kept[r] == 0:
            continue
        share = _shares(weight, r, kept[r])
        arms = arms_of(shared, r, kept[r], spread[r])
        matches, unit = units_of(arms)
        _sizes(share, gain, use, r, size)
        for i in range(k):
            if size[i] == 0.0:  # nobody consumes this: no price helps
                size[i], mu[r, i], least[i], most[i] = 1.0, 0.0, -np.inf, np.inf
            else:
                least[i], most[i] = low[r, i] / size[i], high[r, i] / size[i]
            price[i] = min(max(mu[r, i] * size[i] / spread[r], -_CAP), _CAP)
        for a in range(lam.shape[1]):
            price[k + a] = min(max(lam[r, a] * matches / unit, -_CAP), _CAP)
            least[k + a] = most[k + a] = 0.0
        rewards, uses = _in_units(gain, use, r, kept[r], spread[r], size)
        sampled = ScaledSample(share, rewards, uses, exposed.first[r], _further(exposed.further, r))
        program = Program(sampled, arms, least, most)
        for first in (last, 0):
            if first == last and last > 0 and not warm[r]:
                continue
            for step in range(first, last + 1):
                evaluations += _descend(program, price, temperatures[r, step] / spread[r])
            coldest = temperatures[r, last] / spread[r]
            _smooth(arms, sampled, price, coldest, Moments(mean, noise[r], second))
            for i in range(k):
                plan[r, i] = mean[i]
            if not _misses(price, plan[r], least, most, k):
                break
        for i in range(k):
            mu[r, i] = price[i] * spread[r] / size[i]
            plan[r, i] *= size[i]
            noise[r, i] *= size[i] * size[i]
            mixed[r, i] = second[i, i] * size[i] * size[i]
        for a in range(lam.shape[1]):
            lam[r, a] = price[k + a] * unit / matches
    return evaluations


_MISSED = 0.01  # of the largest use: what a plan is off by no more than this is kept, as for a solver


@kernel
def _exposure(first: float, further: Floats | None, r: int) -> float:
    """The mean number of places that are exposed."""
    if further is not None:
        for exposed in further[r]:
            first += exposed
    return first


@kernel
def _mark_violations(fluid: Fluid, u: Floats, differs: Bools) -> Bools:
    """Mark the directions that differ and that no lottery keeps within their bounds, `.,(S,k,A),(k)->(k)`."""
    weight, g, kept, low, high = fluid.weight, fluid.gain, fluid.kept, fluid.low, fluid.high
    out = np.zeros(low.shape, np.bool_)
    for r in range(len(low)):
        exposed = _exposure(fluid.places.first[r], fluid.places.further, r)
        for i in range(low.shape[1]):
            if not differs[r, i]:
                continue
            least, most, size, total = 0.0, 0.0, 0.0, 0.0
            for s in range(kept[r]):
                bottom, top = np.inf, -np.inf
                for a in range(u.shape[3]):
                    if g[r, s, a] > -np.inf:
                        bottom, top = min(bottom, u[r, s, i, a]), max(top, u[r, s, i, a])
                if top > -np.inf:
                    least += weight[r, s] * exposed * bottom
                    most += weight[r, s] * exposed * top
                    size = max(size, abs(bottom), abs(top))
                total += weight[r, s]
            slack = _MISSED * size
            out[r, i] = least > (high[r, i] + slack) * total or most < (low[r, i] - slack) * total
    return out


@kernel
def largest(u: Floats, kept: Ints) -> Floats:
    """The largest use by a candidate, by its size, `(S,k,A),()->(k)`."""
    out = np.zeros((len(u), u.shape[2]))
    for r in range(len(u)):
        for s in range(kept[r]):
            for i in range(u.shape[2]):
                for a in range(u.shape[3]):
                    out[r, i] = max(out[r, i], abs(u[r, s, i, a]))
    return out


@kernel
def _differs(plain: Floats, hope: Floats, due: Bools) -> Bools:
    """Mark the directions of the replicas that are due whose two readings differ, `(S,k,A),(S,k,A),()->(k)`."""
    out = np.zeros((len(due), plain.shape[2]), np.bool_)
    for r in range(len(due)):
        for i in range(plain.shape[2]):
            out[r, i] = due[r] and (plain[r, :, i] != hope[r, :, i]).any()
    return out


def solve_plain_first(fluid: Fluid, plain: Floats, hope: Floats, due: Bools, warm: Bools, solution: Solution) -> Floats:
    """`solve_fluid` at plain uses, and again with missed rows read at their ends, until it misses no others.

    `.,(S,k,A),(S,k,A),(),(),.->(S,k,A)`: the uses that were read. A row that no lottery can keep at plain uses is read
    optimistically at once. A row is missed by 1% of its largest use.
    """
    if hope is plain:
        solve_fluid(fluid, plain, due, warm, solution)
        return plain
    differs, before, read, waits = _differs(plain, hope, due), solution.mu.copy(), plain, due
    missed = _mark_violations(fluid, plain, differs)
    hoped = np.zeros_like(missed)
    while waits.any():
        hoped |= missed
        read = np.where(hoped[:, None, :, None], hope, plain) if hoped.any() else plain
        solve_fluid(fluid, read, waits, warm, solution)
        slack = _MISSED * largest(read, fluid.kept)
        off = (solution.plan > fluid.high + slack) | (solution.plan < fluid.low - slack)
        missed = np.asarray(off & waits[:, None] & differs & ~hoped)
        waits = np.asarray(missed.any(1))
        solution.mu[waits] = before[waits]
    return read
