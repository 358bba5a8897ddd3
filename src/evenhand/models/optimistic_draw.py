"""Optimism by the best of several parameters drawn from a confidence ellipsoid, as FairX does it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.core.validate import counts, nonnegative
from evenhand.models._drawn import Drawn
from evenhand.models._shared import check_parametric, normals_by_block, numbers_for
from evenhand.models.base import Parametric


@kernel
def _ball(normal: Floats, u: Floats, radius: float) -> Floats:
    """Points uniform in a ball, from normal directions and uniform numbers, in place, `(D,n),(D),()->(D,n)`."""
    n = normal.shape[2]
    for r in range(len(normal)):
        for d in range(normal.shape[1]):
            square = 0.0
            for i in range(n):
                square += normal[r, d, i] * normal[r, d, i]
            if square > 0.0:
                scale = radius * u[r, d] ** (1.0 / n) / math.sqrt(square)
                for i in range(n):
                    normal[r, d, i] *= scale
    return normal


@kernel
def _best(mean: Floats, draws: int, blocks: int, points: Floats) -> Floats:
    """The point with the most merit, `(D A),(),(),(D,n)->(1,n)`, and the first of several."""
    best = np.empty((len(mean), 1, points.shape[2]))
    size = mean.shape[1] // (draws * blocks)
    for r in range(len(mean)):
        most, a = -1.0, 0
        for d in range(draws):
            merit = 0.0
            for _ in range(blocks):
                total, squares = 0.0, 0.0
                for _ in range(size):
                    m = max(mean[r, a], 0.0)
                    total += m
                    squares += m * m
                    a += 1
                merit += squares / total if total > 0.0 else 0.0
            if merit > most:
                most = merit
                best[r, 0] = points[r, d]
    return best


@named("A6", source="FairX: Wang et al. 2021, as in Shibukawa et al. 2026, Appendix F.1 (Algorithm 6)")
@dataclass(frozen=True, kw_only=True)
class OptimisticDraw(Drawn):
    """Value candidates under the drawn parameter of an ellipsoid under which merit pays most.

    Equation: theta_d = theta + radius L^-T u_d, V = L L^T the matrix of the inner model's widths, u_d uniform in the
    unit ball; the draw with the largest sum over blocks i and candidates a of P_ia mu_ia is kept, P_ia = mu_ia / sum of
    mu_ia' over the block's candidates; bonus = worth under it minus worth under theta. A mean below 0 has merit 0.
    FairX draws each user's arm from P under that parameter.
    Deviation: the paper prints L^-1, which leaves the ellipsoid in some draws.

    Candidates come in `n_blocks` consecutive blocks of equal length, such as one per user. Without luck, as in plans,
    the bonus is 0. The optimism of the inner model is not used.

    Args:
        inner: a model of one outcome with parameters to draw (`Parametric`): `Logistic`, `GeneralizedLinear` or
            `OnePass`.
        radius: of the ellipsoid, at least 0; the paper's sqrt(gamma), gamma = 0.1.
        tries: how many parameters are drawn, at least 1.
        n_blocks: blocks of candidates, at least 1.

    Raises:
        InvalidInput: an inner model without such parameters, or a number out of its range; from `value`, candidates
            that do not divide into blocks.

    >>> from evenhand.models.logistic import Logistic
    >>> model = OptimisticDraw(inner=Logistic(n_features=1), radius=1.0, tries=2)
    >>> state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    >>> luck = np.array([[0.5, 0.0, 0.4, 0.9]])  # normal numbers 1.18 and 0, and distances 0.4 and 0.9
    >>> worth = model.value(state, one, one[None], luck)
    >>> worth.random, round((worth.mean + worth.bonus).item(), 3)  # sigmoid(0.4)
    (True, 0.599)
    """

    inner: Parametric
    radius: float = math.sqrt(0.1)
    tries: int = 50
    n_blocks: int = 1

    def __post_init__(self) -> None:
        check_parametric("OptimisticDraw", self.inner)
        nonnegative("OptimisticDraw.radius", self.radius)
        counts(self, {"tries": 1, "n_blocks": 1})

    def draws(self, candidates: int) -> int:
        return numbers_for(self.tries * self.inner.n_parameters) + self.tries

    def _bonus(self, state: Any, x: Floats, w: Floats, u: Floats, mean: Floats) -> Floats:
        tries = self.tries
        directions = normals_by_block(np.ascontiguousarray(u[:, :-tries]), tries, self.inner.n_parameters)
        points = self.inner.inside(state, _ball(directions, u[:, -tries:], float(self.radius)))
        means = self.inner.at(state, np.tile(x, (1, tries, 1)), np.ones((len(x), 1, 1, 1)), points)[:, 0]
        best = _best(means, tries, self.n_blocks, points)
        return self.inner.at(state, x, w, best) - mean
