"""Posterior sampling (Thompson sampling): the worth under parameters that are drawn in every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.core.validate import nonnegative, whole
from evenhand.models._drawn import Scaled
from evenhand.models.base import Posterior


@named(
    "T1",
    source="Agrawal & Goyal 2013 (ICML: linear; AISTATS, Algorithm 2: arms); Chapelle & Li 2011 and Russo et al. 2018, "
    "Section 5 (Laplace)",
)
@dataclass(frozen=True, kw_only=True)
class Sampled(Scaled):
    """Draw a model's parameters from its posterior once per round, and value candidates under them.

    Equation: theta~ ~ N(theta, scale^2 S); bonus = worth under theta~ minus worth under theta, theta and S the inner
    model's: S = V^-1 for `Ridge`, per outcome; the inverse Hessian of the penalised likelihood for
    `Logistic` and `GeneralizedLinear`; 1 / (N + 1) per arm, on outcomes scaled to [0, 1], for `Tabular`. The worth of a
    drawn parameter is not clipped to the declared range, but for means of the exponential link: clipped draws of an arm
    that was never played would mostly tie at an end.

    All candidates of a block, and all readings of the goals, share one draw. In a round that decides for several users,
    a block may be a user: candidates come in `n_blocks` consecutive blocks of equal length, and each block has a draw
    of its own. Without luck, as in plans, the bonus is 0. The optimism of the inner model is not used.

    Args:
        inner: a model with a posterior to draw from (`Posterior`), such as `Ridge`, `Logistic`, `GeneralizedLinear`,
            `OnePass` or `Tabular`. To sample several models side by side, stack sampled models.
        scale: the draw's standard deviation as a multiple of the posterior's, at least 0; 0 is greedy and uses no luck.
        n_blocks: how many draws per round, at least 1.

    Raises:
        InvalidInput: an inner model without a posterior, or a number out of its range; from `value`, candidates that
            do not divide into blocks.

    >>> import numpy as np
    >>> from evenhand.models.ridge import Ridge
    >>> model = Sampled(inner=Ridge(n_features=1), scale=0.5)
    >>> state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    >>> worth = model.value(state, one, one[None], np.array([[-np.expm1(-0.5), 0.0]]))  # a normal number of 1
    >>> worth.mean.item(), round(worth.bonus.item(), 9), worth.random
    (0.0, 0.5, True)
    """

    inner: Posterior
    scale: float = 1.0
    n_blocks: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Posterior):
            expected = "a model with a posterior to draw from, such as Ridge, Logistic or Tabular"
            raise InvalidInput("Sampled.inner", expected, self.inner)
        nonnegative("Sampled.scale", self.scale)
        whole("Sampled.n_blocks", self.n_blocks, 1)

    def _bonus(self, state: Any, x: Floats, w: Floats, u: Floats, mean: Floats) -> Floats:
        return self.inner.sample(state, x, w, self._z(u)) - mean
