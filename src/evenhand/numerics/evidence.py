"""Penalty, noise and exploration of a Bayesian regression, estimated from its own data (evidence maximisation).

All numbers are in units of an outcome's range. Before any data, an outcome's noise and the spread of its means are each
a quarter of the range, with the weight of one observation, so a direction's first observation counts as much as the
prior.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats
from evenhand.numerics.low_rank import invert_sum
from evenhand.numerics.newton import cholesky
from evenhand.numerics.precision import dot, multiply, quadratic

BELIEVED = 0.25**2  # variance of noise, and of means, before any data
LEAST = 1e-6  # observations, of which less remains as none where a model forgets
_LARGEST = 1e100
_PASSES = 3
STRONG = math.log(20.0)  # the gain in log evidence for which a narrow prior is given up: odds of 20 to 1


class Sums(NamedTuple):
    """Sums over the observations of a replica, whose features come in B blocks of n, and each has one of them."""

    gram: Floats  # (B, n, n) of x x^T
    moment: Floats  # (B, M, n) of y x
    squares: Floats  # (M, M) of y y^T
    n_seen: float  # observations
    zeros: Floats  # (M,) of these, in which an outcome was declared 0


class Fit(NamedTuple):
    """An estimate at a penalty."""

    theta: Floats  # (B, M, n)
    inverse: Floats  # (B, n, n) of ridge I + gram
    sigma: Floats  # (M, M) covariance of the noise


@kernel
def clip_penalty(ridge: float, trace: float) -> float:
    """Clip the penalty to 1e-10 and 1e10 times the trace of the data's precision; NaN becomes the lower bound.

    Below, collinear features would make a matrix that rounding cannot invert; above, numbers overflow. Neither bound
    moves a prediction by more than a 1e-10th of it.
    """
    return min(ridge, 1e10 * trace) if ridge > 1e-10 * trace else 1e-10 * trace


@inlined
def future_observations(count: float, rounds: float, taught: float, horizon: float, part: float) -> float:
    """Estimate the number of future observations at the rate so far, with one more observation in one more round.

    Rounds of training do not use up the horizon; at most a part of the horizon counts as future.
    """
    return max(min(horizon - (rounds - taught), part * horizon), 0.0) * (1.0 + count) / (1.0 + rounds)


@inlined
def affordable(more: float, n: int, plays: Floats, at: tuple[int, int, int]) -> float:
    """Limit m future observations to n times the plays of an action that budgets can pay for, `(),(),(R,A)->()`.

    m observations, spread over n directions, are m / n in each; no direction has more than the plays that are left.

    Args:
        more: m.
        n: directions.
        plays: that budgets can pay for, of the A actions; none are told if A is 0.
        at: the replica, the candidate, and the number of candidates. These are the actions in their order, once or
            several times; other numbers of candidates have no limit.
    """
    (r, a, candidates), actions = at, plays.shape[1]
    if actions == 0 or candidates % actions != 0:
        return more
    return float(min(more, n * plays[r, a % actions]))


@inlined
def first(spreads: Floats) -> float:
    """Compute the prior variance of a mean in units of the noise's, `(M)->()`."""
    total = 0.0
    for spread in spreads:
        total += spread / BELIEVED
    return total / len(spreads)


@inlined
def doubt(x: Floats, inverse: Floats, seen: float, believed: float, product: Floats) -> float:
    """Compute x^T V^-1 x, `(n),(n,n),(),(),(n)->()`, and leave V^-1 x in `product`.

    Before any data it is what is believed, and V^-1 is 0 unless plays are on their way, which can only make it less.
    """
    square = quadratic(x, inverse, product)
    if seen > 0.0:
        return square
    return min(square, believed) if inverse[0, 0] > 0.0 else believed


