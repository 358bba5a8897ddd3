"""Online Newton steps for generalised linear models, without widths or a history."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.models._shared import check_sizes
from evenhand.models.base import ROUND, Lesson, Worth
from evenhand.models.links import Link, code, predict, priced
from evenhand.models.oracles import Projection, check_steps, project
from evenhand.numerics.precision import absorb, fresh


@dataclass
class NewtonState:
    """Parameters of every outcome, and the inverse of their common metric."""

    theta: Floats  # (R, M, n)
    inverse: Floats  # (R, n, n)


@kernel
def _newton(
    link: int,
    step: float,
    radius: float,
    whole: bool,
    theta: Floats,
    inverse: Floats,
    x: Floats,
    y: Floats,
    seen: Bools,
) -> None:
    gain, mean = np.empty(x.shape[2]), np.empty(y.shape[2])
    for r in range(len(x)):
        for p in range(x.shape[1]):
            if not seen[r, p].all():
                continue
            predict(link, theta[r], x[r, p], mean)
            square = absorb(inverse[r], x[r, p], gain)
            for m in range(len(mean)):
                size = step * (mean[m] - y[r, p, m]) / (1.0 + square)
                for i in range(len(gain)):
                    theta[r, m, i] -= size * gain[i]
            project(theta[r], radius, whole)


@named("S3", source="Newtonised GLMtron: Foster & Rakhlin 2020, Proposition 3; in Han et al. 2022, Table 1")
@dataclass(frozen=True, kw_only=True)
class Glmtron:
    """Online Newton steps for a generalised linear model; square-loss regret O(n log T).

    Equation: A_t = ridge I + sum x x^T, theta <- P(theta - step A_t^-1 (link(x.theta) - y) x), P the projection of each
    outcome's parameter to the ball of `radius`. With the identity link, step 1 and no projection: ridge regression.
    Deviation: the projection is Euclidean (a scaling), whereas the theorem's is in the metric of A_t.

    Args:
        n_features: n.
        n_outcomes: M, each with a parameter of its own.
        link: identity, logistic, probit or exponential.
        ridge: the ridge of the metric A_t, above 0.
        step: 1 over the least slope of the link on its domain; 1 for the identity.
        radius: of the ball of each outcome's parameter; infinite for no projection.
        projection: "row", or "whole" for the published code's fault (all rows are scaled at once and lose their signs).
        start_at: every coordinate of the initial parameters.

    Raises:
        InvalidInput: sizes below 1, or numbers that are not positive.

    >>> model = Glmtron(n_features=1)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> model.update(state, one, one, one > 0, price)
    >>> model.value(state, one, price, luck).mean.item()
    0.5
    """

    n_features: int
    n_outcomes: int = 1
    link: Link = "identity"
    ridge: float = 1.0
    step: float = 1.0
    radius: float = math.inf
    projection: Projection = "row"
    start_at: float = 0.0

    def __post_init__(self) -> None:
        check_sizes("Glmtron", self.n_features, self.n_outcomes, self.ridge)
        check_steps("Glmtron", self.step, self.radius, self.projection, self.link, self.start_at)

    def draws(self, candidates: int) -> int:
        """No luck."""
        return 0

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> NewtonState:
        """The state before any data, `(M),(M)->state`."""
        theta = np.full((n_replicas, self.n_outcomes, self.n_features), self.start_at)
        return NewtonState(theta, fresh(n_replicas, self.n_features, self.ridge))

    def value(self, state: NewtonState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Mean worth, and no optimism, `(A,n),(K,1|A,M),()->(K,A),(K,A)`."""
        return Worth(*priced(self._link, state.theta, x, w))

    def update(self, state: NewtonState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """One Newton step per play whose outcomes are all seen, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        whole = self.projection == "whole"
        _newton(self._link, float(self.step), float(self.radius), whole, state.theta, state.inverse, x, y, seen)

    @property
    def is_linear(self) -> bool:
        """True for the identity link."""
        return self.link == "identity"

    def parameters(self, state: NewtonState) -> Floats:
        """The present iterate, `->(M,n)`."""
        return state.theta

    @cached_property
    def _link(self) -> int:
        return code(self.link)
