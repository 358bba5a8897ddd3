"""Online regression oracles: predict an outcome vector, learn from the played action; no widths, no history.

Both move each outcome's parameter against the GLMtron direction (link(x.theta) - y) x, which is the gradient of the
square loss up to the link's slope, and project it back to its ball; they differ in the metric of the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.models.links import Link, code, predict, priced
from evenhand.models.ridge import check_sizes
from evenhand.numerics.precision import absorb, fresh, norm2

Projection = Literal["row", "whole"]


@kernel
def project(theta: Floats, radius: float, whole: bool) -> None:
    """Scale every row back to the ball of a radius; or, as published, scale all rows at once and drop all signs."""
    if whole:
        norm = math.sqrt((theta * theta).sum())
        theta[:] = np.abs(theta) * (radius / norm if norm > radius else 1.0)
        return
    for m in range(len(theta)):
        square = norm2(theta[m])
        if square > radius * radius:
            theta[m] *= radius / math.sqrt(square)


@dataclass
class NewtonState:
    """Parameters of every outcome, and the inverse of their common metric."""

    theta: Floats  # (R, M, n)
    inverse: Floats  # (R, n, n)


@kernel
def _newton(
    link: int,
    theta: Floats,
    inverse: Floats,
    step: float,
    radius: float,
    whole: bool,
    x: Floats,
    y: Floats,
    rounds: Floats,
) -> None:
    gain, mean = np.empty(x.shape[2]), np.empty(y.shape[2])
    for r in range(len(x)):
        if rounds[r] == 0.0:
            continue
        for p in range(x.shape[1]):
            if np.isnan(y[r, p]).any():
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
    Deviation: the projection is Euclidean (a scaling) where the theorem's is in the metric of A_t.

    Args:
        features: n.
        outcomes: M, each with a parameter of its own.
        link: identity, logistic, probit or exponential.
        ridge: of the metric, above 0.
        step: 1 over the least slope of the link on its domain; 1 for the identity.
        radius: of each parameter's ball; infinite for none.
        projection: "row", or "whole" for the published code's fault (all rows scaled to one norm, signs dropped).
        start_at: every coordinate of the initial parameters.

    Raises:
        InvalidInput: sizes below 1, or numbers that are not positive.

    >>> model = Glmtron(n_features=1)
    >>> state = model.start(1, np.zeros(1), np.ones(1))
    >>> one = np.ones((1, 1, 1))
    >>> model.update(state, one, one, np.ones(1), one)
    >>> model.value(state, one, one)[0].item()
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

    def start(self, n_replicas: int, low: Floats, high: Floats) -> NewtonState:
        """The state before any data, `(M),(M)->state`."""
        theta = np.full((n_replicas, self.n_outcomes, self.n_features), self.start_at)
        return NewtonState(theta, fresh(n_replicas, self.n_features, self.ridge))

    def value(self, state: NewtonState, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        """Mean worth, and no optimism, `(A,n),(K,M)->(K,A),(K,A)`."""
        return priced(code(self.link), state.theta, x, w)

    def update(self, state: NewtonState, x: Floats, y: Floats, rounds: Floats, w: Floats) -> None:
        """One Newton step per play whose outcomes are all observed, `(P,n),(P,M),(),(K,M)`."""
        whole = self.projection == "whole"
        _newton(code(self.link), state.theta, state.inverse, self.step, self.radius, whole, x, y, rounds)


@dataclass
class GradientState:
    """Parameters of every outcome, and how often they moved."""

    theta: Floats  # (R, M, n)
    count: Floats  # (R,)


@kernel
def _gradient(
    link: int,
    theta: Floats,
    count: Floats,
    step: float,
    power: float,
    first: float,
    radius: float,
    whole: bool,
    x: Floats,
    y: Floats,
    rounds: Floats,
) -> None:
    mean = np.empty(y.shape[2])
    for r in range(len(x)):
        if rounds[r] == 0.0:
            continue
        for p in range(x.shape[1]):
            if np.isnan(y[r, p]).any():
                continue
            predict(link, theta[r], x[r, p], mean)
            size = step / (count[r] + 1.0) ** power if count[r] > 0.0 or first == 0.0 else first
            count[r] += 1.0
            for m in range(len(mean)):
                for i in range(x.shape[2]):
                    if x[r, p, i] != 0.0:
                        theta[r, m, i] -= size * (mean[m] - y[r, p, m]) * x[r, p, i]
            project(theta[r], radius, whole)


@named("S3", source="online gradient descent (Zinkevich 2003) as an oracle: Han et al. 2022, Table 1")
@dataclass(frozen=True, kw_only=True)
class Gradient:
    """Online gradient descent for a generalised linear model; square-loss regret O(sqrt T), whatever the dimension.

    Equation: theta <- P(theta - size_t (link(x.theta) - y) x), size_t = step / t^power at the t-th observation, P as in
    `Glmtron`.

    Args:
        features: n.
        outcomes: M, each with a parameter of its own.
        link: identity, logistic, probit or exponential.
        step: of the first observation.
        power: in [0, 1]; 1/2 is the anytime rate, 0 a fixed step.
        first: another size for the first step only; 0 for none.
        radius: of each parameter's ball; infinite for none.
        projection: as in `Glmtron`.
        start_at: every coordinate of the initial parameters.

    Raises:
        InvalidInput: sizes below 1, or numbers that are not positive.

    >>> model = Gradient(n_features=1, step=0.5)
    >>> state = model.start(1, np.zeros(1), np.ones(1))
    >>> one = np.ones((1, 1, 1))
    >>> model.update(state, one, one, np.ones(1), one)
    >>> model.value(state, one, one)[0].item()
    0.5
    """

    n_features: int
    n_outcomes: int = 1
    link: Link = "identity"
    step: float = 1.0
    power: float = 0.5
    first: float = 0.0
    radius: float = math.inf
    projection: Projection = "row"
    start_at: float = 0.0

    def __post_init__(self) -> None:
        check_sizes("Gradient", self.n_features, self.n_outcomes, 1.0)
        check_steps("Gradient", self.step, self.radius, self.projection, self.link, self.start_at)
        if not (0 <= self.power <= 1 and math.isfinite(self.first) and self.first >= 0):
            raise InvalidInput(
                "Gradient.power, first", "a power in [0, 1], a step of at least 0", (self.power, self.first)
            )

    def start(self, n_replicas: int, low: Floats, high: Floats) -> GradientState:
        """The state before any data, `(M),(M)->state`."""
        return GradientState(
            np.full((n_replicas, self.n_outcomes, self.n_features), self.start_at), np.zeros(n_replicas)
        )

    def value(self, state: GradientState, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        """Mean worth, and no optimism, `(A,n),(K,M)->(K,A),(K,A)`."""
        return priced(code(self.link), state.theta, x, w)

    def update(self, state: GradientState, x: Floats, y: Floats, rounds: Floats, w: Floats) -> None:
        """One gradient step per play whose outcomes are all observed, `(P,n),(P,M),(),(K,M)`."""
        whole, link = self.projection == "whole", code(self.link)
        steps = self.step, self.power, self.first
        _gradient(link, state.theta, state.count, *steps, self.radius, whole, x, y, rounds)


def check_steps(name: str, step: float, radius: float, projection: str, link: Link, start_at: float) -> None:
    """Refuse steps and radii that are not positive, a start that is not finite, and unknown names."""
    code(link)
    if not math.isfinite(start_at):
        raise InvalidInput(f"{name}.start_at", "a finite number", start_at)
    if not (math.isfinite(step) and step > 0):
        raise InvalidInput(f"{name}.step", "a finite number above 0", step)
    if not radius > 0:
        raise InvalidInput(f"{name}.radius", "a number above 0, or infinity", radius)
    if projection not in ("row", "whole"):
        raise InvalidInput(f"{name}.projection", "'row' or 'whole'", projection)
