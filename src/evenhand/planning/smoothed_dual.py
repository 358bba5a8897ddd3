"""Newton's method on the smoothed dual of a plan: prices close to the best ones, in few passes over contexts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.planning.moments import Block, Contexts, SmoothedDual, Terms, smooth_dual

_SHORTER, _HALVES = 0.25, 12  # of a line search
_LARGEST = 1e6  # a price: limits that exclude each other have none


class Scale(NamedTuple):
    """The sizes of numbers, so that results do not depend on units."""

    worth: float  # what actions of a context differ by on average; 1 if they do not
    rows: Floats  # (M,) the same of rows

    @property
    def prices(self) -> Floats:
        """The sizes of prices, `->(M)`."""
        return self.worth / self.rows


def scale_of(sample: Block, terms: Terms) -> Scale:
    """Return the average spread of the actions of a context: in worth, and in every row."""
    alike = np.broadcast_to(terms.known[:, :, None], (*terms.known.shape, len(sample.cell)))
    amounts = [*sample.outcomes, *alike]  # (A,n) each
    worth = sum((w * u for w, u in zip(terms.weights, amounts, strict=True) if w), np.zeros((1, 1)))
    rows = np.ones(len(terms.bound))
    for m in range(len(rows)):
        each = zip(terms.factors[:, m].T, amounts, strict=True)
        rows[m] = _range(sum((f[sample.cell] * u for f, u in each if f.any()), np.zeros((1, 1))))
    return Scale(_range(worth), rows)


def _range(amounts: Floats) -> float:
    found = float((amounts.max(0) - amounts.min(0)).mean(dtype=float))
    return found if found > 0.0 else 1.0


def minimise(
    contexts: Contexts, terms: Terms, scale: Scale, prices: Floats, temperature: float, passes: int
) -> tuple[Floats, float]:
    """Minimise the smoothed dual over prices of at least 0, `(M)->(M),()`; returns also the least dual value met.

    Newton's step is the least of a quadratic function over prices of at least 0. The method ends where a step would
    gain less than a hundredth of the squared temperature. The last step is not evaluated, which saves a pass.

    Args:
        contexts, terms: the program.
        scale: the sizes of worth and rows.
        prices: to begin with.
        temperature: in units of the worth's size.
        passes: at most so many.
    """
    at, left = smooth_dual(contexts, terms, prices, temperature * scale.worth), passes - 1
    bound = at.bound
    while True:
        step = _step(at, scale, prices)
        falls = float(at.slope @ step)
        if not falls < -0.01 * temperature**2 * scale.worth or left == 0:
            return (prices + step if falls < 0.0 else prices), bound
        for _ in range(min(_HALVES, left)):
            new = smooth_dual(contexts, terms, prices + step, temperature * scale.worth)
            left, bound = left - 1, min(bound, new.bound)
            if new.value <= at.value + 0.1 * falls:
                break
            step, falls = _SHORTER * step, _SHORTER * falls
        else:
            return prices, bound
        prices, at = prices + step, new


def _step(at: SmoothedDual, scale: Scale, prices: Floats) -> Floats:
    from scipy.optimize import nnls

    units = scale.prices
    curve, slope, here = at.curve * np.outer(units, units) / scale.worth, at.slope / scale.rows, prices / units
    diagonal = np.diag(curve)
    curve = curve + np.diag(1e-9 * (diagonal + diagonal.mean()) + 1e-12)
    root = np.linalg.cholesky(curve)
    wanted = nnls(root.T, np.linalg.solve(root, curve @ here - slope))[0]
    step = np.minimum(wanted, _LARGEST) - here
    reach = 2.0 * (float(np.abs(here).max()) + 0.1)  # beyond, the quadratic function says nothing
    return np.asarray(step * min(1.0, reach / max(float(np.abs(step).max()), 1e-300)) * units)