@inlined
def shared(square: float, product: Floats, total: Floats) -> float:
    """Compute q sqrt(|c| / a), of q = x^T V^-1 x what an action's plays in other cases will not correct.

    c = V^-1 x . (x + sum x_i) is how far errors in x and in the cases x_i seen go the same way, and a the most that it
    could be, with |.| of every product; `product` is V^-1 x, and `total` are sums of x_i and |x_i|,
    `(),(n),(2,n)->()`. An action that is underestimated in all cases is not played, so nothing corrects it: where cases
    are alike, or have nothing in common, such as levels, c = a. Where signs mix, it is overestimated in some
    cases and played there, which corrects the others as well.
    """
    same, most = square, square
    for i in range(len(product)):
        same += product[i] * total[0, i]
        most += abs(product[i]) * total[1, i]
    return square * math.sqrt(min(abs(same) / most, 1.0)) if most > 0.0 else square


@inlined
def reach(square: float, more: float, n: int) -> float:
    """Compute the bonus sqrt(q ln(1 + (m q / n)^2)): the plausible error of a mean in standard deviations of the noise.

    q is the variance of the estimate in units of the noise's. m more observations, spread over n directions, would
    leave a variance of n / m in each: estimates better than that are hardly worth exploring. Worse ones are off by more
    than sqrt(2 q ln(m q / n)) with a probability below n / (m q).
    """
    finite = square if square < _LARGEST else _LARGEST  # otherwise it overflowed, or is NaN from inf - inf
    left = more * (finite / n)
    return math.sqrt(finite) * math.sqrt(math.log1p(left * left))


@kernel
def log_volume(inverse: Floats) -> float:
    """Compute the sum of ln |V_b^-1| over the blocks, `(B,n,n)->()`."""
    found, root = 0.0, np.empty(inverse.shape[1:])
    for b in range(len(inverse)):
        for i in range(len(root)):
            for j in range(len(root)):
                root[i, j] = inverse[b, i, j]
        cholesky(root)
        for i in range(len(root)):
            found += 2.0 * math.log(root[i, i])
    return found


@inlined
def _trace(gram: Floats) -> float:
    """Compute the trace of all blocks, `(B,n,n)->()`."""
    total = 0.0
    for b in range(len(gram)):
        for i in range(gram.shape[1]):
            total += gram[b, i, i]
    return total


@kernel
def log_evidence(sums: Sums, rho: float, spreads: Floats, made: Fit) -> float:
    """Compute ln of a fit's evidence times the density of the prior beliefs, up to a constant, `(),(M)->()`.

    Each outcome counts as if its noise were independent of the others'.
    """
    theta, inverse, sigma = made
    count, (blocks, outcomes, n) = sums.n_seen, theta.shape
    scale = _trace(sums.gram) / count
    free = float(blocks * n)
    for b in range(blocks):
        for i in range(n):
            free -= rho * inverse[b, i, i]
    found, volume = 0.0, blocks * n * math.log(rho) + log_volume(inverse)
    for m in range(outcomes):
        noise, square, part = sigma[m, m], 0.0, max(count - sums.zeros[m], 0.0) / count
        for b in range(blocks):
            square += dot(theta[b, m], theta[b, m])
        found += 0.5 * part * (volume - count * math.log(noise) - max(count - max(free, 0.0), 0.0))
        found -= 0.5 * (math.log(noise) + rho * square / noise)
        spread = noise * (scale / rho)
        found -= 0.5 * (math.log(spread) + spreads[m] / spread)
    return found


