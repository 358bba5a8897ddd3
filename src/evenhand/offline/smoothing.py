"""Prices of the limits of a long list, close to the best ones, by Newton's method on the smoothed dual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.offline.resources import Resource, net

_STEPS, _HALVES = 8, 12  # of Newton's method at each temperature, and of a line search
_FALL = 0.25  # the factor from one temperature to the next
_LARGEST = 1e6  # a price: limits that exclude each other have none


class _At(NamedTuple):
    """The dual function and its derivatives by scaled prices."""

    value: float
    slope: Floats  # (M,)
    curve: Floats  # (M,M)


def smooth_prices(
    worth: Floats, resources: Sequence[Resource], prices: Floats, hottest: float, coolest: float
) -> Floats:
    """Minimise the smoothed dual of a list over prices of its limits, `(N,A),(M)->(M)`.

    Equation: D(q) = q.most + mean_i t log sum_a exp((w_ia - sum_m q_m use_iam) / t), at falling temperatures t.
    At t = 0 this is the dual function, whose least value is the optimum of the list.

    Args:
        worth: `(N,A)`, of a size of about 1.
        resources: with all limits, in units of the largest use.
        prices: to begin with.
        hottest, coolest: the first and the last temperature.
    """
    temperature = hottest
    while True:
        prices = _minimised(worth, resources, prices, temperature)
        if temperature <= coolest:
            return prices
        temperature = max(temperature * _FALL, coolest)


def _minimised(worth: Floats, resources: Sequence[Resource], prices: Floats, temperature: float) -> Floats:
    from scipy.optimize import nnls

    at = _at(worth, resources, prices, temperature)
    for _ in range(_STEPS):
        ridge = 1e-9 * max(float(np.trace(at.curve)), 1e-9)
        root = np.linalg.cholesky(at.curve + ridge * np.eye(len(prices)))
        # Newton's step is the least of a quadratic function over prices of at least 0.
        wanted = nnls(root.T, np.linalg.solve(root, (at.curve + ridge * np.eye(len(prices))) @ prices - at.slope))[0]
        step = np.minimum(wanted, _LARGEST) - prices
        falls = float(at.slope @ step)
        if not falls < -0.01 * temperature**2:  # prices are off by less than the temperature
            break
        for _ in range(_HALVES):
            new = _at(worth, resources, prices + step, temperature)
            if new.value <= at.value + 0.1 * falls:
                break
            step, falls = 0.5 * step, 0.5 * falls
        else:
            break
        prices, at = prices + step, new
    return prices


def _at(worth: Floats, resources: Sequence[Resource], prices: Floats, temperature: float) -> _At:
    ends = np.cumsum([len(z.most) for z in resources])[:-1]
    chances = net(worth, resources, np.split(prices, ends))
    value = _softmax(chances, temperature)
    count, some = len(worth), range(len(resources))
    means = [_mean(chances, z.use) for z in resources]
    slope = np.concatenate([z.most - z.summed(m) / count for z, m in zip(resources, means, strict=True)])
    blocks = [[np.zeros((0, 0))] * len(resources) for _ in some]
    for j in some:
        for k in range(j + 1):
            one, other = resources[j], resources[k]
            spread = _covariance(chances, one.use, other.use, means[j], means[k])
            blocks[j][k] = _crossed(one, other, spread) / (count * temperature)
            blocks[k][j] = blocks[j][k].T
    most = np.concatenate([z.most for z in resources])
    return _At(float(prices @ most) + value, slope, np.block(blocks))


def _crossed(one: Resource, other: Resource, each: Floats) -> Floats:
    """Sum numbers of cases by the limits of two resources, `(N)->(M,L)`."""
    a = 0 if one.groups is None else one.groups
    b = 0 if other.groups is None else other.groups
    n, m = one.factor.shape[1], other.factor.shape[1]
    cells = np.broadcast_to(a * m + b, each.shape)
    return np.asarray(one.factor @ np.bincount(cells, each, n * m).reshape(n, m) @ other.factor.T)


@kernel
def _mean(chances: Floats, use: Floats) -> Floats:
    """What lotteries use on average, `(N,A),(N,A)->(N)`; `use` may be that of every case, `(1,A)`."""
    found, differ = np.empty(len(chances)), len(use) > 1
    for i in range(len(chances)):
        j, total = i if differ else 0, 0.0
        for a in range(chances.shape[1]):
            total += chances[i, a] * use[j, a]
        found[i] = total
    return found


@kernel
def _covariance(chances: Floats, use: Floats, other: Floats, mean: Floats, mean_of_other: Floats) -> Floats:
    """The covariance of two uses under lotteries, whose means are known, `(N,A),(N,A),(N,A),(N),(N)->(N)`."""
    found, differ, others_differ = np.empty(len(chances)), len(use) > 1, len(other) > 1
    for i in range(len(chances)):
        j, k, total = i if differ else 0, i if others_differ else 0, 0.0
        for a in range(chances.shape[1]):
            total += chances[i, a] * use[j, a] * other[k, a]
        found[i] = total - mean[i] * mean_of_other[i]
    return found


@kernel
def _softmax(net: Floats, temperature: float) -> float:
    """Replace numbers by the chances at a temperature; returns the average smooth maximum, `(N,A)->()`."""
    total = 0.0
    for i in range(len(net)):
        best, sums = net[i, 0], 0.0
        for a in range(1, net.shape[1]):
            best = max(best, net[i, a])
        for a in range(net.shape[1]):
            net[i, a] = np.exp((net[i, a] - best) / temperature)
            sums += net[i, a]
        for a in range(net.shape[1]):
            net[i, a] /= sums
        total += best + temperature * np.log(sums)
    return total / len(net)
