"""Online regression oracles, which predict an outcome vector and learn from the played action, without widths.

They move each outcome's parameter against the GLMtron direction (link(x.theta) - y) x, the gradient of the square loss
up to the link's slope, and project it back to its ball. They differ in the metric and the size of a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import nonnegative, number, positive
from evenhand.models._shared import check_sizes
from evenhand.models.base import ROUND, Lesson, WithoutLuck, Worth
from evenhand.models.links import Link, code, predict, priced
from evenhand.numerics.precision import absorb, fresh, norm2

Projection = Literal["row", "whole"]


@dataclass
class OracleState:
    """Parameters of every outcome, the inverse of their common metric, and the number of their updates."""

    theta: Floats  # (R, M, n)
    inverse: Floats  # (R, n, n), or (R, 0, 0) for the identity
    count: Floats  # (R,)


@kernel
def project(theta: Floats, radius: float, whole: bool) -> None:
    """Scale every row back to a ball; if `whole`, scale all rows at once and drop signs, as in the published code."""
    if whole:
        square = 0.0
        for m in range(len(theta)):
            square += norm2(theta[m])
        norm = math.sqrt(square)
        scale = radius / norm if norm > radius else 1.0
        for m in range(len(theta)):
            for i in range(theta.shape[1]):
                theta[m, i] = abs(theta[m, i]) * scale
        return
    for m in range(len(theta)):
        square = norm2(theta[m])
        if square > radius * radius:
            scale = radius / math.sqrt(square)
            for i in range(theta.shape[1]):
                theta[m, i] *= scale


@kernel
def _learn(
    link: int,
    steps: tuple[float, float, float],
    radius: float,
    whole: bool,
    theta: Floats,
    inverse: Floats,
    count: Floats,
    x: Floats,
    y: Floats,
    seen: Bools,
) -> None:
    step, power, first_step = steps
    gain, mean = np.empty(x.shape[2]), np.empty(y.shape[2])
    for r in range(len(x)):
        for p in range(x.shape[1]):
            if not seen[r, p].all():
                continue
            predict(link, theta[r], x[r, p], mean)
            square = 0.0
            if inverse.shape[1] > 0:
                square = absorb(inverse[r], x[r, p], gain)
            else:
                for i in range(len(gain)):
                    gain[i] = x[r, p, i]
            replaced = count[r] == 0.0 and first_step != 0.0
            size = first_step if replaced else step / (count[r] + 1.0) ** power
            count[r] += 1.0
            for m in range(len(mean)):
                move = size * (mean[m] - y[r, p, m]) / (1.0 + square)
                for i in range(len(gain)):
                    if gain[i] != 0.0:
                        theta[r, m, i] -= move * gain[i]
            project(theta[r], radius, whole)


def _check_steps(name: str, step: float, radius: float, projection: str, link: Link, start_at: float) -> None:
    """Refuse steps and radii that are not positive, a start that is not finite, and unknown names."""
    code(link)
    number(f"{name}.start_at", start_at, "a finite number")
    positive(f"{name}.step", step)
    number(f"{name}.radius", radius, "a number above 0, or infinity", lambda x: x > 0)
    if projection not in ("row", "whole"):
        raise InvalidInput(f"{name}.projection", "'row' or 'whole'", projection)


class Oracle(WithoutLuck, Protocol):
    """An oracle, whose metric and size of steps its kind states."""

    n_features: int
    n_outcomes: int
    link: Link
    radius: float
    projection: Projection
    start_at: float

    def _inverse(self, n_replicas: int) -> Floats:
        """Return the inverse of the metric before any data, `->(n,n)`, or `->(0,0)` for the identity."""

    @property
    def _steps(self) -> tuple[float, float, float]:
        """The step at first, its power of the number of updates, and another size of the first one, 0 for none."""

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> OracleState:
        theta = np.full((n_replicas, self.n_outcomes, self.n_features), self.start_at)
        return OracleState(theta, self._inverse(n_replicas), np.zeros(n_replicas))

    def value(self, state: OracleState, x: Floats, w: Floats, u: Floats) -> Worth:
        return Worth(*priced(self._link, state.theta, x, w))

    def update(self, state: OracleState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Take one step per play whose outcomes are all seen, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        s, whole = state, self.projection == "whole"
        _learn(self._link, self._steps, float(self.radius), whole, s.theta, s.inverse, s.count, x, y, seen)

    @property
    def is_linear(self) -> bool:
        return self.link == "identity"

    def parameters(self, state: OracleState) -> Floats:
        return state.theta

    @cached_property
    def _link(self) -> int:
        return code(self.link)


@named("S3", source="Newtonised GLMtron: Foster & Rakhlin 2020, Proposition 3; in Han et al. 2022, Table 1")
@dataclass(frozen=True, kw_only=True)
class Glmtron(Oracle):
    """Online Newton steps for a generalised linear model; square-loss regret O(n log T).

    Equation: A_t = ridge I + sum x x^T, theta <- P(theta - step A_t^-1 (link(x.theta) - y) x), P the projection of each
    outcome's parameter to the ball of `radius`. With the identity link, step 1 and no projection: ridge regression.
    Deviation: the projection is Euclidean (a scaling), whereas the theorem's is in the metric of A_t.

    Args:
        link: identity, logistic, probit or exponential.
        ridge: the ridge of the metric A_t, above 0.
        step: above 0; 1 over the least slope of the link on its domain; 1 for the identity.
        radius: of the ball of each outcome's parameter; infinite for no projection.
        projection: "row", or "whole" for the published code's fault (all rows are scaled at once and lose their signs).
        start_at: every coordinate of the initial parameters.

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
        _check_steps("Glmtron", self.step, self.radius, self.projection, self.link, self.start_at)

    def _inverse(self, n_replicas: int) -> Floats:
        return fresh(n_replicas, self.n_features, self.ridge)

    @cached_property
    def _steps(self) -> tuple[float, float, float]:
        return float(self.step), 0.0, 0.0