@kernel
def _climb(sums: Sums, ridge: float, spreads: Floats, made: Fit) -> float:
    """Climb from a penalty to a local maximum of the evidence; returns the penalty, `(),(M)->()`.

    With g = n - rho tr V^-1 effective parameters, noise_m = RSS_m / (N - g), spread_m = |theta_m|^2 / g per unit of the
    features' mean square, and rho = 1 / mean_m (spread_m / noise_m) in that unit, each with what is believed before any
    data as one more observation, 1/16 of noise_m and spreads_m of spread_m. It is iterated from the present rho. A
    fixed point for one outcome maximises the evidence times the density of one observation of these variances.
    Of the N observations of outcome m, `zeros` are declared to be 0. They have no noise: N - g and g are multiplied by
    the part of the others, and by the root of both parts in a covariance. The prior belief about the noise is mixed
    with the average noise of all outcomes by that part: an outcome of one rare action has few observations.
    Source: MacKay 1992 (Bayesian interpolation, Section 4), with one penalty for all outcomes.
    """
    gram, moment, squares, count, zeros = sums
    theta, inverse, sigma = made
    blocks, outcomes, n = moment.shape
    trace, size = _trace(gram), float(blocks * n)
    scale = trace / count
    matrix, mean, missed = np.empty((n, n)), np.empty(n), np.empty(outcomes)
    part, noisy = np.empty(outcomes), np.empty(outcomes)
    for m in range(outcomes):
        part[m] = max(count - zeros[m], 0.0) / count
    rho = ridge if ridge > 0.0 else scale / first(spreads)
    for step in range(_PASSES):
        rho = clip_penalty(rho, trace)
        free = size
        for b in range(blocks):
            invert_sum(gram[b], rho, matrix, inverse[b])
            for i in range(n):
                free -= rho * inverse[b, i, i]
            for m in range(outcomes):
                multiply(inverse[b], moment[b, m], theta[b, m])
        free = min(max(free, 0.0), size)
        for m in range(outcomes):
            noisy[m] = 1.0 + part[m] * max(count - free, 0.0)
        total, all_noisy = 0.0, 0.0
        for m in range(outcomes):
            for j in range(outcomes):
                missed[j] = squares[m, j]
            for b in range(blocks):
                multiply(gram[b], theta[b, m], mean)
                for j in range(outcomes):
                    both = missed[j] - dot(theta[b, m], moment[b, j]) - dot(theta[b, j], moment[b, m])
                    missed[j] = both + dot(theta[b, j], mean)
            for j in range(outcomes):
                believed, miss = (BELIEVED, max(missed[j], 0.0)) if m == j else (0.0, missed[j])
                sigma[m, j] = (believed + miss) / math.sqrt(noisy[m] * noisy[j])
            total += sigma[m, m] * noisy[m]
            all_noisy += noisy[m]
        average = total / all_noisy
        for m in range(outcomes):
            if part[m] < 1.0:
                sigma[m, m] += (1.0 - part[m]) * (average - BELIEVED) / noisy[m]
        if step + 1 < _PASSES:
            ratio = 0.0
            for m in range(outcomes):
                spread = spreads[m]
                for b in range(blocks):
                    for i in range(n):
                        z = math.sqrt(scale) * theta[b, m, i]
                        spread += z * z
                spread /= 1.0 + part[m] * free
                ratio += spread / sigma[m, m] / outcomes
            rho = scale / ratio
    return rho


@kernel
def _copy(fit: Fit, to: Fit) -> None:
    blocks, outcomes, n = fit.theta.shape
    for b in range(blocks):
        for i in range(n):
            for m in range(outcomes):
                to.theta[b, m, i] = fit.theta[b, m, i]
            for j in range(n):
                to.inverse[b, i, j] = fit.inverse[b, i, j]
    for m in range(outcomes):
        for j in range(outcomes):
            to.sigma[m, j] = fit.sigma[m, j]


@kernel
def fit(sums: Sums, ridge: float, spreads: Floats, made: Fit) -> float:
    """Maximise the evidence of a ridge regression, `(),(M)->()`; fills in the estimate and returns its penalty.

    The matrices of the blocks are all there is of a block-diagonal one.

    If the prior spread of means is too narrow, the evidence has a second maximum at which all outcomes are noise, and
    steps away from it are small. A second climb therefore starts from the default penalty.
    """
    rho = _climb(sums, ridge, spreads, made)
    if first(spreads) < 1.0:
        wide = Fit(np.empty_like(made.theta), np.empty_like(made.inverse), np.empty_like(made.sigma))
        other = _climb(sums, _trace(sums.gram) / sums.n_seen, spreads, wide)
        if log_evidence(sums, other, spreads, wide) > log_evidence(sums, rho, spreads, made) + STRONG:
            _copy(wide, made)
            return other
    return rho
