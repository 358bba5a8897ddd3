"""Online gradient descent for generalised linear models, without widths or a history."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.models._shared import check_sizes
from evenhand.models.base import ROUND, Lesson, Worth
from evenhand.models.links import Link, code, predict, priced
from evenhand.models.oracles import Projection, check_steps, project


@dataclass
class GradientState:
    """Parameters of every outcome, and the number of their updates."""

    theta: Floats  # (R, M, n)
    count: Floats  # (R,)


@kernel
def _gradient(
    link: int,
    steps: tuple[float, float, float],
    radius: float,
    whole: bool,
    theta: Floats,
    count: Floats,
    x: Floats,
    y: Floats,
    seen: Bools,
) -> None:
    step, power, first_step = steps
    mean = np.empty(y.shape[2])
    for r in range(len(x)):
        for p in range(x.shape[1]):
            if not seen[r, p].all():
                continue
            predict(link, theta[r], x[r, p], mean)
            replaced = count[r] == 0.0 and first_step != 0.0
            size = first_step if replaced else step / (count[r] + 1.0) ** power
            count[r] += 1.0
            for m in range(len(mean)):
                for i in range(x.shape[2]):
                    if x[r, p, i] != 0.0:
                        theta[r, m, i] -= size * (mean[m] - y[r, p, m]) * x[r, p, i]
            project(theta[r], radius, whole)


@named("S3", source="online gradient descent (Zinkevich 2003) as an oracle: Han et al. 2022, Table 1")
@dataclass(frozen=True, kw_only=True)
class Gradient:
    """Online gradient descent for a generalised linear model; square-loss regret O(sqrt T), in any dimension.

    Equation: theta <- P(theta - size_t (link(x.theta) - y) x), size_t = step / t^power at the t-th observation, P as in
    `Glmtron`.

    Args:
        n_features: n.
        n_outcomes: M, each with a parameter of its own.
        link: identity, logistic, probit or exponential.
        step: the step at the first observation.
        power: in [0, 1]; 1/2 is the anytime rate, 0 a fixed step.
        first_step: the size of the first step; 0 means `step`.
        radius: of the ball of each outcome's parameter; infinite for no projection.
        projection: as in `Glmtron`.
        start_at: every coordinate of the initial parameters.

    Raises:
        InvalidInput: sizes below 1, or numbers that are not positive.

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
        check_steps("Gradient", self.step, self.radius, self.projection, self.link, self.start_at)
        if not 0 <= self.power <= 1:
            raise InvalidInput("Gradient.power", "a power in [0, 1]", self.power)
        if not (math.isfinite(self.first_step) and self.first_step >= 0):
            raise InvalidInput("Gradient.first_step", "a finite number of at least 0", self.first_step)

    def draws(self, candidates: int) -> int:
        """No luck."""
        return 0

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> GradientState:
        """The state before any data, `(M),(M)->state`."""
        return GradientState(
            np.full((n_replicas, self.n_outcomes, self.n_features), self.start_at), np.zeros(n_replicas)
        )

    def value(self, state: GradientState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Mean worth, and no optimism, `(A,n),(K,1|A,M),()->(K,A),(K,A)`."""
        return Worth(*priced(self._link, state.theta, x, w))

    def update(
        self, state: GradientState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """One gradient step per play whose outcomes are all seen, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        steps = float(self.step), float(self.power), float(self.first_step)
        whole = self.projection == "whole"
        _gradient(self._link, steps, float(self.radius), whole, state.theta, state.count, x, y, seen)

    @property
    def is_linear(self) -> bool:
        """True for the identity link."""
        return self.link == "identity"

    def parameters(self, state: GradientState) -> Floats:
        """The present iterate, `->(M,n)`."""
        return state.theta

    @cached_property
    def _link(self) -> int:
        return code(self.link)