@named("S3", source="online gradient descent (Zinkevich 2003) as an oracle: Han et al. 2022, Table 1")
@dataclass(frozen=True, kw_only=True)
class Gradient(Oracle):
    """Online gradient descent for a generalised linear model; square-loss regret O(sqrt T), in any dimension.

    Equation: theta <- P(theta - size_t (link(x.theta) - y) x), size_t = step / t^power at the t-th observation, P as in
    `Glmtron`.

    Args:
        step: the step at the first observation, above 0.
        power: in [0, 1]; 1/2 is the anytime rate, 0 a fixed step.
        first_step: the size of the first step; 0 means `step`.
        link, radius, projection, start_at: as for `Glmtron`.

    >>> model = Gradient(n_features=1, step=0.5)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> model.update(state, one, one, one > 0, price)
    >>> model.value(state, one, price, luck).mean.item()
    0.5
    """

    n_features: int
    n_outcomes: int = 1
    link: Link = "identity"
    step: float = 1.0
    power: float = 0.5
    first_step: float = 0.0
    radius: float = math.inf
    projection: Projection = "row"
    start_at: float = 0.0

    def __post_init__(self) -> None:
        check_sizes("Gradient", self.n_features, self.n_outcomes)
        _check_steps("Gradient", self.step, self.radius, self.projection, self.link, self.start_at)
        number("Gradient.power", self.power, "a power in [0, 1]", lambda x: 0 <= x <= 1)
        nonnegative("Gradient.first_step", self.first_step)

    def _inverse(self, n_replicas: int) -> Floats:
        return np.zeros((n_replicas, 0, 0))

    @cached_property
    def _steps(self) -> tuple[float, float, float]:
        return float(self.step), float(self.power), float(self.first_step)
