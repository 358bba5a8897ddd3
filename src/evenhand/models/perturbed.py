"""Additive Thompson sampling: a random linear term beside the mean, drawn in every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.core.validate import nonnegative, whole
from evenhand.models._drawn import Scaled
from evenhand.models._shared import check_parametric
from evenhand.models.base import Parametric
from evenhand.numerics.precision import dot


@kernel
def _added(d: Floats, x: Floats, w: Floats) -> Floats:
    """Price times x.d, one d per block of candidates, `(U,n),(A,n),(K,1|A,1)->(K,A)`."""
    bonus = np.zeros((len(x), w.shape[1], x.shape[1]))
    each, size = w.shape[2] > 1, x.shape[1] // d.shape[1]
    for r in range(len(x)):
        for a in range(x.shape[1]):
            own, more = a if each else 0, dot(x[r, a], d[r, a // size])
            for k in range(w.shape[1]):
                bonus[r, k, a] = w[r, k, own, 0] * more
    return bonus


@named("A2", source="Shibukawa et al. 2026, Section 4.2 (Algorithm 2, CAB-TS): perturbations beside the utility")
@dataclass(frozen=True, kw_only=True)
class Perturbed(Scaled):
    """Add a linear term with a drawn parameter to a model's mean, one draw per block and round.

    Equation: bonus = price x.e, e ~ N(0, scale^2 S), S the posterior covariance of the inner model: H^-1 for
    `Logistic`, H = ridge I + sum mu' x x^T, the Hessian at its last fit; for an identity link in units of the outcome's
    range. `Sampled` draws inside the link instead, mu(x.(theta + e)); for an identity link the two are the same.
    Deviation: the paper's H has lambda_0 times the average of mu' in the place of our ridge, which it sets to
    kappa lambda_0, kappa the least slope of mu. Our H is smaller by the difference, so our draws are wider, noticeably
    so until data outweigh the ridge; and with `growth` above 1 the H of `Logistic` is that of its last fit, not of the
    present round.

    Candidates come in `n_blocks` consecutive blocks of equal length, such as one per user, and each block has a draw of
    its own; all candidates of a block and all readings share it. Without luck, as in plans, the bonus is 0. The
    optimism of the inner model is not used.

    Args:
        inner: a model of one outcome with parameters to draw (`Parametric`): `Logistic`, `GeneralizedLinear` or
            `OnePass`.
        scale: a, the draw's standard deviation as a multiple of the posterior's, at least 0; the paper's experiments
            have sqrt(n n_blocks). 0 is greedy and uses no luck.
        n_blocks: how many draws per round, at least 1.

    Raises:
        InvalidInput: an inner model without such parameters, or a number out of its range; from `value`, candidates
            that do not divide into blocks.

    >>> from evenhand.models.logistic import Logistic
    >>> model = Perturbed(inner=Logistic(n_features=1, ridge=4.0))
    >>> state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    >>> worth = model.value(state, one, one[None], np.array([[-np.expm1(-0.5), 0.0]]))  # a normal number of 1
    >>> worth.mean.item(), round(worth.bonus.item(), 9), worth.random
    (0.5, 0.5, True)
    """

    inner: Parametric
    scale: float = 1.0
    n_blocks: int = 1

    def __post_init__(self) -> None:
        check_parametric("Perturbed", self.inner)
        nonnegative("Perturbed.scale", self.scale)
        whole("Perturbed.n_blocks", self.n_blocks, 1)

    def _bonus(self, state: Any, x: Floats, w: Floats, u: Floats, mean: Floats) -> Floats:
        return _added(self.inner.deviations(state, self._z(u)), x, w)
