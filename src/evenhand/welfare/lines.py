"""Concave functions of arms as minima of straight lines, the form that linear programs need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.welfare._kernels import utility
from evenhand.welfare.curves import CAPPED, PIECEWISE, Curves
from evenhand.welfare.slopes import steepness

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
